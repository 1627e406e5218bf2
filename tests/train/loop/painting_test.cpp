// Runs whose device paints the samples itself (loader.paint).
#include <opencv2/imgcodecs.hpp>

#include "tests/train/small_run.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// The CPU, taken for a GPU.
class PaintingBackend : public cpu::CpuBackend {
 public:
  bool works_beside_host() const override { return true; }
  void upload_ahead(void* device, const void* host, size_t bytes) override {
    ++uploaded;
    cpu::CpuBackend::upload_ahead(device, host, bytes);
  }
  void paint_ahead(const Pictures& pictures, void* memory, const Tensor& pixels) override {
    ++painted;
    cpu::CpuBackend::paint_ahead(pictures, memory, pixels);
  }

  int uploaded = 0, painted = 0;
};

struct PaintedRun {
  PaintedRun(const RunConfig& config, const fs::path& folder, int parts = 1) {
    for (int part = 1; part <= parts; ++part) {
      auto device = std::make_unique<PaintingBackend>();
      const PaintingBackend& seen = *device;
      SmallTraining training(config, folder, part > 1, std::move(device));
      Trainer trainer = training.make();
      EXPECT_EQ(training.backend->allocated_bytes(),
                plan_run(config, training.model, *training.backend, config.train.micro_batch).memory.peak());
      if (part > 1) trainer.resume();
      std::stop_source stop;
      if (part < parts) stop.request_stop();
      trainer.run(stop.get_token());
      uploaded += seen.uploaded;
      painted += seen.painted;
      memory = trainer.memory().peak();
      rows = read_metrics_csv(training.folder.metrics()).rows.size();
      loss = trainer.last_metrics() ? trainer.last_metrics()->AP : -1;
      weights = tensors_of(training.folder.last());
      picture = cv::imread((folder / "train_batch0.jpg").string());
    }
  }
  int uploaded = 0, painted = 0;
  size_t memory = 0, rows = 0;
  double loss = 0;
  std::map<std::string, std::vector<float>> weights;
  cv::Mat picture;
};

TEST(Painting, AGpuPaintsByItselfWhatItCanAndTheRunShowsTheSamePictures) {
  SmallRun run;
  const PaintedRun by_cpu(run.load({"train.epochs=2", "loader.paint=cpu"}), run.folder() / "cpu");
  const PaintedRun automatic(run.load({"train.epochs=2", "loader.paint=auto"}), run.folder() / "auto");
  const PaintedRun noisy(run.load({"train.epochs=2", "loader.paint=auto", "augment.noise=0.5"}),
                         run.folder() / "noisy");
  EXPECT_EQ(by_cpu.painted, 0);
  EXPECT_EQ(noisy.painted, 0) << "no GPU adds noise";
  EXPECT_EQ(noisy.uploaded, 12);
  EXPECT_EQ(automatic.painted, 12) << "three steps of two micro-batches in each of two epochs";
  EXPECT_EQ(automatic.uploaded, 0);
  EXPECT_GT(automatic.memory, by_cpu.memory) << "the images are on the device as well";
  ASSERT_EQ(automatic.picture.size(), by_cpu.picture.size());
  EXPECT_FALSE(by_cpu.picture.empty());
  EXPECT_LT(cv::norm(automatic.picture, by_cpu.picture, cv::NORM_L1),
            0.2 * static_cast<double>(by_cpu.picture.total() * 3));
}

TEST(Painting, AnInterruptedRunEndsInTheSameWeights) {
  SmallRun run;
  const RunConfig config = run.load({"train.epochs=2", "loader.paint=gpu"});
  const PaintedRun whole(config, run.folder() / "whole"), parts(config, run.folder() / "parts", 3);
  EXPECT_EQ(whole.weights, parts.weights);
}

TEST(Painting, WhatCannotBePaintedAsAskedIsRefusedByItsKey) {
  SmallRun run;
  const auto cpu = make_cpu_backend();
  PaintingBackend gpu;
  const auto refused = [&](const std::vector<std::string>& settings, const Backend& backend) -> std::string {
    try {
      device_paints(run.load(settings), backend);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused({"loader.paint=gpu"}, *cpu).find("loader.paint is gpu, and this trains on 'cpu'"),
            std::string::npos);
  EXPECT_NE(refused({"loader.paint=gpu", "augment.blur=0.1"}, gpu).find("augment.blur is above 0"),
            std::string::npos);
  EXPECT_EQ(refused({"loader.paint=gpu"}, gpu), "");
  EXPECT_EQ(refused({"loader.paint=auto", "augment.blur=0.1"}, gpu), "");
  EXPECT_FALSE(device_paints(run.load({"loader.paint=auto", "augment.blur=0.1"}), gpu));
  EXPECT_TRUE(device_paints(run.load({"loader.paint=auto", "augment.grey=0.1"}), gpu));
  EXPECT_FALSE(device_paints(run.load({"loader.paint=auto"}), *cpu));
  EXPECT_FALSE(device_paints(run.load({}), gpu)) << "nobody asked for it";
}

}  // namespace
}  // namespace brightnet::testing
