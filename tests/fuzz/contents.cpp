#include "tests/fuzz/contents.h"

#include <variant>

#include <fmt/format.h>
#include <opencv2/imgcodecs.hpp>
#include <unistd.h>

#include "core/files.h"
#include "formats/darknet/import.h"
#include "formats/darknet/weights.h"
#include "formats/onnx/export.h"
#include "formats/weights.h"
#include "tests/data/encoded_jpeg.h"
#include "tests/data/image_files.h"
#include "tests/formats/small_cfg.h"
#include "tests/layers/every_layer.h"
#include "tests/paths.h"
#include "train/config/config.h"
#include "train/report/page.h"
#include "train/run/checkpoint.h"
#include "tune/trial.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

TrainedModel network_of(Model model) {
  TrainedModel trained;
  trained.model = std::move(model);
  for (int i = 0; i < trained.model.classes; ++i) trained.classes.push_back(fmt::format("c{}", i));
  trained.layout = ParameterLayout(trained.model);
  trained.values = initial_parameters(trained.model, trained.layout, 1);
  return trained;
}

TrainedModel small_network() {
  return network_of(import_darknet_text(small_cfg, "small.cfg").model);
}

/// Two convolutions and a head: what a reader says of its file does not depend on how many there are.
TrainedModel tiny_network() {
  return network_of(model_of(R"(
head: {anchors: [[8, 10]]}
layers:
  - conv: {filters: 4, size: 1, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                             1));
}

/// All of it in 8 bits.
TrainedModel quantized_network() {
  TrainedModel trained = tiny_network();
  Model& model = trained.model;
  model.quantization.assign(model.layers.size(), {.output = QuantizedRange{0.125f, 7}});
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const auto* conv = std::get_if<ConvAttributes>(&model.layers[i].attributes);
    if (!conv) continue;
    model.quantization[i].weight_scales.assign(static_cast<size_t>(conv->filters), 0.25f);
    model.quantization[i].before_activation = QuantizedRange{0.5f, 128};
  }
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

std::string state_of(const RunState& run) {
  const auto backend = make_cpu_backend();
  DeviceBuffer values(*backend, 16 * sizeof(float));
  backend->zero(values.data(), values.bytes());
  return written([&](const fs::path& file) {
    save_state(file, run, {{"values", values.floats(), 16}}, *backend);
  });
}

/// A header of POSIX or GNU, with its checksum, and the bytes that follow, filled to a whole block.
std::string tar_member(const std::string& name, char type, const std::string& bytes, const char* magic) {
  std::string header(512, '\0');
  const auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", bytes.size()));
  put(148, "        ");
  header[156] = type;
  put(257, magic);
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum));
  header[154] = '\0';
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

constexpr const char* blocks_yaml = R"(name: blocks
input: {size: 64, channels: 1}
classes: 2
activation: mish
head: {anchors: [[8, 10], [14, 12], [22, 30]], iou_loss: giou, assignment: simota, class_weights: auto}
blocks:
  csp:
    parameters: [filters]
    layers:
      - conv: {name: in, filters: $filters, size: 3}
      - split: {groups: 2, part: 1}
      - conv: {filters: $filters/2, size: 1}
  pair:
    layers:
      - csp: {name: inner, filters: 8}
      - conv: {filters: 16, size: 1}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - csp: {name: stage, filters: 16}
  - pair: {repeat: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1, 2], class_weights: [1, 2], nms: diou}
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

}  // namespace

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

std::vector<std::string> images() {
  const cv::Mat pixels = smooth_image({24, 16});
  const std::vector<uint8_t> jpeg = encoded_jpeg(pixels);
  std::vector<std::string> all{encoded(".png", CV_8UC4), encoded(".png", CV_16UC1), encoded(".png", CV_16UC3),
                               encoded(".bmp", CV_8UC3), encoded(".tif", CV_16UC1), encoded(".webp", CV_8UC3),
                               encoded(".ppm", CV_8UC3), encoded(".ras", CV_8UC3)};
  const auto add = [&](const std::vector<uint8_t>& bytes) { all.push_back(text_of(bytes)); };
  add(jpeg);
  add(image_files::encode(".jp2", smooth_image({64, 64})));
  add(image_files::with_exif(jpeg, 6, true));
  add(image_files::with_exif(jpeg, 7, false));
  add(image_files::with_jpeg_segment(jpeg, 0xE2, std::vector<uint8_t>(60, 7)));
  add(encoded_jpeg(pixels, {.progressive = true}));
  for (const J_COLOR_SPACE colors : {JCS_GRAYSCALE, JCS_RGB, JCS_CMYK, JCS_YCCK})
    add(encoded_jpeg(pixels, {.colors = colors}));
  add(image_files::with_png_exif(image_files::encode(".png", pixels), image_files::exif(8, false)));
  add(image_files::with_webp_exif(image_files::encode(".webp", pixels, {cv::IMWRITE_WEBP_QUALITY, 101}),
                                  pixels.size(), image_files::exif(3, true)));
  return all;
}

std::string darknet_weights() {
  const TrainedModel trained = small_network();
  return written([&](const fs::path& file) {
    save_darknet_weights(file, trained.model, trained.layout, trained.values);
  });
}

std::vector<std::string> own_weights() {
  std::vector<std::string> all;
  const auto add = [&](const TrainedModel& trained, bool half) {
    all.push_back(written([&](const fs::path& file) { save_weights(file, trained, half); }));
  };
  add(tiny_network(), false);
  add(tiny_network(), true);
  add(quantized_network(), false);
  return all;
}

