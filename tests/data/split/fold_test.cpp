#include "data/split/fold.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include "tests/data/dataset_files.h"
#include "tests/data/pictures.h"

namespace brightnet {
namespace {

// 20 pictures in train and 6 in val, two of which are train's, encoded again; 3 in test.
void write_pictures(const DatasetFolder& data) {
  const auto write = [&](const std::string& folder, int name, const std::vector<uint8_t>& jpeg) {
    const std::string stem = folder + "/" + std::to_string(name);
    data.bytes(stem + ".jpg", jpeg);
    data.text(stem + ".txt", std::to_string(name % 2) + " 0.5 0.5 0.2 0.2\n");
  };
  for (int i = 0; i < 20; ++i) write("train", i, jpeg_of(picture(i)));
  for (int i = 20; i < 24; ++i) write("val", i, jpeg_of(picture(i)));
  for (int i = 24; i < 26; ++i) write("val", i, jpeg_of(picture(i - 24), 60));
  for (int i = 26; i < 29; ++i) write("test", i, jpeg_of(picture(i)));
}

DataOptions fold_options(const DatasetFolder& data, const std::string& fold) {
  DataOptions options = data.options("yolo", "train", {"x", "y"}, "val");
  options.test = "test";
  options.fold = parse_fold(fold, "");
  return options;
}

std::set<std::string> stems(const Dataset& dataset) {
  std::set<std::string> out;
  for (const ImageRecord& image : dataset.images) EXPECT_TRUE(out.insert(image.file.stem().string()).second);
  return out;
}

// As of a table that was divided by its rows.
TEST(Fold, AnImageThatTrainAndValLabelDifferentlyHasTheBoxesOfBoth) {
  const DatasetFolder data;
  std::string train = "filename,class,xmin,ymin,xmax,ymax\n", val = train;
  for (int i = 0; i < 12; ++i) {
    const std::string name = std::to_string(i) + ".jpg";
    data.bytes(name, jpeg_of(picture(i)));
    train += name + ",cat,1,1,30,30\n";
    val += name + ",cat,1,1,30,30\n" + name + ",cat,50,40,70,70\n";
  }
  data.text("train.csv", train);
  data.text("val.csv", val);
  DataOptions options = data.options("csv", "train.csv", {}, "val.csv");
  options.fold = parse_fold("1/2", "");
  const FoldData parts = read_fold(options);
  EXPECT_EQ(stems(parts.training).size() + stems(parts.validation).size(), 12u);
  for (const Dataset* part : {&parts.training, &parts.validation}) {
    for (const ImageRecord& image : part->images) EXPECT_EQ(image.annotations.size(), 2u) << image.file;
  }
  EXPECT_EQ(count(parts.training, DataProblem::Kind::listed_twice), 12);
}

// Lists leave the labels where they are: what data split writes could not have those of both.
TEST(Fold, OfLinksWithLabelFilesOfTheirOwnThoseOfTheFirstSplitAreUsed) {
  const DatasetFolder data;
  write_pictures(data);
  std::filesystem::create_symlink(data.root() / "train/0.jpg", data.root() / "val/again.jpg");
  data.text("val/again.txt", "1 0.3 0.3 0.2 0.2\n");
  const FoldData parts = read_fold(fold_options(data, "1/4"));
  EXPECT_EQ(count(parts.training, DataProblem::Kind::other_labels), 1);
  EXPECT_EQ(stems(parts.training).size() + stems(parts.validation).size(), 26u);
}

TEST(Fold, EveryImageOfTrainAndValIsValidatedInOneFoldAndTrainedOnInTheOthers) {
  const DatasetFolder data;
  write_pictures(data);
  std::map<std::string, int> validated;
  for (const char* fold : {"1/4", "2/4", "3/4", "4/4"}) {
    const FoldData parts = read_fold(fold_options(data, fold));
    const auto training = stems(parts.training), validation = stems(parts.validation);
    EXPECT_EQ(training.size() + validation.size(), 26u);
    EXPECT_NEAR(static_cast<double>(validation.size()), 26 / 4.0, 2);
    EXPECT_EQ(parts.validation.classes, (std::vector<std::string>{"x", "y"}));
    for (const std::string& stem : validation) {
      EXPECT_FALSE(training.contains(stem));
      ++validated[stem];
    }
    // The pictures that are in both splits are in one part.
    for (const auto& [a, b] : {std::pair("0", "24"), std::pair("1", "25")})
      EXPECT_EQ(validation.contains(a), validation.contains(b));
  }
  EXPECT_EQ(validated.size(), 26u);  // not those of test
  for (const auto& [stem, times] : validated) EXPECT_EQ(times, 1) << stem;
}

TEST(Fold, ImagesHaveIdsOfTheirOwn) {
  const DatasetFolder data;
  write_pictures(data);
  const FoldData parts = read_fold(fold_options(data, "1/2"));
  std::set<int64_t> ids;
  for (const Dataset* dataset : {&parts.training, &parts.validation}) {
    for (const ImageRecord& image : dataset->images) ids.insert(image.id);
  }
  EXPECT_EQ(ids.size(), 26u);  // YOLO's count from 0 in each split
}

TEST(Fold, TrainAloneIsEnough) {
  const DatasetFolder data;
  write_pictures(data);
  DataOptions options = fold_options(data, "2/5");
  options.val.clear();
  const FoldData parts = read_fold(options);
  EXPECT_EQ(parts.training.images.size() + parts.validation.images.size(), 20u);
}

TEST(Fold, AFileThatBothSplitsListIsThereOnce) {
  const DatasetFolder data;
  write_pictures(data);
  DataOptions options = fold_options(data, "1/2");
  options.val = "train";
  const FoldData parts = read_fold(options);
  EXPECT_EQ(parts.training.images.size() + parts.validation.images.size(), 20u);
}

TEST(Fold, DifficultObjectsAreLeftOutOfTheTrainingPartAlone) {
  const DatasetFolder data;
  for (int i = 0; i < 8; ++i) {
    const std::string name = std::to_string(i);
    data.bytes((i < 6 ? "a/image_2/" : "b/image_2/") + name + ".jpg", jpeg_of(picture(i)));
    data.text((i < 6 ? "a/label_2/" : "b/label_2/") + name + ".txt",
              "Car 0 0 0 10 20 30 40 0 0 0 0 0 0 0\nCar 0 2 0 50 60 70 80 0 0 0 0 0 0 0\n");
  }
  DataOptions options = data.options("kitti", "a/image_2", {}, "b/image_2");
  options.fold = {1, 2};
  options.include_difficult_in_training = false;
  const FoldData parts = read_fold(options);
  for (const ImageRecord& image : parts.training.images) EXPECT_EQ(image.annotations.size(), 1u);
  for (const ImageRecord& image : parts.validation.images) EXPECT_EQ(image.annotations.size(), 2u);
}

// 1/10 is what a data set without validation images gets, of which a beginner's is small.
TEST(Fold, OfFewPicturesATenthIsOneOfThem) {
  for (const int images : {2, 3, 6, 9}) {
    const DatasetFolder data;
    for (int i = 0; i < images; ++i) {
      const std::string stem = "train/" + std::to_string(i);
      data.bytes(stem + ".jpg", jpeg_of(picture(i)));
      data.text(stem + ".txt", i == 0 ? "" : "0 0.5 0.5 0.2 0.2\n1 0.2 0.2 0.1 0.1\n");
    }
    DataOptions options = data.options("yolo", "train", {"x", "y"});
    options.fold = validation_fold;
    const FoldData parts = read_fold(options);
    ASSERT_EQ(parts.validation.images.size(), 1u) << images;
    EXPECT_EQ(parts.training.images.size(), static_cast<size_t>(images) - 1);
    EXPECT_EQ(stems(read_fold(options).validation), stems(parts.validation)) << "the same again";
    EXPECT_FALSE(parts.validation.images[0].annotations.empty()) << images;
    options.fold = {2, 10};
    EXPECT_THROW(read_fold(options), InputError) << "a part that was asked for";
  }
}

// Four labelled pictures are too few for the first tenth to have one of them, and those without objects fill it.
TEST(Fold, OfFewLabelledPicturesOneIsValidated) {
  const DatasetFolder data;
  for (int i = 0; i < 25; ++i) {
    const std::string stem = "train/" + std::to_string(i);
    data.bytes(stem + ".jpg", jpeg_of(picture(i)));
    data.text(stem + ".txt", i < 4 ? "0 0.5 0.5 0.2 0.2\n" : "");
  }
  DataOptions options = data.options("yolo", "train", {"x"});
  options.fold = validation_fold;
  const FoldData parts = read_fold(options);
  ASSERT_EQ(parts.validation.images.size(), 1u);
  EXPECT_EQ(parts.validation.images[0].annotations.size(), 1u);
  EXPECT_EQ(parts.training.images.size(), 24u);
}

// Of a film and a photograph the photograph is validated: otherwise little would be left to train on.
TEST(Fold, OfTwoGroupsTheOneOfFewerPicturesIsValidated) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const DatasetFolder data;
    for (int i = 0; i < 4; ++i) {
      const std::string stem = "train/" + std::to_string(i);
      data.bytes(stem + ".jpg", jpeg_of(picture(i < 3 ? seed : 100 + seed)));
      data.text(stem + ".txt", "0 0.5 0.5 0.2 0.2\n");
    }
    DataOptions options = data.options("yolo", "train", {"x"});
    options.fold = validation_fold;
    EXPECT_EQ(stems(read_fold(options).validation), std::set<std::string>{"3"}) << seed;
  }
}

