#include "data/commands/check.h"

#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"
#include "tests/data/pictures.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

void write_clean(const DatasetFolder& data) {
  data.image("train/a.jpg");
  data.image("train/b.png");
  data.bytes("val/v.jpg", jpeg_of(picture(1)));
  data.text("train/a.txt", "0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.2 0.2\n");
  data.text("train/b.txt", "");
  data.text("val/v.txt", "0 0.5 0.5 0.2 0.2\n");
}

TEST(Check, CleanDataIsInOrder) {
  const DatasetFolder data;
  write_clean(data);
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x", "y"}, "val"));
  EXPECT_EQ(report.exit_code(), ExitCode::done);
  EXPECT_EQ(report.text(),
            "train: 2 images (1 without objects), 2 boxes, 2 classes\n"
            "val: 1 image (0 without objects), 1 box, 2 classes\n"
            "No problems found.\n");
  const Json expected = Json::parse(R"({"ok": true, "classes": ["x", "y"], "classes_without_objects": [],
    "in_both_splits": [], "shared": [], "splits": [
    {"name": "train", "images": 2, "background": 1, "boxes": 2, "copies": [], "crowds": 0, "problems": {}},
    {"name": "val", "images": 1, "background": 0, "boxes": 1, "copies": [], "crowds": 0, "problems": {}}]})");
  EXPECT_EQ(report.json(), expected);
}

TEST(Check, WhatThePoliciesMendDoesNotFail) {
  const DatasetFolder data;
  write_clean(data);
  data.image("train/c.jpg");
  data.text("train/a.txt",
            "0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0.2 0.2\n0 0.5 0.5 0 0.2\n0 0.5 0.5 0.3 0\n0 0.9 0.5 0.5 0.2\n");
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x", "y"}, "val"));
  EXPECT_EQ(report.exit_code(), ExitCode::done);
  const Json problems = report.json()["splits"][0]["problems"];
  EXPECT_EQ(problems["zero_area_box"]["count"], 2);
  EXPECT_TRUE(contains(problems["zero_area_box"]["names"][1]["where"].get<std::string>(), "a.txt:4"));
  EXPECT_EQ(problems["duplicate_box"]["count"], 1);
  EXPECT_EQ(problems["outside_box"]["count"], 1);
  EXPECT_EQ(problems["no_label_file"]["count"], 1);
  EXPECT_TRUE(contains(report.text(), "2 boxes have no area, dropped: "));
  EXPECT_TRUE(contains(report.text(), "No problems that stop training"));
}

TEST(Check, ClassesWithoutObjectsAreNamed) {
  const DatasetFolder data;
  write_clean(data);
  // As Roboflow's COCO files, whose category 0 is the project's name.
  const CheckReport report =
      check_dataset(data.options("yolo", "train", {"x", "y", "shapes", "none"}, "val"));
  EXPECT_EQ(report.exit_code(), ExitCode::done);
  EXPECT_TRUE(contains(report.text(), "2 classes have no object in train (shapes, none)")) << report.text();
  EXPECT_TRUE(contains(report.text(), "No problems that stop training"));
  EXPECT_EQ(report.json()["classes_without_objects"], Json::parse(R"(["shapes", "none"])"));
}

TEST(Check, CopiesWithinASplitAndCrowdsAreCounted) {
  const DatasetFolder data;
  data.bytes("train/a.jpg", jpeg_of(picture(1)));
  data.bytes("train/b.jpg", jpeg_of(picture(2)));
  data.bytes("train/copy.jpg", jpeg_of(picture(1)));
  data.bytes("train/copy of copy.jpg", jpeg_of(picture(1)));
  data.text("t.json",
            R"({"images": [{"id": 1, "file_name": "train/a.jpg"}, {"id": 2, "file_name": "train/b.jpg"},
      {"id": 3, "file_name": "train/copy.jpg"}, {"id": 4, "file_name": "train/copy of copy.jpg"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "iscrowd": 1},
      {"id": 2, "image_id": 2, "category_id": 1, "bbox": [1, 1, 9, 9], "segmentation": [[1, 1, 9, 1, 5, 9]]},
      {"id": 3, "image_id": 2, "category_id": 2, "bbox": [1, 1, 30, 30], "iscrowd": 1}],
    "categories": [{"id": 1, "name": "x"}, {"id": 2, "name": "people"}]})");
  const CheckReport report = check_dataset(data.options("coco", "t.json", {}));
  EXPECT_EQ(report.exit_code(), ExitCode::done);
  EXPECT_TRUE(contains(report.text(), "2 images are copies of others in train")) << report.text();
  EXPECT_TRUE(contains(report.text(), "copy.jpg (of ")) << report.text();
  EXPECT_TRUE(contains(report.text(), "2 boxes are of a crowd")) << report.text();
  EXPECT_EQ(report.json()["classes_without_objects"], Json::parse(R"(["people"])"))
      << "of crowds nothing is learnt";
  const Json split = report.json()["splits"][0];
  EXPECT_EQ(split["copies"].size(), 2u);
  EXPECT_TRUE(contains(split["copies"][0]["of"].get<std::string>(), "a.jpg"));
  EXPECT_EQ(split["crowds"], 2);
  EXPECT_TRUE(split["problems"].empty()) << "a box beside its polygon loses nothing";
}

