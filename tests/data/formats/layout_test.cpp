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
  // A folder of pictures of trains is no split.
  voc("d/JPEGImages/train/x.jpg", "d/Annotations/train/x.xml");
  fs::create_directories(data_.root() / "d/JPEGImages/bus");
  EXPECT_EQ(summary("d"), "a Pascal VOC folder | voc | d | JPEGImages, , ");
  yolo("e/JPEGImages/train/x.jpg", "e/labels/train/x.txt");
  yolo("e/JPEGImages/val/y.jpg", "e/labels/val/y.txt");
  EXPECT_EQ(summary("e"), "a folder with YOLO labels | yolo | e | JPEGImages/train, JPEGImages/val, ");
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
  EXPECT_TRUE(contains(said, "data.yaml with the lines 'format: yolo', 'train: a/train', 'val: a/val'"))
      << said;
  EXPECT_TRUE(recognize_images((data_.root() / "sites").string())) << "their pixels are of no split";
  data_.text("sites/data.yaml", "format: yolo\ntrain: a/train\nval: a/val\n");
  EXPECT_EQ(summary("sites"), "brightnet's data.yaml in a folder | yolo | sites | a/train, a/val, ");
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
