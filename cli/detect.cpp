// brightnet detect: detects objects in images, videos and camera streams.
#include "brightnet/detect.h"

#include <cstdlib>
#include <memory>
#include <optional>

#include <opencv2/core/utils/logger.hpp>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

/// Silences the messages of OpenCV and FFmpeg on standard error, which duplicate our errors, unless the variable is set.
void quieten_libraries() {
  constexpr const char* variable = "OPENCV_FFMPEG_LOGLEVEL";
  if (std::getenv(variable)) return;
  ::setenv(variable, "-8", 0);  // AV_LOG_QUIET
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
}

struct DetectArguments {
  DetectionOptions options;
  bool quiet = false;
};

/// Where standard output is for JSON, results go where messages go; --quiet leaves both out.
LogSink sink_for(const DetectArguments& arguments) {
  const DetectionOptions& options = arguments.options;
  const bool is_json = options.json == "-" || options.coco_json == "-" || options.darknet_json == "-";
  const LogSink sink = standard_sink(is_json ? ResultsGo::to_standard_error : ResultsGo::to_standard_output);
  if (!arguments.quiet) return sink;
  return [sink](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning || level == LogLevel::error) sink(level, message);
  };
}

int detect(const DetectArguments& arguments) {
  quieten_libraries();
  set_log_sink(sink_for(arguments));
  use_opencv_threads(arguments.options.weights);
  std::optional<StopSignals> signals;
  if (detect_files(arguments.options, [&] { return signals.emplace().token(); })) return 0;
  log::warn("Stopped by a signal; the detections so far have been written.");
  return static_cast<int>(ExitCode::interrupted);
}

void add_outputs(CLI::App& command, DetectionOptions& arguments) {
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
  command
      .add_option("--line-width", arguments.line_width,
                  "width of the boxes' lines in pixels (default: by the size of the image)")
      ->check(at_least(1));
  command.add_flag("--hide-labels", arguments.hide_labels, "draw boxes without names and scores");
  command.add_flag(
      "--show", arguments.show,
      "show images and videos with boxes in a window; Esc or q ends, another key is for the next image");
}

/// Options that decide which boxes are detections.
void add_thresholds(CLI::App& command, DetectionOptions& arguments) {
  command.add_option("--conf", arguments.confidence, "confidence threshold (default: 0.25)")
      ->check(within(0, 1));
  command.add_option("--nms", arguments.nms, "NMS IoU threshold (default: 0.45)")->check(within(0, 1));
  command.add_flag(
      "--class-agnostic", arguments.class_agnostic,
      "NMS over all classes: of boxes that overlap, the best alone is kept, whatever their classes");
  command
      .add_option("--max-det", arguments.max_objects,
                  "maximum number of objects per image (default: 0, no limit)")
      ->check(at_least(0));
  command.add_option("--classes", arguments.classes, "names or numbers of the classes to detect")
      ->type_name("CLASS")
      ->delimiter(',')
      ->expected(1, -1);
}

/// Options for what is printed.
void add_words(CLI::App& command, DetectArguments& arguments) {
  auto* quiet =
      command.add_flag("--quiet", arguments.quiet,
                       "print nothing but warnings: neither a line an image nor progress nor a summary");
  command
      .add_flag(
          "--scores", arguments.options.scores,
          "print the scores too in each image's line: photo.jpg: 2 RBC (0.97 0.91), 1 WBC (0.88), 31 ms")
      ->excludes(quiet);
}

}  // namespace

void add_detect(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("detect", "detect objects in images, videos or camera streams");
  const auto all = std::make_shared<DetectArguments>();
  DetectionOptions* const arguments = &all->options;
  take_weights(*command, arguments->weights, "an exported .onnx, ");
  take_data(*command, arguments->data);
  command
      ->add_option(
          "--source", arguments->source,
          "an image, a video, a folder, 'a pattern*.jpg' in quotes, a list (.txt), a camera's number, or a "
          "stream's address")
      ->type_name("SOURCE")
      ->required();
  add_outputs(*command, *arguments);
  add_words(*command, *all);
  add_thresholds(*command, *arguments);
  command
      ->add_option("--frames", arguments->frames,
                   "maximum number of frames of a video, camera or stream (default: 0, all)")
      ->check(at_least(0));
  command
      ->add_option("--max-pixels", arguments->max_pixels,
                   "largest image file that is decoded; a larger one is skipped (default: 200000000)")
      ->type_name("N")
      ->check(at_least(1));
  command->add_option("--every", arguments->every, "use only every Nth frame of a video, camera or stream")
      ->check(at_least(1));
  command->add_option("--batch", arguments->batch, "batch size (default: 8; 1 for cameras and streams)")
      ->check(at_least(1));
  command
      ->add_option("--resize", arguments->resize,
                   "how images are resized to the input size: antialiased, or exactly as darknet does "
                   "(default: as recorded in the weights; darknet for imported ones)")
      ->check(CLI::IsMember(resize_names()));
  command
      ->add_option(
          "--letterbox", arguments->letterbox,
          "on: keep the aspect ratio and pad; off: stretch to the input (default: as recorded in the weights)")
      ->check(CLI::IsMember({"on", "off"}));
  take_size(*command, arguments->height, arguments->width,
            "the input in pixels (default: as recorded in the weights)", 0);
  auto* rect = command->add_flag(
      "--rect", arguments->rect,
      "rectangular batches: images are letterboxed, with the least padding that a batch needs");
  take_tiles(*command, arguments->tiles)->excludes(rect);
  command
      ->add_option("--workers", arguments->workers,
                   "threads that read images (default: one per core, at most 8)")
      ->check(at_least(0));
  take_device(*command, arguments->device);
  take_precision(*command, arguments->precision);
  command->get_option("--precision")
      ->description("fp32, tf32, bf16 or fp16, or int8 with weights of `export --int8`");
  command->callback([=, &action] { action = [all] { return detect(*all); }; });
}

}  // namespace brightnet::cli
