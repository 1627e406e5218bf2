// Which folders and files of a data set are its splits.
#include "data/formats/layout.h"

#include "tests/data/laid_out_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class Layout : public LaidOutFiles {};

// A split that is not seen as one would be trained and validated on as a mixture of both.
TEST_F(Layout, SplitsWithACapitalLetterOrAYear) {
  yolo("a/images/Train/a.jpg", "a/labels/Train/a.txt");
  yolo("a/images/Validation/b.jpg", "a/labels/Validation/b.txt");
  EXPECT_EQ(summary("a"), "a folder with YOLO labels | yolo | a | images/Train, images/Validation, ");
  yolo("b/images/train2017/a.jpg", "b/labels/train2017/a.txt");
  yolo("b/images/val2017/b.jpg", "b/labels/val2017/b.txt");
  EXPECT_EQ(summary("b"), "a folder with YOLO labels | yolo | b | images/train2017, images/val2017, ");
  for (const std::string name : {"Train", "Test"}) {
    voc("c/JPEGImages/" + name + ".jpg", "c/Annotations/" + name + ".xml");
    data_.text("c/ImageSets/Main/" + name + ".txt", name + '\n');
    coco("d/images/" + name + ".jpg", "d/annotations/instances_" + name + ".json");
  }
  EXPECT_EQ(summary("c"),
            "a Pascal VOC folder | voc | c | ImageSets/Main/Train.txt, , ImageSets/Main/Test.txt");
  EXPECT_EQ(
      summary("d"),
      "a folder with COCO JSON | coco | d | annotations/instances_Train.json, , annotations/instances_Test.json");
  voc("e/Train/a.jpg", "e/Train/a.xml");
  voc("e/Val/b.jpg", "e/Val/b.xml");
  EXPECT_EQ(summary("e"), "folders of images with Pascal VOC's XML files | voc | e | Train, Val, ");
  yolo("f/images/train2014/a.jpg", "f/labels/train2014/a.txt");
  yolo("f/images/val2014/b.jpg", "f/labels/val2014/b.txt");
  EXPECT_EQ(summary("f"), "a folder with YOLO labels | yolo | f | images/train2014, images/val2014, ");
  for (const std::string split : {"TRAIN", "VALID", "TEST"}) {
    yolo("g/" + split + "/images/x.jpg", "g/" + split + "/labels/x.txt");
    voc("h/" + split + "/x.jpg", "h/" + split + "/x.xml");
    coco("i/" + split + "/x.jpg", "i/" + split + "/_annotations.coco.json");
    data_.image("j/" + split + "/x.jpg");
    data_.text("j/" + split + "/_annotations.csv",
               "filename,width,height,class,xmin,ymin,xmax,ymax\nx.jpg,100,80,bolt,10,10,40,40\n");
  }
  EXPECT_EQ(summary("g"), "a folder with YOLO labels | yolo | g | TRAIN/images, VALID/images, TEST/images");
  EXPECT_EQ(summary("h"), "folders of images with Pascal VOC's XML files | voc | h | TRAIN, VALID, TEST");
  EXPECT_EQ(
      summary("i"),
      "a folder with COCO JSON | coco | i | TRAIN/_annotations.coco.json, VALID/_annotations.coco.json, "
      "TEST/_annotations.coco.json");
  EXPECT_EQ(summary("j"),
            "a folder with CSV tables | csv | j | TRAIN/_annotations.csv, VALID/_annotations.csv, "
            "TEST/_annotations.csv");
}