TEST(Fold, AGroupOfCrowdsAloneValidatesNothing) {
  const DatasetFolder data;
  std::string images, annotations;
  for (int i = 0; i < 4; ++i) {
    const std::string id = std::to_string(i), comma = i > 0 ? ", " : "";
    data.bytes(id + ".jpg", jpeg_of(picture(i < 3 ? 0 : 100)));
    images += comma + R"({"id": )" + id + R"(, "file_name": ")" + id + R"(.jpg"})";
    annotations += comma + R"({"id": )" + id + R"(, "image_id": )" + id +
                   R"(, "category_id": 1, "bbox": [1, 1, 9, 9], "iscrowd": )" + (i < 3 ? "0}" : "1}");
  }
  data.text("t.json", R"({"images": [)" + images + R"(], "annotations": [)" + annotations +
                          R"(], "categories": [{"id": 1, "name": "x"}]})");
  DataOptions options = data.options("coco", "t.json", {});
  options.fold = validation_fold;
  EXPECT_EQ(stems(read_fold(options).validation), (std::set<std::string>{"0", "1", "2"}));
}

TEST(Fold, OnePictureCannotBeDivided) {
  const DatasetFolder data;
  data.bytes("train/0.jpg", jpeg_of(picture(0)));
  data.text("train/0.txt", "0 0.5 0.5 0.2 0.2\n");
  DataOptions options = data.options("yolo", "train", {"x", "y"});
  options.fold = validation_fold;
  EXPECT_TRUE(contains(
      [&]() -> std::string {
        try {
          read_fold(options);
          return "";
        } catch (const InputError& e) {
          return e.what();
        }
      }(),
      "1 group of different images cannot be divided into 10 parts"));
}

