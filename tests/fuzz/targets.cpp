#include "tests/fuzz/targets.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <opencv2/imgcodecs.hpp>
#include <unistd.h>

#include "core/files.h"
#include "data/formats/recognize.h"
#include "data/image/read_image.h"
#include "detect/outputs/coco_ids.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "formats/onnx/export.h"
#include "formats/onnx/metadata.h"
#include "layers/model/reader.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/mutator.h"
#include "tests/paths.h"
#include "train/config/config.h"
#include "train/report/metrics_csv.h"
#include "train/run/checkpoint.h"
#include "tune/search_folder.h"
#include "tune/trial.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

const char* const words[] = {"-1",
                             "0",
                             "1",
                             "65536",
                             "2147483648",
                             "18446744073709551616",
                             "1e999",
                             "1e-320",
                             "nan",
                             "inf",
                             "0x10",
                             ".",
                             ",",
                             "=",
                             "[",
                             "]",
                             "{",
                             "}",
                             "<",
                             ">",
                             "\"",
                             "'",
                             "#",
                             ":",
                             "\n",
                             "\r\n",
                             "\t",
                             "\xff",
                             "\xEF\xBB\xBF",
                             "null",
                             "true",
                             "../",
                             "&amp;",
                             "*a",
                             "&a ",
                             "- ",
                             "[[[[[[[[[[[[[[[["};

void put(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  fs::remove(file);  // a file that is cut to nothing and written again waits for the disk on ext4
  std::ofstream(file, std::ios::binary) << content;
}

std::string encoded(const char* extension, int type) {
  cv::Mat pixels(24, 32, type);
  for (int y = 0; y < pixels.rows; ++y) {
    for (size_t i = 0; i < pixels.cols * pixels.elemSize(); ++i)
      pixels.ptr(y)[i] = static_cast<uint8_t>(7 * y + 11 * static_cast<int>(i));
  }
  std::vector<uint8_t> bytes;
  cv::imencode(extension, pixels, bytes);
  return {bytes.begin(), bytes.end()};
}

void prepare_image(const fs::path& file) {
  put(file, encoded(".png", CV_8UC3));
}

/// A split of this format that reads `place`.
void read_labels(const fs::path& folder, const char* format, const char* place,
                 std::vector<std::string> classes) {
  DataOptions options;
  options.format = &dataset_format(format);
  options.root = folder.string();
  options.train = place;
  options.classes = std::move(classes);
  for (const bool lenient : {true, false}) read_dataset(options, Split::train, lenient);
}

TrainedModel small_network() {
  TrainedModel trained;
  trained.model = import_darknet_text(small_cfg, "small.cfg").model;
  for (int i = 0; i < trained.model.classes; ++i) trained.classes.push_back(fmt::format("c{}", i));
  trained.layout = ParameterLayout(trained.model);
  trained.values = initial_parameters(trained.model, trained.layout, 1);
  return trained;
}

/// What is written to a file by `write`.
template <typename Write>
std::string written(Write&& write) {
  const fs::path file = fs::temp_directory_path() / fmt::format("brightnet-fuzz-corpus.{}", ::getpid());
  write(file);
  std::string content = read_file(file);
  fs::remove(file);
  return content;
}

std::string darknet_weights() {
  const TrainedModel trained = small_network();
  return written([&](const fs::path& file) {
    save_darknet_weights(file, trained.model, trained.layout, trained.values);
  });
}

std::string state() {
  const auto backend = make_cpu_backend();
  DeviceBuffer values(*backend, 16 * sizeof(float));
  backend->zero(values.data(), values.bytes());
  RunState run;
  run.layout = "1234";
  return written([&](const fs::path& file) {
    save_state(file, run, {{"values", values.floats(), 16}}, *backend);
  });
}

constexpr const char* voc_xml = R"(<annotation><filename>a.png</filename>
<size><width>32</width><height>24</height><depth>3</depth></size>
<object><name>cat</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>12.5</xmax><ymax>20</ymax></bndbox></object>
<object><name>dog</name><bndbox><xmin>3</xmin><ymin>2</ymin><xmax>30</xmax><ymax>9</ymax></bndbox></object>
</annotation>
)";

