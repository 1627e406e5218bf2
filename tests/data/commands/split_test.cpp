#include "data/commands/split.h"

#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/data/dataset_files.h"
#include "tests/data/pictures.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr int pictures = 24;

// Pictures 0 … 23, 20 on are val's; 22 and 23 are 0 and 1 encoded again. Each with a box whose left edge is
// its number; every second has a second box. `folder` is where those of a split go.
void write_images(const DatasetFolder& data, const std::string& train_folder, const std::string& val_folder) {
  for (int i = 0; i < pictures; ++i) {
    const std::vector<uint8_t> jpeg = i < 22 ? jpeg_of(picture(i)) : jpeg_of(picture(i - 22), 60);
    data.bytes((i < 20 ? train_folder : val_folder) + "/" + std::to_string(i) + ".jpg", jpeg);
  }
}

const std::vector<std::string> class_names_of_all{"cat", "dog"};

/// Calls visit(image, class name, x1, y1, x2, y2) for each box.
template <typename Visit>
void for_each_box(int first, int last, const Visit& visit) {
  for (int i = first; i < last; ++i) {
    visit(i, i % 3 == 0 ? "dog" : "cat", i, 10, 60, 50);
    if (i % 2 == 1) visit(i, "cat", i, 60, 100, 90);
  }
}

DataOptions write_yolo(const DatasetFolder& data) {
  write_images(data, "images/train", "images/val");
  std::map<int, std::string> labels;
  for_each_box(0, pictures, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
    labels[i] += fmt::format("{} {} {} {} {}\n", name == "dog" ? 1 : 0, (x1 + x2) / 320.0, (y1 + y2) / 240.0,
                             (x2 - x1) / 160.0, (y2 - y1) / 120.0);
  });
  for (const auto& [i, text] : labels)
    data.text(fmt::format("labels/{}/{}.txt", i < 20 ? "train" : "val", i), text);
  return data.options("yolo", "images/train", class_names_of_all, "images/val");
}

DataOptions write_darknet(const DatasetFolder& data) {
  DataOptions options = write_yolo(data);
  data.text("obj.data", "classes = 2\ntrain = images/train\nvalid = images/val\nnames = obj.names\n");
  data.text("obj.names", "cat\ndog\n");
  options.format = &dataset_format("darknet");
  options.classes.clear();
  options.train = "obj.data";
  options.val.clear();
  return options;
}

DataOptions write_voc(const DatasetFolder& data) {
  write_images(data, "JPEGImages", "JPEGImages/more");
  std::map<int, std::string> objects;
  for_each_box(0, pictures, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
    objects[i] += fmt::format(
        "<object><name>{}</name><bndbox><xmin>{}</xmin><ymin>{}</ymin><xmax>{}</xmax><ymax>{}</ymax></bndbox>"
        "</object>",
        name, x1 + 1, y1 + 1, x2, y2);
  });
  std::string train, val;
  for (const auto& [i, text] : objects) {
    const std::string name = (i < 20 ? "" : "more/") + std::to_string(i);
    data.text("Annotations/" + name + ".xml", "<annotation>" + text + "</annotation>");
    (i < 20 ? train : val) += name + "\n";
  }
  data.text("ImageSets/Main/train.txt", train);
  data.text("ImageSets/Main/val.txt", val);
  return data.options("voc", "train", {}, "val");
}

DataOptions write_coco(const DatasetFolder& data) {
  write_images(data, "train", "val");
  // Both files count their images from 1 and number their categories in other ways.
  for (const bool train : {true, false}) {
    const int first = train ? 0 : 20, last = train ? 20 : pictures;
    nlohmann::json document{{"images", nlohmann::json::array()}, {"annotations", nlohmann::json::array()}};
    for (int i = first; i < last; ++i)
      document["images"].push_back({{"id", i - first + 1}, {"file_name", std::to_string(i) + ".jpg"}});
    for_each_box(first, last, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
      document["annotations"].push_back({{"id", document["annotations"].size()},
                                         {"image_id", i - first + 1},
                                         {"category_id", (name == "dog") == train ? 7 : 3},
                                         {"bbox", {x1, y1, x2 - x1, y2 - y1}}});
    });
    const nlohmann::json cat{{"id", train ? 3 : 7}, {"name", "cat"}},
        dog{{"id", train ? 7 : 3}, {"name", "dog"}};
    document["categories"] = {cat, dog};
    data.text(train ? "train.json" : "val.json", document.dump());
  }
  return data.options("coco", "train.json", {}, "val.json");
}

