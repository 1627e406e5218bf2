// The boxes of --coco-json beside --coco-ids: in the pixels that the annotations refer to.
#include <gtest/gtest.h>
#include <opencv2/imgproc.hpp>

#include "core/files.h"
#include "core/json.h"
#include "detect/outputs/output.h"
#include "tests/data/dataset_files.h"
#include "tests/logged.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

FoundObjects found_in(const fs::path& file, const cv::Rect& box) {
  FoundObjects found;
  found.frame.file = file.string();
  found.frame.image = read_image(file);
  found.boxes = {{static_cast<float>(box.x), static_cast<float>(box.y), static_cast<float>(box.br().x),
                  static_cast<float>(box.br().y), 0, 0.5f}};
  return found;
}

/// Images that annotations know, and what --coco-json has of them.
class CocoResults : public ::testing::Test {
 protected:
  /// `image`: the members of an image beside its id, such as "\"width\": 100".
  void annotate(const std::string& name, const std::string& image) {
    images_ += (images_.empty() ? "" : ", ") + ("{\"file_name\": \"" + name + "\", \"id\": ") +
               std::to_string(++count_) + image + '}';
  }

  Json results(const std::vector<FoundObjects>& all) const {
    data_.text("ids.json", "{\"images\": [" + images_ + R"(], "categories": [{"id": 1, "name": "dog"}]})");
    const fs::path file = data_.root() / "results.json";
    const auto output = coco_json_output(file.string(), CocoIds(data_.root() / "ids.json", {"dog"}));
    for (const FoundObjects& found : all) output->add(found);
    output->finish();
    Json written = Json::parse(read_file(file));
    EXPECT_EQ(written.size(), all.size());
    return written;
  }

  DatasetFolder data_;
  testing::Logged logged_;

 private:
  std::string images_;
  int count_ = 0;
};

constexpr const char* size_as_stored = R"(, "width": 100, "height": 80)";

TEST_F(CocoResults, BoxesAreInTheStoredPixelsWhereAnImageIsAnnotatedInThem) {
  const cv::Rect stored(10, 20, 30, 15);
  cv::Mat drawn(80, 100, CV_8U, cv::Scalar(0));
  drawn(stored).setTo(255);
  std::vector<FoundObjects> all;
  for (const uint8_t orientation : {5, 6, 7, 8}) {
    const std::string name = std::to_string(orientation) + ".jpg";
    data_.bytes(name, DatasetFolder::rotated_jpeg(100, 80, orientation));
    annotate(name, size_as_stored);
    all.push_back(found_in(data_.root() / name, cv::boundingRect(upright(drawn, orientation))));
    ASSERT_EQ(all.back().frame.image.size(), cv::Size(80, 100));
  }
  for (const Json& result : results(all))
    EXPECT_EQ(result["bbox"].dump(), "[10.0,20.0,30.0,15.0]") << result["image_id"];
  EXPECT_EQ(logged_.text(),
            "4 images are annotated without their EXIF orientation: the boxes of --coco-json are in "
            "the stored pixels too.\n");
}

TEST_F(CocoResults, ImagesOfAnotherSizeThanIsAnnotatedAreNamedOnce) {
  const cv::Rect box(10, 20, 30, 15);
  std::vector<FoundObjects> all;
  for (const char* name : {"swapped.png", "smaller.png"}) {
    data_.image(name, 80, 100);
    annotate(name, name == std::string("swapped.png") ? size_as_stored : R"(, "width": 160, "height": 200)");
    all.push_back(found_in(data_.root() / name, box));
  }
  for (const Json& result : results(all)) EXPECT_EQ(result["bbox"].dump(), "[10.0,20.0,30.0,15.0]");
  EXPECT_EQ(
      logged_.text(),
      "2 images have another size than their annotations state, first " +
          (data_.root() / "swapped.png").string() +
          " (80x100 instead of 100x80): boxes are in the pixels of the image as it is. Give --source the images "
          "that were annotated.\n");
}

TEST_F(CocoResults, NothingIsTurnedWhereAnnotationsStateTheShownSizeOrNone) {
  const cv::Rect box(10, 20, 30, 15);
  std::vector<FoundObjects> all;
  for (const auto& [name, size] :
       {std::pair("shown.jpg", R"(, "width": 80, "height": 100)"), {"unknown.jpg", ""}}) {
    data_.bytes(name, DatasetFolder::rotated_jpeg(100, 80, 6));
    annotate(name, size);
    all.push_back(found_in(data_.root() / name, box));
  }
  for (const Json& result : results(all)) EXPECT_EQ(result["bbox"].dump(), "[10.0,20.0,30.0,15.0]");
  EXPECT_EQ(logged_.text(), "");
}

}  // namespace
}  // namespace brightnet
