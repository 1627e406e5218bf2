#include "data/split/divide.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "core/random.h"

namespace brightnet {
namespace {

struct Data {
  Dataset dataset;
  std::vector<ImageContent> contents;

  /// An image with so many boxes of each class; the same `content` has the same bytes.
  void add(uint64_t content, const std::vector<int>& boxes) {
    ImageRecord image;
    for (size_t c = 0; c < boxes.size(); ++c) {
      for (int i = 0; i < boxes[c]; ++i) {
        Annotation a;
        a.class_id = static_cast<int>(c);
        image.annotations.push_back(a);
      }
    }
    dataset.images.push_back(image);
    Random random(content, Purpose::test);
    const uint64_t bytes = uint64_t{random()} << 32 | random();
    contents.push_back({bytes, uint64_t{random()} << 32 | random()});
  }
};

// A class in all images, one in some, a rare one, and images without objects.
Data mixed(int images) {
  Data data;
  data.dataset.classes = {"common", "some", "rare"};
  Random random(5, Purpose::test);
  for (int i = 0; i < images; ++i) {
    const int kind = static_cast<int>(random.below(100));
    if (kind < 10) {
      data.add(i, {0, 0, 0});
    } else {
      data.add(i, {1 + static_cast<int>(random.below(12)),
                   kind < 50 ? 1 + static_cast<int>(random.below(3)) : 0, kind < 15 ? 1 : 0});
    }
  }
  return data;
}

std::vector<double> shares(const Data& data, const Division& division, size_t parts, int class_id) {
  std::vector<double> boxes(parts);
  for (size_t i = 0; i < division.part.size(); ++i) {
    for (const Annotation& a : data.dataset.images[i].annotations)
      boxes[division.part[i]] += class_id < 0 || a.class_id == class_id;
  }
  const double all = std::accumulate(boxes.begin(), boxes.end(), 0.0);
  for (double& count : boxes) count /= all;
  return boxes;
}

TEST(Divide, EveryClassAndTheImagesWithoutObjectsHaveTheirShares) {
  const Data data = mixed(600);
  const std::vector<double> wanted{0.8, 0.1, 0.1};
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const Division division = divide(data.dataset, data.contents, {.shares = wanted, .seed = seed});
    for (int c = 0; c < 3; ++c) {
      const auto found = shares(data, division, 3, c);
      for (size_t s = 0; s < 3; ++s)
        EXPECT_NEAR(found[s], wanted[s], c == 2 ? 0.05 : 0.01) << seed << ' ' << c;
    }
    for (size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR(std::count(division.part.begin(), division.part.end(), s), 600 * wanted[s], 10) << seed;
      int background = 0;
      for (size_t i = 0; i < 600; ++i)
        background += division.part[i] == s && data.dataset.images[i].annotations.empty();
      EXPECT_GT(background, 0) << seed;
    }
  }
}

TEST(Divide, ManyClassesOfFewImagesAreNotAllRoundedTheSameWay) {
  Data data;
  for (int c = 0; c < 40; ++c) {
    data.dataset.classes.push_back(std::to_string(c));
    std::vector<int> boxes(40);
    boxes[c] = 1;
    for (int i = 0; i < 3; ++i) data.add(3 * c + i, boxes);
  }
  const Division division = divide(data.dataset, data.contents, {.shares = {0.8, 0.1, 0.1}});
  EXPECT_NEAR(std::count(division.part.begin(), division.part.end(), 0u), 96, 3);
  EXPECT_NEAR(std::count(division.part.begin(), division.part.end(), 1u), 12, 3);
  EXPECT_NEAR(std::count(division.part.begin(), division.part.end(), 2u), 12, 3);
}

TEST(Divide, TheSameContentsAreInOnePart) {
  Data data;
  data.dataset.classes = {"x"};
  for (int i = 0; i < 200; ++i) data.add(i / 4, {1});
  const Division division = divide(data.dataset, data.contents, {.shares = {0.5, 0.5}});
  for (size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(division.group[i], i / 4);
    EXPECT_EQ(division.part[i], division.part[i / 4 * 4]);
  }
  EXPECT_EQ(std::count(division.part.begin(), division.part.end(), 0u), 100);
}

TEST(Divide, NeitherTheOrderNorTheNamesOfFilesMatter) {
  const Data data = mixed(100);
  Data turned = data;
  std::reverse(turned.dataset.images.begin(), turned.dataset.images.end());
  std::reverse(turned.contents.begin(), turned.contents.end());
  for (ImageRecord& image : turned.dataset.images)
    image.file = "elsewhere/" + std::to_string(image.id) + ".jpg";
  const DivideOptions options{.shares = {0.7, 0.2, 0.1}, .seed = 3};
  const auto before = divide(data.dataset, data.contents, options).part;
  auto after = divide(turned.dataset, turned.contents, options).part;
  std::reverse(after.begin(), after.end());
  EXPECT_EQ(after, before);
}

TEST(Divide, ANewImageMovesOnlyFewOthers) {
  Data data = mixed(400);
  const DivideOptions options{.shares = {0.8, 0.1, 0.1}};
  const auto before = divide(data.dataset, data.contents, options).part;
  int moved_by_all = 0;
  for (int added = 0; added < 10; ++added) {
    Data more = data;
    more.add(1000 + added, {3, 1, added % 2});
    const auto after = divide(more.dataset, more.contents, options).part;
    int moved = 0;
    for (size_t i = 0; i < before.size(); ++i) moved += after[i] != before[i];
    EXPECT_LE(moved, 15) << added;
    moved_by_all += moved;
  }
  EXPECT_LE(moved_by_all, 50);
}

TEST(Divide, AnotherSeedIsAnotherDivision) {
  const Data data = mixed(200);
  const auto one = divide(data.dataset, data.contents, {.shares = {0.5, 0.5}, .seed = 1}).part;
  const auto other = divide(data.dataset, data.contents, {.shares = {0.5, 0.5}, .seed = 2}).part;
  EXPECT_EQ(one, divide(data.dataset, data.contents, {.shares = {0.5, 0.5}, .seed = 1}).part);
  EXPECT_NE(one, other);
}

TEST(Divide, AGroupThatIsLargerThanASplitLeavesImagesForAll) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Data data;
    data.dataset.classes = {"x"};
    for (int i = 0; i < 20; ++i) data.add(i < 10 ? 0 : i, {1});
    const auto part = divide(data.dataset, data.contents, {.shares = {0.8, 0.1, 0.1}, .seed = seed}).part;
    EXPECT_EQ(part[0], 0u);
    for (const size_t split : {1u, 2u}) EXPECT_EQ(std::count(part.begin(), part.end(), split), 2) << seed;
  }
}

TEST(Divide, AClassOfOneImageIsTrainedOn) {
  for (uint64_t content = 0; content < 20; ++content) {
    Data data;
    data.dataset.classes = {"x", "single"};
    for (int i = 0; i < 30; ++i) data.add(100 + i, {1, 0});
    data.add(content, {1, 1});
    EXPECT_EQ(divide(data.dataset, data.contents, {.shares = {0.6, 0.2, 0.2}}).part.back(), 0u);
  }
}

}  // namespace
}  // namespace brightnet
