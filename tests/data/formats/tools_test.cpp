// The exports of labelling tools, as they come: each is recognized by its folder and read. 100 × 80 pixels an image.
#include <cmath>

#include "core/error.h"
#include "data/commands/split.h"
#include "data/formats/data_yaml.h"
#include "data/formats/layout.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;
using Names = std::vector<std::string>;

class Tools : public ::testing::Test {
 protected:
  RecognizedData recognized(const std::string& place = "") const {
    return recognize_data((data_.root() / place).string());
  }
  /// Reads a split of what is recognized, and expects images with these numbers of boxes.
  Dataset read(const std::string& format, const std::vector<size_t>& boxes, Split split = Split::train,
               const std::string& place = "") const {
    const RecognizedData data = recognized(place);
    EXPECT_EQ(data.options.format->name, format) << data.text();
    const Dataset dataset = read_dataset(data.options, split);
    std::vector<size_t> found;
    for (const auto& image : dataset.images) found.push_back(image.annotations.size());
    EXPECT_EQ(found, boxes) << data.text() << '\n' << summarize(dataset.problems);
    return dataset;
  }
  void yolo(const std::string& image, const std::string& labels,
            const std::string& text = "1 0.5 0.5 0.2 0.2\n") {
    data_.image(image);
    data_.text(labels, text);
  }
  DatasetFolder data_;
};

TEST_F(Tools, LabelStudiosYolo) {
  yolo("images/1a2b-x.jpg", "labels/1a2b-x.txt");
  data_.text("classes.txt", "cat\ndog\n");
  data_.text("notes.json", R"({"categories": [{"id": 0, "name": "cat"}, {"id": 1, "name": "dog"}],
    "info": {"year": 2026, "version": "1.0", "contributor": "Label Studio"}})");
  const Dataset dataset = read("yolo", {1});
  EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
  expect_box(dataset.images[0].annotations[0], 1, 40, 32, 60, 48);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST_F(Tools, CvatsYolo) {
  yolo("obj_train_data/a.png", "obj_train_data/a.txt");
  data_.text("obj.data", "classes = 2\nnames = data/obj.names\ntrain = data/train.txt\nbackup = backup/\n");
  data_.text("obj.names", "cat\ndog\n");
  data_.text("train.txt", "data/obj_train_data/a.png\n");
  EXPECT_EQ(read("darknet", {1}).classes, (Names{"cat", "dog"}));
  EXPECT_TRUE(recognized().undivided()) << "it names no validation images: a tenth is taken";
  EXPECT_EQ(read("darknet", {1}, Split::train, "obj.data").problems.size(), 0u);
  yolo("obj_valid_data/b.png", "obj_valid_data/b.txt", "");
  data_.text("valid.txt", "data/obj_valid_data/b.png\n");
  data_.text("obj.data",
             "classes = 2\nnames = data/obj.names\ntrain = data/train.txt\nvalid = data/valid.txt\n");
  read("darknet", {0}, Split::val);
  // Subsets are called as CVAT proposes.
  for (const std::string name : {"Train", "Validation"})
    data_.text(name + ".txt",
               "data/obj_" + std::string(name == "Train" ? "train_data/a" : "valid_data/b") + ".png\n");
  data_.text(
      "obj.data",
      "classes = 2\nTrain = data/Train.txt\nValidation = data/Validation.txt\nnames = data/obj.names\n");
  read("darknet", {1});
  read("darknet", {0}, Split::val);
}

TEST_F(Tools, CvatsYoloBesideAnotherExportThatIsCalledData) {
  for (const std::string folder : {"task", "data", "task/data"}) {
    const std::string box = folder == "task" ? "1 0.5 0.5 0.2 0.2\n" : "";
    yolo(folder + "/obj_train_data/a.png", folder + "/obj_train_data/a.txt", box);
    data_.text(folder + "/train.txt", "data/obj_train_data/a.png\n");
    data_.text(folder + "/obj.names", folder == "task" ? "cat\ndog\n" : "car\n");
  }
  data_.text("task/obj.data", "names = data/obj.names\ntrain = data/train.txt\n");
  EXPECT_EQ(read("darknet", {1}, Split::train, "task").classes, (Names{"cat", "dog"}));
}

