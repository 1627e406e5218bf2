// Folders in which images have label files of several formats.
#include "data/formats/mixed_labels.h"

#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

class MixedLabels : public ::testing::Test {
 protected:
  /// Images NAME0.jpg, NAME1.jpg … in a folder, with label files of one kind beside them.
  void images(const std::string& name, int count, const std::string& extension) const {
    for (int i = 0; i < count; ++i) {
      const std::string path = name + std::to_string(i);
      data_.image(path + ".jpg");
      data_.text(path + extension, text_of_label(extension));
    }
  }
  static std::string text_of_label(const std::string& extension) {
    if (extension == ".txt") return "0 0.5 0.5 0.2 0.2\n";
    if (extension == ".xml")
      return "<annotation><object><name>bolt</name><bndbox><xmin>10</xmin><ymin>10</ymin><xmax>40</xmax>"
             "<ymax>40</ymax></bndbox></object></annotation>\n";
    return R"({"shapes": [{"label": "bolt", "shape_type": "rectangle", "points": [[1, 1], [9, 9]]}]})";
  }
  RecognizedData recognized(const std::string& place = "") const {
    return recognize_data((data_.root() / place).string());
  }
  /// The format, and how many images have objects.
  std::string read(const std::string& place = "") const {
    DataOptions options = recognized(place).options;
    if (options.format->name == "yolo") options.classes = {"bolt"};
    size_t labelled = 0;
    const Dataset dataset = read_dataset(options, Split::train);
    for (const auto& image : dataset.images) labelled += !image.annotations.empty();
    return options.format->name + ", " + std::to_string(labelled) + " of " +
           std::to_string(dataset.images.size());
  }

  DatasetFolder data_;
};

TEST_F(MixedLabels, OneFileOfAnotherToolLeavesYoloYolo) {
  for (const std::string other : {".xml", ".json"}) {
    const std::string place = "to" + other;
    images(place + "/a", 5, ".txt");
    images(place + "/b", 1, other);
    EXPECT_EQ(read(place), "yolo, 5 of 6");
    const std::string of_other = other == ".xml" ? "Pascal VOC's .xml" : "LabelMe's .json";
    EXPECT_EQ(recognized(place).remark, "1 of 6 images has only " + of_other +
                                            ", which is not read; 5 have YOLO's .txt (--set data.format=" +
                                            (other == ".xml" ? "voc" : "labelme") + " reads the other)");
    EXPECT_TRUE(contains(recognized(place).text(), recognized(place).remark));
  }
}

TEST_F(MixedLabels, AFewOfYoloLeaveTheOthersWhatTheyAre) {
  for (const std::string own : {".xml", ".json"}) {
    const std::string place = "of" + own, format = own == ".xml" ? "voc" : "labelme";
    images(place + "/a", 5, own);
    images(place + "/b", 2, ".txt");
    EXPECT_EQ(read(place), format + ", 5 of 7");
    EXPECT_TRUE(contains(recognized(place).remark,
                         "2 of 7 images have only YOLO's .txt, which is not read; 5 have "));
  }
  images("both/a", 5, ".xml");
  images("both/b", 1, ".json");
  EXPECT_EQ(read("both"), "voc, 5 of 6");
}

TEST_F(MixedLabels, TheSplitsAreThoseOfWhatIsRead) {
  for (const std::string split : {"train", "val"}) {
    images("parallel/images/" + split + "/a", 3, ".gone");
    for (const std::string i : {"0", "1", "2"}) {
      std::filesystem::remove(data_.root() / ("parallel/images/" + split + "/a" + i + ".gone"));
      data_.text("parallel/labels/" + split + "/a" + i + ".txt", text_of_label(".txt"));
    }
    images("beside/" + split + "/a", 3, ".txt");
  }
  images("parallel/images/train/b", 1, ".json");
  images("beside/train/b", 1, ".xml");
  EXPECT_EQ(read("parallel"), "yolo, 3 of 4");
  EXPECT_EQ(recognized("parallel").options.val, "images/val");
  EXPECT_EQ(read("beside"), "yolo, 3 of 4");
  EXPECT_EQ(recognized("beside").options.val, "val");
}

TEST_F(MixedLabels, FilesThatAreNoLabelsDoNotCount) {
  images("captions/a", 2, ".xml");
  for (const char* name : {"b", "c", "d"}) {
    data_.image(std::string("captions/") + name + ".jpg");
    data_.text(std::string("captions/") + name + ".txt", "a bolt on a table\n");
  }
  EXPECT_EQ(read("captions"), "voc, 2 of 5");
  EXPECT_EQ(recognized("captions").remark, "");
  images("camera/a", 3, ".txt");
  for (const char* name : {"a0", "a1", "a2"})
    data_.text(std::string("camera/") + name + ".xml", "<NonRealTimeMeta/>\n");
  EXPECT_EQ(read("camera"), "yolo, 3 of 3");
  EXPECT_EQ(recognized("camera").remark, "");
}

TEST_F(MixedLabels, OfImagesWithBothKindsTheFirstIsReadAsEver) {
  images("a", 3, ".xml");
  images("a", 3, ".txt");
  EXPECT_EQ(read(), "voc, 3 of 3");
  EXPECT_EQ(recognized().remark, "");
}

TEST_F(MixedLabels, ADescriptionOfTheWholeSetIsNotLostForOneFile) {
  images("obj/a", 3, ".txt");
  images("obj/b", 1, ".json");
  data_.text("obj/obj.data", "classes = 1\ntrain = train.txt\nnames = obj.names\n");
  EXPECT_EQ(recognized("obj").what, "darknet's obj.data in a folder");
  EXPECT_EQ(recognized("obj").remark, "1 of 4 images has LabelMe's .json, which is not read");
  images("coco/train/a", 1, ".json");
  for (const char* name : {"b", "c"}) data_.image(std::string("coco/train/") + name + ".jpg");
  data_.text("coco/train/_annotations.coco.json", R"({"images": [], "annotations": [], "categories": []})");
  EXPECT_EQ(recognized("coco").options.format->name, "labelme");
  EXPECT_EQ(recognized("coco").remark,
            "1 of 3 images has LabelMe's .json, and this is a folder with COCO JSON too (--data " +
                (data_.root() / "coco/train/_annotations.coco.json").string() + " reads that)");
}

TEST_F(MixedLabels, OfManyImagesSomeOfAllPartsAreLookedAt) {
  for (int i = 0; i < 500; ++i) {
    const std::string path = std::to_string(1000 + i);
    data_.text(path + ".jpg", "");
    data_.text(path + (i < 150 ? ".xml" : ".txt"), text_of_label(i < 150 ? ".xml" : ".txt"));
  }
  const RecognizedData data = recognized();
  EXPECT_EQ(data.options.format->name, "yolo");
  const LabelCounts counts = count_labels(data.options);
  EXPECT_EQ(counts.images, 200u);
  EXPECT_EQ(counts.own, 140u);
  EXPECT_EQ(counts.of_other, 60u);
  EXPECT_TRUE(contains(data.remark, "60 of 200 images that were looked at have only Pascal VOC's .xml"));
}

}  // namespace
}  // namespace brightnet