TEST(Check, AnImageThatIsListedAgainIsNoCopyOfItself) {
  const DatasetFolder data;
  write_clean(data);
  data.text("list.txt", "train/a.jpg\ntrain/a.jpg\n");
  const CheckReport report = check_dataset(data.options("yolo", "list.txt", {"x", "y"}, "val"));
  EXPECT_TRUE(
      contains(report.text(), "1 image is listed again in train, so these pictures count more than once: "))
      << report.text();
  EXPECT_FALSE(contains(report.text(), "copy of another")) << report.text();
}

TEST(Check, OutlinesThatAreReadAsBoxesAreCounted) {
  const DatasetFolder data;
  write_clean(data);
  // A polygon, an upright rectangle as one, which loses nothing, and a box turned by 45° in pixels of 100 × 80.
  data.text("train/a.txt",
            "0 0.1 0.1 0.3 0.1 0.3 0.4 0.2 0.5 0.1 0.4\n0 0.1 0.1 0.3 0.1 0.3 0.4 0.1 0.4\n"
            "1 0.5 0.25 0.6 0.375 0.5 0.5 0.4 0.375\n1 0.5 0.45 0.7 0.7 0.6 0.825 0.4 0.575\n");
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x", "y"}, "val"));
  EXPECT_EQ(report.exit_code(), ExitCode::done);
  const Json problems = report.json()["splits"][0]["problems"];
  EXPECT_EQ(problems["polygon"]["count"], 1) << problems;
  EXPECT_EQ(problems["rotated_box"]["count"], 2) << problems;
  EXPECT_TRUE(contains(problems["rotated_box"]["names"][0]["where"].get<std::string>(), "a.txt:3"));
  EXPECT_TRUE(contains(report.text(), "1 object is outlined by a polygon, read as the box around it"));
  EXPECT_TRUE(contains(report.text(), "2 boxes are rotated, read as the upright boxes around them"));
}

TEST(Check, LostImagesAndLabelsThatStopTrainingFailEachByItself) {
  const auto outcome = [](const std::function<void(const DatasetFolder&)>& damage, const char* kind) {
    const DatasetFolder data;
    write_clean(data);
    data.text("list.txt", "train/a.jpg\ntrain/b.png\n");
    damage(data);
    const CheckReport report = check_dataset(data.options("yolo", "list.txt", {"x", "y"}, "val"));
    EXPECT_EQ(report.exit_code(), ExitCode::input) << kind;
    EXPECT_EQ(report.json()["ok"], false);
    EXPECT_EQ(report.json()["splits"][0]["problems"][kind]["count"], 1) << report.json().dump(1);
    EXPECT_TRUE(contains(report.text(), "Problems found"));
  };
  outcome([](auto& d) { d.text("list.txt", "train/a.jpg\ntrain/gone.jpg\n"); }, "missing_image");
  outcome([](auto& d) { d.text("train/b.png", "no image"); }, "undecodable_image");
  outcome([](auto& d) { d.text("train/a.txt", "2 0.5 0.5 0.2 0.2\n"); }, "unknown_class");
  outcome([](auto& d) { d.text("train/a.txt", "0 0.5 0.5 0.2\n"); }, "malformed_label");
  outcome(
      [](auto& d) {
        auto jpeg = DatasetFolder::encoded(".jpg", 100, 80);
        jpeg.resize(jpeg.size() - 100);
        d.bytes("train/a.jpg", jpeg);
      },
      "truncated_image");
}

