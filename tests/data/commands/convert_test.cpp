#include "data/commands/convert.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "tests/data/dataset_files.h"
#include "tests/data/images_without_endings.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// A data set with what formats differ in: fractions of a pixel, background, two images of one name.
Dataset written(const DatasetFolder& data) {
  data.image("training/image_2/a/1.png");
  data.image("training/image_2/b/1.jpg", 64, 48);
  data.image("training/image_2/c/2.jpg");
  data.text("training/label_2/a/1.txt",
            "Car 0 2 0 10.25 20.5 30.75 40.125 0 0 0 0 0 0 0\n"
            "Van 0 0 0 0 0 99.5 80 0 0 0 0 0 0 0\n");
  data.text("training/label_2/b/1.txt", "Van 0 0 0 3 4 5 6 0 0 0 0 0 0 0\n");
  data.text("training/label_2/c/2.txt", "");
  return read_dataset(data.options("kitti", "training/image_2", {}), Split::train);
}

void expect_same(const Dataset& actual, const Dataset& expected) {
  EXPECT_EQ(actual.classes, expected.classes);
  EXPECT_TRUE(actual.problems.empty()) << summarize(actual.problems);
  ASSERT_EQ(actual.images.size(), expected.images.size());
  for (size_t i = 0; i < actual.images.size(); ++i) {
    EXPECT_EQ(actual.images[i].width, expected.images[i].width);
    ASSERT_EQ(actual.images[i].annotations.size(), expected.images[i].annotations.size()) << i;
    for (size_t k = 0; k < actual.images[i].annotations.size(); ++k) {
      const Annotation& e = expected.images[i].annotations[k];
      expect_box(actual.images[i].annotations[k], e.class_id, e.x1, e.y1, e.x2, e.y2);
    }
  }
}

TEST(Convert, YolosFoldersReadBackAsTheSame) {
  const DatasetFolder data;
  const Dataset dataset = written(data);
  const ConvertOptions options{WrittenFormat::yolo, data.root() / "yolo", false};
  make_empty_folder(options.folder);
  EXPECT_TRUE(contains(convert_split(dataset, Split::train, options), "1 object loses its mark"));
  write_names(dataset.classes, {Split::train}, options);
  EXPECT_TRUE(fs::is_symlink(options.folder / "images/train/1.png"));
  EXPECT_TRUE(fs::exists(options.folder / "labels/train/1_2.txt"));
  DataOptions read = data.options("yolo", "images/train", {});
  read.root = options.folder.string();
  expect_same(read_dataset(read, Split::train), dataset);
}

TEST(Convert, CocosJsonReadsBackAsTheSame) {
  const DatasetFolder data;
  const Dataset dataset = written(data);
  const ConvertOptions options{WrittenFormat::coco, data.root() / "coco", true};
  make_empty_folder(options.folder);
  convert_split(dataset, Split::val, options);
  write_names(dataset.classes, {Split::val}, options);
  EXPECT_FALSE(fs::is_symlink(options.folder / "images/val/1.png"));
  EXPECT_EQ(read_file(options.folder / "images/val/1.png"),
            read_file(data.root() / "training/image_2/a/1.png"));
  DataOptions read =
      data.options("coco", "annotations/instances_val.json", {}, "annotations/instances_val.json");
  read.root = options.folder.string();
  expect_same(read_dataset(read, Split::val), dataset);
  // In one line, as others write it: indented, a large data set would take twice the room.
  const std::string text = read_file(options.folder / "annotations/instances_val.json");
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["categories"],
            nlohmann::json::parse(R"([{"id": 1, "name": "Car"}, {"id": 2, "name": "Van"}])"));
  EXPECT_EQ(json["images"][1],
            nlohmann::json::parse(R"({"id": 2, "file_name": "1_2.jpg", "width": 64, "height": 48})"));
  EXPECT_EQ(json["annotations"].size(), 3u);
  EXPECT_EQ(
      json["annotations"][2],
      nlohmann::json::parse(R"({"id": 3, "image_id": 2, "category_id": 2, "bbox": [3, 4, 2, 2], "area": 4,
                                      "iscrowd": 0})"));
}

// Archives of old programs hold names in Latin-1, of which JSON can write none.
TEST(Convert, ImagesWhoseNamesAreNotUtf8AreKept) {
  const DatasetFolder data;
  int width = 40;
  for (const char* name : {"a_", "a\xE8", "a\xE9", "b\xC3\xA9", "c\xE2\x82", "d\xED\xA0\x80"}) {
    data.image(std::string("images/") + name + ".png", width += 10);
    data.text(std::string("labels/") + name + ".txt", "0 0.5 0.5 0.2 0.2\n");
  }
  const Dataset dataset = read_dataset(data.options("yolo", "images", {"cat"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 6u);
  const ConvertOptions options{WrittenFormat::coco, data.root() / "coco", false};
  make_empty_folder(options.folder);
  convert_split(dataset, Split::train, options);
  DataOptions read = data.options("coco", "annotations/instances_train.json", {});
  read.root = options.folder.string();
  expect_same(read_dataset(read, Split::train), dataset);
  for (const char* name : {"a_", "a__2", "a__3", "b\xC3\xA9", "c__", "d___"})
    EXPECT_TRUE(fs::exists(options.folder / "images/train" / (std::string(name) + ".png"))) << name;
}

TEST(Convert, ImagesWithoutAnImagesEndingGetTheOneByWhichTheyAreFound) {
  const DatasetFolder data;
  const Dataset dataset = read_dataset(write_images_without_endings(data), Split::train);
  ASSERT_EQ(dataset.images.size(), 4u);
  const ConvertOptions yolo{WrittenFormat::yolo, data.root() / "yolo", false},
      coco{WrittenFormat::coco, data.root() / "coco", false};
  convert_split(dataset, Split::train, yolo);
  DataOptions read = data.options("yolo", "images/train", {"cat"});
  read.root = yolo.folder.string();
  expect_same(read_dataset(read, Split::train), dataset);
  for (const char* name : {"000001.jpg", "a.jpg", "a.jpg_large.png", "v1.0.png"})
    EXPECT_TRUE(fs::exists(yolo.folder / "images/train" / name)) << name;
  convert_split(dataset, Split::train, coco);
  EXPECT_TRUE(fs::exists(coco.folder / "images/train/000001")) << "its JSON names the files";
  // PBM, which is read where it is named.
  data.text("images/000001", "P1\n40 30\n" + std::string(40 * 30, '0'));
  try {
    convert_split(dataset, Split::train, {WrittenFormat::yolo, data.root() / "other", false});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "images/000001: the name of this image does not end as an image's"));
  }
}