TEST_F(Layout, ADataSetThatAnArchiveLeftInAFolderOfItsOwn) {
  for (const std::string split : {"train", "valid", "test"}) {
    yolo("robo/robo.v1/" + split + "/images/x.jpg", "robo/robo.v1/" + split + "/labels/x.txt");
    voc("xml/sets/xml.v1/" + split + "/x.jpg", "xml/sets/xml.v1/" + split + "/x.xml");
  }
  data_.text("robo/robo.v1.zip", "PK");
  data_.text("robo/README.txt", "of the archive\n");
  data_.text("robo/__MACOSX/._robo.v1", "Mac OS X");
  EXPECT_EQ(summary("robo"),
            "a folder with YOLO labels | yolo | robo.v1 | train/images, valid/images, test/images");
  EXPECT_TRUE(contains(recognized("robo").text(), "read from its only folder robo.v1"));
  data_.text("robo/robo.v1/data.yaml",
             "train: ../train/images\nval: ../valid/images\ntest: ../test/images\nnames: [bolt]\n");
  EXPECT_EQ(
      summary("robo"),
      "an Ultralytics data.yaml in a folder | yolo | robo.v1 | train/images, valid/images, test/images");
  EXPECT_EQ(recognized("robo").options.names, std::vector<std::string>{"bolt"});
  EXPECT_EQ(summary("xml"),
            "folders of images with Pascal VOC's XML files | voc | xml.v1 | train, valid, test");
  data_.text("cvat/task/obj_train_data/a.txt", "0 0.5 0.5 0.2 0.2\n");
  data_.image("cvat/task/obj_train_data/a.png");
  data_.text("cvat/task/obj.names", "bolt\n");
  data_.text("cvat/task/train.txt", "data/obj_train_data/a.png\n");
  data_.text("cvat/task/obj.data", "names = data/obj.names\ntrain = data/train.txt\n");
  EXPECT_EQ(recognized("cvat").what, "darknet's obj.data in a folder");
  // Where the folder says no more, the data set is the whole.
  yolo("plain/inner/images/x.jpg", "plain/inner/labels/x.txt");
  EXPECT_EQ(summary("plain"), "a folder of images with YOLO labels | yolo | plain | ., , ");
  yolo("only/train/images/x.jpg", "only/train/labels/x.txt");
  EXPECT_EQ(summary("only"), "a folder with YOLO labels | yolo | only | train/images, , ");
  fs::create_directories(data_.root() / "loop");
  fs::create_directory_symlink(data_.root() / "loop", data_.root() / "loop/again");
  EXPECT_TRUE(contains(refusal("loop"), "no data set was recognized"));
}

TEST_F(Layout, ImagesOfVocInFoldersOfTheirSplits) {
  for (const std::string split : {"train", "val", "test"}) {
    voc("a/images/" + split + "/" + split + ".jpg", "a/annotations/" + split + "/" + split + ".xml");
    voc("b/JPEGImages/" + split + "/" + split + ".jpg", "b/Annotations/" + split + "/" + split + ".xml");
    voc("c/JPEGImages/" + split + "/" + split + ".jpg", "c/Annotations/" + split + ".xml");
  }
  EXPECT_EQ(summary("a"),
            "folders of images with Pascal VOC's XML files | voc | a | images/train, images/val, "
            "images/test");
  const std::string folders = " | JPEGImages/train, JPEGImages/val, JPEGImages/test";
  EXPECT_EQ(summary("b"), "a Pascal VOC folder | voc | b" + folders);
  EXPECT_EQ(summary("c"), "a Pascal VOC folder | voc | c" + folders);
  voc("i/JPEGImages/1.jpg", "i/Annotations/1.xml");
  voc("i/JPEGImages/2.jpg", "i/Annotations/2.xml");
  data_.text("i/ImageSets/train.txt", "1\n");
  data_.text("i/ImageSets/val.txt", "2\n");
  EXPECT_EQ(summary("i"), "a Pascal VOC folder | voc | i | ImageSets/train.txt, ImageSets/val.txt, ");
  // Each split with folders of its own, whose images may have the names of another's.
  for (const std::string split : {"train", "val"}) {
    voc("f/" + split + "/images/1.jpg", "f/" + split + "/annotations/1.xml");
    voc("g/" + split + "/JPEGImages/1.jpg", "g/" + split + "/Annotations/1.xml");
    voc("h/" + split + "/images/1.jpg", "h/" + split + "/annotations/1.xml");
    yolo("h/" + split + "/images/1.jpg", "h/" + split + "/labels/1.txt");  // made from the XML files
  }
  EXPECT_EQ(summary("f"), "folders of images with Pascal VOC's XML files | voc | f | train, val, ");
  EXPECT_EQ(summary("g"), "folders of images with Pascal VOC's XML files | voc | g | train, val, ");
  EXPECT_EQ(summary("h"), "a folder with YOLO labels | yolo | h | train/images, val/images, ");
  // A folder of pictures of trains is no split.
  voc("d/JPEGImages/train/x.jpg", "d/Annotations/train/x.xml");
  fs::create_directories(data_.root() / "d/JPEGImages/bus");
  EXPECT_EQ(summary("d"), "a Pascal VOC folder | voc | d | JPEGImages, , ");
  yolo("e/JPEGImages/train/x.jpg", "e/labels/train/x.txt");
  yolo("e/JPEGImages/val/y.jpg", "e/labels/val/y.txt");
  EXPECT_EQ(summary("e"), "a folder with YOLO labels | yolo | e | JPEGImages/train, JPEGImages/val, ");
}

