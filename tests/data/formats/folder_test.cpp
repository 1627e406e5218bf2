#include "data/formats/folder.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace brightnet
