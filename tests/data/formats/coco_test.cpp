#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Kind = DataProblem::Kind;

// Category ids with a gap and out of order, an image id that is not the index, a crowd with its mask, areas.
Json coco_example() {
  return Json::parse(R"({
    "info": {"year": 2024},
    "images": [{"id": 7, "file_name": "a.jpg", "width": 100, "height": 80},
               {"id": 3, "file_name": "b.jpg", "width": 100, "height": 80}],
    "categories": [{"id": 18, "name": "dog"}, {"id": 2, "name": "cat"}],
    "annotations": [
      {"id": 1, "image_id": 3, "category_id": 18, "bbox": [10, 20, 30.5, 40], "area": 600.25, "iscrowd": 0,
       "segmentation": [[10, 20, 40.5, 20, 40.5, 60]]},
      {"id": 2, "image_id": 3, "category_id": 2, "bbox": [0, 0, 100, 80], "area": 4000, "iscrowd": 1,
       "segmentation": {"counts": [1, 2], "size": [80, 100]}},
      {"id": 3, "image_id": 3, "category_id": 2, "bbox": [5, 5, 10, 10]}]
  })");
}

void write_coco_files(const DatasetFolder& data, const Json& json) {
  data.image("images/a.jpg");
  data.image("images/b.jpg");
  data.text("train.json", json.dump(1));
}

TEST(Coco, AnnotationsAreReadWithCrowdsAreasAndIds) {
  const DatasetFolder data;
  write_coco_files(data, coco_example());
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog"}));  // by category id
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[0].id, 7);
  EXPECT_TRUE(dataset.images[0].annotations.empty());
  EXPECT_EQ(dataset.images[1].id, 3);
  const auto& boxes = dataset.images[1].annotations;
  ASSERT_EQ(boxes.size(), 3u);
  expect_box(boxes[0], 1, 10, 20, 40.5, 60);
  EXPECT_FLOAT_EQ(boxes[0].area, 600.25f);
  EXPECT_FALSE(boxes[0].crowd);
  expect_box(boxes[1], 0, 0, 0, 100, 80);
  EXPECT_TRUE(boxes[1].crowd);
  EXPECT_FLOAT_EQ(boxes[2].area, 100);
  EXPECT_TRUE(dataset.problems.empty());
}

TEST(Coco, CrowdsMayBeMarkedByTrueAsPythonWritesABool) {
  const DatasetFolder data;
  Json json = coco_example();
  json["annotations"][0]["iscrowd"] = true;
  json["annotations"][1]["iscrowd"] = false;
  write_coco_files(data, json);
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  const auto& boxes = dataset.images.at(1).annotations;
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_TRUE(boxes[0].crowd);
  EXPECT_FALSE(boxes[1].crowd);
}

TEST(Coco, AnObjectInTheBoxOfACrowdIsNoDuplicateOfIt) {
  const DatasetFolder data;
  Json json = coco_example();
  Json crowd = json["annotations"][2];  // its only box of these corners
  crowd["id"] = 4;
  crowd["iscrowd"] = 1;
  json["annotations"].insert(json["annotations"].begin(), crowd);
  write_coco_files(data, json);
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  const auto& boxes = dataset.images.at(1).annotations;
  ASSERT_EQ(boxes.size(), 4u);
  EXPECT_TRUE(boxes[0].crowd);
  EXPECT_FALSE(boxes[3].crowd);
  expect_box(boxes[3], 0, 5, 5, 15, 15);
  EXPECT_EQ(count(dataset, Kind::duplicate_box), 0);
}

TEST(Coco, EntriesOfOneFileAreOneImageWithTheFirstId) {
  const DatasetFolder data;
  Json json = coco_example();
  json["images"].push_back({{"id", 50}, {"file_name", "./b.jpg"}, {"width", 100}, {"height", 80}});
  json["annotations"].push_back(
      {{"id", 4}, {"image_id", 50}, {"category_id", 18}, {"bbox", {60, 10, 20, 30}}});
  write_coco_files(data, json);
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[1].id, 3);
  ASSERT_EQ(dataset.images[1].annotations.size(), 4u);
  expect_box(dataset.images[1].annotations[3], 1, 60, 10, 80, 40);
  EXPECT_EQ(count(dataset, Kind::listed_twice), 1);
  EXPECT_TRUE(
      contains(summarize(dataset.problems), "images[2] (b.jpg with the id 50, which becomes 3, its first)"));
}

