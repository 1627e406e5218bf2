// The policies that all formats share.
#include "data/formats/read.h"

#include <clocale>

#include <gtest/gtest.h>

#include "core/config.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

TEST(Dataset, ZeroAreaBoxesAreDroppedAndNamed) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text(
      "a.txt",
      "0 0.5 0.5 0.2 0\n0 0.5 0.5 0 0.2\n0 0.5 0.5 -0.1 0.2\n0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.00005 0.2\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  ASSERT_EQ(dataset.images[0].annotations.size(), 1u);
  expect_box(dataset.images[0].annotations[0], 0, 40, 32, 60, 48);
  EXPECT_EQ(count(dataset, Kind::zero_area_box), 4);
  EXPECT_TRUE(contains(dataset.problems[2].where, "a.txt:3"));
}

TEST(Dataset, BoxesAreClippedAndDroppedWhenNothingIsLeft) {
  const DatasetFolder data;
  data.image("a.jpg");  // 100 x 80
  data.text("a.txt",
            "0 0.0 0.5 0.2 0.5\n"      // -10 … 10: clipped
            "0 1.2 0.5 0.2 0.5\n"      // 110 … 130: gone
            "0 0.5 -0.5 0.5 0.5\n"     // above the image: gone
            "0 0.5 0.5 1.01 1.01\n"    // half a pixel over: clipped without a word
            "0 0.75 0.75 0.5 0.5\n");  // to the very edge
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  const auto& boxes = dataset.images[0].annotations;
  ASSERT_EQ(boxes.size(), 3u);
  expect_box(boxes[0], 0, 0, 20, 10, 60);
  EXPECT_FLOAT_EQ(boxes[0].area, 400);
  expect_box(boxes[1], 0, 0, 0, 100, 80);
  expect_box(boxes[2], 0, 50, 40, 100, 80);
  ASSERT_EQ(count(dataset, Kind::outside_box), 3);
  EXPECT_TRUE(contains(dataset.problems[0].detail, "clipped"));
  EXPECT_TRUE(contains(dataset.problems[1].detail, "dropped"));

  // A box that lies outside by less than a pixel is lost all the same, and said so.
  data.text("a.txt", "0 -0.004 0.5 0.006 0.5\n");  // -0.7 … -0.1
  const Dataset lost = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  EXPECT_TRUE(lost.images[0].annotations.empty());
  EXPECT_EQ(count(lost, Kind::outside_box), 1);
}

TEST(Dataset, DuplicatesAreKeptOnce) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("a.txt", "0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.21\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x", "y"}), Split::train);
  EXPECT_EQ(dataset.images[0].annotations.size(), 3u);
  ASSERT_EQ(count(dataset, Kind::duplicate_box), 1);
  EXPECT_TRUE(contains(dataset.problems[0].where, "a.txt:3"));

  // Boxes that differ in one corner only are different objects.
  const std::string corners[] = {"0.2 0.2 0.2 0.4 0.4 0.4", "0.1 0.2 0.1 0.4 0.4 0.4",
                                 "0.2 0.1 0.2 0.4 0.4 0.4", "0.2 0.2 0.2 0.4 0.5 0.4",
                                 "0.2 0.2 0.2 0.5 0.4 0.5"};
  std::string lines;
  for (const auto& points : corners) lines += "0 " + points + '\n';
  data.text("a.txt", lines);
  EXPECT_EQ(read_dataset(data.options("yolo", ".", {"x", "y"}), Split::train).images[0].annotations.size(),
            5u);
}

TEST(Dataset, ImagesWithoutLabelsAreBackgroundUnlessNoneHasLabels) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.image("b.jpg");
  data.image("c.jpg");
  data.text("b.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("c.txt", "");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 3u);
  EXPECT_TRUE(dataset.images[0].annotations.empty());
  EXPECT_EQ(dataset.images[1].annotations.size(), 1u);
  ASSERT_EQ(count(dataset, Kind::no_label_file), 1);  // an empty file says that there is nothing
  EXPECT_TRUE(contains(dataset.problems[0].where, "a.jpg"));

  fs::remove(data.root() / "b.txt");
  fs::remove(data.root() / "c.txt");
  const std::string text = message(data.options("yolo", ".", {"x"}));
  EXPECT_TRUE(contains(text, "none of the 3 images has a label file"));
  EXPECT_TRUE(contains(text, "a.txt"));
}

