#include <gtest/gtest.h>

#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;

const std::string header = "filename,width,height,class,xmin,ymin,xmax,ymax\n";

TEST(Csv, LinesOfAnImageAreItsBoxesAndNamesAreSorted) {
  const DatasetFolder data;
  data.image("train/a.jpg");
  data.image("train/b.jpg", 64, 48);
  data.text("train/_annotations.csv", header +
                                          "a.jpg,100,80,dog,10.5,20.25,30,40.75\n"
                                          "b.jpg,64,48,cat,0,0,64,48\n"
                                          "a.jpg,100,80,cat,1,2,3,4\n");
  const Dataset dataset = read_dataset(data.options("csv", "train/_annotations.csv", {}), Split::train);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"cat", "dog"}));
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_EQ(dataset.images[0].file.filename(), "a.jpg");
  ASSERT_EQ(dataset.images[0].annotations.size(), 2u);
  expect_box(dataset.images[0].annotations[0], 1, 10.5f, 20.25f, 30, 40.75f);
  expect_box(dataset.images[0].annotations[1], 0, 1, 2, 3, 4);
  expect_box(dataset.images[1].annotations.at(0), 0, 0, 0, 64, 48);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(Csv, ColumnsAreFoundByTheirNamesAndQuotedFieldsMayHoldCommas) {
  const DatasetFolder data;
  data.image("my, image.jpg");
  data.text("t.csv",
            "\xEF\xBB\xBFymax,xmin,\"class\",source,filename,ymin, xmax\r\n"
            "40,10,\"traffic light, \"\"red\"\"\",x,\"my, image.jpg\",20,30\r\n\r\n");
  const Dataset dataset = read_dataset(data.options("csv", "t.csv", {}), Split::train);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"traffic light, \"red\""}));
  ASSERT_EQ(dataset.images.size(), 1u);
  expect_box(dataset.images[0].annotations.at(0), 0, 10, 20, 30, 40);
}

TEST(Csv, HeadersMayBeCapitalAndFieldsApartBySemicolons) {
  const DatasetFolder data;
  data.image("a, b.jpg");
  data.text("t.csv",
            "Filename;Width;HEIGHT;Class;XMin;yMin;Xmax;YMAX\na, b.jpg;100;80;\"Dog; small\";10;20;30;40\n");
  const Dataset dataset = read_dataset(data.options("csv", "t.csv", {}), Split::train);
  EXPECT_EQ(dataset.classes, std::vector<std::string>{"Dog; small"}) << "a class's case is its own";
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].file.filename(), "a, b.jpg");
  expect_box(dataset.images[0].annotations.at(0), 0, 10, 20, 30, 40);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
  data.text("t.csv", "Filename;Class;XMin;YMin;XMax\n");
  EXPECT_TRUE(contains(message(data.options("csv", "t.csv", {"x"})),
                       "no column 'ymax' in the header 'Filename;Class;XMin;YMin;XMax'"));
  data.text("t.csv", "Filename;Class;XMin;YMin;XMax;YMax\na;b.jpg;x;1;2;3;4\n");
  EXPECT_TRUE(contains(message(data.options("csv", "t.csv", {"x"})), "a field with a semicolon in it"));
}

TEST(Csv, ALineWithoutClassAndBoxIsAnImageWithoutObjects) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.image("empty.jpg");
  data.text("t.csv", header + "empty.jpg,100,80,,,,,\na.jpg,100,80,x,1,1,9,9\n");
  const Dataset dataset = read_dataset(data.options("csv", "t.csv", {"x"}), Split::train);
  ASSERT_EQ(dataset.images.size(), 2u);
  EXPECT_TRUE(dataset.images[0].annotations.empty());
  EXPECT_EQ(dataset.images[1].annotations.size(), 1u);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(Csv, BothSplitsNumberTheClassesAlike) {
  const DatasetFolder data;
  data.image("train/a.jpg");
  data.image("valid/b.jpg");
  data.text("train/t.csv", header + "a.jpg,100,80,van,1,1,9,9\n");
  data.text("valid/v.csv", header + "b.jpg,100,80,bus,1,1,9,9\n");
  const DataOptions options = data.options("csv", "train/t.csv", {}, "valid/v.csv");
  EXPECT_EQ(read_dataset(options, Split::train).images.at(0).annotations.at(0).class_id, 1);
  EXPECT_EQ(read_dataset(options, Split::val).images.at(0).annotations.at(0).class_id, 0);
}

