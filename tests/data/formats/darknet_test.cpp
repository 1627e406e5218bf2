#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

// The layout that darknet's own instructions make.
void write_darknet_data(const DatasetFolder& data) {
  data.image("data/obj/a.jpg");
  data.image("data/obj/b.JPG");
  data.text("data/obj/a.txt", "1 0.5 0.5 0.2 0.2\n");
  data.text("data/obj/b.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("data/train.txt", "data/obj/a.jpg\r\n");
  data.text("data/test.txt", "data/obj/b.JPG\r\n");
  data.text("data/obj.names", "cat\r\nbig dog\r\n\r\n");
  data.text("data/obj.data",
            "classes = 2\r\ntrain  = data/train.txt\r\nvalid = data/test.txt\r\nnames=data/obj.names\r\n"
            "backup = backup/\r\n");
}

TEST(Darknet, ObjDataLeadsToBothSplitsAndTheNames) {
  const DatasetFolder data;
  write_darknet_data(data);
  for (const char* val : {"", "data/obj.data", "data/test.txt"}) {
    const DataOptions options = data.options("darknet", "data/obj.data", {}, val);
    const Dataset train = read_dataset(options, Split::train);
    EXPECT_EQ(train.classes, (std::vector<std::string>{"cat", "big dog"}));
    ASSERT_EQ(train.images.size(), 1u);
    expect_box(train.images[0].annotations.at(0), 1, 40, 32, 60, 48);
    const Dataset valid = read_dataset(options, Split::val);
    EXPECT_EQ(valid.classes, train.classes);
    ASSERT_EQ(valid.images.size(), 1u);
    EXPECT_EQ(valid.images[0].file.filename(), "b.JPG");
    expect_box(valid.images[0].annotations.at(0), 0, 40, 32, 60, 48);
  }
}

TEST(Darknet, ObjDataMayNameATestSplit) {
  const DatasetFolder data;
  write_darknet_data(data);
  DataOptions options = data.options("darknet", "data/obj.data", {});
  EXPECT_EQ(given_splits(options), (std::vector{Split::train, Split::val}));
  EXPECT_TRUE(contains(message(options, Split::test), "data.test is not set"));
  data.text("data/unseen.txt", "data/obj/a.jpg\n");
  data.text(
      "data/obj.data",
      "classes=2\ntrain=data/train.txt\nvalid=data/test.txt\ntest=data/unseen.txt\nnames=data/obj.names\n");
  EXPECT_EQ(given_splits(options), (std::vector{Split::train, Split::val, Split::test}));
  const Dataset test = read_dataset(options, Split::test);
  ASSERT_EQ(test.images.size(), 1u);
  EXPECT_EQ(test.images[0].file.filename(), "a.jpg");
  EXPECT_EQ(test.classes, (std::vector<std::string>{"cat", "big dog"}));
  options.test = "data/test.txt";
  EXPECT_EQ(read_dataset(options, Split::test).images[0].file.filename(), "b.JPG");
}

TEST(Darknet, LabelsReplaceTheFolderOfImagesAndOfJPEGImages) {
  const DatasetFolder data;
  for (const char* folder : {"images", "JPEGImages"}) {
    data.image(std::string("set/") + folder + "/train/" + folder + ".jpg");
    data.text(std::string("set/labels/train/") + folder + ".txt", "0 0.5 0.5 0.2 0.2\n");
  }
  data.text("train.txt", "set/images/train/images.jpg\nset/JPEGImages/train/JPEGImages.jpg\n");
  const Dataset dataset = read_dataset(data.options("darknet", "train.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
}

TEST(Darknet, WhatIsWrongInObjDataIsNamedWithItsLine) {
  const DatasetFolder data;
  write_darknet_data(data);
  const DataOptions options = data.options("darknet", "data/obj.data", {});
  data.text("data/obj.data", "classes=3\ntrain=data/train.txt\nnames=data/obj.names\n");
  EXPECT_TRUE(contains(message(options), "obj.data:1: 'classes' is 3, but there are 2 class names"));
  data.text("data/obj.data", "classes=2\ntrain=data/nowhere.txt\nnames=data/obj.names\n");
  EXPECT_TRUE(contains(message(options), "obj.data:2: 'train' names data/nowhere.txt"));
  data.text("data/obj.data", "classes=2\ntrain=data/train.txt\nnames=data/obj.names\n");
  EXPECT_TRUE(contains(message(options, Split::val), "data.val is not set"));
  EXPECT_EQ(given_splits(options), std::vector{Split::train}) << "CVAT writes no valid where there is none";
  data.text("data/obj.data", "classes=2\ntrain data/train.txt\n");
  EXPECT_TRUE(
      contains(message(options), "obj.data:2: 'train data/train.txt' is not of the form key = value"));
}

TEST(Darknet, CommentsInObjDataBeginWithEitherOfDarknetsSigns) {
  const DatasetFolder data;
  write_darknet_data(data);
  data.text("data/obj.data",
            "# made by hand\nclasses = 2\n; of last May\ntrain = data/train.txt\n;valid = nowhere.txt\n"
            "names = data/obj.names\n");
  const DataOptions options = data.options("darknet", "data/obj.data", {});
  EXPECT_EQ(read_dataset(options, Split::train).images.size(), 1u);
  EXPECT_EQ(given_splits(options), std::vector{Split::train});
}

}  // namespace
}  // namespace brightnet