TEST(Dataset, MissingUndecodableAndTruncatedImagesAreSkippedAndCounted) {
  const DatasetFolder data;
  data.image("good.jpg");
  data.text("good.txt", "0 0.5 0.5 0.2 0.2\n");
  data.text("text.jpg", "this is not an image");
  data.text("empty.jpg", "");
  auto jpeg = DatasetFolder::encoded(".jpg", 100, 80);
  jpeg.resize(jpeg.size() * 3 / 4);
  data.bytes("cut.jpg", jpeg);
  auto png = DatasetFolder::encoded(".png", 100, 80);
  png.resize(png.size() / 2);
  data.bytes("cut.png", png);
  data.text("list.txt", "gone.jpg\ntext.jpg\nempty.jpg\ncut.jpg\ncut.png\ngood.jpg\n");
  const Dataset dataset = read_dataset(data.options("yolo", "list.txt", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].file.filename(), "good.jpg");
  EXPECT_EQ(dataset.images[0].id, 5);  // its place in the list, whatever was skipped
  EXPECT_EQ(count(dataset, Kind::missing_image), 1);
  EXPECT_EQ(count(dataset, Kind::undecodable_image), 1);
  EXPECT_EQ(count(dataset, Kind::truncated_image), 3);
}

TEST(Dataset, AnImageOfMorePixelsThanTheLimitIsSkippedUndecoded) {
  const DatasetFolder data;
  for (const char* name : {"a", "b", "c"}) data.text(name + std::string(".txt"), "0 0.5 0.5 0.2 0.2\n");
  data.image("a.jpg");  // 100 x 80
  data.bytes("b.png", DatasetFolder::encoded(".png", 101, 80));
  data.bytes("c.tif", DatasetFolder::encoded(".tif", 100, 81));
  DataOptions options = data.options("yolo", ".", {"x"});
  EXPECT_EQ(read_dataset(options, Split::train).images.size(), 3u);
  options.max_pixels = 8000;
  const Dataset dataset = read_dataset(options, Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].file.filename(), "a.jpg");
  EXPECT_EQ(count(dataset, Kind::too_large_image), 2);
  EXPECT_TRUE(contains(summarize(dataset.problems), "it has 8080 pixels, and at most 8000 are decoded"));
}

TEST(Dataset, BytesAfterAJpegsEndDoNotCostTheImage) {
  const DatasetFolder data;
  auto jpeg = DatasetFolder::encoded(".jpg", 100, 80);
  jpeg.insert(jpeg.end(), 300, 0);
  data.bytes("a.jpg", jpeg);
  data.text("a.txt", "0 0.5 0.5 0.2 0.2\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  EXPECT_EQ(dataset.images.size(), 1u);
  EXPECT_TRUE(dataset.problems.empty());
}

TEST(Dataset, EmptyDatasetsAreErrors) {
  const DatasetFolder data;
  fs::create_directories(data.root() / "images");
  EXPECT_TRUE(contains(message(data.options("yolo", "images", {"x"})), "data.train lists no images"));
  data.text("list.txt", "\n\n");
  EXPECT_TRUE(contains(message(data.options("yolo", "list.txt", {"x"})), "lists no images"));
  data.text("list.txt", "gone_1.jpg\ngone_2.jpg\n");
  const std::string text = message(data.options("yolo", "list.txt", {"x"}));
  EXPECT_TRUE(contains(text, "none of the 2 images of data.train can be used"));
  EXPECT_TRUE(contains(text, "2 listed images are missing"));
  EXPECT_TRUE(contains(message(data.options("yolo", "", {"x"})), "data.train is not set"));
  for (const char* format : {"yolo", "voc", "coco", "darknet", "kitti"}) {
    const std::string missing = message(data.options(format, "nowhere", {"x"}));
    EXPECT_TRUE(contains(missing, "nowhere: what data.train names does not exist")) << format;
  }
  EXPECT_TRUE(contains(message(data.options("coco", "images", {})), "data.train names a folder"));
  DataOptions elsewhere = data.options("yolo", ".", {"x"});
  elsewhere.root = (data.root() / "nowhere").string();
  EXPECT_TRUE(contains(message(elsewhere), "data.root is not a folder"));
}

TEST(Dataset, UnknownFormatNamesTheNearest) {
  try {
    dataset_format("yollo");
    FAIL() << "nothing was thrown";
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "must be " + dataset_formats_listed()));
    EXPECT_TRUE(contains(e.what(), "Did you mean 'yolo'?"));
  }
}

