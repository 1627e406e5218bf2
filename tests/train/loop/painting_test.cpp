// Runs whose device paints the samples itself (loader.paint), and decodes their images (loader.decode).
#include <opencv2/imgcodecs.hpp>

#include "tests/data/encoded_jpeg.h"
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

  std::string why_no_jpeg_decoder() const override { return problem; }
  size_t jpeg_decoder_bytes(int lanes) const override { return static_cast<size_t>(lanes) * 4096; }
  std::unique_ptr<JpegDecoder> make_jpeg_decoder(int lanes) override {
    return std::make_unique<Decoder>(*this, jpeg_decoder_bytes(lanes));
  }

  int uploaded = 0, painted = 0;
  std::atomic<int> decoded = 0;
  std::string problem;
  bool inverts = false;  ///< what it decodes, so that it can be told

 private:
  struct Decoder : TakenForDevice {
    Decoder(PaintingBackend& backend, size_t bytes)
        : backend(backend), bytes(bytes), memory(backend.allocate(bytes)) {}
    ~Decoder() override { backend.release(memory, bytes); }
    bool decode(std::span<const uint8_t> file, const JpegPart& part, uint8_t* pixels) override {
      ++backend.decoded;
      inverts = backend.inverts;
      return TakenForDevice::decode(file, part, pixels);
    }
    PaintingBackend& backend;
    const size_t bytes;
    void* const memory;
  };
};

struct PaintedRun {
  PaintedRun(const RunConfig& config, const fs::path& folder, int parts = 1, bool inverts = false) {
    for (int part = 1; part <= parts; ++part) {
      auto device = std::make_unique<PaintingBackend>();
      device->inverts = inverts;
      const PaintingBackend& seen = *device;
      SmallTraining training(config, folder, part > 1, std::move(device));
      training.watched_by = WatchedBy::all;
      Trainer trainer = training.make();
      EXPECT_EQ(training.backend->allocated_bytes(),
                plan_run(config, training.model, *training.backend, config.train.micro_batch).memory.peak());
      if (part > 1) trainer.resume();
      std::stop_source stop;
      if (part < parts) stop.request_stop();
      trainer.run(stop.get_token());
      uploaded += seen.uploaded;
      painted += seen.painted;
      decoded += seen.decoded;
      memory = trainer.memory().peak();
      rows = read_metrics_csv(training.folder.metrics()).rows.size();
      loss = trainer.last_metrics() ? trainer.last_metrics()->AP : -1;
      weights = tensors_of(training.folder.last());
      picture = cv::imread((folder / "train_batch0.jpg").string());
    }
  }
  int uploaded = 0, painted = 0, decoded = 0;
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

TEST(Decoding, OfTheDeviceTrainsOnItsPixelsWithTheSamplesOfTheCpu) {
  SmallRun run;
  const auto trained = [&](const std::string& name, std::vector<std::string> settings, int parts = 1,
                           bool inverts = false) {
    settings.insert(settings.end(), {"train.epochs=2", "loader.paint=gpu", "augment.jitter=0"});
    return PaintedRun(run.load(settings), run.folder() / name, parts, inverts);
  };
  const PaintedRun by_cpu = trained("cpu", {"loader.decode=cpu"}),
                   by_device = trained("auto", {"loader.decode=auto"});
  EXPECT_EQ(by_cpu.decoded, 0);
  EXPECT_GE(by_device.decoded, 12) << "every image once, and then it is kept";
  EXPECT_EQ(by_device.weights, by_cpu.weights) << "this device decodes as the CPU does";
  EXPECT_EQ(by_device.memory, by_cpu.memory + 4096) << "a worker, and so a file at a time";
  const PaintedRun inverted = trained("inverted", {"loader.decode=gpu"}, 1, true);
  EXPECT_NE(inverted.weights, by_cpu.weights);
  EXPECT_GT(cv::norm(inverted.picture, by_cpu.picture, cv::NORM_L1),
            20.0 * static_cast<double>(by_cpu.picture.total()));
  const PaintedRun others =
      trained("others", {"loader.decode=gpu", "loader.workers=3", "loader.cache_mb=0"}, 3, true);
  EXPECT_GT(others.decoded, 2 * inverted.decoded) << "nothing is kept";
  EXPECT_EQ(others.weights, inverted.weights) << "for any cache, number of workers, and interruption";
}

TEST(Decoding, WhatCannotBeDecodedAsAskedIsRefusedByItsKey) {
  SmallRun run;
  const auto cpu = make_cpu_backend();
  PaintingBackend gpu, without;
  without.problem = "libnvjpeg.so.13: cannot open shared object file";
  const auto decodes = [&](const std::string& value, const Backend& backend) {
    return device_decodes(run.load({"loader.decode=" + value}), backend);
  };
  EXPECT_TRUE(decodes("gpu", gpu));
  EXPECT_TRUE(decodes("auto", gpu));
  EXPECT_FALSE(decodes("auto", without));
  EXPECT_FALSE(decodes("auto", *cpu));
  EXPECT_FALSE(device_decodes(run.load({}), gpu)) << "nobody asked for it";
  try {
    decodes("gpu", *cpu);
    ADD_FAILURE() << "the CPU is no GPU";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("loader.decode is gpu, and this trains on 'cpu'"),
              std::string::npos)
        << error.what();
  }
  try {
    decodes("gpu", without);
    ADD_FAILURE() << "there is no nvJPEG";
  } catch (const DeviceError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("loader.decode is gpu, and nvJPEG cannot be used: libnvjpeg.so.13"),
              std::string::npos)
        << what;
    EXPECT_NE(what.find("loader.decode to auto or cpu"), std::string::npos) << what;
  }
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
  EXPECT_FALSE(device_paints(run.load({"loader.paint=cpu"}), gpu));
  EXPECT_TRUE(device_paints(run.load({}), gpu)) << "auto is the default";
}

}  // namespace
}  // namespace brightnet::testing