TEST_F(Tools, DarknetsDataRelativeToTheFolderAbove) {
  yolo("data/obj/a.jpg", "data/obj/a.txt");
  data_.text("data/obj.data",
             "classes=2\ntrain=data/train.txt\nvalid=data/train.txt\nnames=data/obj.names\n");
  data_.text("data/obj.names", "cat\ndog\n");
  data_.text("data/train.txt", "data/obj/a.jpg\n");
  read("darknet", {1}, Split::train, "data/obj.data");
  read("darknet", {1}, Split::val, "data");
}

TEST_F(Tools, LabelImgsClasses) {
  yolo("images/train/a.jpg", "labels/train/a.txt");
  data_.text("labels/train/classes.txt", "cat\ndog\n");
  EXPECT_EQ(read("yolo", {1}).classes, (Names{"cat", "dog"}));
  fs::rename(data_.root() / "labels/train/classes.txt", data_.root() / "labels/classes.txt");
  const Dataset dataset = read("yolo", {1});
  EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST_F(Tools, RoboflowsDarknet) {
  for (const std::string split : {"train", "valid"}) {
    yolo(split + "/a_jpg.rf.0123.jpg", split + "/a_jpg.rf.0123.txt");
    data_.text(split + "/_darknet.labels", "cat\ndog\n");
  }
  data_.text("README.dataset.txt", "Exported by a tool\n");
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read("yolo", {1}, split);
    EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
  }
}

TEST_F(Tools, RoboflowsCocoAndCsv) {
  for (const std::string split : {"train", "valid", "test"}) {
    data_.image("coco/" + split + "/a.jpg");
    data_.text(
        "coco/" + split + "/_annotations.coco.json",
        R"({"info": {}, "licenses": [], "categories": [{"id": 0, "name": "pets", "supercategory": "none"},
        {"id": 1, "name": "cat", "supercategory": "pets"}], "images": [{"id": 0, "license": 1, "file_name": "a.jpg",
        "height": 80, "width": 100}], "annotations": [{"id": 0, "image_id": 0, "category_id": 1, "bbox": [10, 20, 5, 6],
        "area": 30, "segmentation": [], "iscrowd": 0}]})");
    data_.image("csv/" + split + "/a.jpg");
    data_.text("csv/" + split + "/_annotations.csv",
               "filename,width,height,class,xmin,ymin,xmax,ymax\na.jpg,100,80,cat,10,20,15,26\n");
  }
  for (const Split split : {Split::train, Split::val, Split::test}) {
    expect_box(read("coco", {1}, split, "coco").images[0].annotations[0], 1, 10, 20, 15, 26);
    expect_box(read("csv", {1}, split, "csv").images[0].annotations[0], 0, 10, 20, 15, 26);
  }
}

TEST_F(Tools, LabelMe) {
  const auto labels = [](const std::string& shapes, const std::string& image) {
    return R"({"version": "5.4.1", "flags": {}, "shapes": [)" + shapes + R"(], "imagePath": ")" + image +
           R"(", "imageData": "aGFsZg==", "imageHeight": 80, "imageWidth": 100})";
  };
  const auto shape = [](const std::string& label, const std::string& type, const std::string& points) {
    return R"({"label": ")" + label + R"(", "points": )" + points + R"(, "group_id": null, "shape_type": ")" +
           type + R"(", "flags": {}})";
  };
  for (const char* name : {"a", "b", "empty", "none"}) data_.image(std::string("train/") + name + ".jpg");
  data_.text("train/a.json", labels(shape("dog", "rectangle", "[[30.5, 40], [10, 20]]") + ',' +
                                        shape("cat", "polygon", "[[1, 1], [9, 1], [5, 7]]") + ',' +
                                        shape("cat", "circle", "[[50, 50], [53, 54]]") + ',' +
                                        shape("cat", "point", "[[5, 5]]"),
                                    "a.jpg"));
  data_.text("train/renamed.json", labels(shape("cat", "rectangle", "[[1, 2], [3, 4]]"), "..\\\\x\\\\b.jpg"));
  data_.text("train/empty.json", labels("", "empty.jpg"));
  data_.text("train/lost.json", labels("", "lost.jpg"));
  const Dataset dataset = read("labelme", {3, 1, 0, 0});
  EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
  expect_box(dataset.images[0].annotations[0], 1, 10, 20, 30.5f, 40);
  expect_box(dataset.images[0].annotations[1], 0, 1, 1, 9, 7);
  expect_box(dataset.images[0].annotations[2], 0, 45, 45, 55, 55);
  EXPECT_EQ(count(dataset, Kind::polygon), 2);
  EXPECT_EQ(count(dataset, Kind::no_label_file), 1);
  EXPECT_EQ(count(dataset, Kind::unused_labels), 1);
  EXPECT_EQ(count(dataset, Kind::other_size), 0);
  data_.text("train/a.json", labels(shape("", "rectangle", "[[1, 2], [3, 4]]"), "a.jpg"));
  EXPECT_TRUE(
      contains(message(data_.options("labelme", "train", {"cat"})), "a.json: a shape needs a 'label'"));
  data_.text("train/a.json", "{\"shapes\": [");
  const std::string broken = message(data_.options("labelme", "train", {"cat"}));
  EXPECT_TRUE(contains(broken, "a.json:1: this is not valid JSON. "));
  EXPECT_EQ(broken.find("a.json"), broken.rfind("a.json")) << broken;
  data_.text("train/a.json", "[]");
  EXPECT_TRUE(
      contains(message(data_.options("labelme", "train", {"cat"})), "a.json: this JSON has no 'shapes'"));
}

