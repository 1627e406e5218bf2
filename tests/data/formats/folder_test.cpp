#include "data/formats/folder.h"

#include <gtest/gtest.h>

#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;
const std::string one_box = "0 0.5 0.5 0.2 0.2\n";

std::vector<std::string> names_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& image : images_below(folder)) names.push_back(image.lexically_relative(folder).string());
  return names;
}

TEST(Folder, LinksThatLoopAreVisitedOnce) {
  const DatasetFolder data;
  data.image("images/train/a.jpg");
  data.image("images/train/sub/b.jpg");
  data.image("images/val/v.jpg");
  const fs::path folder = data.root() / "images/train";
  fs::create_directory_symlink(".", folder / "loop");
  fs::create_directory_symlink("..", folder / "sub/up");
  fs::create_directory_symlink("../..", folder / "above");  // images: not a way to the other split
  fs::create_symlink("c.jpg", folder / "c.jpg");            // a file that is a link to itself
  EXPECT_EQ(names_below(folder), (std::vector<std::string>{"a.jpg", "c.jpg", "sub/b.jpg"}));
}

TEST(Folder, LinkedFoldersAreFollowedAndFoldersGoByTheirOwnNames) {
  const DatasetFolder data;
  data.image("elsewhere/x.jpg");
  data.image("train/real/b.jpg");
  fs::create_directory_symlink("real", data.root() / "train/a link");
  fs::create_directory_symlink("../elsewhere", data.root() / "train/first");
  fs::create_directory_symlink("../elsewhere", data.root() / "train/second");
  EXPECT_EQ(names_below(data.root() / "train"), (std::vector<std::string>{"first/x.jpg", "real/b.jpg"}));
}

TEST(Folder, ALinkToAnImageThatIsListedAnywayIsLeftOut) {
  const DatasetFolder data;
  data.image("a/1.jpg");
  data.image("elsewhere/x.jpg");
  fs::create_directories(data.root() / "a/b");
  fs::create_symlink("../1.jpg", data.root() / "a/b/1.jpg");
  fs::create_symlink("1.jpg", data.root() / "a/0.jpg");
  fs::create_symlink("../elsewhere/x.jpg", data.root() / "a/x.jpg");
  EXPECT_EQ(names_below(data.root() / "a"), (std::vector<std::string>{"1.jpg", "x.jpg"}));
  EXPECT_EQ(names_below(data.root() / "a/b"), std::vector<std::string>{"1.jpg"})
      << "of b alone it is the image";
}

TEST(Folder, ADatasetWithALoopIsRead) {
  const DatasetFolder data;
  data.image("images/train/a.jpg");
  data.text("labels/train/a.txt", one_box);
  fs::create_directory_symlink(".", data.root() / "images/train/loop");
  const Dataset dataset = read_dataset(data.options("yolo", "images/train", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 1u);
  EXPECT_TRUE(dataset.problems.empty());
}

TEST(Folder, LabelledFilesOfUnknownEndingsAreReported) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  data.text("images/a.npy", "what another program keeps beside its images");
  data.text("images/notes.md", "no labels");
  for (const char* name : {"b.gif", "c.heic"}) data.text(std::string("images/") + name, "not read");
  for (const char* name : {"a", "b", "c"}) data.text(std::string("labels/") + name + ".txt", one_box);
  const Dataset dataset = read_dataset(data.options("yolo", "images", {"x"}), Split::train);
  EXPECT_EQ(dataset.images.size(), 1u);
  ASSERT_EQ(count(dataset, Kind::unknown_ending), 2);
  EXPECT_EQ(dataset.problems.size(), 2u) << summarize(dataset.problems);
  EXPECT_TRUE(contains(dataset.problems[0].where, "b.gif"));
  EXPECT_TRUE(contains(dataset.problems[1].where, "c.heic"));
  EXPECT_TRUE(contains(summarize(dataset.problems), "heif-convert"));

  data.image("voc/a.jpg");
  data.text("voc/b.gif", "not read");
  for (const char* name : {"a", "b"}) {
    data.text(std::string("voc/") + name + ".xml",
              "<annotation><object><name>x</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax>"
              "<ymax>9</ymax></bndbox></object></annotation>");
  }
  EXPECT_EQ(count(read_dataset(data.options("voc", "voc", {"x"}), Split::train), Kind::unknown_ending), 1);

  data.image("image_2/a.png");
  data.text("image_2/b.gif", "not read");
  for (const char* name : {"a", "b"})
    data.text(std::string("label_2/") + name + ".txt", "x 0 0 0 1 1 9 9 0 0 0 0 0 0 0\n");
  EXPECT_EQ(count(read_dataset(data.options("kitti", "image_2", {"x"}), Split::train), Kind::unknown_ending),
            1);
}

TEST(Folder, ExtensionsOfLabelsInUpperCaseAreRead) {
  const DatasetFolder data;
  const std::string xml =
      "<annotation><filename>b.jpg</filename><object><name>x</name><bndbox><xmin>1</xmin><ymin>1</ymin>"
      "<xmax>9</xmax><ymax>9</ymax></bndbox></object></annotation>";
  const std::string json =
      R"({"shapes": [{"label": "x", "shape_type": "rectangle", "points": [[1, 1], [9, 9]]}], "imagePath": "b.jpg"})";
  const std::string coco = R"({"images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
    "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 8, 8]}, {"image_id": 2, "category_id": 1,
    "bbox": [1, 1, 8, 8]}], "categories": [{"id": 1, "name": "x"}]})";
  for (const char* place : {"yolo", "parallel/images", "voc", "devkit/JPEGImages", "labelme", "coco"}) {
    for (const char* name : {"a.jpg", "b.jpg"}) data.image(std::string(place) + '/' + name);
  }
  for (const char* folder : {"yolo/", "parallel/labels/"}) {
    for (const char* name : {"a.TXT", "b.txt", "lost.TXT"}) data.text(std::string(folder) + name, one_box);
  }
  for (const char* folder : {"voc/", "devkit/Annotations/"}) {
    for (const char* name : {"a.XML", "renamed.XML"}) data.text(std::string(folder) + name, xml);
  }
  for (const char* name : {"a.JSON", "renamed.JSON"}) data.text(std::string("labelme/") + name, json);
  data.text("coco/ALL.JSON", coco);
  for (const auto& [place, format, unused] : {std::tuple{"yolo", "yolo", 1},
                                              {"parallel", "yolo", 1},
                                              {"voc", "voc", 0},
                                              {"devkit", "voc", 0},
                                              {"labelme", "labelme", 0},
                                              {"coco", "coco", 0}}) {
    DataOptions options = recognize_data((data.root() / place).string()).options;
    EXPECT_EQ(options.format->name, format) << place;
    options.classes = {"x"};
    const Dataset dataset = read_dataset(options, Split::train);
    EXPECT_EQ(count(dataset, Kind::unused_labels), unused) << place << '\n' << summarize(dataset.problems);
    ASSERT_EQ(dataset.images.size(), 2u) << place;
    for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  }
  data.text("devkit/list.txt", "a.XML\n");
  DataOptions listed = data.options("voc", "list.txt", {"x"});
  listed.root = (data.root() / "devkit").string();
  EXPECT_EQ(read_dataset(listed, Split::train).images.at(0).annotations.size(), 1u);
}

}  // namespace
}  // namespace brightnet
