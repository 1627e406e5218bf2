// What the original darknet printed for a network and three pictures, against what `brightnet import` and
// `brightnet detect` say of them by their plain commands.
#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Found {
  int class_id = 0;
  double score = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0;  ///< as fractions of the picture, over its border too
};

double iou(const Found& a, const Found& b) {
  const double w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
               h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Found& f) { return (f.x2 - f.x1) * (f.y2 - f.y1); };
  return w * h / (area(a) + area(b) - w * h);
}

std::vector<Found> found_in(const Json& image) {
  std::vector<Found> all;
  for (const Json& object : image.at("objects")) {
    const Json& box = object.at("relative_coordinates");
    const double x = box.at("center_x"), y = box.at("center_y"), w = box.at("width"), h = box.at("height");
    all.push_back(
        {object.at("class_id"), object.at("confidence"), x - w / 2, y - h / 2, x + w / 2, y + h / 2});
  }
  return all;
}

/// Every one of `some` has its like among `others`.
void expect_each(const std::vector<Found>& some, const std::vector<Found>& others, const char* what) {
  for (const Found& a : some) {
    const bool matched = std::any_of(others.begin(), others.end(), [&](const Found& b) {
      return a.class_id == b.class_id && std::abs(a.score - b.score) <= 0.005 && iou(a, b) >= 0.99;
    });
    EXPECT_TRUE(matched) << what << ": class " << a.class_id << ", score " << a.score;
  }
}

/// A folder with darknet's files, and its own answer.
class DarknetGolden : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(golden_)) GTEST_SKIP() << "darknet's own detections are not in ../shared";
    folder_ =
        fs::path(::testing::TempDir()) /
        ("darknet_golden_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    darknets_ = Json::parse(read_file(golden_ / "tiny-half.json"));
    std::string list;
    for (const Json& image : darknets_) list += in_golden(image.at("filename")) + '\n';
    write_atomically(folder_ / "list.txt", list);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in_golden(const std::string& name) const { return fs::absolute(golden_ / name).string(); }

  void expect_darknets_detections(std::vector<std::string> weights) const {
    weights.insert(weights.begin(), {"detect", "--source", "list.txt", "--conf", "0.1", "--device", "cpu",
                                     "--darknet-json", "result.json"});
    const ProgramResult detected = run_program(weights, folder_);
    ASSERT_EQ(detected.code, 0) << detected.err;
    const Json ours = Json::parse(read_file(folder_ / "result.json"));
    ASSERT_EQ(ours.size(), darknets_.size());
    size_t compared = 0;
    for (size_t i = 0; i < ours.size(); ++i) {
      SCOPED_TRACE(darknets_[i].at("filename"));
      EXPECT_EQ(ours[i].at("frame_id"), darknets_[i].at("frame_id"));
      EXPECT_EQ(fs::path(ours[i].at("filename").get<std::string>()).filename().string(),
                darknets_[i].at("filename").get<std::string>());
      EXPECT_EQ(names_by_class(ours[i]), names_by_class(darknets_[i]));
      const std::vector<Found> here = found_in(ours[i]), there = found_in(darknets_[i]);
      EXPECT_EQ(here.size(), there.size());
      expect_each(there, here, "darknet's, not ours");
      expect_each(here, there, "ours, not darknet's");
      compared += there.size();
    }
    EXPECT_GT(compared, 500u);
  }

  static std::map<int, std::string> names_by_class(const Json& image) {
    std::map<int, std::string> names;
    for (const Json& object : image.at("objects")) names[object.at("class_id")] = object.at("name");
    return names;
  }

  const fs::path golden_ = source_dir() / "../shared/golden";
  fs::path folder_;
  Json darknets_;
};

TEST_F(DarknetGolden, TheOriginalsDetectionsAreOursAfterAnImport) {
  const auto imported =
      run_program({"import", "--cfg", in_golden("tiny-half.cfg"), "--weights", in_golden("tiny-half.weights"),
                   "--names", in_golden("obj.names"), "--out", "model.yaml"},
                  folder_);
  ASSERT_EQ(imported.code, 0) << imported.err;
  expect_darknets_detections({"--weights", "model.safetensors"});
}

TEST_F(DarknetGolden, TheOriginalsDetectionsAreOursByDarknetsFilesAlone) {
  expect_darknets_detections({"--weights", in_golden("tiny-half.weights"), "--cfg",
                              in_golden("tiny-half.cfg"), "--names", in_golden("obj.names")});
}

TEST_F(DarknetGolden, WhatIsImportedAndExportedIsTheSameFile) {
  const auto run = [&](const std::vector<std::string>& words) {
    const ProgramResult result = run_program(words, folder_);
    ASSERT_EQ(result.code, 0) << result.err;
  };
  run({"import", "--cfg", in_golden("tiny-half.cfg"), "--weights", in_golden("tiny-half.weights"), "--names",
       in_golden("obj.names"), "--out", "first.yaml"});
  run({"export", "--weights", "first.safetensors", "--format", "darknet", "--out", "again"});
  EXPECT_TRUE(read_file(folder_ / "again.weights") == read_file(golden_ / "tiny-half.weights"));
  run({"import", "--cfg", "again.cfg", "--weights", "again.weights", "--names", "again.names", "--out",
       "second.yaml"});
  run({"export", "--weights", "second.safetensors", "--format", "darknet", "--out", "third"});
  for (const char* kind : {".cfg", ".weights", ".names"})
    EXPECT_TRUE(read_file(folder_ / (std::string("third") + kind)) ==
                read_file(folder_ / (std::string("again") + kind)))
        << kind;
}

}  // namespace
}  // namespace brightnet::testing
