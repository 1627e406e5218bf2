#include "data/commands/stats.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

Annotation box(float width, float height, int class_id) {
  Annotation a;
  a.x2 = width;
  a.y2 = height;
  a.class_id = class_id;
  a.area = width * height;
  return a;
}

Dataset example() {
  Dataset dataset;
  dataset.classes = {"cat", "dog", "never"};
  ImageRecord image;
  image.width = 200;
  image.height = 100;
  image.annotations = {box(31, 33, 0), box(32, 32, 0), box(95, 97, 1), box(96, 96, 1)};
  image.annotations[1].crowd = true;
  image.annotations[3].difficult = true;
  dataset.images.push_back(image);
  image.width = 400;
  image.height = 300;
  image.annotations = {box(300, 200, 1)};
  dataset.images.push_back(image);
  image.annotations.clear();
  dataset.images.push_back(image);
  return dataset;
}

TEST(Stats, PercentilesInterpolateBetweenRanks) {
  const Percentiles p =
      percentiles({40, 10, 20, 30, 50});  // numpy.percentile(…, [0, 5, 25, 50, 75, 95, 100])
  const double expected[] = {10, 12, 20, 30, 40, 48, 50};
  for (size_t i = 0; i < 7; ++i) EXPECT_DOUBLE_EQ(p.values[i], expected[i]);
  for (const double value : percentiles({7}).values) EXPECT_EQ(value, 7);
  for (const double value : percentiles({}).values) EXPECT_EQ(value, 0);
}

TEST(Stats, CountsAreThoseOfTheDataSet) {
  const DatasetStats stats = dataset_stats(example());
  EXPECT_EQ(stats.images, 3u);
  EXPECT_EQ(stats.background, 1u);
  EXPECT_EQ(stats.boxes, 5u);
  EXPECT_EQ(stats.crowds, 1u);
  EXPECT_EQ(stats.difficult, 1u);
  EXPECT_EQ(stats.small, 1u);   // 31 x 33
  EXPECT_EQ(stats.medium, 2u);  // 32 x 32 is the first that is not small, 95 x 97 the last that is not large
  EXPECT_EQ(stats.large, 2u);
  EXPECT_EQ(stats.classes[0].boxes, 2u);
  EXPECT_EQ(stats.classes[0].images, 1u);
  EXPECT_EQ(stats.classes[1].boxes, 3u);
  EXPECT_EQ(stats.classes[1].images, 2u);
  EXPECT_EQ(stats.classes[2].boxes, 0u);
  EXPECT_DOUBLE_EQ(stats.box_width.values[6], 300);
  EXPECT_DOUBLE_EQ(stats.box_height.values[3], 96);
  EXPECT_NEAR(stats.box_share.values[6], std::sqrt(0.5), 1e-9);
  EXPECT_DOUBLE_EQ(stats.boxes_per_image.values[6], 4);
}

TEST(Stats, OfManyClassesTheTextListsTheFirstAndCountsTheOthers) {
  DatasetStats stats;
  for (int i = 0; i < 10'000; ++i) stats.classes.push_back({"class" + std::to_string(i)});
  const std::string text = stats.text();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 120);
  EXPECT_NE(text.find("\nclass99 "), std::string::npos);
  EXPECT_NE(text.find("… and 9900 more classes"), std::string::npos) << text;
  EXPECT_EQ(stats.json()["classes"].size(), 10'000u);
}

TEST(Stats, TextAndJsonSayTheSame) {
  const DatasetStats stats = dataset_stats(example());
  const auto json = stats.json();
  const auto expected = nlohmann::json::parse(R"({"images": 3, "background": 1, "boxes": 5, "crowds": 1,
      "difficult": 1, "small": 1, "medium": 2, "large": 2})");
  for (const auto& [key, value] : expected.items()) EXPECT_EQ(json[key], value) << key;
  EXPECT_EQ(json["classes"][1], nlohmann::json::parse(R"({"name": "dog", "boxes": 3, "images": 2})"));
  EXPECT_EQ(json["classes"].size(), 3u);
  const std::pair<const char*, const Percentiles*> percentiles[] = {
      {"image_width", &stats.image_width}, {"image_height", &stats.image_height},
      {"box_width", &stats.box_width},     {"box_height", &stats.box_height},
      {"box_share", &stats.box_share},     {"boxes_per_image", &stats.boxes_per_image}};
  for (const auto& [key, values] : percentiles) {
    ASSERT_EQ(json[key].size(), 7u) << key;
    for (size_t i = 0; i < 7; ++i)
      EXPECT_EQ(json[key]["p" + std::to_string(Percentiles::ranks[i])], values->values[i]) << key;
  }
  EXPECT_EQ(json.size(), expected.size() + 7) << json;
  EXPECT_EQ(json["image_width"]["p100"], 400);
  EXPECT_TRUE(
      contains(stats.text(), "3 images (1 without objects), 5 boxes, 1 of them crowds, 1 of them difficult"));
  EXPECT_TRUE(contains(stats.text(), "1 small (area below 32² pixels), 2 medium (below 96²), 2 large"));
  EXPECT_NO_THROW(dataset_stats(Dataset{}).text());
}

TEST(Stats, EachRowOfTheTextHasItsOwnPercentiles) {
  const std::string expected =
      "percentile                    0        5       25       50       75       95      100\n"
      "image width                 200      220      300      400      400      400      400\n"
      "image height                100      120      200      300      300      300      300\n"
      "box width                    31     31.2       32       95       96    259.2      300\n"
      "box height                   32     32.2       33       96       97    179.4      200\n";
  EXPECT_TRUE(contains(dataset_stats(example()).text(), expected)) << dataset_stats(example()).text();
}

}  // namespace
}  // namespace brightnet
