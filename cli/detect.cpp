// brightnet detect: detects objects in images, videos and camera streams.
#include "detect/detect.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <opencv2/core/utils/logger.hpp>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/formats/yolo.h"
#include "detect/outputs/output.h"
#include "kernels/device/device.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* usual_folder = "runs/detect";

struct DetectArguments {
  CommonOptions common;
  WeightsOptions weights;
  std::string source;
  SourceOptions frames;
  std::string out, json, coco_json, coco_ids, darknet_json, txt, resize, letterbox, tiles;
  bool save_conf = false, save_crops = false, no_save = false;
  float confidence = 0.25f, nms = 0.45f;
  int max_detections = 0;
  std::vector<std::string> classes;
  int batch = 0, workers = 0;
  InputSize size;
  bool rect = false;

  /// The JSON files by their options; empty: not requested.
  std::array<std::pair<const char*, std::string>, 3> answer_files() const {
    return {{{"--json", json}, {"--coco-json", coco_json}, {"--darknet-json", darknet_json}}};
  }
  bool answers() const {
    return !json.empty() || !coco_json.empty() || !darknet_json.empty() || !txt.empty();
  }
  /// Images with boxes are the default output when no other is requested.
  bool pictures() const { return !no_save && (!out.empty() || !(answers() || save_crops)); }
  fs::path folder() const { return out.empty() ? usual_folder : out; }
};

/// The model's NMS with the command line's thresholds.
NmsOptions nms_options(const Model& model, const DetectArguments& arguments) {
  return for_model({.kind = NmsMethod::model,
                    .iou = arguments.nms,
                    .score = arguments.confidence,
                    .max_detections = arguments.max_detections > 0 ? arguments.max_detections
                                                                   : std::numeric_limits<int>::max()},
                   model);
}

/// Live frames are processed one by one: waiting for a full batch would add latency. The tiles of a frame make a batch.
int choose_batch(const DetectArguments& arguments, const Source& source) {
  constexpr int usual = 8;
  if (!arguments.tiles.empty()) return arguments.batch > 0 ? arguments.batch : usual;
  const int batch = arguments.batch > 0 ? arguments.batch : source.live() ? 1 : usual;
  return source.count() > 0 ? static_cast<int>(std::min<int64_t>(batch, source.count())) : batch;
}

/// Where training looks for the labels of this folder's images, by the given path and by the resolved one.
std::vector<fs::path> label_folders(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> folders{folder};
  for (const fs::path& name :
       {fs::absolute(folder).lexically_normal(), fs::weakly_canonical(folder, error)}) {
    const fs::path label = parallel_label(name / "x.jpg");
    if (!label.empty()) folders.push_back(label.parent_path());
  }
  return folders;
}

/// Throws InputError when outputs would be written among the input images or their ground-truth labels, which
/// would corrupt the data set, or when an output file is an input file.
void protect_inputs(const DetectArguments& arguments, const Source& source) {
  std::error_code error;
  const auto same = [&](const fs::path& a, const fs::path& b) {
    return !a.empty() && fs::equivalent(a, b, error);
  };
  const auto refuse = [](const std::string& what, const fs::path& place, const std::string& option) {
    throw InputError(what, place.string(), "Name another with " + option + '.');
  };
  // The folder of labels need not exist.
  const auto normal = [](const fs::path& path) { return (fs::absolute(path) / "").lexically_normal(); };
  const fs::path pictures = arguments.pictures() ? arguments.folder() : fs::path();
  std::set<fs::path> checked;
  for (const fs::path& file : source.files()) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    if (!checked.insert(folder).second) continue;
    if (same(pictures, folder))
      refuse("this folder contains the input images, which would be overwritten", folder, "--out");
    for (const fs::path& labels : label_folders(folder)) {
      if (same(arguments.txt, labels) || (!arguments.txt.empty() && normal(arguments.txt) == normal(labels)))
        refuse("this folder is for the images' ground-truth labels; detections would be mistaken for them",
               arguments.txt, "--txt");
    }
  }
  std::vector<fs::path> read = source.files();
  const WeightsOptions& weights = arguments.weights;
  read.insert(read.end(),
              {weights.weights, weights.cfg, weights.names, arguments.source, arguments.coco_ids});
  std::map<fs::path, const char*> written;
  for (const auto& [option, answer] : arguments.answer_files()) {
    if (answer.empty()) continue;
    for (const fs::path& file : read) {
      if (answer != "-" && same(answer, file)) refuse("this input file would be overwritten", file, option);
    }
    const auto [other, first] =
        written.emplace(answer == "-" ? fs::path("-") : fs::absolute(answer).lexically_normal(), option);
    if (!first)
      refuse(std::string("two outputs would be written there, also that of ") + other->second, answer,
             option);
  }
}

