// What the original darknet printed for a network and three pictures, against what `brightnet import` and
// `brightnet detect` say of them by their plain commands.
#include <algorithm>
#include <cmath>

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
  double score = 0, x1 = 0, y1 = 0, x2 = 0, y2 = 0;  ///< in pixels
};

double iou(const Found& a, const Found& b) {
  const double w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1),
               h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const auto area = [](const Found& f) { return (f.x2 - f.x1) * (f.y2 - f.y1); };
  return w * h / (area(a) + area(b) - w * h);
}

/// darknet's boxes reach over the picture's border; ours end there.
Found of_darknet(const Json& object, double width, double height) {
  const Json& box = object.at("relative_coordinates");
  const double x = box.at("center_x"), y = box.at("center_y"), w = box.at("width"), h = box.at("height");
  return {object.at("class_id"),
          object.at("confidence"),
          std::clamp((x - w / 2) * width, 0.0, width),
          std::clamp((y - h / 2) * height, 0.0, height),
          std::clamp((x + w / 2) * width, 0.0, width),
          std::clamp((y + h / 2) * height, 0.0, height)};
}

Found of_ours(const Json& detection) {
  const auto box = detection.at("box").get<std::vector<double>>();
  return {detection.at("class"), detection.at("score"), box.at(0), box.at(1), box.at(2), box.at(3)};
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

TEST(DarknetGolden, TheOriginalsDetectionsAreOurs) {
  const fs::path golden = source_dir() / "../shared/golden";
  if (!fs::exists(golden)) GTEST_SKIP() << "darknet's own detections are not in ../shared";
  const fs::path folder = fs::path(::testing::TempDir()) / "darknet_golden";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const auto in_golden = [&](const std::string& name) { return fs::absolute(golden / name).string(); };
  const auto imported =
      run_program({"import", "--cfg", in_golden("tiny-half.cfg"), "--weights", in_golden("tiny-half.weights"),
                   "--names", in_golden("obj.names"), "--out", "model.yaml"},
                  folder);
  ASSERT_EQ(imported.code, 0) << imported.err;
  size_t compared = 0;
  for (const Json& image : Json::parse(read_file(golden / "tiny-half.json"))) {
    const std::string name = image.at("filename");
    SCOPED_TRACE(name);
    const auto detected = run_program({"detect", "--weights", "model.safetensors", "--source",
                                       in_golden(name), "--conf", "0.1", "--device", "cpu", "--json", "-"},
                                      folder);
    ASSERT_EQ(detected.code, 0) << detected.err;
    const Json ours_json = Json::parse(detected.out).at(0);
    std::vector<Found> ours, theirs;
    for (const Json& detection : ours_json.at("detections")) ours.push_back(of_ours(detection));
    for (const Json& object : image.at("objects"))
      theirs.push_back(of_darknet(object, ours_json.at("width"), ours_json.at("height")));
    EXPECT_EQ(ours.size(), theirs.size());
    expect_each(theirs, ours, "darknet's, not ours");
    expect_each(ours, theirs, "ours, not darknet's");
    compared += theirs.size();
  }
  EXPECT_GT(compared, 500u);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace brightnet::testing
