#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/data/dataset_files.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

std::string object(const std::string& name, const std::string& corners, const std::string& more = "") {
  return "\t<object>\n\t\t<name>" + name + "</name>\n" + more + "\t\t<bndbox>" + corners +
         "</bndbox>\n\t</object>\n";
}

std::string corners(const std::string& x1, const std::string& y1, const std::string& x2,
                    const std::string& y2) {
  return "<xmin>" + x1 + "</xmin><ymin>" + y1 + "</ymin><xmax>" + x2 + "</xmax><ymax>" + y2 + "</ymax>";
}

std::string annotation(const std::string& objects, const std::string& filename = "a.jpg", int width = 100,
                       int height = 80) {
  return "<annotation>\n\t<filename>" + filename + "</filename>\n\t<size><width>" + std::to_string(width) +
         "</width><height>" + std::to_string(height) + "</height><depth>3</depth></size>\n" + objects +
         "</annotation>\n";
}

TEST(Voc, CoordinatesCountFromOneAndIncludeBothEnds) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("Annotations/a.xml",
            annotation(object("dog", corners("1", "1", "100", "80")) +
                       object(" cat\n", corners("11", "21", "20", "40"), "<difficult>1</difficult>") +
                       object("dog", corners(" 10.5 ", "20.25", "30.5", "40"))));
  data.text("ImageSets/Main/train.txt", "a\n");
  const Dataset dataset =
      read_dataset(data.options("voc", "ImageSets/Main/train.txt", {"cat", "dog"}), Split::train);
  const auto& boxes = dataset.images.at(0).annotations;
  ASSERT_EQ(boxes.size(), 3u);
  expect_box(boxes[0], 1, 0, 0, 100, 80);
  expect_box(boxes[1], 0, 10, 20, 20, 40);
  expect_box(boxes[2], 1, 9.5, 19.25, 30.5, 40);
  EXPECT_FALSE(boxes[0].difficult);
  EXPECT_TRUE(boxes[1].difficult);
  EXPECT_TRUE(dataset.problems.empty());
}

TEST(Voc, ZeroAreaIsJudgedByTheCoordinatesAsWritten) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("Annotations/a.xml", annotation(object("x", corners("5", "5", "5", "5")) +
                                            object("x", corners("20", "5", "10", "15")) +
                                            object("x", corners("0", "0", "10", "10"))));
  data.text("list.txt", "a\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images[0].annotations.size(), 1u);
  expect_box(dataset.images[0].annotations[0], 0, 0, 0, 10,
             10);  // a writer that counts from 0: clipped, no word
  EXPECT_EQ(count(dataset, Kind::zero_area_box), 2);
  EXPECT_EQ(count(dataset, Kind::outside_box), 0);
  EXPECT_TRUE(contains(dataset.problems[0].where, "a.xml:5"));
}

TEST(Voc, ListsAreFoundAndReadInEachOfTheirForms) {
  const DatasetFolder data;
  for (const char* name : {"a", "b c", "n 1", "v.2"}) {
    data.image(std::string("JPEGImages/") + name + ".JPG");
    data.text(std::string("Annotations/") + name + ".xml",
              annotation(object("x", corners("1", "1", "9", "9"))));
  }
  data.text("ImageSets/Main/train.txt", "a  1\r\nb c -1\r\n\r\nn 1\r\nv.2\r\na.jpg\r\n");
  for (const char* path : {"ImageSets/Main/train.txt", "train.txt", "train"}) {
    const Dataset dataset = read_dataset(data.options("voc", path, {"x"}), Split::train);
    ASSERT_EQ(dataset.images.size(), 5u) << path;
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
    EXPECT_EQ(dataset.images[1].file.filename(), "b c.JPG");
    EXPECT_EQ(dataset.images[2].file.filename(), "n 1.JPG");
  }
}