TEST(Dataset, AClassThatAMapHasTwiceIsRefused) {
  for (const std::string key : {"map", "target_class_mapping"}) {
    DataOptions options;
    const YamlDocument document =
        YamlDocument::parse(key + ":\n  circle: square\n  ring: square\n  circle: star\n", "m.yaml");
    try {
      read_config(document.root(), options);
      FAIL() << "nothing was thrown";
    } catch (const InputError& e) {
      EXPECT_TRUE(contains(e.what(), "m.yaml:4: '" + key + "' has the class 'circle' twice"));
    }
  }
}

TEST(Dataset, LenientReadingCollectsWhatWouldStopIt) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.image("b.jpg");
  data.text("a.txt", "0 0.5 0.5 0.2 0.2\n9 0.5 0.5 0.2 0.2\n0 0.5 zero 0.2 0.2\n");
  data.text("b.txt", "-1 0.5 0.5 0.2 0.2\n0 0.25 0.25 0.2 0.2\n");
  const DataOptions options = data.options("yolo", ".", {"x", "y"});
  EXPECT_TRUE(contains(message(options), "a.txt:2"));  // the first in order, for any number of threads
  const Dataset dataset = read_dataset(options, Split::train, true);
  EXPECT_EQ(count(dataset, Kind::unknown_class), 2);
  EXPECT_EQ(count(dataset, Kind::malformed_label), 1);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 1u);
  EXPECT_EQ(dataset.images[1].annotations.size(), 1u);
}

TEST(Dataset, SummaryNamesEachKindOnceWithItsFirstPlaces) {
  EXPECT_EQ(summarize({}), "");
  std::vector<DataProblem> problems;
  for (int i = 1; i <= 5; ++i)
    problems.push_back({Kind::zero_area_box, "a.txt:" + std::to_string(i), "0 0 to 0 0"});
  problems.insert(problems.begin() + 2, {Kind::missing_image, "gone.jpg", "there is no such file"});
  EXPECT_EQ(summarize(problems),
            "1 listed image is missing, skipped: gone.jpg\n"
            "5 boxes have no area, dropped: a.txt:1, a.txt:2, a.txt:3 and 2 more");
}

TEST(Dataset, TheTestSplitIsThereWhereItIsNamed) {
  const DatasetFolder data;
  for (const char* split : {"train", "val", "test"}) {
    data.image(std::string(split) + "/a.jpg");
    data.text(std::string(split) + "/a.txt", "0 0.5 0.25 0.5 0.1\n");
  }
  DataOptions options = data.options("yolo", "train", {"x"}, "val");
  EXPECT_EQ(given_splits(options), (std::vector{Split::train, Split::val}));
  EXPECT_TRUE(
      contains(message(options, Split::test),
               "data.test is not set. The data set names no test images. Name them under `data:` or by"));
  options.test = "test";
  EXPECT_EQ(given_splits(options), (std::vector{Split::train, Split::val, Split::test}));
  EXPECT_EQ(read_dataset(options, Split::test).images.at(0).file, data.root() / "test/a.jpg");
  options.test = "tset";
  EXPECT_TRUE(contains(message(options, Split::test), "--set 'data.test=\"\"'"));
}

TEST(Dataset, OptionsAreReadFromYaml) {
  DataOptions options;
  const auto document =
      YamlDocument::parse("format: voc\nroot: r\ntrain: t\nval: v\ntest: w\nclasses: [a, b]\n", "c.yaml");
  read_config(document.root(), options);
  EXPECT_EQ(options.format->name, "voc");
  EXPECT_EQ(options.place(Split::test), "w");
  EXPECT_EQ(options.classes, (std::vector<std::string>{"a", "b"}));
  const auto wrong = YamlDocument::parse("format: vok\n", "c.yaml");
  EXPECT_THROW(read_config(wrong.root(), options), InputError);
}

TEST(Dataset, ExifRotatedImagesHaveTheSizeThatIsShown) {
  const DatasetFolder data;
  data.bytes("a.jpg", DatasetFolder::rotated_jpeg(100, 80, 6));
  data.text("a.txt", "0 0.5 0.25 0.5 0.1\n");
  const Dataset dataset = read_dataset(data.options("yolo", ".", {"x"}), Split::train);
  EXPECT_EQ(dataset.images[0].width, 80);
  EXPECT_EQ(dataset.images[0].height, 100);
  expect_box(dataset.images[0].annotations[0], 0, 20, 20, 60, 30);
}

}  // namespace
}  // namespace brightnet
