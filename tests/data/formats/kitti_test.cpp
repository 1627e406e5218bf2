#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;

std::string line(const std::string& type, const std::string& box, const std::string& occluded = "0",
                 const std::string& truncated = "0.00") {
  return type + ' ' + truncated + ' ' + occluded + " -1.57 " + box + " 1.50 1.60 3.90 -2.1 1.6 9.4 -1.8\n";
}

DataOptions mapped(const DatasetFolder& data, const std::map<std::string, std::string>& mapping,
                   std::vector<std::string> classes = {}, const std::string& train = "training/image_2") {
  DataOptions options = data.options("kitti", train, std::move(classes));
  options.target_class_mapping = mapping;
  return options;
}

TEST(Kitti, BoxesArePixelsByCornersAndOcclusionMakesThemDifficult) {
  const DatasetFolder data;
  data.image("training/image_2/000000.png");
  data.text("training/label_2/000000.txt",
            line("Car", "10.50 20.25 30.00 40.75", "2", "0.80") + line("Pedestrian", "0 0 99 79") +
                line("Car", "50 10 60 20", "3") + "Car 0 0 0 1 2 11 12 1 1 1 1 1 1 0 0.97\r\n");
  const Dataset dataset = read_dataset(mapped(data, {}, {"Pedestrian", "Car"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  const auto& boxes = dataset.images[0].annotations;
  ASSERT_EQ(boxes.size(), 4u);
  expect_box(boxes[0], 1, 10.5f, 20.25f, 30, 40.75f);
  expect_box(boxes[1], 0, 0, 0, 99, 79);
  expect_box(boxes[3], 1, 1, 2, 11, 12);  // a result's line has a score after the fifteen fields
  EXPECT_TRUE(boxes[0].difficult);
  EXPECT_FALSE(boxes[1].difficult);
  EXPECT_TRUE(boxes[2].difficult);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(Kitti, TypesBecomeClassesByTheMappingAndTheRestIsDroppedAndCounted) {
  const DatasetFolder data;
  data.image("training/image_2/a.jpg");
  data.text("training/label_2/a.txt", line("car", "1 1 9 9") + line("Van", "2 2 9 9") +
                                          line("TRUCK", "3 3 9 9") + line("person_sitting", "4 4 9 9") +
                                          line("Tram", "5 5 9 9") +
                                          "DontCare -1 -1 -10 6 6 9 9 -1 -1 -1 -1000 -1000 -1000 -10\n");
  const Dataset dataset = read_dataset(
      mapped(data,
             {{"Car", "vehicle"}, {"van", "vehicle"}, {"Truck", "vehicle"}, {"Person_sitting", "person"}}),
      Split::train);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"person", "vehicle"}));
  const auto& boxes = dataset.images.at(0).annotations;
  ASSERT_EQ(boxes.size(), 4u);
  EXPECT_EQ(boxes[0].class_id, 1);
  EXPECT_EQ(boxes[2].class_id, 1);
  EXPECT_EQ(boxes[3].class_id, 0);
  ASSERT_EQ(count(dataset, Kind::unmapped_class), 1);
  EXPECT_EQ(dataset.problems.size(), 1u);
  EXPECT_TRUE(contains(dataset.problems[0].where, "a.txt:5"));
  EXPECT_TRUE(contains(dataset.problems[0].detail, "'Tram'"));
}

TEST(Kitti, AMappingMayNameOnlyClassesThatAreListed) {
  const DatasetFolder data;
  data.image("training/image_2/a.jpg");
  data.text("training/label_2/a.txt", line("Car", "1 1 9 9"));
  const Dataset dataset =
      read_dataset(mapped(data, {{"car", "vehicle"}}, {"person", "vehicle"}), Split::train);
  EXPECT_EQ(dataset.images.at(0).annotations.at(0).class_id, 1);
  EXPECT_TRUE(contains(message(mapped(data, {{"car", "vehicle"}}, {"person"})), "'vehicle'"));
}

TEST(Kitti, WithoutNamesTheTypesOfBothSplitsAreTheClasses) {
  const DatasetFolder data;
  data.image("a/images/1.png");
  data.text("a/labels/1.txt", line("Van", "1 1 9 9") + line("DontCare", "1 1 5 5", "-1", "-1"));
  data.image("b/images/2.png");
  data.text("b/labels/2.txt", line("Bus", "1 1 9 9"));
  DataOptions options = data.options("kitti", "a/images", {}, "b/images");
  EXPECT_EQ(read_dataset(options, Split::train).classes, (std::vector<std::string>{"Bus", "Van"}));
  EXPECT_EQ(read_dataset(options, Split::val).images.at(0).annotations.at(0).class_id, 0);
}

TEST(Kitti, OccludedObjectsAreLeftOutOfTrainingOnRequest) {
  const DatasetFolder data;
  data.image("training/image_2/a.jpg");
  data.text("training/label_2/a.txt", line("Car", "1 1 9 9") + line("Car", "20 1 29 9", "1"));
  DataOptions options = data.options("kitti", "training/image_2", {"Car"}, "training/image_2");
  EXPECT_EQ(read_dataset(options, Split::train).images.at(0).annotations.size(), 2u);
  options.include_difficult_in_training = false;
  EXPECT_EQ(read_dataset(options, Split::train).images.at(0).annotations.size(), 1u);
  EXPECT_EQ(read_dataset(options, Split::val).images.at(0).annotations.size(), 2u);
}

TEST(Kitti, ListsNameImagesByPathOrByNumber) {
  const DatasetFolder data;
  for (const char* name : {"000001", "000002", "000003"}) {
    data.image(std::string("training/image_2/") + name + ".png");
    data.text(std::string("training/label_2/") + name + ".txt", line("Car", "1 1 9 9"));
  }
  data.text("ImageSets/train.txt", "000001\n000003\ntraining/image_2/000002.png\n000009\n");
  const Dataset dataset = read_dataset(data.options("kitti", "train.txt", {"Car"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 3u);
  EXPECT_EQ(dataset.images[1].file.filename(), "000003.png");
  EXPECT_EQ(count(dataset, Kind::missing_image), 1);
}

TEST(Kitti, WhatIsNoLabelNamesItsLine) {
  const DatasetFolder data;
  data.image("training/image_2/a.jpg");
  const DataOptions options = data.options("kitti", "training/image_2", {"Car"});
  data.text("training/label_2/a.txt", line("Car", "1 1 9 9") + "0 0.5 0.5 0.1 0.1\n");
  EXPECT_TRUE(contains(message(options), "a.txt:2"));
  data.text("training/label_2/a.txt", line("Car", "1 wide 9 9"));
  EXPECT_TRUE(contains(message(options), "'wide'"));
  data.text("training/label_2/a.txt", line("Cars", "1 1 9 9"));
  EXPECT_TRUE(contains(message(options), "'Car'"));
  data.text("training/label_2/a.txt", line("Car", "9 1 9 9"));
  const Dataset dataset = read_dataset(options, Split::train);
  EXPECT_EQ(count(dataset, Kind::zero_area_box), 1);
}

TEST(Kitti, UnlabelledRegionsAreObjectsWhereTheirTypeIsNamed) {
  const DatasetFolder data;
  data.image("training/image_2/a.jpg");
  data.text("training/label_2/a.txt", line("DontCare", "1 1 9 9", "-1", "-1") + line("Car", "20 1 29 9"));
  const auto classes = [](const Dataset& dataset) {
    std::vector<int> found;
    for (const Annotation& box : dataset.images.at(0).annotations) found.push_back(box.class_id);
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
    return found;
  };
  const auto given = [&](std::vector<std::string> names) {
    return classes(read_dataset(mapped(data, {}, std::move(names)), Split::train));
  };
  EXPECT_EQ(given({"Car"}), std::vector<int>{0});
  EXPECT_EQ(given({"Car", "DontCare"}), (std::vector<int>{1, 0}));
  EXPECT_EQ(classes(read_dataset(mapped(data, {{"dontcare", "b"}, {"car", "a"}}), Split::train)),
            (std::vector<int>{1, 0}));
}

TEST(Kitti, ABareNameIsThatOfAPngOrAJpeg) {
  const DatasetFolder data;
  for (const char* name : {"1.png", "2.jpg", "3.jpeg"}) {
    data.image(std::string("training/image_2/") + name);
    data.text(std::string("training/label_2/") + name[0] + ".txt", line("Car", "1 1 9 9"));
  }
  data.text("ImageSets/train.txt", "1\n2\n3\n");
  const Dataset dataset = read_dataset(data.options("kitti", "train.txt", {"Car"}), Split::train);
  EXPECT_EQ(count(dataset, Kind::missing_image), 0);
  ASSERT_EQ(dataset.images.size(), 3u);
  for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
}

TEST(Kitti, TheOtherCamerasImagesHaveLabelsOfTheirOwn) {
  const DatasetFolder data;
  for (const std::string camera : {"2", "3"}) {
    data.image("training/image_" + camera + "/a.png");
    data.text("training/label_" + camera + "/a.txt", line("Car", camera + " 1 19 9"));
  }
  for (const float camera : {2.0f, 3.0f}) {
    const std::string folder = camera == 2 ? "training/image_2" : "training/image_3";
    const Dataset dataset = read_dataset(data.options("kitti", folder, {"Car"}), Split::train);
    ASSERT_EQ(dataset.images.size(), 1u);
    ASSERT_EQ(dataset.images[0].annotations.size(), 1u) << folder;
    expect_box(dataset.images[0].annotations[0], 0, camera, 1, 19, 9);
  }
}

}  // namespace
}  // namespace brightnet