TEST(Voc, ListsOfImagesAndTheirXmlAreRead) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* name : {"JPEGImages/a.jpg", "images/b c.jpg", "images/d.png"}) data.image(name);
  data.text("Annotations/a.xml", annotation(box));
  data.text("xml/other name.xml", annotation(box + box));
  data.text("annotations/d.xml", annotation(box));
  data.text("train.txt",
            "JPEGImages/a.jpg Annotations/a.xml\n./images/b c.jpg\t./xml/other name.xml\n"
            "images/d.png gone/d.xml\n");
  const Dataset dataset = read_dataset(data.options("voc", "train.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 3u) << summarize(dataset.problems);
  EXPECT_EQ(dataset.images[1].file.filename(), "b c.jpg");
  for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  EXPECT_EQ(count(dataset, Kind::duplicate_box), 1) << "of the XML that the list names";
}

// A background image has no XML, which alone told its name from one with a flag behind it.
TEST(Voc, ANameThatEndsInANumberIsThatOfItsImageOrXml) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* name : {"photo", "photo 1", "cam/n", "cam/n 0", "other"})
    data.image(std::string("JPEGImages/") + name + ".jpg");
  data.text("Annotations/photo.xml", annotation(box, "photo.jpg"));
  data.text("annotations/old 1.xml", annotation(box, "other.jpg"));  // the name inside leads to its image
  data.text("list.txt", "photo\nphoto 1\ncam/n 1\ncam/n 0\nold 1\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  EXPECT_EQ(count(dataset, Kind::missing_image), 0) << summarize(dataset.problems);
  std::vector<std::string> files;
  for (const auto& image : dataset.images)
    files.push_back(image.file.lexically_relative(data.root() / "JPEGImages").string());
  EXPECT_EQ(files,
            (std::vector<std::string>{"photo.jpg", "photo 1.jpg", "cam/n.jpg", "cam/n 0.jpg", "other.jpg"}));
}

TEST(Voc, FoldersWithXmlBesideTheImagesAreRead) {
  const DatasetFolder data;
  data.image("train/a.jpg");
  data.text("train/a.xml", annotation(object("x", corners("1", "1", "9", "9"))));
  const Dataset dataset = read_dataset(data.options("voc", "train", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 1u);
}

TEST(Voc, TheFilesOwnNameCountsBeforeTheOneInside) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.image("JPEGImages/other.png", 50, 40);
  data.text("Annotations/a.xml", annotation(object("x", corners("1", "1", "9", "9")), "other.png"));
  data.text("Annotations/b.xml", annotation(object("x", corners("1", "1", "9", "9")), "other.jpg", 50, 40));
  data.text("list.txt", "a\nb\nc\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[0].file.filename(), "a.jpg");
  EXPECT_EQ(dataset.images[1].file.filename(), "other.png");  // no b.jpg: the name inside leads on
  ASSERT_EQ(count(dataset, Kind::missing_image), 1);
  EXPECT_TRUE(contains(dataset.problems[0].where, "c.jpg"));
}

// Labelling tools keep the name that an image had; a renaming of either file must not cost its objects.
TEST(Voc, InAFolderTheNameInsideLeadsAnXmlToItsImage) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* name : {"one", "two", "three"}) data.image(std::string("JPEGImages/") + name + ".jpg");
  data.text("Annotations/one.xml", annotation(box, "two.jpg"));  // its own name counts first
  data.text("Annotations/0002.xml",
            annotation(box + object("x", corners("20", "20", "29", "29")), "C:\\labels\\two.png"));
  data.text("Annotations/0003.xml", annotation(box, "two.jpg"));  // the second for one image
  data.text("Annotations/0004.xml", annotation(box, "gone.jpg"));
  data.text("Annotations/0005.xml", annotation("", "gone.jpg"));  // without objects nothing is lost
  const Dataset dataset = read_dataset(data.options("voc", "JPEGImages", {}), Split::train);
  EXPECT_EQ(dataset.classes, std::vector<std::string>{"x"});
  ASSERT_EQ(dataset.images.size(), 3u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 1u) << "one";
  EXPECT_TRUE(dataset.images[1].annotations.empty()) << "three";
  EXPECT_EQ(dataset.images[2].annotations.size(), 2u) << "two";
  EXPECT_EQ(count(dataset, Kind::no_label_file), 1);
  ASSERT_EQ(count(dataset, Kind::unused_labels), 2) << summarize(dataset.problems);
  EXPECT_TRUE(contains(summarize(dataset.problems), "0003.xml"));
  EXPECT_TRUE(contains(summarize(dataset.problems), "0004.xml"));
}

