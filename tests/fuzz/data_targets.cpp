// Files of data sets: descriptions, labels, images.
#include <functional>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "data/formats/data_yaml.h"
#include "data/formats/recognize.h"
#include "data/image/darknet_image.h"
#include "data/image/jpeg.h"
#include "data/image/stored_file.h"
#include "data/image/window.h"
#include "detect/outputs/coco_ids.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/target_parts.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Images of more are refused: decoding them takes seconds, and the memory of several searches.
constexpr uint64_t most_pixels = 1 << 20;

/// What --data names: recognized, each split of it read, and its options printed and read again, as a run's folder has them.
void read_named_data(const fs::path& place) {
  const RecognizedData data = recognize_data(place.string());
  data.text();
  for (const Split split : given_splits(data.options)) read_dataset(data.options, split);
  DataOptions again;
  read_config(YamlDocument::parse(print_config(data.options), "printed").root(), again);
}

/// A split of this format that reads `place`, and what the folder is taken for without its options.
void read_labels(const fs::path& folder, const char* format, const char* place,
                 std::vector<std::string> classes) {
  DataOptions options;
  options.format = &dataset_format(format);
  options.root = folder.string();
  options.train = place;
  options.classes = std::move(classes);
  try {
    read_named_data(folder);
  } catch (const InputError&) {  // not every folder here can be recognized
  }
  for (const bool lenient : {true, false}) read_dataset(options, Split::train, lenient);
}

/// What names the splits and the classes of a data set.
void add_descriptions(std::vector<FuzzTarget>& targets) {
  targets.push_back({"data",
                     "data.yaml",
                     {ultralytics_yaml, data_section, std::string("model: demo\ndata: {root: images}\n"),
                      std::string("names: [cat, dog]\npath: images\ntrain: train\n")},
                     words,
                     [](const fs::path& folder) {
                       for (const char* split : {"train", "test"}) {
                         prepare_image(folder / "images" / split / "a.png");
                         put(folder / "labels" / split / "a.txt",
                             "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n");
                       }
                       put(folder / "images/classes.txt", "cat\ndog\n");
                     },
                     [](const fs::path& folder) {
                       is_data(folder / "data.yaml");
                       read_named_data(folder / "data.yaml");
                     }});
}

/// Labels in a file for each image or for all, as text, XML or JSON.
void add_formats(std::vector<FuzzTarget>& targets) {
  const auto with_image = [](const char* file) {
    return [file](const fs::path& folder) { prepare_image(folder / file); };
  };
  targets.push_back({"yolo",
                     "labels/a.txt",
                     {"0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n"},
                     words,
                     with_image("images/a.png"),
                     [](const fs::path& folder) {
                       read_labels(folder, "yolo", "images", {"cat", "dog"});
                     }});
  targets.push_back({"voc",
                     "Annotations/a.xml",
                     {voc_xml},
                     words,
                     [](const fs::path& folder) {
                       prepare_image(folder / "JPEGImages/a.png");
                       put(folder / "train.txt", "a\n");
                     },
                     [](const fs::path& folder) {
                       read_labels(folder, "voc", "train.txt", {"cat", "dog"});
                     }});
  targets.push_back(
      {"coco", "train.json", {coco_json}, words, with_image("a.png"), [](const fs::path& folder) {
         read_labels(folder, "coco", "train.json", {});
       }});
  targets.push_back(
      {"kitti",
       "training/label_2/a.txt",
       {"Car 0.00 0 -1.58 1 2 12 20 1.65 1.67 3.64 -0.65 1.71 46.70 -1.59\n"
        "DontCare -1 -1 -10 3 3 9 9 -1 -1 -1 -1000 -1000 -1000 -10\n"},
       words,
       with_image("training/image_2/a.png"),
       [](const fs::path& folder) { read_labels(folder, "kitti", "training/image_2", {"Car"}); }});
  targets.push_back(
      {"csv",
       "train.csv",
       {"filename,width,height,class,xmin,ymin,xmax,ymax\na.png,32,24,cat,1,2,12,20\na.png,32,24,"
        "\"d, og\",3,3,9,9\n"},
       words,
       with_image("a.png"),
       [](const fs::path& folder) { read_labels(folder, "csv", "train.csv", {}); }});
}

