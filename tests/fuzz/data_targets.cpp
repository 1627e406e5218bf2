// Files of data sets: descriptions, labels, images.
#include <functional>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "data/formats/data_yaml.h"
#include "data/formats/places.h"
#include "data/formats/recognize.h"
#include "data/image/darknet_image.h"
#include "data/image/jpeg.h"
#include "data/image/stored_file.h"
#include "data/image/window.h"
#include "detect/outputs/coco_ids.h"
#include "tests/data/image_files.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/target_parts.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Images of more are refused: decoding them takes seconds, and the memory of several searches.
constexpr uint64_t most_pixels = 1 << 20;

constexpr const char* two_labels = "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n";

/// A name for a file that is also its name after it was written anew.
void put_link(const fs::path& link, const fs::path& file) {
  fs::create_directories(link.parent_path());
  fs::remove(link);
  fs::create_symlink(file.lexically_relative(link.parent_path()), link);
}

/// Another reader of the file. What it refuses is not always an answer to a broken file.
void also(const std::function<void()>& read) {
  try {
    read();
  } catch (const InputError&) {
  }
}

/// A list of images or of their names, in this format.
void read_list(const fs::path& folder, const char* list, const char* format) {
  DataOptions options;
  options.format = &dataset_format(format);
  options.root = folder.string();
  options.train = list;
  options.classes = {"cat", "dog"};
  read_dataset(options, Split::train, true);
}

/// What --data names: recognized, each split of it read, and its options printed and read again, as a run's folder has them.
void read_named_data(const fs::path& place, bool lenient = false) {
  const RecognizedData data = recognize_data(place.string());
  data.text();
  data.undivided();
  data.lacks_validation();
  for (const Split split : given_splits(data.options)) {
    check_place(data.options, split);
    read_dataset(data.options, split, lenient);
  }
  DataOptions again;
  read_config(YamlDocument::parse(print_config(data.options), "printed").root(), again);
}

/// The same of another place, where the file is one of several. What is refused there is not always an answer to it.
void also_read(const fs::path& place) {
  also([&] { read_named_data(place, true); });
}

/// What `detect` is given: a folder of images, or a data set of which they are taken.
void read_images_of(const fs::path& folder) {
  if (const auto data = recognize_images(folder.string())) read_dataset(data->options, Split::train, true);
}

/// A split of this format that reads `place`, and what the folder and the place are taken for without its options.
void read_labels(const fs::path& folder, const char* format, const char* place,
                 std::vector<std::string> classes) {
  DataOptions options;
  options.format = &dataset_format(format);
  options.root = folder.string();
  options.train = place;
  options.classes = std::move(classes);
  also_read(folder);
  if (fs::is_regular_file(folder / place)) also_read(folder / place);
  for (const bool lenient : {true, false}) read_dataset(options, Split::train, lenient);
}