TEST(Voc, ImagesInFoldersHaveTheirXmlInTheSameFolders) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  const std::string two = box + object("x", corners("20", "20", "29", "29"));
  for (const char* image : {"1", "cam1/1", "cam2/1", "cam2/alone"})
    data.image("JPEGImages/" + std::string(image) + ".jpg");
  data.text("Annotations/1.xml", annotation(box, "1.jpg"));
  data.text("Annotations/cam1/1.xml", annotation(two, "1.jpg"));
  data.text("Annotations/alone.xml", annotation(two, "alone.jpg"));
  const auto boxes = [&](const std::string& train) {
    std::vector<size_t> found;
    const Dataset dataset = read_dataset(data.options("voc", train, {"x"}), Split::train);
    for (const auto& image : dataset.images) found.push_back(image.annotations.size());
    EXPECT_EQ(count(dataset, Kind::unused_labels), 0) << summarize(dataset.problems);
    return found;
  };
  // In the order of the paths: 1, cam1/1, cam2/1, cam2/alone.
  EXPECT_EQ(boxes("JPEGImages"), (std::vector<size_t>{1, 2, 0, 2}));
  std::string list;
  for (const char* image : {"cam2/1", "cam1/1", "cam2/alone"})
    list += (data.root() / "JPEGImages" / image).string() + ".jpg\n";
  data.text("list.txt", list);
  EXPECT_EQ(boxes("list.txt"), (std::vector<size_t>{0, 2, 2}));
}

TEST(Voc, ALinesFolderIsThatOfItsImage) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* image : {"1", "cam1/1", "cam2/1"}) data.image("JPEGImages/" + std::string(image) + ".jpg");
  data.text("Annotations/1.xml", annotation(box, "1.jpg"));
  data.text("Annotations/cam1/1.xml",
            annotation(box + object("x", corners("20", "20", "29", "29")), "1.jpg"));
  data.text("Annotations/cam2/1.xml", annotation("", "1.jpg"));
  data.text("list.txt", "cam1/1.jpg\nJPEGImages/cam2/1.jpg\n1.jpg\ncam1/1.xml\n./cam1/1\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
  ASSERT_EQ(dataset.images.size(), 5u);
  const struct {
    const char* file;
    size_t boxes;
  } expected[] = {{"cam1/1.jpg", 2}, {"cam2/1.jpg", 0}, {"1.jpg", 1}, {"cam1/1.jpg", 2}, {"cam1/1.jpg", 2}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(dataset.images[i].file, data.root() / "JPEGImages" / expected[i].file) << i;
    EXPECT_EQ(dataset.images[i].annotations.size(), expected[i].boxes) << i;
  }
  // One that is missing is not that of another folder; a path of another place counts by its last part.
  data.text("list.txt", "cam1/2.jpg\nVOC2007/JPEGImages/1.jpg\n");
  data.image("JPEGImages/2.jpg");
  const Dataset moved = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  ASSERT_EQ(count(moved, Kind::missing_image), 1);
  EXPECT_TRUE(contains(moved.problems[0].where, "cam1/2.jpg")) << moved.problems[0].where;
  ASSERT_EQ(moved.images.size(), 1u);
  EXPECT_EQ(moved.images[0].annotations.size(), 1u);
}