TEST(Coco, GivenClassesSetTheOrderAndUnknownOnesAreErrors) {
  const DatasetFolder data;
  write_coco_files(data, coco_example());
  const Dataset dataset =
      read_dataset(data.options("coco", "train.json", {"dog", "bird", "cat"}), Split::train);
  expect_box(dataset.images[1].annotations[0], 0, 10, 20, 40.5, 60);
  EXPECT_EQ(dataset.images[1].annotations[1].class_id, 2);
  const std::string text = message(data.options("coco", "train.json", {"dogs", "cat"}));
  EXPECT_TRUE(contains(text, "data.classes lists 'dogs', which the data set does not have"));
  EXPECT_TRUE(contains(text, "Did you mean 'dog'?"));
}

TEST(Coco, BothSplitsNumberTheClassesAsTheTrainSplitDoes) {
  const DatasetFolder data;
  write_coco_files(data, coco_example());
  Json val = coco_example();
  val["categories"] = Json::parse(R"([{"id": 1, "name": "dog"}])");
  val["annotations"] = Json::parse(R"([{"id": 1, "image_id": 3, "category_id": 1, "bbox": [1, 1, 5, 5]}])");
  data.text("val.json", val.dump());
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}, "val.json"), Split::val);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(dataset.images[1].annotations.at(0).class_id, 1);
}

TEST(Coco, ImagesAreFoundWhereDataSetsPutThem) {
  for (const char* folder :
       {"train2017/", "images/train2017/", "train/", "images/train/", "images/", "", "annotations/"}) {
    const DatasetFolder data;
    data.text("annotations/instances_train2017.json", coco_example().dump());
    data.image(std::string(folder) + "a.jpg");
    data.image(std::string(folder) + "b.jpg");
    const Dataset dataset =
        read_dataset(data.options("coco", "annotations/instances_train2017.json", {}), Split::train);
    EXPECT_EQ(dataset.images.size(), 2u) << folder;
  }
}

TEST(Coco, ImagesMayLieInAFolderBesideTheirFile) {
  for (const char* images : {"train/images/", "train/data/", "train/"}) {
    const DatasetFolder data;
    data.text("train/annotations.json", coco_example().dump());
    data.image(std::string(images) + "a.jpg");
    data.image(std::string(images) + "b.jpg");
    const RecognizedData known = recognize_data(data.root().string());
    EXPECT_EQ(known.options.train, "train/annotations.json");
    const Dataset dataset = read_dataset(known.options, Split::train);
    EXPECT_EQ(dataset.images.size(), 2u) << images;
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
  }
}

TEST(Coco, AnAnnotationWithPolygonsOnlyHasTheBoxAroundThem) {
  const DatasetFolder data;
  Json json = coco_example();
  json["annotations"] = Json::parse(R"([
    {"id": 1, "image_id": 3, "category_id": 2, "segmentation": [[10, 20, 40.5, 25, 30, 60], [5, 30, 9, 30, 9, 40]]},
    {"id": 2, "image_id": 3, "category_id": 2, "bbox": [], "area": 50, "segmentation": [[1, 1, 11, 1, 11, 11]]},
    {"id": 3, "image_id": 3, "category_id": 2, "bbox": null, "segmentation": [[1, 1, 9, 1, 9, 9]]},
    {"id": 4, "image_id": 3, "category_id": 2, "segmentation": [[0, 0, 90, 0, 90, 70]], "bbox": [1, 2, 3, 4]}])");
  write_coco_files(data, json);
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  const auto& boxes = dataset.images.at(1).annotations;
  ASSERT_EQ(boxes.size(), 4u);
  expect_box(boxes[0], 0, 5, 20, 40.5, 60);
  expect_box(boxes[1], 0, 1, 1, 11, 11);
  EXPECT_FLOAT_EQ(boxes[1].area, 50);
  expect_box(boxes[2], 0, 1, 1, 9, 9);
  expect_box(boxes[3], 0, 1, 2, 4, 6);
}

