#include "train/run/data_fingerprint.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

Dataset two_images() {
  Dataset data;
  data.classes = {"cat", "dog"};
  data.images.resize(2);
  data.images[0] = {"here/images/a.jpg", 0, 64, 48, {}};
  data.images[1] = {"here/images/b.jpg", 1, 64, 48, {}};
  Annotation box;
  box.x2 = box.y2 = 10;
  data.images[0].annotations = {box};
  return data;
}

std::string change(const std::function<void(Dataset&)>& edit) {
  Dataset data = two_images();
  edit(data);
  return describe_change(fingerprint(two_images()), fingerprint(data));
}

TEST(DataFingerprint, SaysHowManyThereWereAndAre) {
  EXPECT_EQ(change([](Dataset& data) { data.images.pop_back(); }),
            "it had 2 images with 1 objects and now has 1 with 1");
  EXPECT_EQ(change([](Dataset& data) { data.images[0].annotations.clear(); }),
            "it had 2 images with 1 objects and now has 2 with 0");
}

TEST(DataFingerprint, NoticesWhatNumbersDoNotShow) {
  for (const auto& edit : std::vector<std::function<void(Dataset&)>>{
           [](Dataset& data) { data.images[1].file = "here/images/c.jpg"; },
           [](Dataset& data) { data.images[1].width = 63; },
           [](Dataset& data) { data.images[1].height = 47; },
           [](Dataset& data) { data.images[0].annotations[0].x1 = 1; },
           [](Dataset& data) { data.images[0].annotations[0].y1 = 1; },
           [](Dataset& data) { data.images[0].annotations[0].x2 = 9; },
           [](Dataset& data) { data.images[0].annotations[0].y2 = 9; },
           [](Dataset& data) { data.images[0].annotations[0].crowd = true; },
           [](Dataset& data) { data.images[0].annotations[0].difficult = true; },
           [](Dataset& data) { data.images[0].annotations[0].class_id = 1; },
           [](Dataset& data) { std::swap(data.images[0].annotations, data.images[1].annotations); },
           [](Dataset& data) {
             data.classes = {"dog", "cat"};
           }}) {
    EXPECT_NE(change(edit).find("as before, but"), std::string::npos) << change(edit);
  }
}

TEST(DataFingerprint, IsTheSameWhereverTheDataLie) {
  EXPECT_EQ(change([](Dataset& data) {
              data.images[0].file = "/elsewhere/a.jpg";
              data.images[0].annotations[0].x2 = std::nextafter(10.0f, 11.0f);
            }),
            "");
}

}  // namespace
}  // namespace brightnet
