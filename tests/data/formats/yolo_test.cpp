#include "data/formats/yolo.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;
const std::string one_line = "0 0.5 0.5 0.2 0.2\n";

TEST(Yolo, LabelsAreFoundInTheParallelFolderAndBesideTheImage) {
  const DatasetFolder data;
  data.image("images/train/a.jpg");
  data.image("images/train/sub/b.jpg");
  data.image("images/train/c.jpg");
  data.image("images/val/v.jpg");
  data.text("labels/train/a.txt", "0 0.1 0.1 0.1 0.1\n");
  data.text("labels/train/sub/b.txt", "1 0.2 0.2 0.1 0.1\n");
  data.text("images/train/c.txt", "2 0.3 0.3 0.1 0.1\n");
  data.text("labels/val/v.txt", one_line);
  const DataOptions options = data.options("yolo", "images/train", {"x", "y", "z"}, "images/val");
  const Dataset train = read_dataset(options, Split::train);
  ASSERT_EQ(train.images.size(), 3u);  // sorted by path
  expect_box(train.images[0].annotations.at(0), 0, 5, 4, 15, 12);
  expect_box(train.images[1].annotations.at(0), 2, 25, 20, 35, 28);
  expect_box(train.images[2].annotations.at(0), 1, 15, 12, 25, 20);
  EXPECT_EQ(read_dataset(options, Split::val).images.size(), 1u);
}

TEST(Yolo, LabelsReplaceTheLastOfTheFoldersThatAreCalledImages) {
  const DatasetFolder data;
  data.image("images/bolts/images/train/a.jpg");
  data.text("images/bolts/labels/train/a.txt", one_line);
  const Dataset dataset =
      read_dataset(data.options("yolo", "images/bolts/images/train", {"x"}), Split::train, true);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 1u) << summarize(dataset.problems);
}

TEST(Yolo, RoboflowsLayoutWithImagesBelowTheSplitIsRead) {
  const DatasetFolder data;
  data.image("train/images/a.jpg");
  data.text("train/labels/a.txt", one_line);
  data.text("train/labels/classes.txt", "cat\n");
  for (const char* path : {"train", "train/images"}) {
    const Dataset dataset = read_dataset(data.options("yolo", path, {}), Split::train);
    ASSERT_EQ(dataset.images.size(), 1u);
    EXPECT_EQ(dataset.images[0].annotations.size(), 1u);
    EXPECT_EQ(dataset.classes, std::vector<std::string>{"cat"});
  }
}

TEST(Yolo, ListPathsStartAtTheRootOrAtTheList) {
  const DatasetFolder data;
  data.image("pictures/a.jpg");
  data.image("lists/b.jpg");
  data.image("pictures/c.jpg");
  data.text("pictures/a.txt", one_line);
  data.text("lists/train.txt",
            "pictures/a.jpg\n./b.jpg\n" + (data.root() / "pictures/c.jpg").string() + "\npictures\\a.jpg\n");
  const Dataset dataset = read_dataset(data.options("yolo", "lists/train.txt", {"x"}), Split::train);
  EXPECT_EQ(dataset.images.size(), 4u);
  EXPECT_EQ(count(dataset, Kind::missing_image), 0);
}

TEST(Yolo, ByteOrderMarksCarriageReturnsBlankLinesAndSpacesAreTakenInTheStride) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("a.txt", "\xEF\xBB\xBF\r\n  0 0.5\t0.5 0.2 0.2  \r\n\r\n\t\r\n1.0 +0.25 .25 1e-1 0.1");
  data.text("list.txt",
            "\xEF\xBB\xBF"
            "a.jpg \r\n\r\n");
  const Dataset dataset = read_dataset(data.options("yolo", "list.txt", {"x", "y"}), Split::train);
  ASSERT_EQ(dataset.images[0].annotations.size(), 2u);
  expect_box(dataset.images[0].annotations[0], 0, 40, 32, 60, 48);
  expect_box(dataset.images[0].annotations[1], 1, 20, 16, 30, 24);
}