std::vector<std::string> states() {
  RunState run;
  run.layout = "1234";
  std::vector<std::string> all{state_of(run)};
  Progress& progress = run.progress;
  progress.plans = {{0, 100}, {40, 90}};
  progress.times = {12.5, 2, 10};
  progress.recent_scores = {0.25, 0.5};
  progress.kept = {{40, 0.25}, {80, 0.5}};
  run.best = Metrics();
  run.best->per_class.emplace_back().name = "cat";
  run.best->loss = MeanLoss{1, 2, 3};
  run.train = run.val = SplitFingerprint{4, 5, 6};
  run.quantization = quantized_network().model.quantization;
  run.quantization.resize(2);
  all.push_back(state_of(run));
  return all;
}

std::vector<std::string> onnx_files() {
  std::vector<std::string> all;
  const auto add = [&](const TrainedModel& trained, const OnnxOptions& options) {
    all.push_back(written([&](const fs::path& file) { export_onnx(trained, options, file); }));
  };
  for (const OnnxHeads heads : {OnnxHeads::raw, OnnxHeads::decoded, OnnxHeads::nms})
    add(tiny_network(), {.heads = heads});
  add(small_network(), {.heads = OnnxHeads::raw, .size = {64, 32}, .batch = 0});
  return all;
}

std::vector<std::string> archives() {
  const std::string image = encoded(".png", CV_8UC1), labels = "0 0.5 0.5 0.25 0.25\n", end(1024, '\0');
  const std::string record = "path=train/b.png\n";
  const std::string pax = tar_member("a.png", '0', image, "ustar") +
                          tar_member("a.txt", '0', labels, "ustar") +
                          tar_member("x", 'x', fmt::format("{} {}", record.size() + 3, record), "ustar") +
                          tar_member("b", '0', image, "ustar") + end;
  const std::string gnu = tar_member("folder/", '5', "", "ustar  ") +
                          tar_member("././@LongLink", 'L', "folder/long.png", "ustar  ") +
                          tar_member("l", '0', image, "ustar  ") +
                          tar_member("././@LongLink", 'L', "folder/long.txt", "ustar  ") +
                          tar_member("l.txt", '7', labels, "ustar  ") + end;
  return {pax, gnu};
}

std::vector<std::string> models() {
  return {read_file(source_dir() / "configs/models/demo.yaml"), every_layer_model().yaml(), blocks_yaml};
}

std::vector<std::string> run_yamls() {
  RunConfig config;
  return {run_yaml, print_config(config, false)};
}

std::vector<TunedKey> searched_keys() {
  return choose_keys({"optimizer.rate", "augment.mosaic"});
}

std::string trials_csv() {
  const Trial first{0, -1, {0.001, 1}, 0.25, 180, ""};
  const Trial second{1, 0, {0.002, 0.5}, 0, 3, "the loss is \"nan\", twice"};
  return written([&](const fs::path& file) { write_trials(file, searched_keys(), {first, second}); });
}

std::string page() {
  Page made("A run", "of a test");
  made.tiles({{"AP", "0.5"}});
  made.sentences("What it says", {"It trains."});
  made.table("Classes", {"class", "AP"}, {{"cat", "0.5"}});
  made.text("Configuration", "model: demo\n");
  // Without the style and the script, of which nothing is read.
  const std::string html = made.html();
  const size_t begin = html.find("</style>");
  return html.substr(begin, html.rfind("<script>") - begin);
}

const char* const voc_xml = R"(<annotation><filename>a.png</filename>
<size><width>32</width><height>24</height><depth>3</depth></size>
<object><name>cat</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>12.5</xmax><ymax>20</ymax></bndbox></object>
<object><name>dog</name><bndbox><xmin>3</xmin><ymin>2</ymin><xmax>30</xmax><ymax>9</ymax></bndbox></object>
</annotation>
)";

const char* const coco_json = R"({"images": [{"id": 1, "file_name": "a.png", "width": 32, "height": 24}],
"categories": [{"id": 3, "name": "cat"}, {"id": 7, "name": "dog"}],
"annotations": [{"id": 1, "image_id": 1, "category_id": 3, "bbox": [1, 2, 10.5, 12], "area": 126, "iscrowd": 0},
{"id": 2, "image_id": 1, "category_id": 7, "bbox": [4, 4, 9, 9], "segmentation": [[4, 4, 13, 4, 13, 13]]},
{"id": 3, "image_id": 1, "category_id": 7, "bbox": [4, 4, 1, 20], "segmentation": {"size": [24, 32], "counts": [100, 20, 648]}, "iscrowd": 1}]}
)";

const char* const ultralytics_yaml = R"(path: .
train: images/train
val: [images/train, images/train/a.png]
test: images/test
nc: 2
names: {0: cat, 1: dog}
download: https://example.com/data.zip
)";

const char* const data_section = R"(format: yolo
root: .
train: images/train
val: images/train
classes: [cat, dog]
fold: 1/3
tiles: {size: 64, overlap: 0.2}
)";

const char* const metrics_csv = R"(epoch,loss,AP,AP50
0.5,12.5,,
1,8.25,0.125,0.5
2,7,0.25,0.75
)";

const char* const search_json =
    R"({"config": "run.yaml", "assignments": ["train.epochs=3"], "keys": ["optimizer.rate"],
"minutes": 3, "epochs": 0, "seed": 1, "trials": 30, "configuration": "model: demo\ntrain: {}\n"}
)";

}  // namespace brightnet::testing
