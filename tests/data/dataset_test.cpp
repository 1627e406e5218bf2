#include "data/dataset.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Dataset, CountsTheObjectsOfEachClassThatCanBeLearntFrom) {
  Dataset dataset{.images = {}, .classes = {"cat", "dog", "cow"}, .problems = {}};
  EXPECT_EQ(dataset.objects_of_classes(), (std::vector<int64_t>{0, 0, 0}));
  const auto object = [](int class_id, bool crowd = false) {
    Annotation a;
    a.class_id = class_id;
    a.crowd = crowd;
    return a;
  };
  dataset.images.resize(3);
  dataset.images[0].annotations = {object(0), object(2), object(2, true)};
  dataset.images[2].annotations = {object(2), object(2), object(1, true)};
  EXPECT_EQ(dataset.objects_of_classes(), (std::vector<int64_t>{1, 0, 3}));
}

}  // namespace
}  // namespace brightnet