TEST(Yolo, UpperCaseExtensionsSpacesAndOtherScriptsInNamesAreRead) {
  const DatasetFolder data;
  data.image("Bilder 1/images/Größe № 1.JPG");
  data.image("Bilder 1/images/写真.PNG");
  data.text("Bilder 1/labels/Größe № 1.txt", one_line);
  data.text("Bilder 1/labels/写真.txt", one_line);
  const Dataset dataset = read_dataset(data.options("yolo", "Bilder 1/images", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
}

TEST(Yolo, PolygonsBecomeTheBoxAroundThem) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("a.txt", "0 0.2 0.5 0.4 0.25 0.6 0.75\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  expect_box(dataset.images[0].annotations.at(0), 0, 20, 20, 60, 60);
}

TEST(Yolo, LinesOfSevenNumbersAreReportedSinceABoxMayHaveAScoreAndAnId) {
  const DatasetFolder data;
  data.image("a.jpg");
  const DataOptions options = data.options("yolo", ".", {"x"});
  data.text("a.txt", "0 .375 .375 .25 .25 0.93 0.1\n0 0.1 0.1 0.3 0.1 0.3 0.3 0.1 0.3\n");
  const Dataset dataset = read_dataset(options, Split::train);
  ASSERT_EQ(count(dataset, Kind::triangle), 1);
  EXPECT_TRUE(contains(dataset.problems[0].where, "a.txt:1"));
  expect_box(dataset.images[0].annotations.at(0), 0, 25, 8, 93, 30);
  EXPECT_TRUE(contains(summarize(dataset.problems), "read as a class and three points: "));
  data.text("a.txt", "0 .375 .375 .25 .25 0.93 17\n");
  EXPECT_TRUE(contains(message(options), "A box with a score and an id is a detection"));
  data.text("a.txt", "0 .375 .375 .25 .25 0.93\n");
  EXPECT_TRUE(contains(message(options), "write the labels without"));
}

TEST(Yolo, KeyPointsBehindABoxAreNoOutline) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("a.txt", "0 0.5 0.5 0.2 0.4 0.1 0.1 0.9 0.9\n0 0.2 0.5 0.2 0.4\n");
  DataOptions options = data.options("yolo", ".", {"x"});
  options.kpt_shape = {2, 2};
  const auto expect_boxes = [&] {
    const Dataset dataset = read_dataset(options, Split::train);
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
    ASSERT_EQ(dataset.images.at(0).annotations.size(), 2u);
    expect_box(dataset.images[0].annotations[0], 0, 40, 24, 60, 56);
    expect_box(dataset.images[0].annotations[1], 0, 10, 24, 30, 56);
  };
  expect_boxes();
  options.kpt_shape = {};
  data.text("data.yaml", "names: [x]\nkpt_shape: [2, 2]\n");
  expect_boxes();
  options.kpt_shape = {3, 3};
  EXPECT_TRUE(contains(message(options),
                       "a.txt:1: '0 0.5 0.5 0.2 0.4 0.1 0.1 0.9 0.9' is not 'class x y width "
                       "height' and 9 numbers of key points"))
      << message(options);
  options.kpt_shape = {3};
  EXPECT_TRUE(contains(message(options), "data.kpt_shape: 'kpt_shape' is [3]")) << message(options);
}

TEST(Yolo, AFileBesideTheOneWithTheNamesIsNotAskedForKeyPoints) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("a.txt", "0 0.2 0.5 0.2 0.4\n");
  data.text("data.yaml", "names: [x]\n");
  data.text("dataset.yaml", "names: [x\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {}), Split::train);
  EXPECT_EQ(dataset.images.at(0).annotations.size(), 1u);
}

TEST(Yolo, LabelsWithoutAnImageAreReported) {
  const DatasetFolder data;
  data.image("images/train/a.jpg");
  data.image("images/train/sub/b.jpg");
  data.text("images/train/c.gif", "reported by its ending");
  data.text("images/train/beside.txt", one_line);
  data.text("images/train/notes.txt", "photographed in May\n");
  for (const char* name : {"a", "sub/b", "c", "lost", "sub/lost"})
    data.text("labels/train/" + std::string(name) + ".txt", "\n" + one_line);
  data.text("labels/train/classes.txt", "x\n");
  data.text("labels/train/empty.txt", "");
  data.text("labels/val/v.txt", one_line);  // another split's
  const Dataset dataset = read_dataset(data.options("yolo", "images/train", {"x"}), Split::train);
  EXPECT_EQ(count(dataset, Kind::unknown_ending), 1);
  ASSERT_EQ(count(dataset, Kind::unused_labels), 3) << summarize(dataset.problems);
  EXPECT_TRUE(contains(summarize(dataset.problems), "3 label files belong to no image, not used: "));
  EXPECT_TRUE(contains(dataset.problems[1].where, "images/train/beside.txt"));
  EXPECT_TRUE(contains(dataset.problems[2].where, "labels/train/lost.txt"));
  EXPECT_TRUE(contains(dataset.problems[3].where, "labels/train/sub/lost.txt"));
}

TEST(Yolo, MalformedLinesAreErrorsWithFileAndLine) {
  const DatasetFolder data;
  data.image("a.jpg");
  const DataOptions options = data.options("yolo", ".", {"x"});
  for (const char* line : {"0 0.5 0.5 0.2", "0 0.5 0.5 0.2 0.2 0.9", "x 0.5 0.5 0.2 0.2", "0 0,5 0,5 0,2 0,2",
                           "0 nan 0.5 0.2 0.2", "0 inf 0.5 0.2 0.2", "0 0.5 0.5 0.2 0.2x"}) {
    data.text("a.txt", one_line + "\n" + line + "\n");
    const std::string text = message(options);
    EXPECT_TRUE(contains(text, "a.txt:3")) << line;
    EXPECT_TRUE(contains(text, "is not 'class x y width height'")) << line;
  }
  data.text("a.txt", "0 50 40 20 16\n");
  EXPECT_TRUE(contains(message(options), "not fractions of the image"));
}

TEST(Yolo, ClassIdsOutOfRangeAreErrorsThatNameTheNearest) {
  const DatasetFolder data;
  data.image("a.jpg");
  const DataOptions options = data.options("yolo", ".", {"cat", "dog"});
  data.text("a.txt", one_line + "2 0.5 0.5 0.2 0.2\n");
  std::string text = message(options);
  EXPECT_TRUE(contains(text, "a.txt:2"));
  EXPECT_TRUE(contains(text, "class id 2 is out of range: there are 2 classes, 0 to 1"));
  EXPECT_TRUE(contains(text, "nearest known class is 1, 'dog'"));
  data.text("a.txt", "-1 0.5 0.5 0.2 0.2\n");
  EXPECT_TRUE(contains(message(options), "nearest known class is 0, 'cat'"));
  data.text("a.txt", "0.5 0.5 0.5 0.2 0.2\n");
  EXPECT_TRUE(contains(message(options), "class id 0.5 is out of range"));
}

TEST(Yolo, ClassNamesComeFromTheDataSetWhenNobodyGivesThem) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  data.text("labels/a.txt", one_line);
  const DataOptions options = data.options("yolo", "images", {});
  const auto classes = [&] { return read_dataset(options, Split::train).classes; };
  const std::string text = message(options);
  EXPECT_TRUE(contains(text, "names of the classes are not known"));
  EXPECT_TRUE(contains(text, "classes.txt"));
  EXPECT_TRUE(contains(text, "--set data.classes=[a,b]"));
  DataOptions without_settings = options;
  without_settings.takes_settings = false;
  EXPECT_TRUE(contains(message(without_settings), "classes.txt"));
  EXPECT_FALSE(contains(message(without_settings), "--set")) << "for a command that has none";
  data.text("obj.names", "from names\n");
  EXPECT_EQ(classes(), std::vector<std::string>{"from names"});
  data.text("classes.txt",
            "\xEF\xBB\xBF"
            "from txt\r\nsecond\r\n\r\n");
  EXPECT_EQ(classes(), (std::vector<std::string>{"from txt", "second"}));
  data.text("data.yaml", "nc: 2\nnames: {0: zero, 1: one}\n");
  EXPECT_EQ(classes(), (std::vector<std::string>{"zero", "one"}));
  data.text("data.yaml", "nc: 2\nnames: [first, second]\n");
  EXPECT_EQ(classes(), (std::vector<std::string>{"first", "second"}));
  data.text("data.yaml", "format: yolo\nclasses: [a]\n");
  EXPECT_EQ(classes(), std::vector<std::string>{"a"});
  data.text("data.yaml", "names: {0: zero, 2: two}\n");
  EXPECT_TRUE(contains(message(options), "data.yaml"));
  EXPECT_TRUE(contains(message(options), "add '1: unused_1' to names."));
  EXPECT_FALSE(contains(message(options), "begin with 0, write")) << "it has a gap";
  data.text("data.yaml", "names: {1: cat, 2: dog}\n");
  const std::string from_one = message(options);
  EXPECT_TRUE(contains(from_one, "the ids of 'names' are not 0, 1, 2 …: 1 stands for 0. Name each id from 0"))
      << from_one;
  EXPECT_TRUE(contains(from_one,
                       "add '0: unused_0' to names. Where the ids in the labels begin with 0, write "
                       "names: {0: cat, 1: dog}."))
      << from_one;
  DataOptions named = options;
  named.names = {"given"};
  EXPECT_EQ(read_dataset(named, Split::train).classes, std::vector<std::string>{"given"});
  std::filesystem::remove(data.root() / "data.yaml");
  EXPECT_TRUE(contains(message(data.options("yolo", "images", {"x", "x"})), "'x' is listed twice"));
}

