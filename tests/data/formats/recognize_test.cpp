#include "tests/data/laid_out_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class Recognize : public LaidOutFiles {};

TEST_F(Recognize, UltralyticsYamlByItsOwnFolder) {
  divided("mine/");
  data_.text("mine/data.yaml", "path: .\ntrain: images/train\nval: images/val\nnc: 1\nnames: [bolt]\n");
  EXPECT_EQ(summary("mine/data.yaml"), "an Ultralytics data.yaml | yolo | mine | images/train, images/val, ");
  EXPECT_EQ(recognized("mine/data.yaml").options.names, std::vector<std::string>{"bolt"});
  EXPECT_EQ(summary("mine"),
            "an Ultralytics data.yaml in a folder | yolo | mine | images/train, images/val, ");
}

TEST_F(Recognize, UltralyticsYamlWithNamesByIdAndAPathBesideIt) {
  divided("sets/mine/");
  data_.text("coco8.yaml",
             "path: sets/mine\ntrain: images/train\nval: images/val\ntest:\nnames:\n  0: bolt\n  1: nut\n"
             "download: https://example.org/mine.zip\n");
  const RecognizedData data = recognized("coco8.yaml");
  EXPECT_EQ(data.options.root, (data_.root() / "sets/mine").string());
  EXPECT_EQ(data.options.names, (std::vector<std::string>{"bolt", "nut"}));
  EXPECT_TRUE(contains(data.text(), "train images/train, val images/val, 2 classes")) << data.text();
  EXPECT_TRUE(contains(data.text(), "its download (https://example.org/mine.zip) is not run"));
}

TEST_F(Recognize, UltralyticsYamlBelowTheWorkingDirectory) {
  divided("sets/mine/");
  data_.text("yamls/mine.yaml", "path: sets/mine\ntrain: images/train\nval: images/val\nnames: [bolt]\n");
  const fs::path before = fs::current_path();
  fs::current_path(data_.root());
  EXPECT_EQ(recognized("yamls/mine.yaml").options.root, (data_.root() / "sets/mine").string());
  fs::current_path(before);
  const std::string said = refusal("yamls/mine.yaml");
  EXPECT_TRUE(contains(said, "yamls/mine.yaml:1: 'path' names sets/mine, which does not exist"));
  EXPECT_TRUE(contains(said, (data_.root() / "yamls").string() + " and in " + before.string()));
}

TEST_F(Recognize, RoboflowsYamlWhosePlacesBeginOneFolderTooHigh) {
  for (const std::string split : {"train", "valid"})
    yolo("robo/" + split + "/images/a.jpg", "robo/" + split + "/labels/a.txt");
  data_.text("robo/data.yaml",
             "train: ../train/images\nval: ../valid/images\ntest: ../test/images\nnc: 1\n"
             "names: ['bolt']\nroboflow: {license: MIT}\n");
  const DataOptions options = recognized("robo/data.yaml").options;
  EXPECT_EQ(options.root, (data_.root() / "robo").string());
  EXPECT_EQ(options.train, "train/images");
  EXPECT_EQ(options.val, "valid/images");
  data_.text("robo/data.yaml", "train: ..\\train\\images\nval: ..\\valid\\images\nnames: [bolt]\n");
  EXPECT_EQ(recognized("robo/data.yaml").options.train, "train/images");
  EXPECT_EQ(read_dataset(options, Split::val).images.size(), 1u);
  EXPECT_TRUE(contains(message(options, Split::test), "does not exist"));
}

TEST_F(Recognize, PlacesThatBeginTooHighAreNotThoseOfAnotherFolder) {
  yolo("exports/robo/train/images/a.jpg", "exports/robo/train/labels/a.txt");
  yolo("others/train/images/b.jpg", "others/train/labels/b.txt");
  fs::create_directories(data_.root() / "others/work");
  data_.text("exports/robo/data.yaml", "train: ../train/images\nnames: [bolt]\n");
  const fs::path before = fs::current_path();
  fs::current_path(data_.root() / "others/work");
  const DataOptions options = recognized("exports/robo/data.yaml").options;
  fs::current_path(before);
  EXPECT_EQ(options.train, "train/images");
}

