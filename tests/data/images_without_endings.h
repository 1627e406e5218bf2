// A data set that names its images, whose own names do not all end as images' do.
#pragma once

#include "tests/data/dataset_files.h"

namespace brightnet {

/// Four images in a CSV table, in the order of their names.
inline DataOptions write_images_without_endings(const DatasetFolder& data) {
  int width = 40;
  std::string table = "filename,class,xmin,ymin,xmax,ymax\n";
  for (const std::string name : {"000001", "a.jpg", "a.jpg_large", "v1.0"}) {
    const bool is_jpeg = width < 60;
    data.bytes("images/" + name, DatasetFolder::encoded(is_jpeg ? ".jpg" : ".png", width, 30));
    width += 10;
    table += "images/" + name + ",cat,5,5,20,20\n";
  }
  data.text("t.csv", table);
  return data.options("csv", "t.csv", {});
}

}  // namespace brightnet