// labelImg writes a classes.txt into each folder of labels, in the order in which it met the classes.
TEST(Yolo, EachSplitsIdsAreThoseOfItsOwnListAndTheClassesAreTrains) {
  const DatasetFolder data;
  for (const std::string split : {"train", "val"}) {
    data.image("images/" + split + "/a.jpg");
    data.text("labels/" + split + "/a.txt", "0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.4 0.4\n");
  }
  data.text("labels/train/classes.txt", "cat\ndog\n");
  DataOptions options = data.options("yolo", "images/train", {}, "images/val");
  const auto ids = [&](Split split) {
    const Dataset dataset = read_dataset(options, split);
    std::vector<std::string> found;
    for (const Annotation& box : dataset.images.at(0).annotations)
      found.push_back(dataset.classes.at(static_cast<size_t>(box.class_id)));
    EXPECT_EQ(dataset.classes, read_dataset(options, Split::train).classes);
    return found;
  };
  const std::vector<std::string> as_train{"cat", "dog"}, turned{"dog", "cat"};
  EXPECT_EQ(ids(Split::val), as_train) << "train's list where val has none";
  data.text("labels/val/classes.txt", "dog\ncat\n");
  EXPECT_EQ(ids(Split::train), as_train);
  EXPECT_EQ(ids(Split::val), turned);
  options.classes = {"x", "y"};  // data.classes names train's ids anew
  EXPECT_EQ(ids(Split::val), (std::vector<std::string>{"y", "x"}));
  options.classes = {"dog", "cat"};
  EXPECT_EQ(ids(Split::val), turned);
  options.classes = {};
  data.text("labels/val/classes.txt", "dog\nbird\n");
  EXPECT_TRUE(contains(message(options, Split::val), "class 'bird' is not one of the 2 classes"));
  EXPECT_TRUE(contains(message(options, Split::val), "labels/val/a.txt:2"));
  // As `data split` mixes them.
  data.text("list.txt", "images/train/a.jpg\nimages/val/a.jpg\n");
  const Dataset mixed = read_dataset(data.options("yolo", "list.txt", {}), Split::train);
  EXPECT_EQ(mixed.classes, (std::vector<std::string>{"cat", "dog", "bird"}));
  EXPECT_EQ(mixed.images.at(0).annotations.at(0).class_id, 0);
  EXPECT_EQ(mixed.images.at(1).annotations.at(0).class_id, 1);
  EXPECT_EQ(mixed.images.at(1).annotations.at(1).class_id, 2);
  options.train = "images/elsewhere";
  EXPECT_EQ(read_dataset(options, Split::val).classes, (std::vector<std::string>{"dog", "bird"}));
}

