// What the exports of labelling tools say besides a box: which files are images, the class, the size of the image.
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

TEST(ToolLabels, MasksOfASuperviselyProjectAreNoImages) {
  const DatasetFolder data;
  data.text("meta.json", R"({"classes": [{"title": "cat", "shape": "rectangle"}], "tags": []})");
  data.image("train/img/a.png");
  data.text("train/ann/a.png.json",
            R"({"size": {"height": 80, "width": 100}, "objects": [{"classTitle": "cat",
    "geometryType": "rectangle", "points": {"exterior": [[10, 20], [30, 40]], "interior": []}}]})");
  for (const std::string masks : {"masks_machine", "masks_human"}) data.image("train/" + masks + "/b.png");
  for (const char* place : {"train", "."}) {
    const Dataset dataset = read_dataset(data.options("supervisely", place, {}), Split::train);
    ASSERT_EQ(dataset.images.size(), 1u) << place;
    EXPECT_EQ(dataset.images[0].annotations.size(), 1u);
    EXPECT_EQ(count(dataset, DataProblem::Kind::no_label_file), 0);
  }
}

TEST(ToolLabels, DatumarosClassesAreThoseOfTheTrainingFile) {
  const DatasetFolder data;
  const auto write = [&](const std::string& split, const std::string& labels) {
    data.image("images/" + split + "/a.jpg");
    data.text("annotations/" + split + ".json", R"({"categories": {"label": {"labels": [)" + labels +
                                                    R"(]}}, "items": [{"id": "a", "annotations": [
      {"id": 0, "type": "bbox", "label_id": 0, "bbox": [10, 20, 5, 6]}], "image": {"path": "a.jpg"}}]})");
  };
  write("train", R"({"name": "cat"}, {"name": "dog"}, {"name": "cow"})");
  write("val", R"({"name": "cow"}, {"name": "dog"})");
  const DataOptions options = data.options("datumaro", "annotations/train.json", {}, "annotations/val.json");
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read_dataset(options, split);
    EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog", "cow"}));
    ASSERT_EQ(dataset.images.size(), 1u);
    ASSERT_EQ(dataset.images[0].annotations.size(), 1u);
    expect_box(dataset.images[0].annotations[0], split == Split::train ? 0 : 2, 10, 20, 15, 26);
  }
}

TEST(ToolLabels, OfTheTwoClassesOfAViaRegionNoneIsChosen) {
  const DatasetFolder data;
  data.image("a.jpg");
  const auto write = [&](const std::string& options) {
    data.text("project.json", R"({"x": {"filename": "a.jpg", "regions": [{"shape_attributes": {"name": "rect",
      "x": 10, "y": 20, "width": 5, "height": 6}, "region_attributes": {"class": )" +
                                  options + "}}]}}");
  };
  const DataOptions options = data.options("via", "project.json", {"cat", "dog"});
  write(R"({"cat": true, "dog": true})");
  EXPECT_TRUE(contains(message(options), "a region does not say its class"));
  write(R"({"cat": false, "dog": true})");
  const Dataset dataset = read_dataset(options, Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  ASSERT_EQ(dataset.images[0].annotations.size(), 1u);
  expect_box(dataset.images[0].annotations[0], 1, 10, 20, 15, 26);
}

TEST(ToolLabels, LabelMesSizeIsComparedWithTheImages) {
  const DatasetFolder data;
  data.bytes("train/a.jpg", DatasetFolder::rotated_jpeg(100, 80, 6));
  data.image("train/b.jpg");
  const auto write = [&](const std::string& name, int width, int height) {
    data.text("train/" + name + ".json",
              R"({"shapes": [{"label": "cat", "shape_type": "rectangle", "points": [[10, 20], [30, 40]]}],
      "imagePath": ")" +
                  name + R"(.jpg", "imageWidth": )" + std::to_string(width) + R"(, "imageHeight": )" +
                  std::to_string(height) + "}");
  };
  write("a", 100, 80);  // drawn before the EXIF rotation
  write("b", 50, 40);
  const Dataset dataset = read_dataset(data.options("labelme", "train", {"cat"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(count(dataset, DataProblem::Kind::turned_boxes), 1);
  EXPECT_EQ(count(dataset, DataProblem::Kind::other_size), 1);
  expect_box(dataset.images[0].annotations.at(0), 0, 40, 10, 60, 30);
  expect_box(dataset.images[1].annotations.at(0), 0, 10, 20, 30, 40);
}

TEST(ToolLabels, OfTheAttributesOfAViaRegionTheOneThatIsCalledClassIsMeant) {
  const DatasetFolder data;
  data.image("a.jpg");
  for (const auto& [attributes, expected] :
       {std::pair(R"({"name": "Tom", "class": "cat", "type": "old"})", "cat"),
        {R"({"category": "pet", "label": "dog", "name": "Rex"})", "dog"}}) {
    data.text("project.json", R"({"x": {"filename": "a.jpg", "regions": [{"shape_attributes": {"name": "rect",
      "x": 10, "y": 20, "width": 5, "height": 6}, "region_attributes": )" +
                                  std::string(attributes) + "}]}}");
    const Dataset dataset = read_dataset(data.options("via", "project.json", {}), Split::train);
    EXPECT_EQ(dataset.classes, std::vector<std::string>{expected});
  }
}