TEST_F(Layout, VocWithoutAListOfTrainingImagesSaysWhichAreTaken) {
  for (const std::string image : {"1", "2"})
    voc("a/JPEGImages/" + image + ".jpg", "a/Annotations/" + image + ".xml");
  EXPECT_EQ(recognized("a").remark, "");
  data_.text("a/ImageSets/Main/val.txt", "2\n");
  EXPECT_EQ(recognized("a").remark,
            "without a list of training images, for which all of JPEGImages are taken, those of "
            "ImageSets/Main/val.txt too");
  data_.text("a/ImageSets/Main/train.txt", "1\n");
  EXPECT_EQ(recognized("a").remark, "");
}

TEST_F(Layout, ListsThatAreNotUsedAreNamed) {
  const auto remark = [&](const std::string& place) { return recognized(place).remark; };
  for (const std::string name : {"1", "2"}) {
    yolo("a/images/" + name + ".jpg", "a/labels/" + name + ".txt");
    voc("b/JPEGImages/" + name + ".jpg", "b/Annotations/" + name + ".xml");
    voc("c/images/" + name + ".jpg", "c/annotations/" + name + ".xml");
  }
  data_.text("a/train.txt", "1\n");
  data_.text("a/val.txt", "2\n");
  EXPECT_EQ(remark("a"), "without val.txt (its lines are no paths such as images/2.jpg)");
  data_.text("a/val.txt", "images/2.jpg\n");
  EXPECT_TRUE(contains(remark("a"), "(--set data.val=val.txt takes it; its images are trained on too"))
      << "train.txt has no paths";
  data_.text("a/train.txt", "images/1.jpg\n");
  EXPECT_EQ(summary("a"), "a folder with YOLO labels | yolo | a | train.txt, val.txt, ");
  EXPECT_EQ(remark("a"), "");
  const std::string both =
      "without val.txt (--set data.train=train.txt --set data.val=val.txt takes both lists)";
  for (const auto& [place, train, val] :
       {std::tuple("b", "1\n", "2\n"),
        {"b", "JPEGImages/1.jpg Annotations/1.xml\n", "./JPEGImages/2.jpg ./Annotations/2.xml\n"},
        {"c", "images/1.jpg annotations/1.xml\n", "images/2.jpg annotations/2.xml\n"}}) {
    const std::string root = place;
    data_.text(root + "/train.txt", train);
    data_.text(root + "/val.txt", val);
    EXPECT_EQ(remark(root), both);
    DataOptions options = recognized(root).options;
    options.train = "train.txt";
    options.val = "val.txt";
    for (const Split split : {Split::train, Split::val}) {
      const Dataset dataset = read_dataset(options, split);
      ASSERT_EQ(dataset.images.size(), 1u) << val;
      EXPECT_EQ(dataset.images[0].file.filename(), split == Split::train ? "1.jpg" : "2.jpg");
      EXPECT_EQ(dataset.images[0].annotations.size(), 1u) << val;
    }
  }
  fs::remove(data_.root() / "c/train.txt");
  EXPECT_TRUE(contains(remark("c"),
                       "without val.txt (--set data.val=val.txt takes it; its images are trained on too"));
  // A label of an image that is called val, and notes.
  yolo("d/val.jpg", "d/val.txt");
  data_.text("d/test.txt", "of the second day\n");
  EXPECT_EQ(remark("d"), "");
}