TEST(Csv, TablesAboveTheImagesOrInAFolderOfTheirOwnFindThem) {
  for (const auto& [tables, images] : std::vector<std::pair<std::string, std::string>>{
           {"", "*/"}, {"images/", "images/*/"}, {"annotations/", "images/"}, {"data/", "images/*/"}}) {
    const DatasetFolder data;
    for (const std::string split : {"train", "test"}) {
      std::string image = images + "0.jpg";
      if (const size_t star = image.find('*'); star != std::string::npos) image.replace(star, 1, split);
      const int width = split == "train" ? 100 : 64;  // the images of both splits have the same name
      if (images.find('*') == std::string::npos) image.insert(image.size() - 5, split);
      data.image(image, width);
      const std::string name = images.find('*') == std::string::npos ? split + "0.jpg" : "0.jpg";
      data.text(tables + split + "_labels.csv",
                header + name + ',' + std::to_string(width) + ",80,dog,10,20,30,40\n");
    }
    const DataOptions options = recognize_data(data.root().string()).options;
    EXPECT_EQ(options.train, tables + "train_labels.csv");
    EXPECT_EQ(options.test, tables + "test_labels.csv");
    for (const Split split : {Split::train, Split::test}) {
      const Dataset dataset = read_dataset(options, split);
      EXPECT_EQ(dataset.images.size(), 1u) << tables;
      EXPECT_TRUE(dataset.problems.empty()) << tables << ": " << summarize(dataset.problems);
    }
  }
}

TEST(Csv, SpellingsOfOneFileAreOneImage) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  data.text("t.csv", header +
                         "images/a.jpg,100,80,cat,1,1,9,9\nimages\\a.jpg,100,80,cat,40,40,70,70\n"
                         "./images/a.jpg,100,80,dog,10,10,30,30\n");
  const Dataset dataset = read_dataset(data.options("csv", "t.csv", {}), Split::train);
  ASSERT_EQ(dataset.images.size(), 1u);
  EXPECT_EQ(dataset.images[0].annotations.size(), 3u);
  EXPECT_TRUE(dataset.problems.empty()) << summarize(dataset.problems);
}

TEST(Csv, WhatIsNoLabelNamesItsLine) {
  const DatasetFolder data;
  data.image("a.jpg");
  const DataOptions options = data.options("csv", "t.csv", {"cat"});
  const auto failure = [&](const std::string& lines) {
    data.text("t.csv", lines);
    return message(options);
  };
  const std::string good = "a.jpg,100,80,cat,1,1,9,9\n";
  for (const auto& [line, part] : std::vector<std::pair<std::string, std::string>>{
           {"a.jpg,100,80,cat,1,wide,9,9", "'ymin' is 'wide'"},
           {"a.jpg,100,80,cat,1,1,9", "has 7 fields, and the header 8"},
           {"a.jpg,100,80,cat,1,1,9,9,9", "has 9 fields"},
           {"a.jpg,100,80,\"cat,1,1,9,9", "quote"},
           {"a.jpg,100,80,cat,,,,", "'xmin' is ''"},
           {"a.jpg,100,80,,1,1,9,9", "no class"},
           {",100,80,cat,1,1,9,9", "no filename"},
           {"a.jpg,100,80,cats,1,1,9,9", "Did you mean 'cat'?"}}) {
    const std::string text = failure(header + good + line + '\n');
    EXPECT_TRUE(contains(text, "t.csv:3"));
    EXPECT_TRUE(contains(text, part));
  }
  const std::string text = failure("filename,class,xmin,ymin,xmax\n" + good);
  EXPECT_TRUE(contains(text, "t.csv:1"));
  EXPECT_TRUE(contains(text, "no column 'ymax' in the header 'filename,class,xmin,ymin,xmax'"));
  EXPECT_TRUE(contains(failure(""), "empty"));
  EXPECT_TRUE(contains(failure(header), "lists no images"));
  EXPECT_TRUE(contains(message(data.options("csv", ".", {"cat"})), "names a folder"));
}

TEST(Csv, AnotherSizeThanTheTableSaysIsReported) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("t.csv", header + "a.jpg,640,480,cat,1,1,9,9\n");
  const Dataset dataset = read_dataset(data.options("csv", "t.csv", {"cat"}), Split::train);
  EXPECT_EQ(count(dataset, Kind::other_size), 1);
}

}  // namespace
}  // namespace brightnet