TEST(Yolo, IdsAreThoseOfAFoldersOwnListWhereTheRootHasATextOfTheClassesToo) {
  const DatasetFolder data;
  for (const std::string split : {"train", "val"}) {
    data.image("images/" + split + "/a.jpg");
    data.text("labels/" + split + "/a.txt", "0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.4 0.4\n");
  }
  DataOptions options = data.options("yolo", "images/train", {}, "images/val");
  using Names = std::vector<std::string>;
  const auto names = [&](Split split) {
    const Dataset dataset = read_dataset(options, split);
    Names found;
    for (const Annotation& box : dataset.images.at(0).annotations)
      found.push_back(dataset.classes.at(static_cast<size_t>(box.class_id)));
    EXPECT_EQ(dataset.classes, (Names{"cat", "dog", "bird"}));
    return found;
  };
  for (const char* list : {"obj.names", "classes.txt"}) {
    data.text(list, "cat\ndog\nbird\n");
    data.text("labels/train/classes.txt", "dog\nbird\n");
    data.text("labels/val/classes.txt", "cat\ndog\n");
    EXPECT_EQ(names(Split::train), (Names{"dog", "bird"})) << list;
    EXPECT_EQ(names(Split::val), (Names{"cat", "dog"})) << list;
  }
  data.text("labels/val/classes.txt", "dog\ncat\nfish\n");
  EXPECT_EQ(names(Split::val), (Names{"dog", "cat"})) << "no object is a fish";
  // A list that labelImg made from its own words, for ids that are those of the root's list.
  data.text("labels/val/classes.txt", "person\nlaptop\n");
  const std::string said = message(options, Split::val);
  for (const char* part : {"labels/val/a.txt:1: class 'person' of ", "labels/val/classes.txt is not in ",
                           "/classes.txt. The ids in a folder are those of its own list.", "or remove "})
    EXPECT_TRUE(contains(said, part));
  options.names = {"cat", "dog", "bird"};
  EXPECT_EQ(names(Split::val), (Names{"cat", "dog"})) << "data.names says it for all folders";
  options.names = {};
  data.text("data.yaml", "names: [cat, dog, bird]\n");
  EXPECT_EQ(names(Split::val), (Names{"cat", "dog"})) << "as does a YAML";
}