TEST(Convert, CrowdsHaveNoPlaceInYolosLabels) {
  const DatasetFolder data;
  Dataset dataset = written(data);
  dataset.images[0].annotations[0].crowd = true;
  const ConvertOptions options{WrittenFormat::yolo, data.root() / "yolo", false};
  EXPECT_TRUE(contains(convert_split(dataset, Split::train, options), "1 crowd is left out"));
  EXPECT_EQ(read_file(options.folder / "labels/train/1.txt").substr(0, 2), "1 ");
}

TEST(Convert, WhatIsWrittenDoesNotLieAmongTheImagesThatAreRead) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  const auto refusal = [&](const DataOptions& options, const fs::path& folder) -> std::string {
    try {
      check_outside(options, folder);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  const DataOptions all = data.options("yolo", ".", {}), divided = data.options("yolo", "images", {});
  const fs::path beside = fs::proximate(fs::canonical(data.root()).parent_path() / "yolo");
  EXPECT_TRUE(contains(refusal(all, data.root() / "yolo"), "a folder beside it: --out " + beside.string()));
  EXPECT_FALSE(refusal(all, data.root() / "images/../new/yolo/").empty());
  EXPECT_FALSE(refusal(divided, data.root() / "images/yolo").empty());
  fs::create_directories(data.root() / "images/empty");
  EXPECT_FALSE(refusal(divided, data.root() / "images/empty/").empty());
  EXPECT_EQ(refusal(divided, data.root() / "yolo"), "") << "not among the images";
  EXPECT_EQ(refusal(divided, data.root() / "images2"), "");
  data.text("list.txt", "images/a.jpg\n");
  EXPECT_EQ(refusal(data.options("yolo", "list.txt", {}), data.root() / "yolo"), "");
  data.image("val/b.jpg");
  const DataOptions two = data.options("yolo", "images", {}, "val");
  EXPECT_FALSE(refusal(two, data.root() / "val/yolo").empty()) << "among those of validation";
  EXPECT_EQ(refusal(two, data.root() / "yolo"), "");
}

TEST(Convert, AFolderWithSomethingInItIsLeftAlone) {
  const DatasetFolder data;
  data.text("full/file", "x");
  EXPECT_THROW(make_empty_folder(data.root() / "full"), InputError);
  EXPECT_THROW(make_empty_folder(data.root() / "full/file"), InputError);
  EXPECT_THROW(check_empty_folder(data.root() / "full/file/below"), InputError) << "before anything is read";
  check_empty_folder(data.root() / "new");
  EXPECT_FALSE(fs::exists(data.root() / "new"));
  make_empty_folder(data.root() / "new");
  make_empty_folder(data.root() / "new");
}

TEST(Convert, CocosCrowdsAndAreasStayWhatTheyAre) {
  const DatasetFolder data;
  Dataset dataset = written(data);
  Annotation& crowd = dataset.images[0].annotations[0];
  crowd.crowd = true;
  crowd.area = 123.5f;  // of an outline, in a box of 20.5 × 19.625
  const ConvertOptions options{WrittenFormat::coco, data.root() / "coco", false};
  make_empty_folder(options.folder);
  convert_split(dataset, Split::train, options);
  DataOptions read = data.options("coco", "annotations/instances_train.json", {});
  read.root = options.folder.string();
  const Dataset again = read_dataset(read, Split::train);
  expect_same(again, dataset);
  EXPECT_TRUE(again.images[0].annotations[0].crowd);
  EXPECT_EQ(again.images[0].annotations[0].area, 123.5f);
  EXPECT_FALSE(again.images[0].annotations[1].crowd);
  EXPECT_EQ(again.images[0].annotations[1].area, 99.5f * 80);
}

// Other readers of YAML take a bare no for false, and a bare 1 for a number.
TEST(Convert, NamesOfClassesAreTextsForEveryReaderOfYaml) {
  const DatasetFolder data;
  write_names({"no", "1", "car"}, {Split::train}, ConvertOptions{WrittenFormat::yolo, data.root(), false});
  const std::string text = read_file(data.root() / "data.yaml");
  for (const char* name : {"\"no\"", "\"1\"", "\"car\""}) EXPECT_TRUE(contains(text, name));
}

}  // namespace
}  // namespace brightnet
