#include "data/split/contents.h"

#include <gtest/gtest.h>

#include "data/image/perceptual_hash.h"
#include "tests/data/dataset_files.h"
#include "tests/data/pictures.h"

namespace brightnet {
namespace {

using Groups = std::vector<size_t>;

std::vector<ImageRecord> records(const DatasetFolder& data, const std::vector<std::string>& names) {
  std::vector<ImageRecord> out(names.size());
  for (size_t i = 0; i < names.size(); ++i) out[i].file = data.root() / names[i];
  return out;
}

TEST(Contents, ACopyAReencodedAndASmallerPictureAreOneGroup) {
  const DatasetFolder data;
  const cv::Mat image = picture(1, 320, 240);
  data.bytes("a.jpg", jpeg_of(image));
  data.bytes("other/name.jpg", jpeg_of(image));
  data.bytes("quality.jpg", jpeg_of(image, 60));
  data.bytes("half.jpg", jpeg_of(halved(image)));
  data.bytes("different.jpg", jpeg_of(picture(2)));
  const auto contents =
      image_contents(records(data, {"a.jpg", "different.jpg", "other/name.jpg", "quality.jpg", "half.jpg"}));
  EXPECT_EQ(content_groups(contents, true), (Groups{0, 1, 0, 0, 0}));
  EXPECT_EQ(content_groups(contents, false), (Groups{0, 1, 0, 2, 3}));
}

TEST(Contents, WhatLooksLikeAMemberIsOfTheGroup) {
  std::vector<ImageContent> frames(6);
  for (size_t i = 0; i < frames.size(); ++i) frames[i] = {i, (uint64_t{1} << (similar_bits * i)) - 1};
  EXPECT_EQ(content_groups(frames, true), (Groups{0, 0, 0, 0, 0, 0}));
  frames[3].look = ~uint64_t{0};  // the chain is cut
  EXPECT_EQ(content_groups(frames, true), (Groups{0, 0, 0, 1, 2, 2}));
}

TEST(Contents, AnImageThatCannotBeDecodedIsComparedByItsBytes) {
  const DatasetFolder data;
  data.text("a.jpg", "no image");
  data.text("b.jpg", "no image");
  data.text("c.jpg", "another");
  const auto contents = image_contents(records(data, {"a.jpg", "b.jpg", "c.jpg"}));
  EXPECT_FALSE(contents[0].look);
  EXPECT_EQ(content_groups(contents, true), (Groups{0, 0, 1}));
}

}  // namespace
}  // namespace brightnet