/// Finds existing files that must not be replaced, before the work begins.
void check_outputs(const std::vector<std::unique_ptr<DetectionOutput>>& outputs, const Source& source) {
  Frame frame;
  for (size_t i = 0; i < source.files().size(); ++i) {
    frame.file = source.files()[i].string();
    frame.name = source.names()[i];
    for (const auto& output : outputs) output->check(frame);
  }
}

using Outputs = std::vector<std::unique_ptr<DetectionOutput>>;

Outputs open_outputs(const DetectArguments& arguments, const Source& source,
                     const std::vector<std::string>& classes) {
  protect_inputs(arguments, source);
  Outputs outputs;
  if (!arguments.json.empty()) outputs.push_back(json_output(arguments.json, classes));
  if (!arguments.coco_json.empty()) {
    outputs.push_back(coco_json_output(
        arguments.coco_json, arguments.coco_ids.empty() ? CocoIds(source.files(), classes)
                                                        : CocoIds(fs::path(arguments.coco_ids), classes)));
  }
  if (!arguments.darknet_json.empty())
    outputs.push_back(darknet_json_output(arguments.darknet_json, classes));
  if (!arguments.txt.empty()) {
    prepare_folder(arguments.txt, "--txt");
    outputs.push_back(text_label_output(arguments.txt, arguments.save_conf));
  }
  if (arguments.save_crops) {
    prepare_folder(arguments.folder(), "--out");
    outputs.push_back(crop_output(arguments.folder() / "crops", classes));
  }
  if (arguments.pictures()) {
    prepare_folder(arguments.folder(), "--out");
    outputs.push_back(picture_output(arguments.folder(), classes));
  }
  check_outputs(outputs, source);
  return outputs;
}

/// The progress line: position, speed and the latest result.
class Progress {
 public:
  explicit Progress(int64_t count) : count_(count) {}

  void show(const FoundObjects& found) {
    ++images_;
    if (!line_.due()) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
    const std::string of = count_ > 0 ? fmt::format("/{}", count_) : "";
    line_.show(fmt::format("{}{}  {:.1f} images/s  {}: {} objects", images_, of,
                           static_cast<double>(images_) / seconds, found.frame.name, found.boxes.size()));
  }
  void clear() { line_.clear(); }

 private:
  ProgressLine line_{10};
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int64_t count_, images_ = 0;
};

void say_what_was_done(const DetectArguments& arguments, const DetectReport& report, int workers) {
  const std::string skipped =
      report.skipped.empty() ? "" : fmt::format(" ({} could not be read)", report.skipped.size());
  log::info("{} in {}{}", counted(report.objects, "object", "objects"),
            counted(report.images, "image", "images"), skipped);
  log::info("{}", report.times.text(report.images, workers));
  if (arguments.pictures()) log::info("Pictures: {}", arguments.folder().string());
  if (arguments.save_crops) log::info("Crops: {}", (arguments.folder() / "crops").string());
}

/// Throws InputError for options without effect.
void refuse_idle_options(const DetectArguments& arguments) {
  if (arguments.save_conf && arguments.txt.empty())
    throw InputError("--save-conf requires --txt, which is not given", "--save-conf",
                     "Name the folder of the labels with --txt.");
  if (!arguments.coco_ids.empty() && arguments.coco_json.empty())
    throw InputError("--coco-ids requires --coco-json, which is not given", "--coco-ids");
  if (!arguments.out.empty() && arguments.no_save && !arguments.save_crops)
    throw InputError("with --no-save there is nothing to write there", "--out",
                     "Remove one of the two options.");
}