// Validation images that are trained on would be known by heart when they are scored.
TEST_F(Layout, SplitsInAnUnknownLayoutAreNotTrainedOnTogether) {
  for (const std::string site : {"sites/a", "sites/b"}) {
    for (const std::string split : {"train", "val"})
      yolo(site + "/" + split + "/x.jpg", site + "/" + split + "/x.txt");
  }
  const std::string said = refusal("sites");
  EXPECT_TRUE(contains(said, "sites: the folders a/train and a/val have names of different splits")) << said;
  EXPECT_TRUE(contains(said, "such as " + (data_.root() / "sites/a").string() + ", or say")) << said;
  EXPECT_TRUE(contains(
      said, "data.yaml with the lines 'format: yolo', 'train: [a/train, b/train]', 'val: [a/val, b/val]'."))
      << said;
  EXPECT_TRUE(contains(said, "With the lines 'format: yolo' and 'train: .' instead")) << said;
  EXPECT_TRUE(recognize_images((data_.root() / "sites").string())) << "their pixels are of no split";
  data_.text("sites/data.yaml",
             "format: yolo\ntrain: [a/train, b/train]\nval: [a/val, b/val]\nclasses: [bolt]\n");
  for (const Split split : {Split::train, Split::val})
    EXPECT_EQ(read_dataset(recognized("sites").options, split).images.size(), 2u) << "as it was advised";
  data_.text("sites/data.yaml", "format: yolo\ntrain: .\n");
  EXPECT_EQ(recognized("sites").options.train, ".");
  voc("words/images/my_train_set/x.jpg", "words/annotations/my_train_set/x.xml");
  voc("words/images/my-test-set/y.jpg", "words/annotations/my-test-set/y.xml");
  EXPECT_TRUE(
      contains(refusal("words"), "the folders images/my_train_set and images/my-test-set have names"));
  yolo("one/test bench/x.jpg", "one/test bench/x.txt");
  yolo("one/interval/y.jpg", "one/interval/y.txt");
  EXPECT_EQ(recognized("one").options.train, ".");
}

TEST_F(Layout, AFolderOfValidationImagesAmongOthersIsNotTrainedOn) {
  const auto moved = [&](const std::string& root, const std::string& folder, const std::string& file) {
    fs::create_directories(data_.root() / root / folder / "train");
    fs::rename(data_.root() / root / folder / file, data_.root() / root / folder / "train" / file);
  };
  yolo("a/1.jpg", "a/1.txt");
  yolo("a/val/2.jpg", "a/val/2.txt");
  const std::string said = refusal("a");
  EXPECT_TRUE(contains(said, "a: the folder val has the name of validation images, and its images would be"))
      << said;
  EXPECT_TRUE(contains(said, "into a folder " + (data_.root() / "a/train").string())) << said;
  EXPECT_TRUE(contains(said, "a/data.yaml with the lines 'format: yolo', 'train: .'.")) << said;
  EXPECT_TRUE(recognize_images((data_.root() / "a").string())) << "their pixels are of no split";
  data_.text("a/data.yaml", "format: yolo\ntrain: .\n");
  EXPECT_EQ(recognized("a").options.train, ".");
  fs::remove(data_.root() / "a/data.yaml");
  for (const char* file : {"1.jpg", "1.txt"}) moved("a", "", file);
  EXPECT_EQ(summary("a"), "a folder with YOLO labels | yolo | a | train, val, ") << "as it was advised";
  yolo("b/images/1.jpg", "b/labels/1.txt");
  yolo("b/images/Test/2.jpg", "b/labels/Test/2.txt");
  EXPECT_TRUE(contains(refusal("b"), "the folder images/Test has the name of test images"));
  EXPECT_TRUE(contains(refusal("b"), "with the lines 'format: yolo', 'train: images'."));
  moved("b", "images", "1.jpg");
  moved("b", "labels", "1.txt");
  EXPECT_EQ(summary("b"), "a folder with YOLO labels | yolo | b | images/train, , images/Test");
  voc("c/JPEGImages/1.jpg", "c/Annotations/1.xml");
  voc("c/JPEGImages/val/2.jpg", "c/Annotations/2.xml");
  EXPECT_TRUE(contains(refusal("c"), "with the lines 'format: voc', 'train: JPEGImages'."));
  moved("c", "JPEGImages", "1.jpg");
  EXPECT_EQ(summary("c"), "a Pascal VOC folder | voc | c | JPEGImages/train, JPEGImages/val, ");
  yolo("d/site/1.jpg", "d/site/1.txt");
  yolo("d/site/val/2.jpg", "d/site/val/2.txt");
  EXPECT_TRUE(contains(refusal("d"), "the folder site/val has the name of validation images"));
  EXPECT_TRUE(contains(refusal("d"), "'format: yolo', 'train: FOLDER', 'val: FOLDER'"));
  // Without labels they are no validation images, and without others they are what was named.
  yolo("e/1.jpg", "e/1.txt");
  data_.image("e/val/2.jpg");
  EXPECT_EQ(recognized("e").options.train, ".");
  yolo("f/val/2.jpg", "f/val/2.txt");
  EXPECT_EQ(recognized("f").options.train, ".");
}

