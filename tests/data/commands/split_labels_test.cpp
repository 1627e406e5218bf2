// What `data split` writes has the labels of the data set that was divided.
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "data/commands/split.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// An object in words: its class and its corners.
std::string object_in_words(const Annotation& a, const std::vector<std::string>& classes) {
  return fmt::format("{} {:.0f} {:.0f} {:.0f} {:.0f}", classes.at(a.class_id), a.x1, a.y1, a.x2, a.y2);
}

/// The objects of all images, by the images' names.
std::map<std::string, std::vector<std::string>> objects_of_all(const DataOptions& options) {
  std::map<std::string, std::vector<std::string>> objects;
  for (const Split split : given_splits(options)) {
    const Dataset dataset = read_dataset(options, split);
    for (const ImageRecord& image : dataset.images) {
      const auto [own, added] = objects.try_emplace(image.file.stem().string());
      EXPECT_TRUE(added) << own->first << " is there twice";
      for (const Annotation& a : image.annotations)
        own->second.push_back(object_in_words(a, dataset.classes));
    }
  }
  return objects;
}

/// The written data set, as a user would read it.
DataOptions divided(const DataOptions& options, const fs::path& folder) {
  const SplitReport report =
      split_dataset(options, {.folder = folder, .ratios = {0.5, 0.5}, .similar = false});
  DataOptions written;
  read_config(YamlDocument::parse(print_config(report.data), "data.yaml").root(), written);
  return written;
}

TEST(SplitLabels, IdsOfAnObjDataKeepTheirNamesWithChosenAndMappedClasses) {
  const DatasetFolder data;
  std::string list;
  for (int i = 0; i < 12; ++i) {
    data.image(fmt::format("all/{}.jpg", i), 60 + i, 50);
    data.text(fmt::format("all/{}.txt", i), fmt::format("{} 0.5 0.5 0.2 0.2\n", i % 3));
    list += fmt::format("all/{}.jpg\n", i);
  }
  data.text("list.txt", list);
  data.text("n.names", "cat\ndog\nbird\n");
  data.text("obj.data", "classes = 3\ntrain = list.txt\nnames = n.names\n");
  const DataOptions plain = data.options("darknet", "obj.data", {});
  DataOptions ordered = plain, chosen = plain, mapped = plain, single = plain;
  ordered.classes = {"dog", "bird", "cat"};
  chosen.classes = {"dog", "bird"};
  mapped.map = {{"dog", "cat"}};
  single.single_class = true;
  int number = 0;
  for (const DataOptions& options : {plain, ordered, chosen, mapped, single}) {
    const DataOptions written = divided(options, data.root() / fmt::format("out{}", number++));
    EXPECT_EQ(objects_of_all(written), objects_of_all(options)) << number;
    EXPECT_EQ(read_dataset(written, Split::train).classes, read_dataset(options, Split::train).classes)
        << number;
  }
}

TEST(SplitLabels, TheXmlThatAVocListNamesIsNotTheOneOfTheImagesName) {
  const auto xml = [](int xmax) {
    return fmt::format(
        "<annotation><object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>{}</xmax>"
        "<ymax>20</ymax></bndbox></object></annotation>",
        xmax);
  };
  for (const std::string folder : {"", "JPEGImages/"}) {  // a name alone is looked for in JPEGImages/
    const DatasetFolder data;
    std::string list;
    for (int i = 0; i < 12; ++i) {
      data.image(fmt::format("JPEGImages/{}.jpg", i), 60 + i, 50);
      data.text(fmt::format("xmls/{}.xml", i), xml(10 + i));
      if (i % 2 == 0) data.text(fmt::format("Annotations/{}.xml", i), xml(40));
      list += fmt::format("{0}{1}.jpg xmls/{1}.xml\n", folder, i);
    }
    data.text("list.txt", list);
    const DataOptions options = data.options("voc", "list.txt", {});
    EXPECT_EQ(objects_of_all(options).at("2"), std::vector<std::string>{"cat 0 0 12 20"});
    EXPECT_EQ(objects_of_all(divided(options, data.root() / "out")), objects_of_all(options)) << folder;
  }
}

TEST(SplitLabels, LinesOfATableThatSpellAFileDifferentlyAreAllWritten) {
  const DatasetFolder data;
  std::string table = "filename,class,xmin,ymin,xmax,ymax\n";
  for (int i = 0; i < 8; ++i) {
    data.image(fmt::format("images/{}.jpg", i), 60 + i, 50);
    table += fmt::format("images/{0}.jpg,cat,1,1,{1},20\nimages\\{0}.jpg,cat,5,5,{1},30\n", i, 20 + i);
  }
  data.text("t.csv", table);
  const DataOptions options = data.options("csv", "t.csv", {});
  EXPECT_EQ(objects_of_all(options).at("3"), (std::vector<std::string>{"cat 1 1 23 20", "cat 5 5 23 30"}));
  EXPECT_EQ(objects_of_all(divided(options, data.root() / "out")), objects_of_all(options));
}

}  // namespace
}  // namespace brightnet