TEST_F(Recognize, UltralyticsYamlWithAListOfPlaces) {
  yolo("a/images/x.jpg", "a/labels/x.txt");
  yolo("b/images/y.jpg", "b/labels/y.txt");
  data_.text("both.yaml", "train: [a/images, b/images]\nval: a/images\nnc: 1\n");
  const RecognizedData data = recognized("both.yaml");
  EXPECT_EQ(read_dataset(data.options, Split::train).images.size(), 2u);
  EXPECT_EQ(data.options.names, std::vector<std::string>{"class_0"});
  EXPECT_TRUE(contains(data.text(), "train a/images + b/images, val a/images"));
  // It survives being written and read, as in a run's config.yaml.
  DataOptions again;
  read_config(YamlDocument::parse(print_config(data.options), "printed").root(), again);
  EXPECT_EQ(again.train, data.options.train);
  check_place(again, Split::train);
  again.format = &dataset_format("coco");
  EXPECT_TRUE(contains(message(again), "data.train is a list of 2 places, and data.format: coco takes one"));
}

TEST_F(Recognize, UltralyticsYamlOfAPoseSetGivesItsBoxes) {
  divided("pose/");
  data_.text("pose/labels/train/train.txt", "0 0.5 0.5 0.2 0.4 0.1 0.1 2 0.9 0.9 0\n");
  data_.text("pose/data.yaml", "train: images/train\nval: images/val\nnames: [bolt]\nkpt_shape: [2, 3]\n");
  EXPECT_EQ(summary("pose"),
            "an Ultralytics data.yaml in a folder | yolo | pose | images/train, images/val, ");
  const RecognizedData data = recognized("pose/data.yaml");
  EXPECT_TRUE(contains(data.text(), "its key points (kpt_shape) are not")) << data.text();
  const Dataset dataset = read_dataset(data.options, Split::train);
  expect_box(dataset.images.at(0).annotations.at(0), 0, 40, 24, 60, 56);
  // It survives being written and read, as in a run's config.yaml.
  DataOptions again;
  read_config(YamlDocument::parse(print_config(data.options), "printed").root(), again);
  EXPECT_EQ(again.kpt_shape, (std::vector<int>{2, 3}));
}

TEST_F(Recognize, WrongUltralyticsYamlsAreRefusedWithTheirLines) {
  divided("");
  const auto said = [&](const std::string& text) {
    data_.text("d.yaml", text);
    return refusal("d.yaml");
  };
  EXPECT_TRUE(
      contains(said("train: images/train\nnc: 2\nnames: [bolt]\n"), "d.yaml:2: 'nc' is 2, but there are 1"));
  EXPECT_TRUE(
      contains(said("train: images/train\nnc: 2000000000\n"),
               "d.yaml:2: 'nc' is 2000000000, and there are no names. List the classes under names."));
  EXPECT_TRUE(contains(said("train: images/trian\nnames: [bolt]\n"), "d.yaml:1: 'train' names images/trian"));
  const std::string missing =
      said("path: gone\ntrain: x\nnames: [bolt]\ndownload: |\n  import os\n  os.x()\n");
  EXPECT_TRUE(contains(missing, "d.yaml:1: 'path' names gone"));
  EXPECT_TRUE(contains(missing, "`download:` (a script) says where the data are; brightnet does not run it"));
  EXPECT_TRUE(contains(said("train: images/train\nnames: [bolt]\nkpt_shape: [17, 4]\n"),
                       "d.yaml:3: 'kpt_shape' is [17, 4]"));
  EXPECT_TRUE(contains(said("train: images/train\nnames:\n  0: bolt\n  1: nut\n  1: rivet\n"),
                       "d.yaml:5: 'names' has the id 1 twice"));
  EXPECT_TRUE(contains(said("path: .\nnames: [bolt]\n"), "names no images"));
  data_.text("d.yaml", "val: images/train\nnames: [bolt]\n");
  EXPECT_EQ(recognized("d.yaml").options.val, "images/train") << "for an evaluation";
  EXPECT_TRUE(contains(said("a: 1\n"), "this YAML describes no data"));
  EXPECT_TRUE(contains(said("layers: []\n"), "this is a model"));
}