TEST(Check, DamageInsideAnImageIsFoundByDecodingIt) {
  const DatasetFolder data;
  write_clean(data);
  auto jpeg = DatasetFolder::encoded(".jpg", 100, 80);
  jpeg.erase(jpeg.end() - 400, jpeg.end() - 2);  // the end mark is still there
  data.bytes("train/a.jpg", jpeg);
  const DataOptions options = data.options("yolo", "train", {"x", "y"}, "val");
  EXPECT_EQ(read_dataset(options, Split::train).images.size(), 2u);
  const CheckReport report = check_dataset(options);
  EXPECT_EQ(report.exit_code(), ExitCode::input);
  EXPECT_EQ(report.splits[0].images, 1u);
  EXPECT_EQ(report.json()["splits"][0]["problems"]["truncated_image"]["count"], 1);
}

TEST(Check, ASplitWithoutImagesFails) {
  const DatasetFolder data;
  write_clean(data);
  data.text("empty.txt", "\n");
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x", "y"}, "empty.txt"));
  EXPECT_EQ(report.exit_code(), ExitCode::input);
  EXPECT_EQ(report.splits.at(1).images, 0u);
  EXPECT_EQ(report.json()["splits"][1]["problems"]["no_images"]["count"], 1);
  EXPECT_TRUE(contains(report.text(), "1 split has no image, which stops the training: "));
  EXPECT_TRUE(contains(report.text(), "data.val lists no images"));
  EXPECT_TRUE(contains(report.text(), "Problems found: training would stop with the errors above."));
}

TEST(Check, ASplitWithoutAnyLabelFileFailsAsTrainingDoes) {
  const DatasetFolder data;
  write_clean(data);
  fs::remove(data.root() / "train/a.txt");
  fs::remove(data.root() / "train/b.txt");
  const DataOptions options = data.options("yolo", "train", {"x", "y"}, "val");
  EXPECT_THROW(read_dataset(options, Split::train), InputError);
  const CheckReport report = check_dataset(options);
  EXPECT_EQ(report.exit_code(), ExitCode::input);
  const Json problems = report.json()["splits"][0]["problems"];
  EXPECT_EQ(problems["no_labels"]["count"], 1);
  EXPECT_FALSE(problems.contains("no_label_file"));  // they are not "kept as background"
  EXPECT_TRUE(contains(report.text(), "none of the 2 images has a label file"));
  EXPECT_TRUE(contains(report.text(), (data.root() / "train/a.txt").string()));
}

TEST(Check, ALabelFileThatCannotBeReadIsNotABackground) {
  const DatasetFolder data;
  write_clean(data);
  fs::remove(data.root() / "train/a.txt");
  fs::create_symlink("a.txt", data.root() / "train/a.txt");  // fails for root too, as permissions do not
  fs::remove(data.root() / "train/b.txt");
  fs::create_directory(data.root() / "train/b.txt");
  const DataOptions options = data.options("yolo", "train", {"x", "y"}, "val");
  EXPECT_TRUE(contains(message(options), "a.txt: "));
  const CheckReport report = check_dataset(options);
  EXPECT_EQ(report.exit_code(), ExitCode::input);
  const Json problems = report.json()["splits"][0]["problems"];
  EXPECT_EQ(problems["unreadable_labels"]["count"], 2);
  EXPECT_FALSE(problems.contains("no_label_file"));
  EXPECT_TRUE(contains(report.text(), "b.txt (it is a folder)"));
}

TEST(Check, AnImageThatCannotBeLookedAtIsNotCalledMissing) {
  const DatasetFolder data;
  write_clean(data);
  fs::create_symlink("c.jpg", data.root() / "c.jpg");
  data.text("list.txt", "train/a.jpg\nc.jpg\n");
  const Json problems =
      check_dataset(data.options("yolo", "list.txt", {"x", "y"})).json()["splits"][0]["problems"];
  EXPECT_FALSE(problems.contains("missing_image"));
  EXPECT_EQ(problems["undecodable_image"]["count"], 1);
}

TEST(Check, BrokenXmlIsNamedWhereNoOtherLabelNamesAClass) {
  const DatasetFolder data;
  data.image("JPEGImages/a.jpg");
  data.text("list.txt", "a\n");
  const DataOptions options = data.options("voc", "list.txt", {});
  const auto expect = [&](const std::string& xml, const std::string& said) {
    data.text("Annotations/a.xml", xml);
    EXPECT_TRUE(contains(message(options), said));
    const CheckReport report = check_dataset(options);
    EXPECT_EQ(report.exit_code(), ExitCode::input);
    EXPECT_EQ(report.json()["splits"][0]["problems"]["no_classes"]["count"], 1);
    EXPECT_TRUE(contains(report.text(), said));
  };
  expect("<annotation>\n<object>", "a.xml:2");
  expect("", "a.xml:1");
  expect("<annotation>\n<object><name></name></object></annotation>", "a.xml:2");
  expect("<annotation></annotation>", "no object is labelled");
  fs::remove(data.root() / "Annotations/a.xml");
  EXPECT_TRUE(contains(check_dataset(options).text(), "a.xml"));
}