DataOptions write_kitti(const DatasetFolder& data) {
  write_images(data, "a/image_2", "b/image_2");
  std::map<int, std::string> labels;
  for_each_box(0, pictures, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
    labels[i] += fmt::format("{} 0 0 0 {} {} {} {} 0 0 0 0 0 0 0\n", name, x1, y1, x2, y2);
  });
  for (const auto& [i, text] : labels)
    data.text(fmt::format("{}/label_2/{}.txt", i < 20 ? "a" : "b", i),
              text + "Tram 0 0 0 1 1 5 5 0 0 0 0 0 0 0\n");
  DataOptions options = data.options("kitti", "a/image_2", {}, "b/image_2");
  options.target_class_mapping = {{"cat", "cat"}, {"dog", "dog"}};
  return options;
}

DataOptions write_csv(const DatasetFolder& data) {
  write_images(data, "train, all", "val");
  std::string train = "class,xmin,ymin,xmax,ymax,filename\n",
              val = "filename,width,height,class,xmin,ymin,xmax,ymax\n";
  for_each_box(0, 20, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
    train += fmt::format("{},{},{},{},{},{}.jpg\n", name, x1, y1, x2, y2, i);
  });
  for_each_box(20, pictures, [&](int i, const std::string& name, int x1, int y1, int x2, int y2) {
    val += fmt::format("{}.jpg,160,120,{},{},{},{},{}\n", i, name, x1, y1, x2, y2);
  });
  data.text("train, all/labels.csv", train);
  data.text("val/labels.csv", val);
  return data.options("csv", "train, all/labels.csv", {}, "val/labels.csv");
}

class SplitFormats : public ::testing::TestWithParam<DataOptions (*)(const DatasetFolder&)> {};

TEST_P(SplitFormats, WhatIsWrittenReadsBackAsAllImagesWithTheirBoxes) {
  const DatasetFolder data;
  const DataOptions options = GetParam()(data);
  const SplitReport report =
      split_dataset(options, {.folder = data.root() / "out", .ratios = {0.5, 0.25, 0.25}, .seed = 4});
  EXPECT_EQ(report.classes, class_names_of_all);
  // Read as a user would, from the YAML.
  DataOptions written;
  read_config(YamlDocument::parse(print_config(report.data), "data.yaml").root(), written);
  std::map<int, Split> split_of;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const Dataset part = read_dataset(written, split);
    EXPECT_EQ(part.classes, class_names_of_all);
    EXPECT_EQ(part.images.size(), report.parts[static_cast<size_t>(split)].images);
    EXPECT_GE(part.images.size(), 4u);
    std::set<int64_t> ids;
    for (const ImageRecord& image : part.images) {
      const int number = std::stoi(image.file.stem().string());
      EXPECT_TRUE(split_of.emplace(number, split).second) << number << " is there twice";
      EXPECT_TRUE(ids.insert(image.id).second);
      ASSERT_EQ(image.annotations.size(), number % 2 == 1 ? 2u : 1u) << number;
      const auto x1 = static_cast<float>(number);
      expect_box(image.annotations[0], number % 3 == 0, x1, 10, 60, 50);
      if (number % 2 == 1) expect_box(image.annotations[1], 0, x1, 60, 100, 90);
    }
  }
  EXPECT_EQ(split_of.size(), static_cast<size_t>(pictures));
  EXPECT_EQ(split_of[0], split_of[22]);
  EXPECT_EQ(split_of[1], split_of[23]);
  EXPECT_EQ(report.groups.size(), 2u);
}