TEST_F(Recognize, TheSectionThatDataSynthWritesAndARunsYaml) {
  divided("synth/");
  data_.text("synth/data.yaml",
             "format: yolo\nroot: .\ntrain: images/train\nval: images/val\nclasses: [bolt]\n");
  EXPECT_EQ(summary("synth"),
            "brightnet's data.yaml in a folder | yolo | synth | images/train, images/val, ");
  data_.text("run.yaml",
             "model: x.yaml\ndata: {format: yolo, root: synth, train: images/train, classes: [bolt]}\n");
  EXPECT_EQ(summary("run.yaml"), "the data of a run's YAML | yolo | synth | images/train, , ");
  EXPECT_TRUE(recognized("run.yaml").undivided());
  EXPECT_FALSE(is_data(data_.root() / "run.yaml"));
  EXPECT_TRUE(is_data(data_.root() / "synth/data.yaml"));
  EXPECT_TRUE(is_data(data_.root() / "synth"));
  // Without a root the folder of the file is meant.
  data_.text("synth/data.yaml", "format: yolo\ntrain: images/train\nclasses: [bolt]\n");
  EXPECT_EQ(summary("synth"), "brightnet's data.yaml in a folder | yolo | synth | images/train, , ");
  data_.text("synth/data.yaml", "format: yolo\nroot: gone\ntrain: images/train\nclasses: [bolt]\n");
  const std::string said = refusal("synth");
  EXPECT_TRUE(contains(said, "data.yaml:2: 'root' names 'gone', which does not exist. It was looked for in " +
                                 (data_.root() / "synth").string() + " and in " +
                                 fs::current_path().string()))
      << said;
}

TEST_F(Recognize, TestImagesAreNoValidationImages) {
  for (const std::string split : {"train", "test"})
    yolo("set/" + split + "/1.jpg", "set/" + split + "/1.txt");
  const RecognizedData data = recognized("set");
  EXPECT_EQ(data.options.test, "test");
  EXPECT_TRUE(data.lacks_validation());
  EXPECT_FALSE(data.undivided());
  yolo("set/val/1.jpg", "set/val/1.txt");
  EXPECT_FALSE(recognized("set").lacks_validation());
}

TEST_F(Recognize, DarknetsObjData) {
  divided("");
  data_.text("names.txt", "bolt\n");
  data_.text("cfg/obj.data", "classes= 1\ntrain  = " + (data_.root() / "images/train").string() +
                                 "\nvalid  = " + (data_.root() / "images/val").string() + "\nnames = " +
                                 (data_.root() / "names.txt").string() + "\nbackup = backup/\n");
  const RecognizedData data = recognized("cfg/obj.data");
  EXPECT_EQ(data.what, "darknet's obj.data");
  EXPECT_EQ(data.options.root, fs::current_path().string());
  EXPECT_FALSE(data.undivided());
  EXPECT_EQ(read_class_names(data.options), std::vector<std::string>{"bolt"});
  EXPECT_EQ(read_dataset(data.options, Split::val).images.size(), 1u);
  EXPECT_EQ(recognized("cfg").what, "darknet's obj.data in a folder");
  // It tells more than the images and labels beside it.
  fs::rename(data_.root() / "cfg/obj.data", data_.root() / "obj.data");
  EXPECT_EQ(recognized(".").what, "darknet's obj.data in a folder");
}

TEST_F(Recognize, CocoByOneFileByTwoAndByTheirFolder) {
  coco("coco/train2017/t.jpg", "coco/annotations/instances_train2017.json");
  coco("coco/val2017/v.jpg", "coco/annotations/instances_val2017.json");
  data_.text("coco/annotations/captions_train2017.json", R"({"images": [], "annotations": []})");
  const std::string both = "annotations/instances_train2017.json, annotations/instances_val2017.json, ";
  EXPECT_EQ(summary("coco"), "a folder with COCO JSON | coco | coco | " + both);
  EXPECT_EQ(summary("coco/annotations/instances_train2017.json"), "COCO JSON | coco | coco | " + both);
  const std::string folder = (data_.root() / "coco/annotations/").string();
  const RecognizedData pair =
      recognize_data(folder + "instances_val2017.json," + folder + "instances_train2017.json");
  EXPECT_EQ(pair.options.train, "annotations/instances_val2017.json");
  EXPECT_EQ(pair.options.val, "annotations/instances_train2017.json");
  EXPECT_EQ(read_dataset(pair.options, Split::val).images.size(), 1u);
}

