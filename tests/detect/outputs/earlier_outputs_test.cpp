// What is left of an earlier run's crops and labels after another.
#include <set>

#include <gtest/gtest.h>

#include "core/files.h"
#include "detect/outputs/output.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class EarlierOutputs : public ::testing::Test {
 protected:
  EarlierOutputs() { fs::remove_all(folder_); }
  ~EarlierOutputs() override { fs::remove_all(folder_); }

  static FoundObjects found(const std::string& name, int objects,
                            const std::shared_ptr<const Clip>& clip = {}) {
    FoundObjects all;
    all.frame.name = name;
    all.frame.clip = clip;
    all.frame.image = cv::Mat(40, 40, CV_8UC3, cv::Scalar(200, 40, 10));
    for (int i = 0; i < objects; ++i) all.boxes.push_back({1, 1, 20, 20 + static_cast<float>(i), 0, 0.9f});
    return all;
  }
  static void run(const std::unique_ptr<DetectionOutput>& output, const std::vector<FoundObjects>& all,
                  bool is_whole = true) {
    for (const FoundObjects& one : all) output->add(one);
    output->finish();
    if (is_whole) output->remove_earlier();
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = entry.path().filename();
      if (entry.is_regular_file() && name[0] != '.') names.insert(name);
    }
    return names;
  }

  using Files = std::set<std::string>;
  const fs::path folder_ =
      fs::path(::testing::TempDir()) /
      ("earlier_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(EarlierOutputs, CropsOfTheSameImagesAreReplacedAndNoOthers) {
  const auto crops = [&] {
    fs::create_directories(folder_);
    return crop_output(folder_, {"dog"});
  };
  const auto clip = std::make_shared<const Clip>(Clip{"clip", 25});
  run(crops(), {found("a", 3), found("a_1", 1), found("b", 1), found("clip_000000", 1, clip),
                found("clip_000001", 1, clip)});
  write_atomically(folder_ / "dog/a_4.jpg", "a user's own");
  write_atomically(folder_ / "dog/a_3.jpg", "changed by a user");
  run(crops(), {found("a", 1), found("clip_000000", 2, clip)});
  EXPECT_EQ(files(), (Files{"a_1.jpg", "a_3.jpg", "a_4.jpg", "a_1_1.jpg", "b_1.jpg", "clip_000000_1.jpg",
                            "clip_000000_2.jpg"}));
  run(crops(), {found("b", 0)}, false);
  EXPECT_TRUE(files().contains("b_1.jpg")) << "that run was interrupted";
}

TEST_F(EarlierOutputs, LabelsOfFramesThatAreLeftOutAreRemoved) {
  const auto labels = [&] {
    fs::create_directories(folder_);
    return text_label_output(folder_, false);
  };
  const auto clip = std::make_shared<const Clip>(Clip{"clip", 25});
  run(labels(), {found("a", 1), found("clip_2_000001", 1), found("clip_000000", 1, clip),
                 found("clip_000001", 1, clip)});
  run(labels(), {found("clip_000000", 0, clip)});
  EXPECT_EQ(files(), (Files{"a.txt", "clip_2_000001.txt", "clip_000000.txt"}));
}

}  // namespace
}  // namespace brightnet
