// Ranks that are threads of one process, for tests of what ranks send to each other.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
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

/// Messages between threads; tensors are not moved.
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

  void all_reduce(std::span<double> values) override {
    const auto all = all_gather({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    std::fill(values.begin(), values.end(), 0.0);
    for (const std::string& of_rank : all) {
      std::vector<double> numbers(values.size());
      std::memcpy(numbers.data(), of_rank.data(), of_rank.size());
      for (size_t i = 0; i < values.size(); ++i) values[i] += numbers[i];
    }
  }
  void broadcast(std::span<std::byte> bytes) override {
    const auto all = all_gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::memcpy(bytes.data(), all[0].data(), bytes.size());
  }

  DeviceCollectives& host_collectives() override { throw std::logic_error("not here"); }
  Watchdog* watchdog() override { return nullptr; }
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