TEST(Check, OfOneItSpeaksInTheSingular) {
  const DatasetFolder data;
  data.image("train/a.jpg");
  data.text("train/a.txt", "1 0.5 0.5 0.2 0.2\n0 0.5\n0 x\n");
  const std::string text = check_dataset(data.options("yolo", "train", {"x"})).text();
  EXPECT_TRUE(contains(text, "train: 1 image (1 without objects), 0 boxes, 1 class\n"));
  EXPECT_TRUE(contains(text, "there is 1 class, 0)"));
  EXPECT_TRUE(contains(text, "1 label has an unknown class, which stops the training: "));
  EXPECT_TRUE(contains(text, "2 labels are malformed, which stops the training: "));
}

TEST(Check, ImagesOfTwoSplitsAreNamedByWhatTheyContain) {
  const DatasetFolder data;
  for (int i = 0; i < 4; ++i) {
    data.bytes(fmt::format("train/{}.jpg", i), jpeg_of(picture(i, 320, 240)));
    data.text(fmt::format("train/{}.txt", i), "0 0.5 0.5 0.2 0.2\n");
  }
  data.bytes("val/copy.jpg", jpeg_of(picture(1, 320, 240)));
  data.bytes("val/own.jpg", jpeg_of(picture(10)));
  data.bytes("test/half.jpg", jpeg_of(halved(picture(2, 320, 240)), 60));
  data.bytes("test/own.jpg", jpeg_of(picture(11)));
  data.text("val.txt", "val/copy.jpg\ntrain/../train/0.jpg\nval/own.jpg\n");
  DataOptions options = data.options("yolo", "train", {"x"}, "val.txt");
  options.test = "test";
  const CheckReport report = check_dataset(options);
  const Json json = report.json();
  ASSERT_EQ(json["shared"].size(), 3u) << json.dump(1);
  const auto expect = [&](size_t i, const char* split, const char* file, const char* other,
                          const char* same) {
    EXPECT_EQ(json["shared"][i]["split"], split);
    EXPECT_EQ(json["shared"][i]["other_split"], "train");
    EXPECT_EQ(fs::path(json["shared"][i]["file"].get<std::string>()).filename(), file);
    EXPECT_EQ(fs::path(json["shared"][i]["other"].get<std::string>()).filename(), other);
    EXPECT_EQ(json["shared"][i]["same"], same);
    const int bits = json["shared"][i]["bits"];
    EXPECT_TRUE(std::string(same) == "look" ? bits <= 8 : bits == 0) << bits;
  };
  expect(0, "val", "copy.jpg", "1.jpg", "bytes");
  expect(1, "val", "0.jpg", "0.jpg", "file");
  expect(2, "test", "half.jpg", "2.jpg", "look");
  EXPECT_EQ(json["in_both_splits"].size(), 1u);
  EXPECT_EQ(json["splits"][2]["name"], "test");
  EXPECT_TRUE(contains(report.text(), "3 images are in two splits"));
  EXPECT_TRUE(contains(
      report.text(), "val/copy.jpg, train " + (data.root() / "train/1.jpg").string() + " (the same bytes)"));
  EXPECT_TRUE(contains(report.text(), "brightnet data split"));
  EXPECT_FALSE(contains(report.text(), "No problems found"));
}

TEST(Check, TenImagesOfTwoSplitsAreShown) {
  const DatasetFolder data;
  for (int i = 0; i < 12; ++i) {
    for (const char* split : {"train", "val"}) {
      data.bytes(fmt::format("{}/{}.jpg", split, i), jpeg_of(picture(i, 64, 48)));
      data.text(fmt::format("{}/{}.txt", split, i), "0 0.5 0.5 0.2 0.2\n");
    }
  }
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x"}, "val"));
  const std::string text = report.text();
  size_t shown = 0;
  for (size_t at = text.find("(the same bytes)"); at != std::string::npos;
       at = text.find("(the same bytes)", at + 1))
    ++shown;
  EXPECT_EQ(shown, 10u);
  EXPECT_TRUE(contains(text, "and 2 more"));
  EXPECT_EQ(report.json()["shared"].size(), 12u);
}

