#include "brightnet/detect.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/enum_names.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/drawing/draw.h"
#include "detect/detect.h"
#include "detect/open_weights.h"
#include "detect/option_ranges.h"
#include "detect/outputs/open_outputs.h"
#include "detect/outputs/window.h"
#include "detect/sources/video.h"
#include "kernels/device/device.h"
#include "train/setup/data_sets.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

/// Throws InputError for what no image can be detected with; the command line refuses it by itself.
void refuse_impossible(const DetectionOptions& options) {
  const OptionRanges ranges("DetectionOptions");
  check_frames(ranges, options);
  check_detection(ranges, options);
  ranges.within(0, 1, "nms", options.nms);
  ranges.at_least(0, "batch", options.batch);
  ranges.at_least(0, "workers", options.workers);
  ranges.at_least(0, "line_width", options.line_width);
  const std::string& letterbox = options.letterbox;
  if (!letterbox.empty() && letterbox != "on" && letterbox != "off")
    ranges.refuse("letterbox is '" + letterbox + "'",
                  R"(It is "on", "off", or "" for what the weights say.)");
  if (!options.rect) return;
  if (letterbox == "off") {
    throw InputError("rectangular batches need a letterbox, and --letterbox off stretches the images",
                     "--rect", "Leave one of the two out.");
  }
  if (!options.tiles.empty()) {
    throw InputError("tiles are all of one shape, so rectangular batches have no effect", "--rect",
                     "Leave one of the two out.");
  }
}

/// The model's NMS with the command line's thresholds.
NmsOptions nms_options(const Model& model, const DetectionOptions& options) {
  return for_model(
      {.kind = NmsMethod::model,
       .iou = options.nms,
       .score = options.confidence,
       .max_detections = options.max_objects > 0 ? options.max_objects : std::numeric_limits<int>::max(),
       .class_agnostic = options.class_agnostic},
      model);
}

/// Live frames are processed one by one: waiting for a full batch would add latency. The tiles of a frame make a batch.
int choose_batch(const DetectionOptions& options, const Source& source) {
  constexpr int usual = 8;
  if (!options.tiles.empty()) return options.batch > 0 ? options.batch : usual;
  const int batch = options.batch > 0 ? options.batch : source.live() ? 1 : usual;
  return source.count() > 0 ? static_cast<int>(std::min<int64_t>(batch, source.count())) : batch;
}

/// The progress line: position and speed.
class DetectionProgress {
 public:
  explicit DetectionProgress(int64_t count) : count_(count) {}

  void show() {
    ++images_;
    if (!line_.due()) return;
    const std::string of = count_ > 0 ? fmt::format("/{}", count_) : "";
    line_.show(fmt::format("detecting {}{} images  {:.1f} images/s", images_, of,
                           images_ / (seconds_now() - begin_)));
  }
  void clear() { line_.clear(); }

 private:
  ProgressLine line_{10};
  double begin_ = seconds_now();
  int64_t count_, images_ = 0;
};

/// Returns false when the user wants no more.
bool show(Window& window, const FoundObjects& found, const std::vector<std::string>& classes,
          const BoxStyle& style) {
  cv::Mat picture = found.frame.image.clone();
  draw_detections(picture, found.boxes, classes, style);
  return window.show(picture, !found.frame.clip);
}

void say_what_was_done(const DetectionOptions& options, const DetectReport& report, int workers) {
  const std::string skipped =
      report.skipped.empty() ? "" : fmt::format(" ({} could not be read)", report.skipped.size());
  log::result("{} in {}{}", counted(report.objects, "object", "objects"),
              counted(report.images, "image", "images"), skipped);
  log::info("{}", report.times.text(report.images, workers));
  if (writes_pictures(options)) log::result("Pictures: {}", pictures_folder(options).string());
  if (options.save_crops) log::result("Crops: {}", crops_folder(options).string());
}

