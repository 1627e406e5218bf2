// Data sets that are named by their folders, laid out as tools do.
#pragma once

#include <string>

#include "data/formats/recognize.h"
#include "tests/data/dataset_files.h"

namespace brightnet {

/// Files of a data set, in whichever way a tool lays them out.
class LaidOutFiles : public ::testing::Test {
 protected:
  void yolo(const std::string& image, const std::string& labels) {
    data_.image(image);
    data_.text(labels, "0 0.5 0.5 0.2 0.2\n");
  }
  void voc(const std::string& image, const std::string& labels) {
    data_.image(image);
    data_.text(labels,
               "<annotation><object><name>bolt</name><bndbox><xmin>10</xmin><ymin>10</ymin><xmax>40</xmax>"
               "<ymax>40</ymax></bndbox></object></annotation>\n");
  }
  void coco(const std::string& image, const std::string& file) {
    data_.image(image);
    data_.text(file, R"({"images": [{"id": 1, "file_name": ")" +
                         std::filesystem::path(image).filename().string() +
                         R"(", "width": 100, "height": 80}], "annotations": [{"id": 1, "image_id": 1,
                           "category_id": 1, "bbox": [10, 10, 20, 20]}], "categories": [{"id": 1, "name": "bolt"}]})");
  }
  /// A YOLO data set below `folder`, divided as most tools do.
  void divided(const std::string& folder) {
    for (const std::string split : {"train", "val"})
      yolo(folder + "images/" + split + "/" + split + ".jpg",
           folder + "labels/" + split + "/" + split + ".txt");
  }
  RecognizedData recognized(const std::string& place) const {
    return recognize_data((data_.root() / place).string());
  }
  /// What it is, its format and its splits; each split that it names is read and must have one image with one box.
  std::string summary(const std::string& place) const {
    const RecognizedData data = recognized(place);
    for (const Split split : given_splits(data.options)) {
      DataOptions options = data.options;
      if (options.names.empty() && options.classes.empty() && options.format->name == "yolo")
        options.classes = {"bolt"};
      const Dataset dataset = read_dataset(options, split);
      EXPECT_EQ(dataset.images.size(), 1u) << place << ' ' << enum_name(split);
      EXPECT_EQ(dataset.images.at(0).annotations.size(), 1u) << place << ' ' << enum_name(split);
    }
    const DataOptions& o = data.options;
    return data.what + " | " + o.format->name + " | " + std::filesystem::path(o.root).filename().string() +
           " | " + o.train + ", " + o.val + ", " + o.test;
  }
  std::string refusal(const std::string& place) const {
    try {
      recognized(place);
    } catch (const InputError& e) {
      return e.what();
    }
    ADD_FAILURE() << place << " was recognized";
    return "";
  }

  DatasetFolder data_;
};

}  // namespace brightnet