std::string labelme(const std::string& image, int boxes = 1) {
  std::string shapes;
  for (int i = 0; i < boxes; ++i) {
    shapes += std::string(i ? "," : "") +
              R"({"label": "cat", "shape_type": "rectangle", "points": [[1, 2], [3, )" +
              std::to_string(4 + i) + "]]}";
  }
  return R"({"shapes": [)" + shapes + R"(], "imagePath": ")" + image + R"("})";
}

TEST_F(Tools, LabelMesFilesOfOtherNamesAreFoundForAListToo) {
  for (const char* name : {"a", "b", "c"}) data_.image(std::string("pictures/") + name + ".jpg");
  data_.text("pictures/renamed.json", labelme("b.jpg", 2));
  data_.text("pictures/a.json", labelme("c.jpg"));  // a's, which is not listed
  data_.text("pictures/lost.json", labelme("lost.jpg"));
  // As `data split` writes it.
  data_.text("list.txt", (data_.root() / "pictures/b.jpg").string() + '\n' +
                             (data_.root() / "pictures/c.jpg").string() + '\n');
  const Dataset dataset = read_dataset(data_.options("labelme", "list.txt", {"cat"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 2u);
  EXPECT_TRUE(dataset.images[1].annotations.empty());
  EXPECT_EQ(count(dataset, Kind::unused_labels), 0);
}

TEST_F(Tools, LabelMesFilesOfOtherNamesStayInTheirFolders) {
  for (const std::string camera : {"cam1", "cam2"}) {
    data_.image(camera + "/0001.jpg");
    data_.image(camera + "/0002.jpg");
    data_.text(camera + "/0002.json", labelme("0002.jpg"));
  }
  data_.text("cam1/x.json", labelme("0001.jpg", 2));
  data_.text("cam2/x.json", labelme("../cam2/0001.jpg", 3));
  read("labelme", {2, 1, 3, 1});
  fs::remove(data_.root() / "cam1/x.json");
  read("labelme", {0, 1, 3, 1});
  // Of no image that is there, and of two by its name.
  fs::remove(data_.root() / "cam2/x.json");
  data_.text("x.json", labelme("0001.jpg", 2));
  EXPECT_EQ(count(read("labelme", {0, 1, 0, 1}), Kind::unused_labels), 1);
  // Of an image that has its own.
  data_.image("cam2/0003.jpg");
  data_.image("cam1/0003.jpg");
  data_.text("cam1/0003.json", labelme("0003.jpg"));
  data_.text("cam1/old.json", labelme("0003.jpg", 2));
  EXPECT_EQ(count(read("labelme", {0, 1, 1, 0, 1, 0}), Kind::unused_labels), 2);
}

TEST_F(Tools, Via) {
  data_.image("train/a.jpg");
  data_.image("train/b.jpg");
  const std::string images =
      R"({"a.jpg123": {"filename": "a.jpg", "size": 123, "regions": [
      {"shape_attributes": {"name": "rect", "x": 10, "y": 20, "width": 5, "height": 6}, "region_attributes": {"kind": "cat"}},
      {"shape_attributes": {"name": "polygon", "all_points_x": [1, 9, 5], "all_points_y": [1, 1, 7]},
       "region_attributes": {"class": {"dog": true, "cat": false}, "note": "x"}},
      {"shape_attributes": {"name": "ellipse", "cx": 50, "cy": 40, "rx": 8, "ry": 4}, "region_attributes": {"class": "dog"}}],
      "file_attributes": {}}, "b.jpg456": {"filename": "b.jpg", "size": 456, "regions": {"0":
      {"shape_attributes": {"name": "circle", "cx": 50, "cy": 40, "r": 3}, "region_attributes": {"class": "cat"}}}}})";
  data_.text("train/via_region_data.json", images);
  const Dataset dataset = read("via", {3, 1});
  EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
  expect_box(dataset.images[0].annotations[0], 0, 10, 20, 15, 26);
  expect_box(dataset.images[0].annotations[1], 1, 1, 1, 9, 7);
  expect_box(dataset.images[0].annotations[2], 1, 42, 36, 58, 44);
  expect_box(dataset.images[1].annotations[0], 0, 47, 37, 53, 43);
  fs::remove(data_.root() / "train/via_region_data.json");
  data_.text("train/project.json", R"({"_via_settings": {}, "_via_img_metadata": )" + images + "}");
  read("via", {3, 1});
  data_.text("train/project.json",
             R"({"x": {"filename": "a.jpg", "regions": [{"shape_attributes": {"name": "rect", "x": 1,
      "y": 2, "width": 3, "height": 4}, "region_attributes": {}}]}})");
  EXPECT_TRUE(
      contains(message(data_.options("via", "train/project.json", {})), "a region does not say its class"));
  // A quarter turn of an ellipse: its angle is in radians.
  data_.text("train/project.json",
             R"({"x": {"filename": "a.jpg", "regions": [{"shape_attributes": {"name": "ellipse",
      "cx": 50, "cy": 40, "rx": 8, "ry": 4, "theta": 1.5707963267948966}, "region_attributes": {"class": "cat"}}]}})");
  const Dataset turned = read_dataset(data_.options("via", "train/project.json", {"cat"}), Split::train);
  expect_box(turned.images.at(0).annotations.at(0), 0, 46, 32, 54, 48);
}

