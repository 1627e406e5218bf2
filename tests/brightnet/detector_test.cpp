#include "brightnet/detector.h"

#include <thread>

#include <gtest/gtest.h>
#include <opencv2/core/utility.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "brightnet/error.h"
#include "brightnet/threads.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

std::vector<float> numbers(const std::vector<DetectedObject>& objects) {
  std::vector<float> all;
  for (const DetectedObject& o : objects)
    all.insert(all.end(), {o.x1, o.y1, o.x2, o.y2, static_cast<float>(o.class_id), o.score});
  return all;
}

TEST(LimitedImageThreads, GivesBackWhatThereWas) {
  const int before = cv::getNumThreads();
  cv::setNumThreads(3);
  {
    const LimitedImageThreads first;
    EXPECT_EQ(cv::getNumThreads(), 1);
    const LimitedImageThreads second;
  }
  EXPECT_EQ(cv::getNumThreads(), 3);
  {
    const LimitedImageThreads limited;
    cv::setNumThreads(2);
  }
  EXPECT_EQ(cv::getNumThreads(), 2) << "which somebody has set meanwhile";
  cv::setNumThreads(before);
}

class DetectorOf : public ::testing::Test {
 protected:
  static DetectorOptions options() { return {.device = {.device = "cpu"}, .confidence = 0.1f}; }
  Image image() const { return {rgb_.data, rgb_.rows, rgb_.cols, rgb_.step}; }

  DetectorOf() {
    const auto file = std::filesystem::directory_iterator(run_.folder() / "data/images/train")->path();
    cv::cvtColor(cv::imread(file.string()), rgb_, cv::COLOR_BGR2RGB);
  }

  SmallRun run_;
  Weights weights_ = Weights::open(write_small_weights(run_));
  cv::Mat rgb_;
};

TEST_F(DetectorOf, FindsTheSameInAnyLayoutOfTheSamePixels) {
  const Detector detector(weights_, options());
  const auto found = detector.detect(image());
  ASSERT_FALSE(found.empty());
  for (const DetectedObject& object : found) {
    EXPECT_GE(object.score, 0.1f);
    EXPECT_TRUE(object.x1 >= 0 && object.x1 < object.x2 && object.x2 <= static_cast<float>(rgb_.cols));
    EXPECT_TRUE(object.y1 >= 0 && object.y1 < object.y2 && object.y2 <= static_cast<float>(rgb_.rows));
    EXPECT_TRUE(object.class_id == 0 || object.class_id == 1);
  }
  cv::Mat bgr;
  cv::cvtColor(rgb_, bgr, cv::COLOR_RGB2BGR);
  EXPECT_EQ(numbers(detector.detect({bgr.data, bgr.rows, bgr.cols, bgr.step, 3, true})), numbers(found));
  EXPECT_NE(numbers(detector.detect({bgr.data, bgr.rows, bgr.cols, bgr.step})), numbers(found))
      << "red and blue are not the same";
  cv::Mat wide(rgb_.rows, rgb_.cols + 7, CV_8UC3, cv::Scalar(1, 2, 3));
  rgb_.copyTo(wide(cv::Rect(0, 0, rgb_.cols, rgb_.rows)));
  EXPECT_EQ(numbers(detector.detect({wide.data, rgb_.rows, rgb_.cols, wide.step})), numbers(found));
  ASSERT_TRUE(rgb_.isContinuous());
  EXPECT_EQ(numbers(detector.detect({rgb_.data, rgb_.rows, rgb_.cols})), numbers(found)) << "stride 0";
}

TEST_F(DetectorOf, LooksAtSeveralImagesInTheirOrder) {
  DetectorOptions in_twos = options();
  in_twos.batch = 2;
  const Detector detector(weights_, in_twos);
  cv::Mat small = rgb_(cv::Rect(0, 0, rgb_.cols / 2, rgb_.rows / 3)).clone();
  const std::vector<Image> images{image(), {small.data, small.rows, small.cols}, image()};
  const auto found = detector.detect(images);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(numbers(found[0]), numbers(found[2]));
  const Detector alone(weights_, options());
  EXPECT_EQ(numbers(found[1]), numbers(alone.detect(images[1])));
  EXPECT_TRUE(detector.detect(std::span<const Image>{}).empty());
}

TEST_F(DetectorOf, IsUsedByThreadsAtATimeAndBesideOthers) {
  const Detector shared(weights_, options());
  Detector other(weights_, options());
  const Detector moved = std::move(other);
  const auto expected = numbers(shared.detect(image()));
  std::vector<std::vector<float>> found(4);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < found.size(); ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < 5; ++turn) found[i] = numbers((i < 3 ? shared : moved).detect(image()));
      });
    }
  }
  for (const auto& of_thread : found) EXPECT_EQ(of_thread, expected);
}

TEST_F(DetectorOf, LeavesOutWhatWasNotAskedFor) {
  const auto all = Detector(weights_, options()).detect(image());
  DetectorOptions squares = options();
  squares.classes = {"square"};
  for (const auto& object : Detector(weights_, squares).detect(image())) EXPECT_EQ(object.class_id, 1);
  DetectorOptions few = options();
  few.max_objects = 2;
  EXPECT_EQ(Detector(weights_, few).detect(image()).size(), 2u);
  DetectorOptions sure = options();
  ASSERT_LT(all[1].score, all[0].score);
  sure.confidence = (all[0].score + all[1].score) / 2;
  EXPECT_EQ(Detector(weights_, sure).detect(image()).size(), 1u);
  DetectorOptions larger = options();
  larger.height = 96;
  larger.width = 128;
  EXPECT_NE(numbers(Detector(weights_, larger).detect(image())), numbers(all));
}