/// The same for video options, once the source is known.
void refuse_idle_clip_options(const DetectArguments& arguments, const Source& source) {
  const auto& files = source.files();
  if (source.live() || std::any_of(files.begin(), files.end(), is_video_name)) return;
  for (const auto& [option, given] : {std::pair{"--frames", arguments.frames.frames > 0},
                                      std::pair{"--every", arguments.frames.every > 1}}) {
    if (given)
      throw InputError(fmt::format("{} is for videos, cameras and streams, and there is none in {}", option,
                                   arguments.source),
                       option, "Remove this option.");
  }
}

/// With the classes of --data, if that is given.
TrainedModel load_weights(const DetectArguments& arguments) {
  if (arguments.common.data.empty()) return arguments.weights.load();
  arguments.common.say_data();
  const auto classes = class_names(load_run_config("", arguments.common.overrides()));
  TrainedModel trained = arguments.weights.load(classes);
  if (trained.classes == classes || !arguments.weights.names.empty()) return trained;
  throw InputError(fmt::format("these weights were trained for the classes {}, and the data set has {}",
                               enumerated(trained.classes), enumerated(classes)),
                   arguments.weights.weights, "Leave --data out: a .safetensors contains its classes.");
}

/// Silences the messages of OpenCV and FFmpeg on standard error, which duplicate our errors, unless the variable is set.
void quieten_libraries() {
  if (::setenv("OPENCV_FFMPEG_LOGLEVEL", "-8", 0) == 0)  // AV_LOG_QUIET
    cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
}

int detect_objects(const DetectArguments& arguments) {
  quieten_libraries();
  refuse_idle_options(arguments);
  const Precision precision =
      arguments.common.precision.empty() ? Precision::fp32 : parse_precision(arguments.common.precision);
  const auto backend = open_device(arguments.common.device, precision);
  const auto source = open_source(arguments.source, arguments.frames);
  refuse_idle_clip_options(arguments, *source);
  InferenceNetwork inference(load_weights(arguments), *backend, precision, choose_batch(arguments, *source),
                             arguments.size);
  if (!arguments.resize.empty()) inference.set_resize(parse_resize(arguments.resize));
  if (!arguments.letterbox.empty()) inference.set_letterbox(arguments.letterbox == "on");
  const TrainedModel& trained = inference.trained();
  DetectOptions options;
  if (arguments.rect) {
    if (arguments.letterbox == "off") {
      throw InputError("rectangular batches need a letterbox, and --letterbox off stretches the images",
                       "--rect", "Leave one of the two out.");
    }
    options.rect = inference.begin_rect();
  }
  options.nms = nms_options(trained.model, arguments);
  options.classes = parse_class_filter(arguments.classes, trained.classes);
  if (!arguments.tiles.empty()) options.tiles = parse_tiles(arguments.tiles, "--tiles");
  if (const auto tiles = trained.training.find("tiles"); tiles != trained.training.end() && !options.tiles)
    log::warn("These weights were trained on tiles of larger pictures: --tiles {} detects in such tiles.",
              tiles->second);
  options.workers = arguments.workers > 0 ? arguments.workers : std::min(compute_threads(), 8);
  const Outputs outputs = open_outputs(arguments, *source, trained.classes);

  const StopSignals signals;
  Progress progress(source->count());
  const DetectReport report = detect(inference, *source, options, [&](const FoundObjects& found) {
    for (const auto& output : outputs) output->add(found);
    progress.show(found);
    return !signals.received();
  });
  progress.clear();
  for (const auto& [file, reason] : report.skipped) log::warn("Skipped {}: {}.", file, reason);
  if (report.images == 0 && !signals.received())
    throw InputError("none of the images could be read", arguments.source);
  for (const auto& output : outputs) output->finish();
  say_what_was_done(arguments, report, options.workers);
  if (!signals.received()) return 0;
  log::warn("Stopped by a signal; the detections so far have been written.");
  return static_cast<int>(ExitCode::interrupted);
}