TEST(Yolo, AListBesideTheLabelsIsMeantRatherThanOneBesideTheImages) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  data.text("labels/a.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("labels/classes.txt", "cat\ndog\n");
  data.text("images/classes.txt", "dog\ncat\n");
  const auto name = [&](const std::string& train) {
    const Dataset dataset = read_dataset(data.options("yolo", train, {}), Split::train);
    return dataset.classes.at(static_cast<size_t>(dataset.images.at(0).annotations.at(0).class_id));
  };
  EXPECT_EQ(name("images"), "cat");
  fs::rename(data.root() / "labels/classes.txt", data.root() / "classes.txt");
  EXPECT_EQ(name("images"), "cat") << "the root's";
  fs::remove(data.root() / "classes.txt");
  EXPECT_EQ(name("images"), "dog") << "the only list";
  data.text("classes.txt", "cat\ndog\n");
  fs::rename(data.root() / "labels/a.txt", data.root() / "images/a.txt");
  EXPECT_EQ(name("images"), "dog") << "where the labels lie beside the images";
}

TEST(Yolo, ADataYamlMayHavePathsOfWindows) {
  const DatasetFolder data;
  for (const std::string split : {"train", "val"}) {
    data.image("mine/images/" + split + "/a.jpg");
    data.text("mine/labels/" + split + "/a.txt", one_line);
  }
  const std::string file = (data.root() / "mine/data.yaml").string();
  for (const auto& [path, above] :
       {std::pair(".\\", ".\\"), {"..\\mine", ""}, {".\\..\\mine\\", ""}, {"..\\", "mine\\"}}) {
    data.text("mine/data.yaml", std::string("path: ") + path + "\ntrain: " + above +
                                    "images\\train\\\nval: " + above + "images\\val\nnames: [bolt]\n");
    const DataOptions options = recognize_data(file).options;
    EXPECT_EQ(options.root, (*above == 'm' ? data.root() : data.root() / "mine").string()) << path;
    for (const Split split : {Split::train, Split::val})
      EXPECT_EQ(read_dataset(options, split).images.size(), 1u) << path;
  }
  data.text("mine/data.yaml", "format: yolo\nroot: .\\\ntrain: images\\train\nclasses: [bolt]\n");
  EXPECT_EQ(read_dataset(recognize_data(file).options, Split::train).images.size(), 1u);
  for (const char* text : {"path: C:\\data\ntrain: images\\train\nnames: [bolt]\n",
                           "train: C:\\data\\images\\train\nnames: [bolt]\n"}) {
    data.text("mine/data.yaml", text);
    try {
      recognize_data(file);
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_TRUE(contains(e.what(), "data.yaml:1: ")) << text;
      EXPECT_TRUE(contains(e.what(), "It is a path of Windows: write where it is on this computer")) << text;
    }
  }
}

TEST(Yolo, ClassNamesInTheCurrentFolderAreOfOtherData) {
  const DatasetFolder data;
  data.image("pictures/a.jpg");
  data.text("pictures/a.txt", one_line);
  data.text("here/classes.txt", "car\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(data.root() / "here");
  const std::string said = message(data.options("yolo", "pictures", {}));
  std::filesystem::current_path(before);
  EXPECT_TRUE(contains(said, "names of the classes are not known"));
}

}  // namespace
}  // namespace brightnet
