#include "data/formats/classes.h"

#include "core/error.h"
#include "tests/data/dataset_files.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;
using Names = std::vector<std::string>;
using Map = std::map<std::string, std::string>;

/// One image with a box of each class: car, truck, van, and a second van. By the format's name.
class ClassesOf : public ::testing::TestWithParam<const char*> {
 protected:
  DataOptions options() const {
    const std::string format = GetParam();
    const Names names{"car", "truck", "van", "van"};
    data_.image("images/a.jpg");
    std::string text;
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string x = std::to_string(10 * i + 1), y = "1", right = std::to_string(10 * i + 6),
                        bottom = "6";
      const auto list = [&](const char* between) {
        return x + between + y + between + right + between + bottom;
      };
      if (format == "csv") text += "a.jpg," + names[i] + ',' + list(",") + '\n';
      if (format == "kitti") text += names[i] + " 0 0 0 " + list(" ") + " 0 0 0 0 0 0 0\n";
      if (format == "yolo") text += std::to_string(std::min<size_t>(i, 2)) + " 0." + x + " 0.5 0.02 0.02\n";
      if (format == "voc")
        text += "<object><name>" + names[i] + "</name><bndbox><xmin>" + x + "</xmin><ymin>1</ymin><xmax>" +
                right + "</xmax><ymax>6</ymax></bndbox></object>";
      if (format == "coco")
        text += (text.empty() ? "" : ",") + std::string(R"({"image_id": 1, "category_id": )") +
                std::to_string(std::min<size_t>(i, 2) + 1) + R"(, "bbox": [)" + x + ", 1, 5, 5]}";
    }
    if (format == "csv") {
      data_.text("images/t.csv", "filename,class,xmin,ymin,xmax,ymax\n" + text);
      return data_.options(format, "images/t.csv", {});
    }
    if (format == "coco") {
      data_.text("t.json", R"({"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [)" + text +
                               R"(], "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "truck"},
                               {"id": 3, "name": "van"}]})");
      return data_.options(format, "t.json", {});
    }
    if (format == "voc") text = "<annotation>" + text + "</annotation>";
    data_.text(format == "voc" ? "images/a.xml" : "labels/a.txt", text);
    if (format == "yolo") data_.text("classes.txt", "car\ntruck\nvan\n");
    return data_.options(format, "images", {});
  }
  /// The class of each box, by its name; "-" for the boxes that are left out comes last.
  static Names read(const DataOptions& options) {
    const Dataset dataset = read_dataset(options, Split::train);
    Names found;
    for (const Annotation& a : dataset.images.at(0).annotations)
      found.push_back(dataset.classes.at(static_cast<size_t>(a.class_id)));
    return found;
  }

  DatasetFolder data_;
};

TEST_P(ClassesOf, AreThoseOfTheDataSetWhereNothingIsChosen) {
  EXPECT_EQ(read(options()), (Names{"car", "truck", "van", "van"}));
  EXPECT_EQ(read_class_names(options()), (Names{"car", "truck", "van"}));
}

TEST_P(ClassesOf, AreChosenByNameInTheOrderOfTheList) {
  DataOptions chosen = options();
  chosen.classes = {"truck", "car"};
  const Dataset dataset = read_dataset(chosen, Split::train);
  EXPECT_EQ(dataset.classes, (Names{"truck", "car"}));
  EXPECT_EQ(read(chosen), (Names{"car", "truck"}));
  ASSERT_EQ(count(dataset, Kind::unlisted_class), 1);
  EXPECT_EQ(dataset.problems.size(), 1u);
  EXPECT_EQ(dataset.problems[0].detail, "'van', 2 objects");
}

TEST_P(ClassesOf, AreMergedByAMap) {
  DataOptions merged = options();
  merged.map = {{"van", "car"}, {"truck", "lorry"}};
  EXPECT_EQ(read(merged), (Names{"car", "lorry", "car", "car"}));
  EXPECT_EQ(read_class_names(merged), (Names{"car", "lorry"}));
  EXPECT_TRUE(read_dataset(merged, Split::train).problems.empty());
  merged.classes = {"lorry"};
  EXPECT_TRUE(
      contains(message(merged), "data.map makes 'van' the class 'car', which is not in data.classes"));
  merged.map = {{"truck", "lorry"}, {"van", ""}};
  EXPECT_EQ(read(merged), Names{"lorry"});
  merged.classes = {};
  EXPECT_EQ(read(merged), (Names{"car", "lorry"}));
}

TEST_P(ClassesOf, OfAMapMustBeThere) {
  DataOptions mapped = options();
  mapped.map = {{"vans", "car"}};
  const std::string said = message(mapped);
  EXPECT_TRUE(contains(said, "data.map names the class 'vans', which the data set does not have"));
  EXPECT_TRUE(contains(said, "Did you mean 'van'? The data set has car, truck, van."));
}

TEST_P(ClassesOf, BecomeOne) {
  DataOptions one = options();
  one.single_class = true;
  EXPECT_EQ(read(one), Names(4, "object"));
  EXPECT_EQ(read_class_names(one), Names{"object"});
  one.classes = {"truck", "van"};
  EXPECT_EQ(read(one), Names(3, "object"));
  one.classes = {"van"};
  EXPECT_EQ(read(one), Names(2, "van"));
}

