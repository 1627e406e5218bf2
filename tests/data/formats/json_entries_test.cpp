// Files of labels that list an image several times.
#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

TEST(JsonEntries, OfOneFileAreOneImageWithTheBoxesOfAll) {
  const DatasetFolder data;
  for (const char* name : {"a.jpg", "b.jpg"}) data.image(name);
  const auto expect_joined = [&](const std::string& format, const std::string& text) {
    data.text("all.json", text);
    const Dataset dataset = read_dataset(data.options(format, "all.json", {"cat"}), Split::train);
    ASSERT_EQ(dataset.images.size(), 2u) << format;
    EXPECT_EQ(dataset.images[0].annotations.size(), 2u) << format;
    EXPECT_EQ(dataset.images[1].annotations.size(), 1u) << format;
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(dataset.images[i].id, static_cast<int64_t>(i)) << format;
  };
  const auto joined = [](const char* before, const std::string& first, const std::string& second,
                         const std::string& third,
                         const char* after) { return before + first + ", " + second + ", " + third + after; };
  const auto createml = [](const char* name, int x) {
    return R"({"image": ")" + std::string(name) +
           R"(", "annotations": [{"label": "cat", "coordinates": {"x": )" + std::to_string(x) +
           R"(, "y": 40, "width": 20, "height": 10}}]})";
  };
  const auto via = [](const char* name, int x) {
    return '"' + std::to_string(x) + R"(": {"filename": ")" + name +
           R"(", "regions": [{"shape_attributes": {"name": "rect", "x": )" + std::to_string(x) +
           R"(, "y": 20, "width": 5, "height": 6}, "region_attributes": {"class": "cat"}}]})";
  };
  const auto datumaro = [](const char* name, int x) {
    return R"({"id": "x", "image": {"path": ")" + std::string(name) +
           R"("}, "annotations": [{"type": "bbox", "label_id": 0, "bbox": [)" + std::to_string(x) +
           R"(, 20, 5, 6]}]})";
  };
  expect_joined("createml",
                joined("[", createml("a.jpg", 20), createml("b.jpg", 20), createml("a.jpg", 60), "]"));
  expect_joined("via", joined("{", via("a.jpg", 20), via("b.jpg", 30), via("a.jpg", 60), "}"));
  expect_joined("datumaro",
                joined(R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [)",
                       datumaro("a.jpg", 20), datumaro("b.jpg", 20), datumaro("a.jpg", 60), "]}"));
}

}  // namespace
}  // namespace brightnet