TEST(Coco, AnAnnotationWithNeitherBoxNorPolygonsIsAnError) {
  const DatasetFolder data;
  const auto error = [&](const Json& segmentation) {
    Json json = coco_example();
    json["annotations"][0].erase("bbox");
    json["annotations"][0]["segmentation"] = segmentation;
    write_coco_files(data, json);
    return message(data.options("coco", "train.json", {}));
  };
  EXPECT_TRUE(contains(error({{"counts", "abc"}, {"size", {80, 100}}}), "a mask in runs"));
  EXPECT_TRUE(contains(error(Json::array()), "annotation id 1: it has no 'bbox' and no polygons"));
  EXPECT_TRUE(contains(error(nullptr), "no polygons"));
  EXPECT_TRUE(contains(error({{1, 2, 3, 4}}), "three or more points"));
  EXPECT_TRUE(contains(error({{1, 2, 3, 4, 5, 6, 7}}), "three or more points"));
  EXPECT_TRUE(contains(error({{1, 2, 3, 4, 5, "6"}}), "three or more points"));
}

TEST(Coco, BackslashesInFileNamesAreSlashes) {
  const DatasetFolder data;
  Json json = coco_example();
  json["images"][0]["file_name"] = "photos\\a.jpg";
  json["images"][1]["file_name"] = "photos\\b.jpg";
  data.image("images/photos/a.jpg");
  data.image("images/photos/b.jpg");
  data.text("train.json", json.dump());
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  EXPECT_EQ(dataset.images.size(), 2u);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(Coco, WhatDoesNotFitIsAnErrorThatNamesTheAnnotation) {
  const DatasetFolder data;
  const DataOptions options = data.options("coco", "train.json", {});
  const auto error = [&](const char* pointer, const Json& value) {
    Json json = coco_example();
    json[Json::json_pointer(pointer)] = value;
    write_coco_files(data, json);
    return message(options);
  };
  std::string text = error("/annotations/1/category_id", 19);
  EXPECT_TRUE(contains(text, "annotation id 2: its category_id 19 is not among the categories"));
  EXPECT_TRUE(contains(text, "nearest known class is 18, 'dog'"));
  EXPECT_TRUE(contains(error("/annotations/0/image_id", 99), "annotation id 1: its image_id 99"));
  EXPECT_TRUE(
      contains(error("/annotations/0/bbox", {1, 2, 3}), "annotation id 1: its 'bbox' is not four numbers"));
  EXPECT_TRUE(contains(error("/annotations/0/bbox", {1, 2, 3, "4"}), "is not four numbers"));
  EXPECT_TRUE(contains(error("/images/1/id", 7), "images[1]: image id 7 is listed twice"));
  EXPECT_TRUE(contains(error("/images/1/file_name", nullptr), "images[1]: an image needs"));
  EXPECT_TRUE(contains(error("/categories/0/id", 2), "category id 2 is listed twice"));
  EXPECT_TRUE(contains(error("/images", 3), "no list 'images'"));
  EXPECT_TRUE(contains(error("", Json::array()), "an object with images"));
  data.text("train.json", "{\n\"images\": [\n{]\n}");
  EXPECT_TRUE(contains(message(options), "train.json:3: this is not valid JSON"));
  data.text("train.json", "{\n\"images\": [\n\n1e999]\n}");
  EXPECT_TRUE(contains(message(options), "train.json:4: the number 1e999 is too large"));
  for (const std::string word : {"NaN", "Infinity", "-Infinity"}) {  // as Python's json.dump writes them
    data.text("train.json",
              R"({"images": [], "annotations": [{"id": 7, "bbox": [1.5, )" + word + ", 3, 4]}]}");
    const std::string said = message(options);
    EXPECT_TRUE(contains(said, "train.json:1: a value is " + word + ", which is no number of JSON: "))
        << said;
    EXPECT_TRUE(contains(said, R"({"id": 7, "bbox": [1.5, )" + word + ". ")) << said;
    EXPECT_FALSE(contains(said, "whole")) << said;
  }
}

TEST(Coco, AFolderOfValidationImagesAloneIsAsItsFile) {
  const DatasetFolder data;
  const std::string instances = coco_example().dump();
  for (const std::string place : {"above/annotations", "beside"}) {
    const std::string folder = place.substr(0, place.find('/'));
    for (const char* image : {"a.jpg", "b.jpg"}) data.image(folder + "/val2017/" + image);
    data.text(place + "/instances_val2017.json", instances);
    data.text(place + "/captions_val2017.json", R"({"images": [], "annotations": []})");
    const RecognizedData whole = recognize_data((data.root() / folder).string()),
                         file = recognize_data((data.root() / place / "instances_val2017.json").string());
    EXPECT_EQ(whole.what, "COCO JSON in a folder");
    EXPECT_EQ(whole.options.root, file.options.root);
    EXPECT_EQ(whole.options.train, file.options.train);
    EXPECT_TRUE(whole.undivided() && names_held_back_images(whole.options)) << "eval takes all of them";
    EXPECT_EQ(read_dataset(whole.options, Split::train).images.size(), 2u);
  }
  // Ultralytics' COCO has the annotations of validation beside YOLO labels.
  data.image("both/images/val2017/v.jpg");
  data.text("both/labels/val2017/v.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("both/annotations/instances_val2017.json", instances);
  EXPECT_EQ(recognize_data((data.root() / "both").string()).options.format->name, "yolo");
  data.text("beside/instances_test2017.json", instances);
  EXPECT_THROW(recognize_data((data.root() / "beside").string()), InputError) << "of two none is chosen";
}

TEST(Coco, RoboflowsValidationImagesWithoutTrainingImages) {
  const DatasetFolder data;
  const fs::path root = data.root() / "robo";
  for (const std::string split : {"valid", "test"}) {
    for (const char* image : {"a.jpg", "b.jpg"}) data.image("robo/" + split + "/" + image);
    data.text("robo/" + split + "/_annotations.coco.json", coco_example().dump());
  }
  try {
    recognize_data(root.string());
    ADD_FAILURE() << "of two none is chosen";
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(),
                         "robo: there are no training images, and others in several files: "
                         "valid/_annotations.coco.json, test/_annotations.coco.json. To evaluate or check"))
        << e.what();
    EXPECT_TRUE(contains(e.what(), "--data " + (root / "test/_annotations.coco.json").string())) << e.what();
  }
  fs::remove_all(root / "test");
  data.text("robo/docs/notes.md", "of the export\n");
  const RecognizedData valid = recognize_data(root.string());
  EXPECT_TRUE(contains(valid.text(), "read from its folder valid")) << valid.text();
  EXPECT_TRUE(valid.undivided() && names_held_back_images(valid.options)) << "eval takes all of them";
  EXPECT_EQ(read_dataset(valid.options, Split::train).images.size(), 2u);
}