constexpr const char* coco_json = R"({"images": [{"id": 1, "file_name": "a.png", "width": 32, "height": 24}],
"categories": [{"id": 3, "name": "cat"}, {"id": 7, "name": "dog"}],
"annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 2, 10.5, 12], "area": 126, "iscrowd": 0},
{"id": 2, "image_id": 1, "category_id": 7, "bbox": [4, 4, 9, 9], "segmentation": [[4, 4, 13, 4, 13, 13]]},
{"id": 3, "image_id": 1, "category_id": 7, "bbox": [4, 4, 1, 20], "segmentation": {"size": [24, 32], "counts": [100, 20, 648]}, "iscrowd": 1}]}
)";

constexpr const char* run_yaml = R"(model: yolov4-tiny
data: {format: voc, root: /tmp, train: [a.txt, b.txt], val: c.txt, classes: [cat, dog]}
train:
  size: [64, 96]
  batch: 8
  epochs: 3
  sizes: [32, 64]
optimizer: {kind: sgd, rate: 0.01}
augment: {mosaic: 0.5, hue: 0.1, blur_sigma: [0.5, 2]}
evaluate: {every: 2, nms: {iou: 0.45}}
)";

constexpr const char* ultralytics_yaml = R"(path: .
train: images/train
val: [images/train, images/train/a.png]
test: images/test
nc: 2
names: {0: cat, 1: dog}
download: https://example.com/data.zip
)";

constexpr const char* data_section = R"(format: yolo
root: .
train: images/train
val: images/train
classes: [cat, dog]
fold: 1/3
tiles: {size: 64, overlap: 0.2}
)";

constexpr const char* metrics_csv = R"(epoch,loss,AP,AP50
0.5,12.5,,
1,8.25,0.125,0.5
2,7,0.25,0.75
)";

constexpr const char* search_json =
    R"({"config": "run.yaml", "assignments": ["train.epochs=3"], "keys": ["optimizer.rate"],
"minutes": 3, "epochs": 0, "seed": 1, "trials": 30, "configuration": "model: demo\ntrain: {}\n"}
)";

std::vector<TunedKey> searched_keys() {
  return choose_keys({"optimizer.rate", "augment.mosaic"});
}

std::string trials_csv() {
  const Trial first{0, -1, {0.001, 1}, 0.25, 180, ""};
  const Trial second{1, 0, {0.002, 0.5}, 0, 3, "the loss is \"nan\", twice"};
  return written([&](const fs::path& file) { write_trials(file, searched_keys(), {first, second}); });
}

std::string onnx_file(OnnxHeads heads) {
  return written([&](const fs::path& file) { export_onnx(small_network(), {.heads = heads}, file); });
}