TEST_F(Tools, CreateMl) {
  for (const std::string split : {"train", "valid"}) {
    data_.image(split + "/a.jpg");
    data_.text(split + "/_annotations.createml.json", R"([{"image": "a.jpg", "annotations": [{"label": "cat",
      "coordinates": {"x": 50, "y": 40, "width": 20, "height": 10}}]}])");
  }
  for (const Split split : {Split::train, Split::val})
    expect_box(read("createml", {1}, split).images[0].annotations[0], 0, 40, 35, 60, 45);
  data_.text("train/_annotations.createml.json",
             R"([{"imagefilename": "a.jpg", "annotation": [{"label": "cat",
      "coordinates": {"x": 50, "y": 40, "width": 20, "height": 10}}]}])");
  expect_box(read("createml", {1}).images[0].annotations[0], 0, 40, 35, 60, 45);
  data_.text("train/_annotations.createml.json", R"([{"image": "a.jpg", "objects": [{"label": "cat"}]}])");
  EXPECT_TRUE(contains(message(data_.options("createml", "train/_annotations.createml.json", {"cat"})),
                       "[0]: an entry needs the list of its 'annotations'"));
  data_.text("train/_annotations.createml.json",
             R"([{"image": "a.jpg", "annotations": [{"label": "cat"}]}])");
  EXPECT_TRUE(contains(message(data_.options("createml", "train/_annotations.createml.json", {"cat"})),
                       "[0]: an object needs a 'label' and 'coordinates'"));
}