TEST(Coco, TwoCategoriesOfOneNameAreOneClass) {
  const DatasetFolder data;
  Json json = coco_example();
  json["categories"].push_back(
      {{"id", 0}, {"name", "cat"}, {"supercategory", "none"}});  // Roboflow's first one
  write_coco_files(data, json);
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog"}));
}

TEST(Coco, SidesThatNoImageHasCountAsNotGiven) {
  const DatasetFolder data;
  for (const double side : {1e300, -5.0}) {
    Json document = coco_example();
    document["images"][0]["width"] = side;
    write_coco_files(data, document);
    EXPECT_NO_THROW(read_dataset(data.options("coco", "train.json", {}), Split::train)) << side;
  }
}

TEST(Coco, BoxesDrawnBeforeTheExifRotationAreTurnedWithTheImage) {
  const DatasetFolder data;
  write_coco_files(data, coco_example());
  data.bytes("images/b.jpg", DatasetFolder::rotated_jpeg(100, 80, 6));
  const Dataset dataset = read_dataset(data.options("coco", "train.json", {}), Split::train);
  EXPECT_EQ(count(dataset, Kind::turned_boxes), 1);
  expect_box(dataset.images[1].annotations[0], 1, 20, 10, 60, 40.5);
}

}  // namespace
}  // namespace brightnet
