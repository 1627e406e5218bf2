// The communicator of a single process.
#pragma once

#include "train/distributed/communicator.h"

namespace brightnet {

class SoloCollectives : public DeviceCollectives {
 public:
  int parts() const override { return 1; }
  int part() const override { return 0; }
  void sum(double*, size_t) override {}
  void start_all_reduce(float*, size_t, Reduction) override {}
  void finish_all_reduces() override {}
  double waited_seconds() override { return 0; }
};

class SoloCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }

  void all_reduce(std::span<double>) override {}
  void broadcast(std::span<std::byte>) override {}
  std::vector<std::string> all_gather(std::string_view bytes) override { return {std::string(bytes)}; }
  void barrier() override {}

  DeviceCollectives& host_collectives() override { return collectives_; }
  Watchdog* watchdog() override { return nullptr; }
  void set_time_limit(double) override {}
  [[noreturn]] void fail(const std::string& message, int exit_code) override;

 private:
  SoloCollectives collectives_;
};

}  // namespace brightnet
