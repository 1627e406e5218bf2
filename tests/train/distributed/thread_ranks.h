// Ranks that are threads of one process: enough to test what ranks say to each other without starting any.
#pragma once

#include <barrier>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "train/distributed/communicator.h"

namespace brightnet::testing {

/// What all threads share.
struct ThreadMeeting {
  explicit ThreadMeeting(int size) : words(static_cast<size_t>(size)), arrived(size) {}
  std::vector<std::string> words;
  std::barrier<> arrived;
};

/// A rank's fail(): its message and exit code, thrown where a process would end.
struct RankFailed : std::runtime_error {
  RankFailed(const std::string& message, int exit_code) : std::runtime_error(message), code(exit_code) {}
  int code;
};

/// Gathers; what moves tensors is not there.
class ThreadRank : public Communicator {
 public:
  ThreadRank(ThreadMeeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.words.size()); }
  int local_rank() const override { return rank(); }
  int local_size() const override { return size(); }

  std::vector<std::string> all_gather(std::string_view bytes) override {
    meeting_.words[static_cast<size_t>(rank_)] = bytes;
    meeting_.arrived.arrive_and_wait();
    std::vector<std::string> all = meeting_.words;
    meeting_.arrived.arrive_and_wait();
    return all;
  }
  void barrier() override { meeting_.arrived.arrive_and_wait(); }

  void all_reduce(std::span<double>) override { throw std::logic_error("not here"); }
  void broadcast(std::span<std::byte>, int) override { throw std::logic_error("not here"); }
  void sum(double*, size_t) override { throw std::logic_error("not here"); }
  void start_all_reduce(float*, size_t, Reduction) override { throw std::logic_error("not here"); }
  void finish_all_reduces() override { throw std::logic_error("not here"); }

  double waited_seconds() override { return 0; }
  void set_time_limit(double) override {}
  [[noreturn]] void fail(const std::string& message, int exit_code) override {
    throw RankFailed(message, exit_code);
  }

 private:
  ThreadMeeting& meeting_;
  int rank_;
};

/// Runs `part` as each of `size` ranks, and returns what they returned, in their order.
inline std::vector<std::string> on_ranks(int size, const std::function<std::string(Communicator&)>& part) {
  ThreadMeeting meeting(size);
  std::vector<std::string> results(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ThreadRank communicator(meeting, rank);
      results[static_cast<size_t>(rank)] = part(communicator);
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

}  // namespace brightnet::testing