TEST_P(ClassesOf, AreMappedAsByTao) {
  DataOptions mapped = options();
  mapped.target_class_mapping = {{"CAR", "vehicle"}, {"Van", "vehicle"}, {"tram", "vehicle"}};
  EXPECT_EQ(read(mapped), Names(3, "vehicle"));
  const Dataset dataset = read_dataset(mapped, Split::train);
  EXPECT_EQ(count(dataset, Kind::unmapped_class), 1);
  mapped.target_class_mapping = {{"Car", "vehicle"}, {"VAN", ""}};
  EXPECT_EQ(read_dataset(mapped, Split::train).classes, Names{"vehicle"}) << "what has no value is left out";
  EXPECT_EQ(read(mapped), Names{"vehicle"});
  mapped.map = {{"car", "x"}};
  EXPECT_TRUE(contains(message(mapped), "data.map and data.target_class_mapping are both set"));
}

TEST_P(ClassesOf, MayNotAllBeLeftOut) {
  DataOptions none = options();
  none.map = {{"car", ""}, {"truck", ""}};
  none.classes = {"zebra"};
  EXPECT_TRUE(
      contains(message(none), GetParam() == std::string("yolo") ? "'van', 2 objects" : "all are dropped"));
}

INSTANTIATE_TEST_SUITE_P(Formats, ClassesOf, ::testing::Values("yolo", "voc", "coco", "kitti", "csv"),
                         [](const auto& info) { return info.param; });

TEST(Classes, ALabelThatMayBeATypingErrorStops) {
  const DatasetFolder data;
  data.image("a.jpg");
  data.text("t.csv", "filename,class,xmin,ymin,xmax,ymax\na.jpg,car,1,1,9,9\na.jpg,cars,1,1,8,8\n");
  DataOptions options = data.options("csv", "t.csv", {"car"});
  const std::string said = message(options);
  EXPECT_TRUE(contains(said, "t.csv:3: class 'cars' is not one of the 1 class"));
  EXPECT_TRUE(contains(said, "Did you mean 'car'?"));
  EXPECT_TRUE(contains(said, "--set data.map.cars="));
  options.map = {{"cars", ""}};
  EXPECT_EQ(read_dataset(options, Split::train).images[0].annotations.size(), 1u);
}

TEST(Classes, OfIdsAreNamedByTheDataSetsOwnListOrByNames) {
  const DatasetFolder data;
  data.image("images/a.jpg");
  data.text("labels/a.txt", "0 0.5 0.5 0.2 0.2\n1 0.5 0.5 0.2 0.3\n2 0.5 0.5 0.2 0.4\n");
  data.text("classes.txt", "car\nvan\ntruck\n");
  DataOptions options = data.options("yolo", "images", {"truck", "car"});
  const auto ids = [&] {
    std::vector<int> ids;
    for (const Annotation& a : read_dataset(options, Split::train).images.at(0).annotations)
      ids.push_back(a.class_id);
    return ids;
  };
  EXPECT_EQ(ids(), (std::vector<int>{1, 0})) << "not the names of the ids 0 and 1";
  options.classes = {"car", "trcuk"};
  EXPECT_TRUE(contains(message(options), "data.classes lists 'trcuk', which the data set does not have"));
  EXPECT_TRUE(contains(message(options), "Did you mean 'truck'?"));
  options.classes = {"Auto", "Kombi", "Laster"};  // other names for the same ids
  EXPECT_EQ(ids(), (std::vector<int>{0, 1, 2}));
  data.text("classes.txt", "car\nvan\n");
  options.classes = {"car", "van", "truck"};  // the list lacks one
  EXPECT_EQ(ids(), (std::vector<int>{0, 1, 2}));
  options.names = {"van", "car", "bus"};
  options.classes = {"car", "bus"};
  EXPECT_EQ(ids(), (std::vector<int>{0, 1}));
  options.names = {};
  std::filesystem::remove(data.root() / "classes.txt");
  options.classes = {};
  options.map = {{"van", "car"}};
  EXPECT_TRUE(contains(message(options), "data.names"));
}

TEST(Classes, AreWrittenAndReadAsPartOfAConfiguration) {
  DataOptions options;
  YamlDocument document = YamlDocument::parse("map: {lorry: truck}\nnames: [a, b]\n", "data");
  document.set("map.van=car");
  document.set("map.tram=");
  document.set("single_class=true");
  read_config(document.root(), options);
  EXPECT_EQ(options.map, (Map{{"lorry", "truck"}, {"tram", ""}, {"van", "car"}}));
  DataOptions again;
  read_config(YamlDocument::parse(print_config(options), "printed").root(), again);
  EXPECT_EQ(again.map, options.map);
  EXPECT_EQ(again.names, (Names{"a", "b"}));
  EXPECT_TRUE(again.single_class);
  EXPECT_THROW(read_config(YamlDocument::parse("map: [a]\n", "data").root(), again), InputError);
}

}  // namespace
}  // namespace brightnet