TEST(Voc, AnXmlThatImagesOfTwoSplitsHaveIsReported) {
  const DatasetFolder data;
  for (const char* image : {"images/train/1", "images/train/2", "images/val/1", "images/val/3"})
    data.image(std::string(image) + ".jpg");
  for (const std::string name : {"1", "2", "3"})
    data.text("Annotations/" + name + ".xml",
              annotation(object("x", corners("1", "1", "9", "9")), name + ".jpg"));
  const DataOptions options = data.options("voc", "images/train", {"x"}, "images/val");
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read_dataset(options, split);
    ASSERT_EQ(count(dataset, Kind::shared_labels), 1) << summarize(dataset.problems);
    EXPECT_EQ(dataset.problems.size(), 1u) << summarize(dataset.problems);
    const std::string said = summarize(dataset.problems);
    for (const char* word : {"Annotations/1.xml", "images/train/1.jpg", "images/val/1.jpg", "used for both"})
      EXPECT_TRUE(contains(said, word)) << said;
    for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  }
  // Each in its own folder, none is shared.
  for (const std::string split : {"train", "val"})
    data.text("Annotations/" + split + "/1.xml",
              annotation(object("x", corners("1", "1", "9", "9")), "1.jpg"));
  EXPECT_EQ(count(read_dataset(options, Split::val), Kind::shared_labels), 0);
}

TEST(Voc, AnXmlBelowAnnotationsIsNotSilentlyUnused) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* image : {"cam1/1", "cam2/1", "cam2/2"})
    data.image("JPEGImages/" + std::string(image) + ".jpg");
  data.text("Annotations/cam1/1.xml", annotation(box, "1.jpg"));
  data.text("Annotations/cam2/renamed.xml", annotation(box, "1.jpg"));
  data.text("Annotations/cam2/lost.xml", annotation(box, "lost.jpg"));
  const Dataset dataset = read_dataset(data.options("voc", "JPEGImages", {"x"}), Split::train);
  EXPECT_EQ(dataset.images.at(0).annotations.size(), 1u);
  EXPECT_EQ(dataset.images.at(1).annotations.size(), 1u) << "the one of its folder";
  EXPECT_TRUE(dataset.images.at(2).annotations.empty());
  ASSERT_EQ(count(dataset, Kind::unused_labels), 1) << summarize(dataset.problems);
  EXPECT_TRUE(contains(summarize(dataset.problems), "lost.xml"));
}

TEST(Voc, AnXmlOfAnotherSplitsImageIsNotUnused) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const std::string split : {"train", "val"}) {
    data.image(split + "/" + split + ".jpg");
    data.image(split + "/renamed_" + split + ".jpg");
    data.text("Annotations/" + split + ".xml", annotation(box, split + ".jpg"));
    data.text("Annotations/old_" + split + ".xml", annotation(box, "renamed_" + split + ".jpg"));
  }
  const DataOptions options = data.options("voc", "train", {"x"}, "val");
  for (const Split split : {Split::train, Split::val}) {
    const Dataset dataset = read_dataset(options, split);
    EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
    for (const auto& image : dataset.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  }
  // As `data split` writes its lists: by absolute paths.
  data.text("list.txt", (data.root() / "train/renamed_train.jpg").string() + '\n');
  const Dataset listed = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  EXPECT_EQ(listed.images.at(0).annotations.size(), 1u);
}

TEST(Voc, WithoutAnXmlAnImageIsBackground) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.image("JPEGImages/b.jpg");
  data.text("Annotations/a.xml", annotation(object("x", corners("1", "1", "9", "9"))));
  data.text("list.txt", "a\nb\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_TRUE(dataset.images[1].annotations.empty());
  EXPECT_EQ(count(dataset, Kind::no_label_file), 1);
}

TEST(Voc, SizesThatDisagreeAreReportedAndZeroIsNoClaim) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.image("JPEGImages/b.jpg");
  data.text("Annotations/a.xml", annotation(object("x", corners("1", "1", "9", "9")), "a.jpg", 0, 0));
  data.text("Annotations/b.xml", annotation(object("x", corners("1", "1", "9", "9")), "b.jpg", 200, 160));
  data.text("list.txt", "a\nb\n");
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train);
  EXPECT_EQ(dataset.images[0].width, 100);
  EXPECT_EQ(dataset.images[0].height, 80);
  ASSERT_EQ(count(dataset, Kind::other_size), 1);
  EXPECT_EQ(dataset.problems[0].detail, "100x80 instead of 200x160");
  expect_box(dataset.images[1].annotations.at(0), 0, 0, 0, 9, 9);
}