TEST_F(Tools, Supervisely) {
  data_.text("meta.json", R"({"classes": [{"title": "cat", "shape": "rectangle", "color": "#000000"},
    {"title": "dog", "shape": "polygon"}], "tags": []})");
  for (const std::string split : {"train", "val"}) {
    data_.image(split + "/img/a.jpg");
    data_.text(split + "/ann/a.jpg.json",
               R"({"description": "", "tags": [], "size": {"height": 80, "width": 100},
      "objects": [{"classTitle": "dog", "geometryType": "polygon", "points": {"exterior": [[1, 1], [9, 1], [5, 7]],
      "interior": []}}, {"classTitle": "cat", "geometryType": "rectangle", "points": {"exterior": [[10, 20], [30, 40]],
      "interior": []}}]})");
  }
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read("supervisely", {2}, split);
    EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
    expect_box(dataset.images[0].annotations[0], 1, 1, 1, 9, 7);
    expect_box(dataset.images[0].annotations[1], 0, 10, 20, 30, 40);
    EXPECT_EQ(count(dataset, Kind::other_size), 0);
  }
  fs::rename(data_.root() / "val", data_.root() / "ds 2");
  fs::rename(data_.root() / "train", data_.root() / "ds 1");
  read("supervisely", {2, 2});
  data_.text("ds 1/ann/a.jpg.json",
             R"({"objects": [{"classTitle": "dog", "geometryType": "bitmap", "bitmap": {}}]})");
  EXPECT_TRUE(
      contains(message(recognized().options), "a.jpg.json: an object is a bitmap, which cannot be read"));
  data_.text("ds 1/ann/a.jpg.json", "{\"objects\":\n");
  EXPECT_TRUE(contains(message(recognized().options), "a.jpg.json:2: this is not valid JSON"));
}

TEST_F(Tools, Datumaro) {
  for (const std::string split : {"train", "val"}) {
    data_.image("images/" + split + "/a.jpg");
    data_.text(
        "annotations/" + split + ".json",
        R"({"info": {}, "categories": {"label": {"labels": [{"name": "cat", "parent": "", "attributes": []},
      {"name": "dog"}], "attributes": []}, "points": {"items": []}}, "items": [{"id": "a", "annotations": [
      {"id": 0, "type": "bbox", "attributes": {"occluded": false}, "group": 0, "label_id": 1, "z_order": 0,
       "bbox": [10, 20, 5, 6]}, {"id": 1, "type": "polygon", "label_id": 0, "points": [1, 1, 9, 1, 5, 7]},
      {"id": 2, "type": "label", "label_id": 0}], "image": {"path": "a.jpg", "size": [80, 100]}}]})");
  }
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read("datumaro", {2}, split);
    EXPECT_EQ(dataset.classes, (Names{"cat", "dog"}));
    expect_box(dataset.images[0].annotations[0], 1, 10, 20, 15, 26);
    expect_box(dataset.images[0].annotations[1], 0, 1, 1, 9, 7);
    EXPECT_EQ(count(dataset, Kind::other_size), 0);
  }
  data_.text("annotations/train.json",
             R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [{"id": "a",
    "annotations": [{"type": "mask", "label_id": 0, "rle": {}}], "image": {"path": "a.jpg"}}]})");
  EXPECT_TRUE(
      contains(message(recognized().options), "'a': an annotation of the type 'mask' cannot be read"));
  const auto box = [](const std::string& is_crowd) {
    return R"({"type": "bbox", "label_id": 0, "bbox": [10, 20, 5, )" +
           std::string(is_crowd == "true" ? "6" : "7") + R"(], "attributes": {"is_crowd": )" + is_crowd +
           "}}";
  };
  data_.text(
      "annotations/train.json",
      R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [{"id": "a", "annotations": [)" +
          box("true") + ", " + box("false") + R"(], "image": {"path": "a.jpg"}}]})");
  const Dataset crowds = read("datumaro", {2});
  EXPECT_TRUE(crowds.images[0].annotations[0].crowd);
  EXPECT_FALSE(crowds.images[0].annotations[1].crowd);
}

TEST_F(Tools, CvatsRotatedRectanglesAreTheUprightBoxesAroundThem) {
  for (const char* image : {"coco/images/a.jpg", "datumaro/images/a.jpg", "voc/JPEGImages/a.jpg"})
    data_.image(image);
  const std::string box = R"("bbox": [10, 30, 60, 10], "attributes": {"occluded": false, "rotation": )";
  const auto write = [&](const std::string& degrees) {
    data_.text("coco/annotations/instances_default.json",
               R"({"images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}], "annotations": [
                 {"id": 1, "image_id": 1, "category_id": 1, )" +
                   box + degrees + R"(}}], "categories": [{"id": 1, "name": "cat"}]})");
    data_.text(
        "datumaro/annotations/default.json",
        R"({"categories": {"label": {"labels": [{"name": "cat"}]}}, "items": [{"id": "a", "annotations": [
                 {"type": "bbox", "label_id": 0, )" +
            box + degrees + R"(}}], "image": {"path": "a.jpg"}}]})");
    data_.text(
        "voc/Annotations/a.xml",
        "<annotation><object><name>cat</name><bndbox><xmin>11</xmin><ymin>31</ymin><xmax>70</xmax><ymax>40"
        "</ymax></bndbox><attributes><attribute><name>occluded</name><value>False</value></attribute>"
        "<attribute><name>rotation</name><value>" +
            degrees + "</value></attribute></attributes></object></annotation>");
  };
  for (const std::string format : {"coco", "datumaro", "voc"}) {
    write("90.0");
    Dataset dataset = read(format, {1}, Split::train, format);
    expect_box(dataset.images[0].annotations[0], 0, 35, 5, 45, 65);
    EXPECT_EQ(count(dataset, Kind::rotated_box), 0) << "nothing is lost";
    write("45.0");
    dataset = read(format, {1}, Split::train, format);
    const float half = 35 / std::sqrt(2.0f);
    expect_box(dataset.images[0].annotations[0], 0, 40 - half, 35 - half, 40 + half, 35 + half);
    EXPECT_EQ(count(dataset, Kind::rotated_box), 1);
    write("0.0");
    expect_box(read(format, {1}, Split::train, format).images[0].annotations[0], 0, 10, 30, 70, 40);
  }
}