TEST_F(Recognize, OfThreePlacesTheLastHasTheTestImages) {
  std::string all;
  for (const std::string split : {"test", "train", "val"}) {
    const std::string file = "coco/annotations/instances_" + split + "2017.json";
    coco("coco/" + split + "2017/" + split + ".jpg", file);
    all += (all.empty() ? "" : ",") + (data_.root() / file).string();
  }
  const DataOptions options = recognize_data(all).options;
  EXPECT_EQ(options.train, "annotations/instances_test2017.json");
  EXPECT_EQ(options.val, "annotations/instances_train2017.json");
  EXPECT_EQ(options.test, "annotations/instances_val2017.json");
  EXPECT_EQ(read_dataset(options, Split::test).images.at(0).file.filename(), "val.jpg");
}

TEST_F(Recognize, ImagesOfAFileElsewhereAreItsOwnAndNotTrainsOfTheSameNames) {
  for (const std::string site : {"site1", "site2"}) {
    coco("beside/" + site + "/a.jpg", "beside/" + site + "/coco.json");
    coco("below/" + site + "/images/a.jpg", "below/" + site + "/annotations/instances_default.json");
    data_.image("datumaro/" + site + "/images/a.jpg");
    data_.text(
        "datumaro/" + site + "/annotations/default.json",
        R"({"categories": {"label": {"labels": [{"name": "bolt"}]}}, "items": [{"id": "a", "annotations": [
                 {"type": "bbox", "label_id": 0, "bbox": [10, 20, 5, 6]}], "image": {"path": "a.jpg"}}]})");
  }
  for (const auto& [folder, file] : {std::pair{"beside", "coco.json"},
                                     {"below", "annotations/instances_default.json"},
                                     {"datumaro", "annotations/default.json"}}) {
    const std::string sites = (data_.root() / folder / "site").string(), name = std::string("/") + file;
    const RecognizedData pair = recognize_data(sites + "1" + name + "," + sites + "2" + name);
    for (const auto& [split, site] : {std::pair{Split::train, "1/"}, {Split::val, "2/"}}) {
      const Dataset dataset = read_dataset(pair.options, split);
      EXPECT_TRUE(dataset.images.at(0).file.string().starts_with(sites + site)) << dataset.images[0].file;
    }
  }
}

TEST_F(Recognize, CocoAsRoboflowExportsIt) {
  coco("robo/train/a.jpg", "robo/train/_annotations.coco.json");
  coco("robo/valid/b.jpg", "robo/valid/_annotations.coco.json");
  const std::string both = "train/_annotations.coco.json, valid/_annotations.coco.json, ";
  EXPECT_EQ(summary("robo"), "a folder with COCO JSON | coco | robo | " + both);
  EXPECT_EQ(summary("robo/train/_annotations.coco.json"), "COCO JSON | coco | robo | " + both);
}

TEST_F(Recognize, PascalVoc) {
  voc("VOCdevkit/VOC2007/JPEGImages/a.jpg", "VOCdevkit/VOC2007/Annotations/a.xml");
  EXPECT_EQ(summary("VOCdevkit/VOC2007"), "a Pascal VOC folder | voc | VOC2007 | JPEGImages, , ");
  data_.text("VOCdevkit/VOC2007/ImageSets/Main/trainval.txt", "a\n");
  data_.text("VOCdevkit/VOC2007/ImageSets/Main/test.txt", "a\n");
  EXPECT_EQ(summary("VOCdevkit"),
            "a Pascal VOC folder | voc | VOC2007 | ImageSets/Main/trainval.txt, , ImageSets/Main/test.txt");
  EXPECT_EQ(summary("."), summary("VOCdevkit"));
}