TEST_F(Layout, ValidationImagesInAnotherLayoutThanTrainingImagesAreTaken) {
  for (const std::string root : {"a", "b"}) yolo(root + "/images/1.jpg", root + "/labels/1.txt");
  yolo("a/val/images/2.jpg", "a/val/labels/2.txt");
  EXPECT_EQ(summary("a"), "a folder of images with YOLO labels | yolo | a | images, val/images, ");
  yolo("b/valid/images/2.jpg", "b/valid/labels/2.txt");
  yolo("b/test/3.jpg", "b/test/3.txt");
  EXPECT_EQ(summary("b"), "a folder of images with YOLO labels | yolo | b | images, valid/images, test");
  yolo("c/images/train/1.jpg", "c/labels/train/1.txt");
  yolo("c/val/images/2.jpg", "c/val/labels/2.txt");
  EXPECT_EQ(summary("c"), "a folder with YOLO labels | yolo | c | images/train, val/images, ");
  voc("d/images/1.jpg", "d/annotations/1.xml");
  voc("d/val/images/1.jpg", "d/val/annotations/1.xml");
  EXPECT_EQ(summary("d"), "a folder of images with Pascal VOC's XML files | voc | d | images, val/images, ");
  DataOptions options = recognized("d").options;
  EXPECT_EQ(count(read_dataset(options, Split::val), DataProblem::Kind::shared_labels), 0) << "each its own";
  // Those that brightnet drew are none. Without labels they are named.
  data_.text("b/test/.brightnet-detect", "0123456789abcdef 3.jpg\n");
  EXPECT_EQ(recognized("b").options.test, "");
  fs::remove_all(data_.root() / "a/val/labels");
  EXPECT_EQ(recognized("a").options.val, "");
  EXPECT_TRUE(contains(recognized("a").text(), "without val/images (no labels were found there)"));
}

TEST_F(Layout, WordsOfSplitsInOtherNamesStopNothing) {
  const auto folders = [&](const std::string& root, std::initializer_list<const char*> names) {
    for (const std::string name : names)
      yolo(root + "/images/" + name + "/" + name + ".jpg", root + "/labels/" + name + "/" + name + ".txt");
  };
  folders("classes", {"beaker", "test_tube", "train_station"});
  EXPECT_EQ(recognized("classes").options.train, "images");
  folders("days/train", {"test_day", "training_day"});
  EXPECT_EQ(recognized("days").options.train, "train/images") << "they are all below train";
  for (const auto& [train, test] :
       {std::pair("train_zip", "test_zip"), {"trainset", "testset"}, {"train1", "val"}}) {
    const std::string root = std::string("of_") + train;
    folders(root, {train, test});
    EXPECT_TRUE(contains(refusal(root), "have names of different splits")) << train;
    EXPECT_TRUE(contains(refusal(root), "Give the folder of one data set, or say"))
        << "the place is above them";
    EXPECT_TRUE(contains(refusal(root + "/images"), "Give the folder of one data set, or say"))
        << "no folder above the place is meant";
  }
  folders("trainval", {"trainval", "test"});
  EXPECT_EQ(summary("trainval"),
            "a folder with YOLO labels | yolo | trainval | images/trainval, , images/test");
}