/// Throws the first error after all are finished: one that cannot be written costs none of the others.
void finish_all(const std::vector<std::unique_ptr<DetectionOutput>>& outputs) {
  std::exception_ptr failed;
  for (const auto& output : outputs) {
    try {
      output->finish();
    } catch (...) {
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
}

/// Throws InputError for video options without effect.
void refuse_idle_clip_options(const DetectionOptions& options, const Source& source) {
  const auto& files = source.files();
  if (source.live() || std::any_of(files.begin(), files.end(), is_video_name)) return;
  for (const auto& [option, given] :
       {std::pair{"--frames", options.frames > 0}, std::pair{"--every", options.every > 1}}) {
    if (given)
      throw InputError(fmt::format("{} is for videos, cameras and streams, and there is none in {}", option,
                                   options.source),
                       option, "Remove this option.");
  }
}

/// With the classes of the data set, if one is given.
TrainedModel load_weights(const DetectionOptions& options) {
  if (options.data.empty()) return open_weights(options.weights);
  if (!options.weights.names.empty()) {
    throw InputError("--names and --data both name the classes", options.weights.names.string(),
                     "Leave one of the two out.");
  }
  const NamedRun named({.data = options.data}, false);
  named.say_data();
  WeightsFiles files = options.weights;
  RunConfig config = named.load();
  config.data.takes_settings = false;
  files.classes = class_names(config);
  TrainedModel trained = open_weights(files);
  if (trained.classes == files.classes) return trained;
  throw InputError(fmt::format("these weights were trained for the classes {}, and the data set has {}",
                               enumerated(trained.classes), enumerated(files.classes)),
                   files.weights.string(), "Leave --data out: a .safetensors contains its classes.");
}

/// What the weights were made for and are not used with.
void say_what_is_not_used(const TrainedModel& trained, const DetectionOptions& options) {
  const auto tiles = trained.training.find("tiles");
  if (tiles != trained.training.end() && options.tiles.empty())
    log::warn("These weights were trained on tiles of larger pictures: --tiles {} detects in such tiles.",
              tiles->second);
  if (options.precision.empty()) say_scales_are_not_used(trained, Precision::fp32);
}

}  // namespace

std::vector<std::string> resize_names() {
  return enum_names<Resize>();
}

bool detect_files(const DetectionOptions& options, const std::function<std::stop_token()>& can_be_stopped) {
  refuse_impossible(options);
  refuse_idle_outputs(options);
  const Precision precision =
      options.precision.empty() ? Precision::fp32 : parse_precision(options.precision);
  const bool exported = is_onnx(options.weights.weights);
  if (exported && !options.data.empty()) {
    throw InputError("--data names the classes of darknet's weights, and an exported network has its own",
                     options.weights.weights.string(), "Leave --data out.");
  }
  const auto backend = exported ? nullptr : open_device(options.device, precision);
  const auto source = open_source(
      options.source, {.frames = options.frames, .every = options.every, .max_pixels = options.max_pixels});
  refuse_idle_clip_options(options, *source);
  std::optional<InferenceNetwork> network;
  const InputSize size(options.height, options.width);
  exported
      ? network.emplace(open_exported(options.weights, size, options.device, options.precision))
      : network.emplace(
            load_weights(options), *backend,
            InferenceSetup{.precision = precision, .batch = choose_batch(options, *source), .size = size});
  InferenceNetwork& inference = *network;
  if (!options.resize.empty()) inference.set_resize(parse_resize(options.resize));
  if (!options.letterbox.empty()) inference.set_letterbox(options.letterbox == "on");
  const TrainedModel& trained = inference.trained();
  PipelineOptions how;
  if (options.rect) {
    inference.begin_rect();
    how.rect = true;
  }
  how.nms = nms_options(trained.model, options);
  how.classes = parse_class_filter(options.classes, trained.classes);
  if (!options.tiles.empty()) how.tiles = parse_tiles(options.tiles, "--tiles");
  say_what_is_not_used(trained, options);
  how.workers = options.workers > 0 ? options.workers : std::min(compute_threads(), 8);
  std::optional<Window> window;
  if (options.show) window.emplace();
  const auto outputs = open_outputs(options, *source, trained.classes);

  const std::stop_token stop = can_be_stopped ? can_be_stopped() : std::stop_token();
  DetectionProgress progress(source->count());
  bool is_whole = true;
  const auto write = [&](const FoundObjects& found) {
    for (const auto& output : outputs) output->add(found);
    progress.show();
    is_whole =
        !stop.stop_requested() && (!window || show(*window, found, trained.classes, box_style(options)));
    return is_whole;
  };
  const DetectReport report = detect(inference, *source, how, write, stop);
  progress.clear();
  for (const auto& [file, reason] : report.skipped) log::warn("Skipped {}: {}.", file, reason);
  if (report.images == 0 && !stop.stop_requested())
    throw InputError("none of the images could be read", without_credentials(options.source));
  finish_all(outputs);
  // Pictures of a camera or stream cannot be detected again.
  if (is_whole && !stop.stop_requested() && !source->live()) {
    for (const auto& output : outputs) output->remove_earlier();
  }
  say_what_was_done(options, report, how.workers);
  return !stop.stop_requested();
}

}  // namespace brightnet