TEST_F(Recognize, TheYearsOfPascalVocTogether) {
  const std::string kit = "VOCdevkit/";
  for (const std::string year : {"VOC2007", "VOC2012"}) {
    voc(kit + year + "/JPEGImages/1.jpg", kit + year + "/Annotations/1.xml");
    data_.text(kit + year + "/ImageSets/Main/train.txt", "1\n");
  }
  data_.image(kit + "VOC2012/JPEGImages/2.jpg");
  data_.text(kit + "VOC2012/ImageSets/Main/val.txt", "2\n");
  data_.text(kit + "VOC2007/ImageSets/Main/test.txt", "1\n");
  fs::create_directories(data_.root() / kit / "VOCcode");
  const RecognizedData data = recognized("VOCdevkit");
  EXPECT_EQ(data.what, "the Pascal VOC folders VOC2007 and VOC2012");
  EXPECT_EQ(data.options.train, "VOC2007/ImageSets/Main/train.txt\nVOC2012/ImageSets/Main/train.txt");
  EXPECT_EQ(data.options.val, "VOC2012/ImageSets/Main/val.txt");
  EXPECT_EQ(data.options.test, "VOC2007/ImageSets/Main/test.txt");
  const Dataset train = read_dataset(data.options, Split::train);
  ASSERT_EQ(train.images.size(), 2u);
  for (const auto& image : train.images) EXPECT_EQ(image.annotations.size(), 1u) << image.file;
  EXPECT_NE(train.images[0].file, train.images[1].file) << "one name in two years";
  EXPECT_EQ(train.images[0].listed, "") << "data.root does not find it by its name";
  EXPECT_EQ(recognized(".").options.train, data.options.train);
  // The test images of one year alone are not for training.
  fs::remove(data_.root() / kit / "VOC2007/ImageSets/Main/train.txt");
  EXPECT_EQ(recognized("VOCdevkit").options.train, "VOC2012/ImageSets/Main/train.txt");
  fs::remove_all(data_.root() / kit / "VOC2012");
  EXPECT_EQ(recognized("VOCdevkit").options.root, (data_.root() / kit / "VOC2007").string()) << "not VOCcode";
}

TEST_F(Recognize, ImagesWithVocsXml) {
  voc("robo/train/a.jpg", "robo/train/a.xml");
  voc("robo/valid/b.jpg", "robo/valid/b.xml");
  EXPECT_EQ(summary("robo"), "folders of images with Pascal VOC's XML files | voc | robo | train, valid, ");
  voc("flat/a.jpg", "flat/a.xml");
  EXPECT_EQ(summary("flat"), "a folder of images with Pascal VOC's XML files | voc | flat | ., , ");
  voc("beside/images/a.jpg", "beside/annotations/a.xml");
  EXPECT_EQ(summary("beside"), "a folder of images with Pascal VOC's XML files | voc | beside | images, , ");
}

TEST_F(Recognize, FoldersOfImagesWithYoloLabels) {
  divided("a/");
  EXPECT_EQ(summary("a/"), "a folder with YOLO labels | yolo | a | images/train, images/val, ");
  for (const std::string split : {"train", "valid", "test"})
    yolo("b/" + split + "/images/x.jpg", "b/" + split + "/labels/x.txt");
  EXPECT_EQ(summary("b"), "a folder with YOLO labels | yolo | b | train/images, valid/images, test/images");
  for (const std::string split : {"train", "val"}) yolo("c/" + split + "/x.jpg", "c/" + split + "/x.txt");
  EXPECT_EQ(summary("c"), "a folder with YOLO labels | yolo | c | train, val, ");
  yolo("d/images/x.jpg", "d/labels/x.txt");
  EXPECT_EQ(summary("d"), "a folder of images with YOLO labels | yolo | d | images, , ");
  yolo("beside/images/x.jpg", "beside/labels/x.txt");
  yolo("beside/val/images/y.jpg", "beside/val/labels/y.txt");
  yolo("beside/test/z.jpg", "beside/test/z.txt");
  EXPECT_EQ(summary("beside"),
            "a folder of images with YOLO labels | yolo | beside | images, val/images, test");
  yolo("e/x.jpg", "e/x.txt");
  EXPECT_EQ(summary("e"), "a folder of images with YOLO labels | yolo | e | ., , ");
}

TEST_F(Recognize, YoloLabelsBesideWhatTheyWereMadeFrom) {
  divided("");
  voc("images/train/train.jpg", "annotations/train.xml");
  coco("images/val/val.jpg", "annotations/instances_val.json");
  EXPECT_EQ(summary(".").substr(0, 32), "a folder with YOLO labels | yolo");
}

TEST_F(Recognize, ListsOfImages) {
  divided("");
  data_.text("train.txt", "images/train/train.jpg\n");
  data_.text("valid.txt", "images/val/val.jpg\n");
  EXPECT_EQ(recognized("train.txt").options.val, "valid.txt");
  EXPECT_EQ(summary("train.txt").substr(0, 42), "a list of images with YOLO labels | yolo |");
}