TEST_F(Layout, WhatBrightnetWroteIsNoData) {
  yolo("a/1.jpg", "a/1.txt");
  yolo("a/runs/detect/1.jpg", "a/runs/detect/1.txt");
  yolo("a/runs/a/val_pred0.jpg", "a/runs/a/val_pred0.txt");
  yolo("a/shown/000_1.jpg", "a/shown/000_1.txt");
  const auto images = [&](const std::string& place) {
    DataOptions options = recognized(place).options;
    options.classes = {"bolt"};
    return read_dataset(options, Split::train).images.size();
  };
  EXPECT_EQ(images("a"), 4u) << "images of a folder that happens to be called runs";
  data_.text("a/runs/detect/.brightnet-detect", "0123456789abcdef 1.txt\n");
  EXPECT_EQ(images("a"), 4u) << "labels alone were written beside a user's images";
  data_.text("a/runs/detect/.brightnet-detect", "0123456789abcdef 1.jpg\n");
  EXPECT_EQ(images("a"), 2u);
  EXPECT_EQ(images("a/runs/detect"), 1u) << "a user may train on detections, when they are named";
  std::filesystem::remove(data_.root() / "a/runs/detect/.brightnet-detect");
  data_.text("a/runs/a/config.yaml", "");
  data_.text("a/runs/a/train.log", "");
  EXPECT_EQ(images("a"), 2u);
  data_.text("a/shown/.brightnet-data-show", "- 000_1.jpg\n");
  EXPECT_EQ(images("a"), 1u) << "of whatever name the folder is";
  EXPECT_EQ(images("a/shown"), 1u);
  std::filesystem::rename(data_.root() / "a/runs/a", data_.root() / "a/first");
  std::filesystem::remove_all(data_.root() / "a/runs");
  EXPECT_EQ(images("a"), 1u) << "a run elsewhere than in runs/";
}

TEST_F(Layout, ASplitWhoseFirstImagesHaveNoLabels) {
  constexpr int background = 1000;
  for (const std::string split : {"train", "val", "test"}) {
    for (int i = 0; i < background; ++i) data_.text("images/" + split + "/" + std::to_string(i) + ".jpg", "");
    yolo("images/" + split + "/x.jpg", "labels/" + split + "/x.txt");
  }
  const DataOptions options = recognized(".").options;
  EXPECT_EQ(options.train, "images/train");
  EXPECT_EQ(options.val, "images/val");
  EXPECT_EQ(options.test, "images/test");
}

TEST_F(Layout, ASplitWithoutLabelsIsMissed) {
  divided("");
  fs::rename(data_.root() / "labels/val", data_.root() / "labels/vla");
  data_.image("images/test/t.jpg");
  RecognizedData data = recognized(".");
  EXPECT_EQ(data.options.val, "images/val");
  data.options.classes = {"bolt"};
  const std::string said = message(data.options, Split::val);
  EXPECT_TRUE(contains(said, "has no label file: it was looked for at")) << said;
  EXPECT_TRUE(contains(said, "labels/val/val.txt")) << said;
  EXPECT_EQ(data.options.test, "") << "of no use";
  EXPECT_TRUE(contains(data.text(), "without images/test (no labels were found there)")) << data.text();
  // Nor is it a reason to train on all splits.
  fs::rename(data_.root() / "labels/train", data_.root() / "labels/trian");
  fs::rename(data_.root() / "labels/vla", data_.root() / "labels/val");
  data = recognized(".");
  EXPECT_EQ(data.options.train, "images/train");
  EXPECT_EQ(data.options.val, "images/val");
  data.options.classes = {"bolt"};
  EXPECT_TRUE(contains(message(data.options), "labels/train/train.txt"));
}

}  // namespace
}  // namespace brightnet