/// Labels in JSON: of a file for all images, or for each.
void add_json_formats(std::vector<FuzzTarget>& targets) {
  const auto add = [&](const char* format, const char* file, const char* image, const char* place,
                       const std::string& labels) {
    targets.push_back({format,
                       file,
                       {labels},
                       words,
                       [image](const fs::path& folder) {
                         prepare_image(folder / image);
                         put(folder / "meta.json", R"({"classes": [{"title": "cat"}, {"title": "dog"}]})");
                       },
                       [format, place](const fs::path& folder) {
                         read_labels(folder, format, place, {"cat", "dog"});
                       }});
  };
  add("labelme", "a.json", "a.png", ".",
      R"({"shapes": [{"label": "cat", "points": [[1, 2], [12, 20]], "shape_type":
    "rectangle"}, {"label": "dog", "points": [[1, 1], [9, 1], [5, 7]], "shape_type": "polygon"}, {"label": "dog",
    "points": [[9, 9], [9, 12]], "shape_type": "circle"}], "imagePath": "a.png", "imageHeight": 24, "imageWidth": 32})");
  add("via", "t.json", "a.png", "t.json",
      R"({"a.png1": {"filename": "a.png", "regions": [{"shape_attributes": {"name":
    "rect", "x": 1, "y": 2, "width": 9, "height": 9}, "region_attributes": {"class": "cat"}}, {"shape_attributes":
    {"name": "polygon", "all_points_x": [1, 9, 5], "all_points_y": [1, 1, 7]}, "region_attributes": {"class":
    {"dog": true}}}, {"shape_attributes": {"name": "ellipse", "cx": 9, "cy": 9, "rx": 3, "ry": 2, "theta": 1},
    "region_attributes": {"class": "dog"}}]}})");
  add("createml", "t.json", "a.png", "t.json",
      R"([{"image": "a.png", "annotations": [{"label": "cat", "coordinates":
    {"x": 9, "y": 9, "width": 4, "height": 5}}]}])");
  add("supervisely", "train/ann/a.png.json", "train/img/a.png", "train",
      R"({"size": {"height": 24, "width": 32},
    "objects": [{"classTitle": "cat", "geometryType": "rectangle", "points": {"exterior": [[1, 2], [12, 20]]}}]})");
  add("datumaro", "t.json", "a.png", "t.json",
      R"({"categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},
    "items": [{"id": "a", "annotations": [{"type": "bbox", "label_id": 1, "bbox": [1, 2, 9, 9]}, {"type": "polygon",
    "label_id": 0, "points": [1, 1, 9, 1, 5, 7]}], "image": {"path": "a.png", "size": [24, 32]}}]})");
}

/// darknet's obj.data and its list of images.
void add_darknet_data(std::vector<FuzzTarget>& targets) {
  const auto darknet_files = [](const fs::path& folder) {
    prepare_image(folder / "images/a.png");
    put(folder / "images/a.txt", "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n");
    put(folder / "train.txt", "images/a.png\n");
    put(folder / "obj.names", "cat\ndog\n");
    put(folder / "obj.data", "classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\n");
  };
  const auto read_darknet = [](const fs::path& folder) {
    const std::string list = (folder / "train.txt").string();
    read_each({[&] { read_named_data(folder / "obj.data"); }, [&] { read_named_data(list + ',' + list); }});
  };
  targets.push_back(
      {"obj_data",
       "obj.data",
       {"classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\nbackup = backup/\n"},
       words,
       darknet_files,
       read_darknet});
  targets.push_back(
      {"list", "train.txt", {"images/a.png\n./images/a.png\n"}, words, darknet_files, read_darknet});
}

/// Read besides the labels.
void add_images(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"coco_ids", "val.json", {coco_json}, words, nothing, [](const fs::path& folder) {
                       CocoIds(folder / "val.json", {"cat", "dog"});
                     }});
  targets.push_back(
      {"image", "a.jpg", images(), words, nothing, [](const fs::path& folder) {
         const fs::path file = folder / "a.jpg";
         read_each({[&] { image_info(file, most_pixels); }, [&] { image_size(file, most_pixels); },
                    [&] { has_end_mark(file); }, [&] { jpeg_is_whole(read_stored(file, 0, whole_file)); },
                    [&] { read_image(file, {}, 1, most_pixels); },
                    [&] { read_image(file, {}, 3, most_pixels); },
                    [&] {
                      read_image(file, {4, 4}, 3, most_pixels);
                    },
                    [&] { read_darknet_image(file, 3, most_pixels); },
                    [&] { check_pixels(file, read_stored(file, 0, whole_file), most_pixels); }});
         read_image_window(file, {}, {4, 4, 9, 9});
       }});
  targets.push_back({"tar", "train/0.tar", archives(), words, nothing, [](const fs::path& folder) {
                       read_labels(folder, "yolo", "train", {"cat", "dog"});
                       for (const TarMember& member : tar_members(folder / "train/0.tar"))
                         read_stored(folder / "train/0.tar" / member.name, 0, 64);
                     }});
}

}  // namespace

void add_data_targets(std::vector<FuzzTarget>& targets) {
  add_descriptions(targets);
  add_formats(targets);
  add_json_formats(targets);
  add_darknet_data(targets);
  add_images(targets);
}

}  // namespace brightnet::testing