TEST_F(Tools, WhatSystemsAndProgramsAddIsNoFileOfTheDataSet) {
  yolo("images/train/a.jpg", "labels/train/a.txt");
  data_.text("classes.txt", "cat\ndog\n");
  for (const char* file : {"images/train/._a.jpg", "labels/train/._a.txt", "images/train/.DS_Store",
                           "._classes.txt", "__MACOSX/images/train/._a.jpg", "images/train/__MACOSX/b.jpg"})
    data_.text(file, "0 0 0 0 0 Mac OS X");
  for (const char* copy : {".ipynb_checkpoints/a-checkpoint.jpg", "@eaDir/a.jpg/SYNOPHOTO_THUMB_M.jpg",
                           ".AppleDouble/a.jpg", "$RECYCLE.BIN/$R1.jpg", ".Trash-1000/files/b.jpg"}) {
    data_.image(std::string("images/train/") + copy);
    data_.image(std::string("copies/") + copy);
  }
  EXPECT_TRUE(read("yolo", {1}).problems.empty());
  EXPECT_TRUE(any_image(data_.root() / "images", {}));
  EXPECT_FALSE(any_image(data_.root() / "copies", {}));
  data_.image("voc/images/a.jpg");
  data_.text("voc/annotations/a.xml",
             "<annotation><object><name>x</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9"
             "</xmax><ymax>9</ymax></bndbox></object></annotation>");
  data_.text("voc/annotations/._a.xml", "Mac OS X");
  EXPECT_TRUE(read("voc", {1}, Split::train, "voc").problems.empty());
}

TEST_F(Tools, AFormatWithoutListsIsNotDivided) {
  data_.image("a.jpg");
  data_.text("a.json", R"([{"image": "a.jpg", "annotations": [{"label": "cat",
      "coordinates": {"x": 50, "y": 40, "width": 20, "height": 10}}]}])");
  SplitOptions options;
  options.folder = data_.root() / "parts";
  try {
    split_dataset(data_.options("createml", "a.json", {}), options);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "data convert DATA --to coco"));
  }
  EXPECT_FALSE(fs::exists(data_.root() / "parts"));
}

TEST_F(Tools, ANameWithALineBreakIsNotWrittenIntoAList) {
  for (const char* name : {"a", "b\nc", "d", "e"})
    yolo(std::string("images/") + name + ".jpg", std::string("labels/") + name + ".txt");
  DataOptions options = data_.options("yolo", "images", {"cat", "dog"});
  const Dataset dataset = read_dataset(options, Split::train);
  ASSERT_EQ(dataset.images.size(), 4u);
  std::vector<const ImageRecord*> images;
  for (const ImageRecord& image : dataset.images) images.push_back(&image);
  try {
    write_parts(options, {{data_.root() / "list.txt", {{Split::train, images}}}});
    FAIL();
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "the name of this image or of its labels has a line break"));
    EXPECT_TRUE(contains(e.what(), "Rename the image"));
  }
}

}  // namespace
}  // namespace brightnet
