// Warns at the start of a run for whose files the disk has too little space.
#pragma once

#include <functional>
#include <optional>

#include "layers/parameters.h"
#include "train/loop/training_observer.h"
#include "train/loop/training_setup.h"

namespace brightnet {

/// Bytes that are free on the disk of this file.
using FreeSpace = std::function<std::optional<uint64_t>(const std::filesystem::path&)>;

class DiskForecast : public TrainingObserver {
 public:
  /// `setup` and `layout` outlive it.
  DiskForecast(const TrainingSetup& setup, const ParameterLayout& layout, FreeSpace free_space = free_bytes)
      : setup_(setup), layout_(layout), free_space_(std::move(free_space)) {}

  std::string name() const override { return "The forecast of the disk's space"; }
  void run_began(const RunBegan& event) override;

 private:
  void compare(const RunBegan& event) const;

  const TrainingSetup& setup_;
  const ParameterLayout& layout_;
  FreeSpace free_space_;
};

}  // namespace brightnet