TEST_F(Recognize, KittiAndCsv) {
  data_.image("k/training/image_2/a.png");
  data_.text("k/training/label_2/a.txt", "Car 0 0 0 10 10 40 40 0 0 0 0 0 0 0\n");
  EXPECT_EQ(summary("k"), "a KITTI folder | kitti | k | training/image_2, , ");
  const std::string header = "filename,width,height,class,xmin,ymin,xmax,ymax\n";
  for (const std::string split : {"train", "valid"}) {
    data_.image("csv/" + split + "/a.jpg");
    data_.text("csv/" + split + "/_annotations.csv", header + "a.jpg,100,80,bolt,10,10,40,40\n");
  }
  EXPECT_EQ(summary("csv"),
            "a folder with CSV tables | csv | csv | train/_annotations.csv, valid/_annotations.csv, ");
  EXPECT_EQ(summary("csv/train/_annotations.csv"),
            "a CSV table | csv | csv | train/_annotations.csv, valid/_annotations.csv, ");
  data_.image("alone/a.jpg");
  data_.text("alone/table.csv", header + "a.jpg,100,80,bolt,10,10,40,40\n");
  EXPECT_EQ(summary("alone/table.csv"), "a CSV table | csv | alone | table.csv, , ");
  data_.text("alone/table.csv", "Filename;Class;XMin;YMin;XMax;YMax\na.jpg;bolt;10;10;40;40\n");
  EXPECT_EQ(summary("alone/table.csv"), "a CSV table | csv | alone | table.csv, , ");
}

TEST_F(Recognize, WhatIsNothingIsRefusedWithWhatWasLookedFor) {
  data_.image("pictures/a.jpg");
  data_.text("notes.txt", "some words\n");
  data_.text("package.json", R"({"name": "x"})");
  data_.text("table.csv", "a,b\n1,2\n");
  for (const char* place : {"pictures", "notes.txt", "package.json", "table.csv"}) {
    const std::string said = refusal(place);
    for (const char* looked_for : {"an Ultralytics data.yaml", "Annotations/ and JPEGImages/", "a COCO JSON",
                                   "darknet's obj.data", "labels/ beside images/", "image_2/", ".csv"})
      EXPECT_TRUE(contains(said, looked_for)) << place;
  }
  EXPECT_TRUE(contains(refusal("nowhere"), "there is no such file or folder"));
  EXPECT_TRUE(contains(refusal("a,b,c,d"), "--data has 4 places"));
}

TEST_F(Recognize, ImagesOfAFolderAreTakenWithoutLabelsWhereNoDataSetIs) {
  const auto images_in = [&](const std::string& place) -> size_t {
    auto data = recognize_images((data_.root() / place).string());
    if (!data) return 0;
    data->options.format = &unlabelled_format();
    const Dataset dataset = read_dataset(data->options, Split::train);
    EXPECT_TRUE(dataset.problems.empty()) << place;
    return dataset.images.size();
  };
  data_.image("photos/a.jpg");
  data_.image("photos/day/b.jpg");
  data_.text("photos/day/notes.txt", "of that day\n");
  EXPECT_EQ(images_in("photos"), 2u);
  EXPECT_EQ(recognize_images((data_.root() / "photos").string())->options.format, &unlabelled_format());
  divided("mine/");
  data_.text("mine/labels/train/train.txt", "no label\n");
  EXPECT_EQ(images_in("mine/images/train"), 1u) << "without the names of its classes, and with any labels";
  EXPECT_EQ(images_in("mine"), 0u) << "a data set";
  EXPECT_EQ(images_in("mine/images/train/train.jpg"), 0u);
  EXPECT_EQ(images_in("nowhere"), 0u);
  EXPECT_EQ(images_in(""), 2u + 2u) << "a folder of all of them";
  data_.text("empty/notes.md", "none\n");
  try {
    recognize_images((data_.root() / "empty").string());
    ADD_FAILURE() << "it has no image";
  } catch (const InputError& e) {
    EXPECT_TRUE(contains(e.what(), "empty: this folder has no images")) << e.what();
  }
}

// What the formats look for, and what they look through.
TEST_F(Recognize, AFolderWithLinksToThemselves) {
  divided("mine/");
  const std::string before = summary("mine");
  for (const char* name :
       {"loop", "VOCdevkit", "ImageSets", "Annotations", "image_2", "training", "meta.json"})
    fs::create_symlink(name, data_.root() / "mine" / name);
  EXPECT_EQ(summary("mine"), before);
  EXPECT_TRUE(contains(refusal("mine/loop"), "there is no such file or folder"));
  EXPECT_TRUE(contains(refusal(std::string(300, 'a')), "there is no such file or folder"));
}

}  // namespace
}  // namespace brightnet