TEST(Voc, BoxesDrawnBeforeTheExifRotationAreTurnedWithTheImage) {
  const DatasetFolder data;
  data.text("list.txt", "a\n");
  const DataOptions options = data.options("voc", "list.txt", {"x"});
  // Stored 100 wide, 80 high; the box covers the 10 leftmost columns of the 20 topmost rows, as stored.
  const std::string box = object("x", corners("1", "1", "10", "20"));
  const struct {
    uint8_t orientation;
    float x1, y1, x2, y2;
  } expected[] = {{5, 0, 0, 20, 10}, {6, 60, 0, 80, 10}, {7, 60, 90, 80, 100}, {8, 0, 90, 20, 100}};
  for (const auto& e : expected) {
    data.bytes("JPEGImages/a.jpg", DatasetFolder::rotated_jpeg(100, 80, e.orientation));
    data.text("Annotations/a.xml", annotation(box, "a.jpg", 100, 80));
    const Dataset dataset = read_dataset(options, Split::train);
    expect_box(dataset.images[0].annotations.at(0), 0, e.x1, e.y1, e.x2, e.y2);
    EXPECT_EQ(count(dataset, Kind::turned_boxes), 1);
    // The same corners under the size that is shown are corners of the image that is shown.
    data.text("Annotations/a.xml", annotation(box, "a.jpg", 80, 100));
    const Dataset shown = read_dataset(options, Split::train);
    expect_box(shown.images[0].annotations.at(0), 0, 0, 0, 10, 20);
    EXPECT_TRUE(shown.problems.empty());
  }
}

TEST(Voc, UnknownClassesNameFileLineAndTheNearest) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("Annotations/a.xml", annotation(object("RBC", corners("1", "1", "9", "9")) +
                                            object("Platlets", corners("1", "1", "9", "9"))));
  data.text("list.txt", "a\n");
  const std::string text = message(data.options("voc", "list.txt", {"RBC", "WBC", "Platelets"}));
  EXPECT_TRUE(contains(text, "a.xml:9: class 'Platlets'"));
  EXPECT_TRUE(contains(text, "Did you mean 'Platelets'?"));
}

TEST(Voc, MalformedXmlIsAnErrorWithItsLine) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("list.txt", "a\n");
  const DataOptions options = data.options("voc", "list.txt", {"x"});
  const auto error = [&](const std::string& xml) {
    data.text("Annotations/a.xml", xml);
    return message(options);
  };
  EXPECT_TRUE(
      contains(error(annotation(object("x", corners("1", "one", "9", "9")))), "a.xml:6: <ymin> is 'one'"));
  EXPECT_TRUE(contains(error(annotation(object("x", "<xmin>1</xmin>"))), "no <bndbox> with <ymin>"));
  const auto expect_once = [&](const std::string& xml, const std::string& words) {
    EXPECT_TRUE(contains(error(xml), words));
    const Dataset dataset = read_dataset(options, Split::train, true);
    EXPECT_EQ(count(dataset, Kind::malformed_label), 1) << words;
    EXPECT_EQ(count(dataset, Kind::unknown_class), 0) << words;
  };
  expect_once(annotation("<object>\n</object>\n"), "a.xml:4: this <object> has no <name>");
  expect_once(annotation("<object>\n<name> </name>\n</object>\n"),
              "a.xml:5: the <name> of this <object> is empty");
  EXPECT_TRUE(contains(error("<annotation>\n<object>\n</annotation>\n"), "a.xml:3: this is not valid XML"));
  EXPECT_TRUE(contains(error(annotation("").substr(0, 60)), "this is not valid XML"));
  EXPECT_TRUE(contains(error(""), "a.xml:1: this is not valid XML"));
  EXPECT_TRUE(contains(error("<html></html>"), "no <annotation>"));
}