TEST(Fold, MorePartsThanPicturesAreAnError) {
  const DatasetFolder data;
  write_pictures(data);
  try {
    read_fold(fold_options(data, "1/30"));
    FAIL() << "nothing was thrown";
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "24 groups of different images cannot be divided into 30 parts"));
    EXPECT_TRUE(contains(e.what(), "data.fold=1/30"));
    EXPECT_TRUE(
        contains(e.what(), "Name images to validate on (data.val), or take fewer parts: --fold 1/24"));
  }
}

TEST(Fold, ProblemsOfTheDataAreStillKnown) {
  const DatasetFolder data;
  write_pictures(data);
  data.text("train/3.txt", "1 0.9 0.5 0.5 0.2\n");
  data.text("val/20.txt", "0 0.5 0.5 0 0.2\n");
  for (const char* fold : {"1/2", "2/2"}) {
    const Dataset training = read_fold(fold_options(data, fold)).training;
    EXPECT_EQ(count(training, DataProblem::Kind::outside_box), 1) << fold;
    EXPECT_EQ(count(training, DataProblem::Kind::zero_area_box), 1) << fold;
  }
}

// COCO's ids name the images in what an evaluation writes.
TEST(Fold, IdsThatDifferInBothSplitsStayWhatTheyAre) {
  const DatasetFolder data;
  const auto write = [&](const std::string& split, int first, int last) {
    std::string images, boxes;
    for (int i = first; i < last; ++i) {
      const std::string id = std::to_string(100 + i), separator = i > first ? "," : "";
      data.bytes("images/" + id + ".jpg", jpeg_of(picture(static_cast<uint64_t>(i))));
      images += separator + R"({"id": )" + id + R"(, "file_name": ")" + id + R"(.jpg"})";
      boxes += separator + R"({"id": )" + id + R"(, "image_id": )" + id +
               R"(, "category_id": 1, "bbox": [10, 20, 30, 40]})";
    }
    data.text(split + ".json", R"({"images": [)" + images + R"(], "annotations": [)" + boxes +
                                   R"(], "categories": [{"id": 1, "name": "x"}]})");
  };
  write("train", 0, 6);
  write("val", 6, 8);
  DataOptions options = data.options("coco", "train.json", {}, "val.json");
  options.fold = {1, 2};
  const FoldData parts = read_fold(options);
  std::set<int64_t> ids;
  for (const Dataset* dataset : {&parts.training, &parts.validation}) {
    for (const ImageRecord& image : dataset->images) {
      EXPECT_EQ(image.file.stem().string(), std::to_string(image.id));
      ids.insert(image.id);
    }
  }
  EXPECT_EQ(ids, (std::set<int64_t>{100, 101, 102, 103, 104, 105, 106, 107}));
}

}  // namespace
}  // namespace brightnet