/// What data.yaml may name besides a folder of images with their labels.
void prepare_places(const fs::path& folder) {
  put(folder / "obj.data", "train = list.txt\nvalid = list.txt\nnames = images/classes.txt\n");
  put(folder / "list.txt", "images/train/a.png\n");
  prepare_image(folder / "voc/JPEGImages/a.png");
  put(folder / "voc/Annotations/a.xml", voc_xml);
  prepare_image(folder / "coco/images/a.png");
  put(folder / "coco/annotations/instances_train.json", coco_json);
  prepare_image(folder / "keys/a.png");
  put(folder / "keys/a.txt", "0 0.5 0.5 0.25 0.25 0.5 0.5 2 0.25 0.5 1\n");
  // Images without labels, with this YAML beside them, and the YAML alone.
  prepare_image(folder / "plain/a.png");
  for (const char* place : {"plain", "none"}) put_link(folder / place / "data.yaml", folder / "data.yaml");
  // Labels that cannot be read, an image of another kind, and a folder by another name.
  for (const char* name : {"loop", "pipe", "large"})
    prepare_image(folder / "odd/images" / (std::string(name) + ".png"));
  put_link(folder / "odd/labels/loop.txt", folder / "odd/labels/loop.txt");
  if (const fs::path pipe = folder / "odd/labels/pipe.txt"; !fs::exists(pipe)) ::mkfifo(pipe.c_str(), 0600);
  put(folder / "odd/labels/large.txt", "");
  fs::resize_file(folder / "odd/labels/large.txt", most_text_bytes + 1);
  put(folder / "odd/images/other.xyz", "");
  put(folder / "odd/labels/other.txt", two_labels);
  put_link(folder / "odd/images/link", folder / "images");
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
                         put(folder / "labels" / split / "a.txt", two_labels);
                       }
                       put(folder / "images/classes.txt", "cat\ndog\n");
                       prepare_places(folder);
                     },
                     [](const fs::path& folder) {
                       const fs::path yaml = folder / "data.yaml";
                       is_data(yaml);
                       also_read(folder);
                       also([&] {
                         const DataOptions options = data_of_yaml(yaml).options;
                         read_class_names(options);
                         read_dataset(options, Split::test);
                       });
                       for (const char* place : {".", "plain", "none"})
                         also([&] { read_images_of(folder / place); });
                       read_named_data(yaml);
                     }});
  // labelImg's list, of one folder of two.
  targets.push_back({"classes",
                     "labels/train/classes.txt",
                     {"cat\ndog\n", "dog\nbird\ncat\n"},
                     words,
                     [](const fs::path& folder) {
                       for (const char* split : {"train", "val"}) {
                         prepare_image(folder / "images" / split / "a.png");
                         put(folder / "labels" / split / "a.txt", two_labels);
                       }
                       put(folder / "labels/val/classes.txt", "dog\ncat\n");
                     },
                     [](const fs::path& folder) { read_named_data(folder); }});
}

/// XML files of which some have another name than their image: in folders of splits, beside the images, and as Pascal VOC's
/// own archives unpack.
void prepare_voc_folders(const fs::path& folder) {
  for (const char* image : {"split/train/a.png", "split/train/b.png", "split/train/1/c.png",
                            "split/train/2/c.png", "split/val/a.png", "split/val/d.png",
                            "beside/images/a.png", "archive/VOCdevkit/VOC2012/JPEGImages/a.png"})
    prepare_image(folder / image);
  for (const char* labels :
       {"split/Annotations/a.xml", "split/Annotations/other.xml", "split/train/1/other.xml",
        "beside/images/a.xml", "archive/VOCdevkit/VOC2012/Annotations/old.xml"})
    put_link(folder / labels, folder / "Annotations/a.xml");
  put(folder / "archive/VOCdevkit/VOC2012/ImageSets/Main/train.txt", "old\n");
}

/// One whose EXIF says how it is to be turned.
std::string turned_jpeg(int orientation) {
  const auto bytes =
      image_files::with_exif(image_files::encode(".jpg", image_files::gradient(32, 24)), orientation, true);
  return {bytes.begin(), bytes.end()};
}

