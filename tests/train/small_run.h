// A run small enough to be trained inside a test: synthetic pictures, a few convolutions, fp32.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/files.h"
#include "data/synth/synth.h"
#include "train/config/config.h"

namespace brightnet::testing {

inline constexpr const char* small_model = R"(
name: small
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 8], [14, 14], [22, 22], [32, 32]], scale_xy: 1.05}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 16, size: 3, stride: 2}
  - conv: {name: fine, filters: 32, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {from: fine, filters: 32, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3]}
)";

/// A separate folder for the running test, with a data set, a model and a configuration; removed at the end.
class SmallRun {
 public:
  explicit SmallRun(int train_images = 12, int val_images = 4, int size = 64) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("run_" + std::string(test->test_suite_name()) + '_' + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    SynthOptions options;
    options.train_images = train_images;
    options.val_images = val_images;
    options.size = size;
    options.classes = 2;
    options.max_objects = 3;
    make_synthetic_dataset(options, folder_ / "data");
    write_atomically(folder_ / "model.yaml", std::string(small_model));
    write_config("");
  }
  ~SmallRun() { std::filesystem::remove_all(folder_); }

  /// Writes run.yaml: what every small run has, then these sections or lines. Without a `train:` section among
  /// them the precision is fp32, whatever is fast on this machine.
  void write_config(const std::string& more) {
    write_atomically(config(),
                     "model: model.yaml\n"
                     "data: {format: yolo, root: data, train: images/train, val: images/val,"
                     " classes: [circle, square]}\n" +
                         more +
                         (more.find("train:") == std::string::npos ? "train: {precision: fp32}\n" : ""));
  }

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path config() const { return folder_ / "run.yaml"; }

  /// Overrides for a short training.
  static std::vector<std::string> short_run(std::vector<std::string> more = {}) {
    std::vector<std::string> all{"train.size=64",        "train.batch=4",
                                 "train.micro_batch=2",  "train.epochs=2",
                                 "train.precision=fp32", "train.patience=0",
                                 "train.save_every=0",   "schedule.warmup=1",
                                 "schedule.power=4",     "optimizer={kind: sgd, rate: 0.02}",
                                 "loader.workers=1",     "loader.cache_mb=64",
                                 "evaluate.every=1",     "ema={decay: 0.9, ramp: 4}"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  RunConfig load(std::vector<std::string> more = {}) const {
    return load_run_config(config(), short_run(more));
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace brightnet::testing