TEST_F(DetectorOf, RefusesWhatCannotBeMeant) {
  const Detector detector(weights_, options());
  EXPECT_THROW(detector.detect(Image{}), InputError);
  EXPECT_THROW(detector.detect(Image{rgb_.data, rgb_.rows, rgb_.cols, 0, 4}), InputError);
  EXPECT_THROW(detector.detect(Image{rgb_.data, rgb_.rows, rgb_.cols, 5}), InputError) << "rows overlap";
  EXPECT_FALSE(detector.detect(image()).empty()) << "it is usable afterwards";
  const auto refused = [&](const std::function<void(DetectorOptions&)>& change) {
    DetectorOptions wrong = options();
    change(wrong);
    EXPECT_THROW(Detector(weights_, wrong), InputError);
  };
  refused([](DetectorOptions& o) { o.confidence = 1.5f; });
  refused([](DetectorOptions& o) { o.nms = 2; });
  refused([](DetectorOptions& o) { o.batch = 0; });
  refused([](DetectorOptions& o) { o.max_objects = -1; });
  refused([](DetectorOptions& o) { o.height = 64; });
  refused([](DetectorOptions& o) { o.height = o.width = 33; });
  refused([](DetectorOptions& o) { o.classes = {"cat"}; });
  refused([](DetectorOptions& o) { o.device.precision = "int3"; });
  refused([](DetectorOptions& o) { o.device.device = "abacus"; });
}

TEST_F(DetectorOf, WarnsOnceOfWeightsOfTiles) {
  const Logged plain;
  Detector(weights_, options()).detect(image());
  EXPECT_EQ(plain.text().find("tiles"), std::string::npos) << plain.text();
  TrainedModel trained = load_trained_model(run_.folder() / "weights.safetensors");
  trained.training["tiles"] = "32,0.2";
  save_weights(run_.folder() / "tiles.safetensors", trained);
  const Logged logged;
  const Detector detector(Weights::open(run_.folder() / "tiles.safetensors"), options());
  const std::string words = "trained on tiles of larger pictures (32,0.2)";
  EXPECT_NE(logged.text().find(words), std::string::npos) << logged.text();
  detector.detect(image());
  EXPECT_EQ(logged.text().find(words), logged.text().rfind(words)) << logged.text();
}

TEST_F(DetectorOf, TellsWhatItsWeightsAre) {
  EXPECT_EQ(weights_.model(), "small");
  EXPECT_EQ(weights_.classes(), (std::vector<std::string>{"circle", "square"}));
  EXPECT_EQ(weights_.input_height(), 64);
  EXPECT_EQ(weights_.input_width(), 64);
  EXPECT_EQ(weights_.channels(), 3);
  EXPECT_GT(weights_.parameters(), 1000);
  EXPECT_THROW(Weights::open(run_.folder() / "run.yaml"), InputError);
  EXPECT_THROW(Weights::open({.weights = run_.folder() / "no.weights", .cfg = run_.folder() / "no.cfg"}),
               InputError);
}

TEST_F(DetectorOf, SuppressesByTheThresholdThatItIsGiven) {
  const auto found = [&](float nms) {
    DetectorOptions how = options();
    how.nms = nms;
    return Detector(weights_, how).detect(image()).size();
  };
  EXPECT_LT(found(0), found(0.45f));
  EXPECT_LT(found(0.45f), found(1));
  EXPECT_EQ(found(DetectorOptions().nms), found(0.45f)) << "the usual one";
}

TEST_F(DetectorOf, LimitsAreValuesToo) {
  for (const float limit : {0.0f, 1.0f}) {
    DetectorOptions how = options();
    how.confidence = how.nms = limit;
    EXPECT_NO_THROW(Detector(weights_, how)) << limit;
  }
  DetectorOptions how = options();
  how.device.precision = "fp16";
  EXPECT_THROW(Detector(weights_, how), DeviceError) << "which a CPU does not compute in";
}

TEST(Device, IsDescribedAsItWasFound) {
  const DeviceDescription cpu = describe_device({.device = "cpu"});
  EXPECT_EQ(cpu.name, "cpu");
  EXPECT_FALSE(cpu.gpu);
  EXPECT_TRUE(cpu.precision == "fp32" || cpu.precision == "bf16") << cpu.precision;
  EXPECT_EQ(describe_device({.device = "cpu", .precision = "fp32"}).precision, "fp32");
  EXPECT_EQ(describe_device({.device = "cpu", .precision = "bf16"}).precision, "bf16");
  EXPECT_THROW(describe_device({.device = "cpu", .precision = "fp16"}), DeviceError);
  EXPECT_THROW(describe_device({.device = "abacus"}), InputError);
  EXPECT_THROW(describe_device({.device = "cpu", .precision = "int3"}), InputError);
}

}  // namespace
}  // namespace brightnet::testing
