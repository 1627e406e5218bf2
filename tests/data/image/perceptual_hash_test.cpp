#include "data/image/perceptual_hash.h"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "data/formats/read.h"
#include "data/split/contents.h"
#include "tests/data/pictures.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr int drawn_pictures = 24;

cv::Mat encoded_again(const cv::Mat& rgb, int quality) {
  cv::Mat out;
  cv::cvtColor(cv::imdecode(jpeg_of(rgb, quality), cv::IMREAD_COLOR), out, cv::COLOR_BGR2RGB);
  return out;
}

TEST(PerceptualHash, ChangesLittleWhereThePictureIsTheSame) {
  for (int seed = 0; seed < drawn_pictures; ++seed) {
    const cv::Mat image = picture(seed, 320, 240);
    const uint64_t hash = perceptual_hash(image);
    const auto distance = [&](const cv::Mat& other) { return std::popcount(hash ^ perceptual_hash(other)); };
    EXPECT_LE(distance(encoded_again(image, 60)), 3) << seed;
    EXPECT_LE(distance(halved(image)), 3) << seed;
    EXPECT_LE(distance(encoded_again(halved(image), 60)), 3) << seed;
    EXPECT_LE(distance(image * 0.8 + cv::Scalar::all(15)), 3) << seed;
    EXPECT_LE(distance(image(cv::Rect(4, 3, 313, 235))), similar_bits) << seed;  // about 1 % on each side
  }
}

TEST(PerceptualHash, IsFarForAnotherPicture) {
  for (int a = 0; a < drawn_pictures; ++a) {
    for (int b = 0; b < a; ++b)
      EXPECT_GT(std::popcount(perceptual_hash(picture(a)) ^ perceptual_hash(picture(b))), similar_bits)
          << a << ' ' << b;
  }
}

TEST(PerceptualHash, IsTheSignsOfTheLowestFrequencies) {
  using Frequency = std::tuple<int, int, int>;  // x² + y², y, x
  std::set<Frequency> order;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) order.insert({x * x + y * y, y, x});
  }
  for (int seed = 0; seed < 8; ++seed) {
    const cv::Mat image = picture(seed, 32, 32);
    cv::Mat grey, frequencies;
    cv::cvtColor(image, grey, cv::COLOR_RGB2GRAY);
    grey.convertTo(grey, CV_64F);
    cv::dct(grey, frequencies);
    uint64_t expected = 0;
    auto at = std::next(order.begin());  // without the mean
    for (int bit = 0; bit < 64; ++bit, ++at)
      expected = expected << 1 | (frequencies.at<double>(std::get<1>(*at), std::get<2>(*at)) > 0 ? 1 : 0);
    EXPECT_EQ(perceptual_hash(image), expected) << seed;
  }
}

TEST(PerceptualHash, OfAnEmptyPictureHasNoSignByChance) {
  for (const int grey : {0, 77, 114, 255})
    EXPECT_EQ(perceptual_hash(cv::Mat(90, 130, CV_8UC3, cv::Scalar::all(grey))), 0u) << grey;
}

// What a real set must end in: groups of several images, by the stems of their names.
void expect_groups(const std::string& name, const std::string& images, size_t count,
                   const std::set<std::set<std::string>>& expected) {
  const fs::path folder = testing::source_dir() / "../shared" / name;
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no data set in ../shared/" << name;
  std::vector<ImageRecord> records;
  for (const auto& entry : fs::recursive_directory_iterator(folder / images)) {
    if (!entry.is_regular_file()) continue;
    ImageRecord record;
    record.file = entry.path();
    records.push_back(record);
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.file < b.file; });
  ASSERT_EQ(records.size(), count);
  const std::vector<size_t> groups = content_groups(image_contents(records), true);
  std::map<size_t, std::set<std::string>> members;
  for (size_t i = 0; i < groups.size(); ++i) members[groups[i]].insert(records[i].file.stem().string());
  std::set<std::set<std::string>> found;
  for (const auto& [group, names] : members) {
    if (names.size() > 1) found.insert(names);
  }
  EXPECT_EQ(found, expected);
}

// One field of a smear taken twice. All others are different fields, as alike as they are.
TEST(PerceptualHash, FindsTheOnePairOfBloodSmears) {
  expect_groups("bccd", "JPEGImages", 292, {{"BloodImage_00037", "BloodImage_00038"}});
}

// The same file under two names, and a photograph that was edited.
TEST(PerceptualHash, FindsTwoPairsOfKangaroos) {
  expect_groups("kangaroo", "JPEGImages", 164, {{"00007", "00033"}, {"00101", "00118"}});
}

}  // namespace
}  // namespace brightnet