std::string name_of(const ::testing::TestParamInfo<DataOptions (*)(const DatasetFolder&)>& info) {
  const char* const names[] = {"yolo", "darknet", "voc", "coco", "kitti", "csv"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(All, SplitFormats,
                         ::testing::Values(write_yolo, write_darknet, write_voc, write_coco, write_kitti,
                                           write_csv),
                         name_of);

std::string refusal(const DataOptions& options, const SplitOptions& split_options) {
  try {
    split_dataset(options, split_options);
  } catch (const InputError& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(DataSplit, EveryFormatIsTried) {
  // A new one belongs into SplitFormats above, unless it is a labelling tool's own: five of them are read as they come.
  EXPECT_EQ(dataset_formats().size(), 6u + 5u);
}

TEST(DataSplit, ImagesOutsideVocsFoldersAreListedByTheirPaths) {
  const DatasetFolder data;
  write_images(data, "photos", "photos");
  for (int i = 0; i < pictures; ++i) {
    data.text(
        fmt::format("photos/{}.xml", i),
        "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax>"
        "</bndbox></object></annotation>");
  }
  const SplitReport report =
      split_dataset(data.options("voc", "photos", {}), {.folder = data.root() / "out"});
  size_t images = 0;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    for (const ImageRecord& image : read_dataset(report.data, split).images)
      images += image.annotations.size();
  }
  EXPECT_EQ(images, static_cast<size_t>(pictures));
}

TEST(DataSplit, AnImageThatCocosFileListsTwiceKeepsTheBoxesOfBoth) {
  const DatasetFolder data;
  DataOptions options = write_coco(data);
  nlohmann::json document = nlohmann::json::parse(read_file(data.root() / "train.json"));
  document["images"].push_back({{"id", 100}, {"file_name", "0.jpg"}});
  document["annotations"].push_back(
      {{"id", 100}, {"image_id", 100}, {"category_id", 3}, {"bbox", {70, 20, 30, 30}}});
  data.text("train.json", document.dump());
  const SplitReport report = split_dataset(options, {.folder = data.root() / "out", .ratios = {0.5, 0.5}});
  size_t images = 0, boxes = 0;
  for (const Split split : {Split::train, Split::val}) {
    for (const ImageRecord& image : read_dataset(report.data, split).images) {
      ++images;
      boxes += image.annotations.size();
    }
  }
  EXPECT_EQ(images, static_cast<size_t>(pictures));
  EXPECT_EQ(boxes, 36u + 1u);
}

/// The pictures of train in val's file too, with other boxes, as of a table that was divided by its rows.
void label_again(const DatasetFolder& data, const DataOptions& options) {
  if (options.format->name == "coco") {
    nlohmann::json val = nlohmann::json::parse(read_file(data.root() / options.val));
    for (int i = 0; i < 20; ++i) {
      val["images"].push_back({{"id", 50 + i}, {"file_name", fmt::format("../train/{}.jpg", i)}});
      val["annotations"].push_back(
          {{"id", 50 + i}, {"image_id", 50 + i}, {"category_id", 3}, {"bbox", {70, 20, 30, 30}}});
    }
    data.text(options.val, val.dump());
  } else {
    std::string val = read_file(data.root() / options.val);
    for (int i = 0; i < 20; ++i) val += fmt::format("\"../train, all/{}.jpg\",160,120,dog,70,20,100,50\n", i);
    data.text(options.val, val);
  }
}

TEST(DataSplit, AnImageThatSplitsLabelDifferentlyKeepsTheBoxesOfAll) {
  for (const auto& write : {write_coco, write_csv}) {
    const DatasetFolder data;
    const DataOptions options = write(data);
    label_again(data, options);
    const SplitReport report =
        split_dataset(options, {.folder = data.root() / "out", .ratios = {0.5, 0.5}, .seed = 2});
    EXPECT_TRUE(
        contains(report.problems, "20 images are listed more than once, read as one with the boxes of all"))
        << report.problems;
    EXPECT_TRUE(contains(report.problems, "with other labels in data.val than in data.train"));
    size_t images = 0, boxes = 0;
    for (const Split split : {Split::train, Split::val}) {
      const Dataset part = read_dataset(report.data, split);
      EXPECT_EQ(count(part, DataProblem::Kind::listed_twice), 0);
      EXPECT_EQ(part.images.size(), report.parts[static_cast<size_t>(split)].images);
      for (const ImageRecord& image : part.images) {
        ++images;
        boxes += image.annotations.size();
      }
    }
    EXPECT_EQ(images, static_cast<size_t>(pictures)) << options.format->name;
    EXPECT_EQ(boxes, 36u + 20u) << options.format->name;
  }
}

TEST(DataSplit, WithTwoRatiosThereIsNoTestSplit) {
  const DatasetFolder data;
  const SplitReport report =
      split_dataset(write_yolo(data), {.folder = data.root() / "out", .ratios = {0.75, 0.25}});
  EXPECT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.data.test, "");
  EXPECT_FALSE(fs::exists(data.root() / "out/test.txt"));
}

TEST(DataSplit, TextAndJsonSayTheSame) {
  const DatasetFolder data;
  const SplitReport report =
      split_dataset(write_yolo(data), {.folder = data.root() / "out", .ratios = {0.5, 0.5}});
  const auto json = report.json();
  EXPECT_EQ(json["images"], pictures);
  EXPECT_EQ(json["splits"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(json["splits"][i]["images"], report.parts[i].images);
    EXPECT_EQ(json["splits"][i]["background"], report.parts[i].background);
    for (size_t c = 0; c < 2; ++c)
      EXPECT_EQ(json["splits"][i]["classes"][c]["boxes"], report.parts[i].boxes[c]);
  }
  EXPECT_EQ(json["splits"][0]["split"], "train");
  EXPECT_EQ(json["splits"][1]["split"], "val");
  EXPECT_EQ(json["splits"][1]["file"], (data.root() / "out/val.txt").string());
  EXPECT_EQ(json["splits"][0]["boxes"].get<int>() + json["splits"][1]["boxes"].get<int>(), 36);
  EXPECT_EQ(json["splits"][0]["classes"][1]["name"], "dog");
  EXPECT_EQ(json["groups"].size(), 2u);
  EXPECT_TRUE(
      contains(report.text(), "4 images that look alike are in 2 groups, each of which is in one split"));
  EXPECT_TRUE(contains(report.text(), fmt::format("images      {:>8}", report.parts[0].images)));
}

TEST(DataSplit, WithoutAnythingAlikeOnlyCopiesStayTogether) {
  const DatasetFolder data;
  const SplitReport report =
      split_dataset(write_yolo(data), {.folder = data.root() / "out", .similar = false});
  EXPECT_TRUE(report.groups.empty());
  EXPECT_TRUE(contains(report.text(), "No file is there twice."));
}

TEST(DataSplit, AGroupLargerThanASplitIsNamedWithTheWayOut) {
  const DatasetFolder data;
  for (int i = 0; i < 20; ++i) {
    data.bytes(fmt::format("{}.jpg", i), jpeg_of(picture(i < 10 ? 0 : i), i < 10 ? 60 + i : 90));
    data.text(fmt::format("{}.txt", i), "0 0.5 0.5 0.2 0.2\n");
  }
  const SplitReport report = split_dataset(data.options("yolo", ".", {"x"}), {.folder = data.root() / "out"});
  EXPECT_TRUE(contains(report.text(), "the largest has 10: "));
  EXPECT_TRUE(contains(report.text(), "--exact"));
}

TEST(DataSplit, OfTheLargestGroupThreeAreNamed) {
  const auto text_of_group = [](int size) {
    const DatasetFolder data;
    for (int i = 0; i < 20; ++i) {
      data.bytes(fmt::format("{}.jpg", i), jpeg_of(picture(i < size ? 0 : i)));
      data.text(fmt::format("{}.txt", i), "0 0.5 0.5 0.2 0.2\n");
    }
    return split_dataset(data.options("yolo", ".", {"x"}), {.folder = data.root() / "out", .similar = false})
        .text();
  };
  const std::string three = text_of_group(3), four = text_of_group(4);
  EXPECT_TRUE(contains(three, "the largest has 3: ") && contains(three, "2.jpg\n")) << three;
  EXPECT_TRUE(contains(four, "the largest has 4: ") && contains(four, ".jpg, …\n")) << four;
}

TEST(DataSplit, NothingIsOverwrittenAndNothingLeftEmpty) {
  const DatasetFolder data;
  const DataOptions options = write_yolo(data);
  data.text("full/file", "x");
  EXPECT_TRUE(contains(refusal(options, {.folder = data.root() / "full"}), "not an empty folder"));
  EXPECT_EQ(read_file(data.root() / "full/file"), "x");
  EXPECT_TRUE(contains(refusal(options, {.folder = data.root() / "a", .ratios = {0.99, 0.005, 0.005}}),
                       "val would have no image"));
  EXPECT_FALSE(fs::exists(data.root() / "a"));
  for (const std::vector<double>& ratios :
       {std::vector<double>{1}, {0.5, 0.4}, {1.2, -0.2}, {0.5, 0, 0.5}, {0.25, 0.25, 0.25, 0.25}})
    EXPECT_TRUE(contains(refusal(options, {.folder = data.root() / "b", .ratios = ratios}), "--ratios"));
}

TEST(DataSplit, TheTableHasTheImagesWithoutObjectsOfEachSplit) {
  SplitReport report;
  report.classes = {"cat"};
  report.parts = {{Split::train, 8, 3, {11}}, {Split::val, 2, 1, {4}}};
  EXPECT_EQ(report.text(),
            "               train               val\n"
            "images             8  80.0 %         2  20.0 %\n"
            "no objects         3  75.0 %         1  25.0 %\n"
            "boxes             11  73.3 %         4  26.7 %\n"
            "  cat             11  73.3 %         4  26.7 %\n"
            "No two images look alike.\n");
}

TEST(DataSplit, AnotherSeedIsAnotherDivisionOfTheFiles) {
  const DatasetFolder data;
  const DataOptions options = write_yolo(data);
  const auto training = [&](const std::string& folder, uint64_t seed) {
    split_dataset(options, {.folder = data.root() / folder, .ratios = {0.5, 0.5}, .seed = seed});
    return read_file(data.root() / folder / "train.txt");
  };
  const std::string first = training("first", 1);
  EXPECT_EQ(training("again", 1), first);
  EXPECT_TRUE(training("second", 2) != first || training("third", 3) != first);
}

// With it a run would put the new splits together and divide them once more.
TEST(DataSplit, TheNewSplitsAreNoLongerOnesOfAFold) {
  const DatasetFolder data;
  DataOptions options = write_yolo(data);
  options.fold = {2, 5};
  const SplitReport report = split_dataset(options, {.folder = data.root() / "out", .ratios = {0.5, 0.5}});
  EXPECT_FALSE(report.data.fold);
}

TEST(DataSplit, TheLargestGroupIsTheFirstOne) {
  const DatasetFolder data;
  for (int i = 0; i < 20; ++i) {
    data.bytes(fmt::format("{}.jpg", i), jpeg_of(picture(i < 2 ? 0 : i < 7 ? 2 : i)));
    data.text(fmt::format("{}.txt", i), "0 0.5 0.5 0.2 0.2\n");
  }
  const SplitReport report =
      split_dataset(data.options("yolo", ".", {"x"}),
                    {.folder = data.root() / "out", .ratios = {0.5, 0.5}, .similar = false});
  ASSERT_EQ(report.groups.size(), 2u);
  EXPECT_EQ(report.groups[0].size(), 5u);
  EXPECT_EQ(report.groups[1].size(), 2u);
  EXPECT_TRUE(contains(report.text(), "the largest has 5: ")) << report.text();
}

TEST(DataSplit, ASplitWhoseRatioIsZeroIsLeftOut) {
  const DatasetFolder data;
  const SplitReport report =
      split_dataset(write_yolo(data), {.folder = data.root() / "out", .ratios = {0.75, 0.25, 0}});
  ASSERT_EQ(report.parts.size(), 2u);
  EXPECT_EQ(report.parts[0].images + report.parts[1].images, static_cast<size_t>(pictures));
  EXPECT_EQ(report.data.test, "");
}

TEST(DataSplit, CategoriesOfTwoFilesThatHaveOneIdStayTwo) {
  const DatasetFolder data;
  const auto write = [&](const std::string& split, int first, const std::string& categories, int cat) {
    nlohmann::json document{{"images", nlohmann::json::array()}, {"annotations", nlohmann::json::array()}};
    document["categories"] = nlohmann::json::parse(categories);
    for (int i = first; i < first + 4; ++i) {
      data.bytes(fmt::format("{}/{}.jpg", split, i), jpeg_of(picture(i)));
      document["images"].push_back({{"id", i}, {"file_name", std::to_string(i) + ".jpg"}});
      document["annotations"].push_back(
          {{"id", i}, {"image_id", i}, {"category_id", cat}, {"bbox", {10, 10, 20, 20}}});
    }
    data.text(split + ".json", document.dump());
  };
  write("train", 0, R"([{"id": 1, "name": "cat"}])", 1);
  write("val", 4, R"([{"id": 1, "name": "cow"}, {"id": 2, "name": "cat"}])", 2);
  const SplitReport report = split_dataset(data.options("coco", "train.json", {}, "val.json"),
                                           {.folder = data.root() / "out", .ratios = {0.5, 0.5}});
  size_t cats = 0;
  for (const Split split : {Split::train, Split::val}) {
    for (const ImageRecord& image : read_dataset(report.data, split).images)
      cats += image.annotations.size() == 1 && image.annotations[0].class_id == 0;
  }
  EXPECT_EQ(cats, 8u);
}

}  // namespace
}  // namespace brightnet