TEST(Check, AMissingListIsAnError) {
  const DatasetFolder data;
  write_clean(data);
  EXPECT_THROW(check_dataset(data.options("yolo", "train", {"x", "y"}, "nowhere.txt")), InputError);
}

TEST(Check, BloodCellsAreInOrderButForTwoZeroAreaBoxes) {
  const fs::path bccd = testing::source_dir() / "../shared/bccd";
  if (!fs::exists(bccd)) GTEST_SKIP() << "the BCCD photographs are not in ../shared/bccd";
  DataOptions options;
  options.format = &dataset_format("voc");
  options.root = bccd.string();
  options.train = "ImageSets/Main/train.txt";
  options.val = "ImageSets/Main/val.txt";
  const CheckReport report = check_dataset(options);
  EXPECT_EQ(report.exit_code(), ExitCode::done) << report.text();
  EXPECT_EQ(report.classes, (std::vector<std::string>{"Platelets", "RBC", "WBC"}));
  ASSERT_EQ(report.splits.size(), 2u);
  EXPECT_EQ(report.splits[0].images, 205u);
  EXPECT_EQ(report.splits[1].images, 87u);
  const Json json = report.json();
  for (const auto& split : json["splits"]) {
    EXPECT_EQ(split["problems"].size(), 1u);
    EXPECT_EQ(split["problems"]["zero_area_box"]["count"], 1);
  }
}

TEST(Check, OfSeveralCounterpartsTheOneThatIsMostAlikeIsNamed) {
  const DatasetFolder data;
  const cv::Mat large = picture(2, 320, 240);
  const auto in_train = jpeg_of(large), in_val = jpeg_of(halved(large), 60);
  data.bytes("train/0.jpg", in_train);
  data.text("train/0.txt", "0 0.5 0.5 0.2 0.2\n");
  data.bytes("val/1.jpg", in_val);
  data.bytes("test/2.jpg", in_train);
  data.bytes("test/3.jpg", in_val);
  DataOptions options = data.options("yolo", "train", {"x"}, "val");
  options.test = "test";
  std::vector<std::string> found;
  const Json json = check_dataset(options).json();
  for (const Json& image : json["shared"]) {
    const auto name = [&](const char* key) {
      return fs::path(image[key].get<std::string>()).filename().string();
    };
    found.push_back(name("file") + ' ' + name("other") + ' ' + image["same"].get<std::string>());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"1.jpg 0.jpg look", "2.jpg 0.jpg bytes", "3.jpg 1.jpg bytes"}));
}

TEST(Check, AnImageOfTooManyPixelsFails) {
  const DatasetFolder data;
  write_clean(data);
  data.image("train/large.jpg", 200, 100);
  data.text("train/large.txt", "0 0.5 0.5 0.2 0.2\n");
  DataOptions options = data.options("yolo", "train", {"x", "y"}, "val");
  options.max_pixels = 20'000;
  EXPECT_EQ(check_dataset(options).exit_code(), ExitCode::done);
  options.max_pixels = 19'999;
  const CheckReport report = check_dataset(options);
  EXPECT_EQ(report.exit_code(), ExitCode::input);
  EXPECT_EQ(report.json()["ok"], false);
  EXPECT_EQ(report.json()["splits"][0]["problems"]["too_large_image"]["count"], 1);
  EXPECT_TRUE(contains(report.text(), "Problems found: training would skip the images named above."));
}

TEST(Check, CopiesAreThoseOfTheImagesThatAreLeft) {
  const DatasetFolder data;
  auto broken = DatasetFolder::encoded(".jpg", 100, 80);
  broken.erase(broken.end() - 400, broken.end() - 2);  // only decoding tells
  data.bytes("train/a.jpg", broken);
  for (const auto& [name, number] : {std::pair("b", 1), {"c", 2}, {"d", 1}})
    data.bytes(fmt::format("train/{}.jpg", name), jpeg_of(picture(static_cast<uint64_t>(number))));
  for (const char* name : {"a", "b", "c", "d"})
    data.text(fmt::format("train/{}.txt", name), "0 0.5 0.5 0.2 0.2\n");
  const CheckReport report = check_dataset(data.options("yolo", "train", {"x"}));
  ASSERT_EQ(report.splits.at(0).images, 3u);
  const Json copies = report.json()["splits"][0]["copies"];
  ASSERT_EQ(copies.size(), 1u) << copies;
  EXPECT_TRUE(contains(copies[0]["file"].get<std::string>(), "d.jpg"));
  EXPECT_TRUE(contains(copies[0]["of"].get<std::string>(), "b.jpg"));
}

}  // namespace
}  // namespace brightnet