/// Labels in a file for each image or for all, as text, XML or JSON.
void add_formats(std::vector<FuzzTarget>& targets) {
  const auto with_image = [](const char* file) {
    return [file](const fs::path& folder) { prepare_image(folder / file); };
  };
  targets.push_back({"yolo",
                     "labels/a.txt",
                     {two_labels},
                     words,
                     [](const fs::path& folder) {
                       prepare_image(folder / "images/a.png");
                       put_link(folder / "labels/unused.txt", folder / "labels/a.txt");
                     },
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
                       prepare_voc_folders(folder);
                     },
                     [](const fs::path& folder) {
                       for (const char* other : {"split", "beside", "archive"}) also_read(folder / other);
                       read_labels(folder, "voc", "train.txt", {"cat", "dog"});
                     }});
  targets.push_back({"coco",
                     "train.json",
                     {coco_json},
                     words,
                     [](const fs::path& folder) {
                       for (const char* image : {"a.png", "set/train2017/a.png"})
                         prepare_image(folder / image);
                       for (const char* link : {"val.json", "set/annotations/instances_train2017.json"})
                         put_link(folder / link, folder / "train.json");
                       put(folder / "broken.png", "no image");
                       put(folder / "tail.jpg", turned_jpeg(1) + "and more");
                       for (int orientation = 5; orientation <= 8; ++orientation)
                         put(folder / fmt::format("{}.jpg", orientation), turned_jpeg(orientation));
                     },
                     [](const fs::path& folder) {
                       also_read(folder / "set");
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

/// The file by a name that is no image's, in another folder.
void prepare_unnamed(const fs::path& folder, const fs::path& file) {
  for (const char* image : {"b.png", "c.png"}) prepare_image(folder / "other" / image);
  put_link(folder / "other/unnamed.json", file);
  put(folder / "list.txt", "other/b.png\n");
}

/// Two projects with the file: one of several data sets, and one of this alone.
void prepare_projects(const fs::path& folder, const fs::path& file) {
  for (const char* project : {"meta.json", "flat/meta.json"})
    put(folder / project, R"({"classes": [{"title": "cat"}, {"title": "dog"}]})");
  prepare_image(folder / "flat/one/img/a.png");
  put_link(folder / "flat/one/ann/a.png.json", file);
  put(folder / "list.txt", "train/img/a.png\n");
}

/// Labels in JSON: of a file for all images, or for each.
void add_json_formats(std::vector<FuzzTarget>& targets) {
  const auto add = [&](const char* format, const char* file, const char* image, const char* place,
                       const std::string& labels) {
    targets.push_back({format,
                       file,
                       {labels},
                       words,
                       [=](const fs::path& folder) {
                         prepare_image(folder / image);
                         if (std::string(format) == "labelme") prepare_unnamed(folder, folder / file);
                         if (std::string(format) == "supervisely") prepare_projects(folder, folder / file);
                       },
                       [=](const fs::path& folder) {
                         if (fs::exists(folder / "flat")) also_read(folder / "flat");
                         if (fs::exists(folder / "list.txt"))
                           also([&] { read_list(folder, "list.txt", format); });
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

Frame frame_of(const fs::path& image) {
  Frame frame;
  frame.file = image.string();
  return frame;
}

/// darknet's obj.data and its list of images.
void add_darknet_data(std::vector<FuzzTarget>& targets) {
  const auto darknet_files = [](const fs::path& folder) {
    prepare_image(folder / "images/a.png");
    put(folder / "images/a.txt", two_labels);
    put(folder / "train.txt", "images/a.png\n");
    put(folder / "obj.names", "cat\ndog\n");
    put(folder / "empty.txt", "");
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
  targets.push_back({"list",
                     "train.txt",
                     {"images/a.png\n./images/a.png\n"},
                     words,
                     [darknet_files](const fs::path& folder) {
                       darknet_files(folder);
                       for (const char* image : {"image_2/k.png", "JPEGImages/a.png", "JPEGImages/cam/b.png"})
                         prepare_image(folder / image);
                       for (const char* labels : {"a.xml", "7 1.xml", "cam/b.xml"})
                         put(folder / "Annotations" / labels, voc_xml);
                     },
                     [read_darknet](const fs::path& folder) {
                       const fs::path list = folder / "train.txt";
                       for (const char* format : {"voc", "kitti"})
                         also([&] { read_list(folder, "train.txt", format); });
                       also([&] {
                         DataOptions options;
                         options.root = folder.string();
                         const std::vector<fs::path> images = read_image_list(list, options);
                         const CocoIds ids(images, {"cat"});
                         for (const fs::path& image : images) ids.image(frame_of(image));
                       });
                       is_data(list);
                       is_data(list.string() + ',' + list.string());
                       read_darknet(folder);
                     }});
}

/// Read besides the labels.
void add_images(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"coco_ids", "val.json", {coco_json}, words, nothing, [](const fs::path& folder) {
                       const CocoIds ids(folder / "val.json", {"cat", "dog"});
                       ids.category(1);
                       for (const char* file : {"a.png", "one/a.png", "other.png"}) {
                         also([&] { ids.image(frame_of(file)); });
                       }
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
  const auto shards = [](const fs::path& folder) {
    for (const char* name : {"train-0.tar", "val-0.tar"})
      put_link(folder / "shards" / name, folder / "train/0.tar");
    put(folder / "shards/classes.txt", "cat\ndog\n");
  };
  targets.push_back({"tar", "train/0.tar", archives(), words, shards, [](const fs::path& folder) {
                       for (const char* place : {"shards", "train/0.tar"}) also_read(folder / place);
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