/// What --data names: recognized, and each split of it read.
void read_named_data(const fs::path& place) {
  const RecognizedData data = recognize_data(place.string());
  data.text();
  for (const Split split : given_splits(data.options)) read_dataset(data.options, split);
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

std::vector<FuzzTarget> make_targets() {
  const auto nothing = [](const fs::path&) {};
  const auto with_image = [](const char* file) {
    return [file](const fs::path& folder) { prepare_image(folder / file); };
  };
  std::vector<FuzzTarget> targets;
  targets.push_back({"cfg", "net.cfg", {small_cfg}, words, nothing, [](const fs::path& folder) {
                       import_darknet_text(read_file(folder / "net.cfg"), (folder / "net.cfg").string());
                     }});
  targets.push_back({"weights",
                     "net.weights",
                     {darknet_weights()},
                     words,
                     [](const fs::path& folder) { put(folder / "net.cfg", small_cfg); },
                     [](const fs::path& folder) {
                       read_darknet_trained(
                           {.cfg = folder / "net.cfg", .weights = folder / "net.weights", .names = {}});
                     }});
  targets.push_back({"names",
                     "obj.names",
                     {"cat\ndog\n", "classes = 2\nnames = obj.names\n"},
                     words,
                     nothing,
                     [](const fs::path& folder) { read_darknet_names(folder / "obj.names"); }});
  targets.push_back({"safetensors",
                     "net.safetensors",
                     {written([](const fs::path& file) { save_weights(file, small_network()); })},
                     words,
                     nothing,
                     [](const fs::path& folder) { load_trained_model(folder / "net.safetensors"); }});
  targets.push_back({"state", "run.state", {state()}, words, nothing, [](const fs::path& folder) {
                       read_state(folder / "run.state");
                     }});
  targets.push_back({"run", "run.yaml", {run_yaml}, words, nothing, [](const fs::path& folder) {
                       load_run_config(folder / "run.yaml");
                     }});
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
                     [](const fs::path& folder) { read_named_data(folder / "data.yaml"); }});
  targets.push_back({"model",
                     "model.yaml",
                     {read_file(source_dir() / "configs/models/demo.yaml")},
                     words,
                     nothing,
                     [](const fs::path& folder) { load_model(folder / "model.yaml", 2); }});
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
       "t.csv",
       {"filename,width,height,class,xmin,ymin,xmax,ymax\na.png,32,24,cat,1,2,12,20\na.png,32,24,"
        "\"d, og\",3,3,9,9\n"},
       words,
       with_image("a.png"),
       [](const fs::path& folder) { read_labels(folder, "csv", "t.csv", {}); }});
  add_json_formats(targets);
  const auto darknet_files = [](const fs::path& folder) {
    prepare_image(folder / "images/a.png");
    put(folder / "images/a.txt", "0 0.5 0.5 0.25 0.25\n1 0.25 0.75 0.5 0.125\n");
    put(folder / "train.txt", "images/a.png\n");
    put(folder / "obj.names", "cat\ndog\n");
    put(folder / "obj.data", "classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\n");
  };
  const auto read_darknet = [](const fs::path& folder) { read_named_data(folder / "obj.data"); };
  targets.push_back(
      {"obj_data",
       "obj.data",
       {"classes = 2\ntrain = train.txt\nvalid = train.txt\nnames = obj.names\nbackup = backup/\n"},
       words,
       darknet_files,
       read_darknet});
  targets.push_back(
      {"list", "train.txt", {"images/a.png\n./images/a.png\n"}, words, darknet_files, read_darknet});
  targets.push_back({"onnx",
                     "net.onnx",
                     {onnx_file(OnnxHeads::decoded), onnx_file(OnnxHeads::nms)},
                     words,
                     nothing,
                     [](const fs::path& folder) { read_onnx_metadata(folder / "net.onnx"); }});
  targets.push_back({"metrics", "metrics.csv", {metrics_csv}, words, nothing, [](const fs::path& folder) {
                       read_metrics_csv(folder / "metrics.csv");
                     }});
  targets.push_back({"search", "state/search.json", {search_json}, words, nothing, read_plan});
  targets.push_back({"trials", "trials.csv", {trials_csv()}, words, nothing, [](const fs::path& folder) {
                       read_trials(folder / "trials.csv", searched_keys());
                     }});
  targets.push_back({"coco_ids", "val.json", {coco_json}, words, nothing, [](const fs::path& folder) {
                       CocoIds(folder / "val.json", {"cat", "dog"});
                     }});
  targets.push_back({"image",
                     "a.jpg",
                     {encoded(".jpg", CV_8UC3), encoded(".png", CV_8UC4), encoded(".png", CV_16UC1),
                      encoded(".bmp", CV_8UC3), encoded(".tif", CV_16UC1), encoded(".webp", CV_8UC3)},
                     words,
                     nothing,
                     [](const fs::path& folder) {
                       image_info(folder / "a.jpg");
                       has_end_mark(folder / "a.jpg");
                       read_image(folder / "a.jpg");
                     }});
  return targets;
}

}  // namespace

void FuzzTarget::write(const fs::path& folder, const std::string& content) const {
  put(folder / file, content);
}

std::string FuzzTarget::input(uint64_t number) const {
  return Mutator(number, tokens).mutate(corpus[number % corpus.size()]);
}

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = make_targets();
  return targets;
}

const FuzzTarget& planted_target() {
  static const FuzzTarget target{"planted",
                                 "a.txt",
                                 {"0123456789\n"},
                                 words,
                                 [](const fs::path&) {},
                                 [](const fs::path& folder) {
                                   const std::string text = read_file(folder / "a.txt");
                                   if (text.find("65536") != std::string::npos) std::abort();
                                   if (text.find("nan") != std::string::npos)
                                     throw std::runtime_error("planted");
                                   if (text.find("null") != std::string::npos)
                                     std::this_thread::sleep_for(std::chrono::hours(1));
                                 }};
  return target;
}

}  // namespace brightnet::testing