// The parser keeps what stood before the damage.
TEST(Voc, NothingOfADamagedFileIsRead) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("list.txt", "a\n");
  data.text("Annotations/a.xml", annotation(object("x", corners("1", "1", "9", "9")) + "<object>\n"));
  const Dataset dataset = read_dataset(data.options("voc", "list.txt", {"x"}), Split::train, true);
  EXPECT_EQ(count(dataset, Kind::malformed_label), 1);
  for (const auto& image : dataset.images) EXPECT_TRUE(image.annotations.empty());
}

TEST(Voc, ASplitMayHaveSeveralPlaces) {
  const DatasetFolder data;
  const std::string box = object("x", corners("1", "1", "9", "9"));
  for (const char* image : {"a/images/1", "b/images/1", "JPEGImages/2", "JPEGImages/3"})
    data.image(std::string(image) + ".jpg");
  for (const char* labels : {"a/annotations/1", "b/annotations/1", "Annotations/2", "Annotations/3"})
    data.text(std::string(labels) + ".xml", annotation(box));
  data.text("two.txt", "2\n");
  data.text("three.txt", "3\n");
  const DataOptions options = data.options("voc", "a/images\nb/images\ntwo.txt", {"x"}, "three.txt");
  const Dataset train = read_dataset(options, Split::train);
  ASSERT_EQ(train.images.size(), 3u) << summarize(train.problems);
  EXPECT_TRUE(train.problems.empty()) << summarize(train.problems);
  for (const auto& image : train.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  EXPECT_EQ(train.images[2].listed, "2");
  EXPECT_EQ(read_dataset(options, Split::val).images.size(), 1u);
}

TEST(Voc, ClassesAreTheSortedNamesOfBothSplits) {
  const DatasetFolder data;
  for (const char* name : {"a", "b"}) data.image(std::string("JPEGImages/") + name + ".jpg");
  data.text("Annotations/a.xml", "\xEF\xBB\xBF" + annotation(object("dog", corners("1", "1", "9", "9"))));
  data.text("Annotations/b.xml", annotation(object("ant", corners("1", "1", "9", "9"))));
  data.text("train.txt", "a\n");
  data.text("val.txt", "b\n");
  const DataOptions options = data.options("voc", "train.txt", {}, "val.txt");
  for (const Split split : {Split::train, Split::val})
    EXPECT_EQ(read_dataset(options, split).classes, (std::vector<std::string>{"ant", "dog"}));
  EXPECT_EQ(read_dataset(options, Split::train).images[0].annotations.at(0).class_id, 1);
}

TEST(Voc, BloodCellsReadWhole) {
  const fs::path bccd = testing::source_dir() / "../shared/bccd";
  if (!fs::exists(bccd)) GTEST_SKIP() << "the BCCD photographs are not in ../shared/bccd";
  DataOptions options;
  options.format = &dataset_format("voc");
  options.root = bccd.string();
  options.train = "ImageSets/Main/train.txt";
  options.val = "ImageSets/Main/val.txt";
  options.classes = {"RBC", "WBC", "Platelets"};
  const Dataset train = read_dataset(options, Split::train), val = read_dataset(options, Split::val);
  EXPECT_EQ(train.images.size(), 205u);
  EXPECT_EQ(val.images.size(), 87u);
  const auto by_class = [](const Dataset& dataset) {
    std::vector<int> counts(3);
    for (const auto& image : dataset.images) {
      for (const auto& a : image.annotations) ++counts[static_cast<size_t>(a.class_id)];
    }
    return counts;
  };
  EXPECT_EQ(by_class(train)[1] + by_class(val)[1], 214 + 87);
  const auto sum = [](const std::vector<int>& counts) { return counts[0] + counts[1] + counts[2]; };
  EXPECT_EQ(sum(by_class(train)), 2804);  // 2805 and 1138 are written
  EXPECT_EQ(sum(by_class(val)), 1137);
  for (const auto* dataset : {&train, &val}) {
    EXPECT_EQ(dataset->problems.size(), 1u);
    EXPECT_EQ(count(*dataset, Kind::zero_area_box), 1);
  }
  EXPECT_TRUE(contains(train.problems[0].where, "BloodImage_00343.xml"));
}

}  // namespace
}  // namespace brightnet