void add_outputs(CLI::App& command, DetectArguments& arguments) {
  const auto file = [&](const char* name, std::string& value, const char* help) {
    command.add_option(name, value, help)->type_name("FILE");
  };
  command
      .add_option(
          "--out", arguments.out,
          "folder for images and videos with boxes, and for crops (default if no other output is given: "
          "runs/detect)")
      ->type_name("DIR");
  file("--json", arguments.json, "write the boxes as JSON to this file; - for standard output");
  file("--coco-json", arguments.coco_json, "write the boxes in COCO's results format");
  file("--coco-ids", arguments.coco_ids, "COCO annotations from which image and category ids are taken");
  file("--darknet-json", arguments.darknet_json, "write the boxes in the format of darknet's result.json");
  command
      .add_option("--txt", arguments.txt,
                  "folder for YOLO labels: one file per image, one line `class x y w h` per object")
      ->type_name("DIR");
  command.add_flag("--save-conf", arguments.save_conf,
                   "with --txt: append the score to each line; such lines cannot be used as training labels");
  command.add_flag("--save-crops", arguments.save_crops,
                   "write a crop of each object, DIR/crops/CLASS/NAME_k.jpg");
  command.add_flag("--no-save", arguments.no_save, "do not write images and videos with boxes");
}

}  // namespace

void add_detect(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("detect", "detect objects in images, videos or camera streams");
  const auto arguments = std::make_shared<DetectArguments>();
  arguments->weights.add(*command);
  arguments->common.add_data(*command);
  command
      ->add_option(
          "--source", arguments->source,
          "an image, a video, a folder, 'a pattern*.jpg' in quotes, a list (.txt), a camera's number, or a "
          "stream's address")
      ->required();
  add_outputs(*command, *arguments);
  command->add_option("--conf", arguments->confidence, "confidence threshold (default: 0.25)")
      ->check(within(0, 1));
  command->add_option("--nms", arguments->nms, "NMS IoU threshold (default: 0.45)")->check(within(0, 1));
  command
      ->add_option("--max-det", arguments->max_detections,
                   "maximum number of objects per image (default: 0, no limit)")
      ->check(at_least(0));
  command->add_option("--classes", arguments->classes, "names or numbers of the classes to detect")
      ->type_name("CLASS")
      ->delimiter(',')
      ->expected(1, -1);
  command
      ->add_option("--frames", arguments->frames.frames,
                   "maximum number of frames of a video, camera or stream (default: 0, all)")
      ->check(at_least(0));
  command
      ->add_option("--max-pixels", arguments->frames.max_pixels,
                   "largest image file that is decoded; a larger one is skipped (default: 200000000)")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--every", arguments->frames.every,
                   "use only every Nth frame of a video, camera or stream")
      ->check(at_least(1));
  command->add_option("--batch", arguments->batch, "batch size (default: 8; 1 for cameras and streams)")
      ->check(at_least(1));
  command
      ->add_option("--resize", arguments->resize,
                   "how images are resized to the input size: antialiased, or exactly as darknet does "
                   "(default: as recorded in the weights; darknet for imported ones)")
      ->check(CLI::IsMember(enum_names<Resize>()));
  command
      ->add_option(
          "--letterbox", arguments->letterbox,
          "on: keep the aspect ratio and pad; off: stretch to the input (default: as recorded in the weights)")
      ->check(CLI::IsMember({"on", "off"}));
  add_input_size(*command, arguments->size, "the input in pixels (default: as recorded in the weights)", 0);
  auto* rect = command->add_flag(
      "--rect", arguments->rect,
      "rectangular batches: images are letterboxed, with the least padding that a batch needs");
  add_tiles(*command, arguments->tiles)->excludes(rect);
  command
      ->add_option("--workers", arguments->workers,
                   "threads that read images (default: one per core, at most 8)")
      ->check(at_least(0));
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  command->callback([=, &action] { action = [arguments] { return detect_objects(*arguments); }; });
}

}  // namespace brightnet::cli