TEST(ToolLabels, LabelMesFilesMayLieInAnyOfTheFoldersBesideTheImages) {
  const DatasetFolder data;
  for (const std::string folder : {"labels", "annotations", "json"}) {
    const std::string set = "with_" + folder;
    data.image(set + "/images/day/a.jpg");
    data.text(set + '/' + folder + "/day/a.json",
              R"({"shapes": [{"label": "cat", "shape_type": "rectangle", "points": [[10, 20], [30, 40]]}],
      "imagePath": "a.jpg"})");
    const Dataset dataset =
        read_dataset(data.options("labelme", set + "/images", {"cat"}), Split::train, true);
    ASSERT_EQ(dataset.images.size(), 1u) << folder;
    ASSERT_EQ(dataset.images[0].annotations.size(), 1u) << folder;
    expect_box(dataset.images[0].annotations[0], 0, 10, 20, 30, 40);
  }
}

TEST(ToolLabels, DatumarosImagesAreTheMediaOfItsLaterVersions) {
  const DatasetFolder data;
  data.image("images/train/a.jpg");
  data.text("annotations/train.json",
            R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [{"id": "a", "annotations": [
      {"id": 0, "type": "bbox", "label_id": 0, "bbox": [10, 20, 5, 6]}],
      "media": {"path": "a.jpg", "size": [80, 100]}}]})");
  const Dataset dataset = read_dataset(data.options("datumaro", "annotations/train.json", {}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].file.filename(), "a.jpg");
  expect_box(dataset.images[0].annotations.at(0), 0, 10, 20, 15, 26);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(ToolLabels, PointsOfViaAreNoObjects) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("project.json", R"({"x": {"filename": "a.jpg", "regions": [
      {"shape_attributes": {"name": "point", "cx": 50, "cy": 40}, "region_attributes": {"class": "cat"}},
      {"shape_attributes": {"name": "rect", "x": 10, "y": 20, "width": 5, "height": 6},
       "region_attributes": {"class": "cat"}}]}})");
  const Dataset dataset = read_dataset(data.options("via", "project.json", {"cat"}), Split::train, true);
  ASSERT_EQ(dataset.images.size(), 1u);
  ASSERT_EQ(dataset.images[0].annotations.size(), 1u);
  expect_box(dataset.images[0].annotations[0], 0, 10, 20, 15, 26);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(ToolLabels, AnEllipseOfViaMayBeTurned) {
  const DatasetFolder data;
  data.image("a.jpg");
  const auto ellipse = [](const std::string& theta) {
    return R"({"shape_attributes": {"name": "ellipse", "cx": 50, "cy": 40, "rx": 8, "ry": 4, "theta": )" +
           theta + R"(}, "region_attributes": {"class": "cat"}})";
  };
  // By a quarter of a turn, and by an eighth: √((8² + 4²) / 2) to each side.
  data.text("project.json", R"({"x": {"filename": "a.jpg", "regions": [)" + ellipse("1.5707963267948966") +
                                ", " + ellipse("0.7853981633974483") + "]}}");
  const Dataset dataset = read_dataset(data.options("via", "project.json", {"cat"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  ASSERT_EQ(dataset.images[0].annotations.size(), 2u);
  expect_box(dataset.images[0].annotations[0], 0, 46, 32, 54, 48);
  expect_box(dataset.images[0].annotations[1], 0, 43.6754f, 33.6754f, 56.3246f, 46.3246f);
}

}  // namespace
}  // namespace brightnet
