// brightnet detect: what trained weights see in a user's images.
#include "train/detect.h"

#include <limits>
#include <memory>

#include "core/log.h"
#include "data/image.h"
#include "train/cli/commands.h"
#include "train/detections_json.h"
#include "train/device.h"
#include "train/report/draw.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct DetectArguments {
  CommonOptions common;
  std::string weights, source, out, json, resize;
  float confidence = 0.25f, nms = 0.45f;
  int batch = 8, size = 0;
};

/// What the model says about suppression, with the command line's thresholds.
NmsOptions nms_options(const Model& model, const DetectArguments& arguments) {
  NmsOptions options;
  for (const auto& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    options.kind = yolo->nms == NmsKind::diou ? "diou" : "greedy";
    options.beta = yolo->nms_beta;
  }
  options.iou = arguments.nms;
  options.score = arguments.confidence;
  options.max_detections = std::numeric_limits<int>::max();  // who wants fewer raises --conf
  return options;
}

/// Where an annotated picture goes: the image's own name, with .jpg behind it when pictures of that kind
/// cannot be written.
fs::path picture_path(const fs::path& folder, const fs::path& image) {
  std::string ending = image.extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool writable = ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".bmp";
  return folder / (image.filename().string() + (writable ? "" : ".jpg"));
}

void refuse_streams(const std::string& source) {
  const bool camera = !source.empty() && source.find_first_not_of("0123456789") == std::string::npos;
  std::string ending = fs::path(source).extension().string();
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool video =
      ending == ".mp4" || ending == ".avi" || ending == ".mkv" || ending == ".mov" || ending == ".webm";
  if ((camera && !fs::exists(source)) || video || source.find("://") != std::string::npos) {
    throw InputError("this build looks at images, not at videos or cameras", source,
                     "Extract the frames into a folder and give that");
  }
}

int detect_objects(const DetectArguments& arguments) {
  const Precision precision =
      arguments.common.precision.empty() ? Precision::fp32 : parse_precision(arguments.common.precision);
  const auto backend = open_device(arguments.common.device, precision);
  refuse_streams(arguments.source);
  const auto images = find_images(arguments.source);
  const int batch = std::min<int>(arguments.batch, static_cast<int>(images.size()));
  InferenceNetwork inference(arguments.weights, *backend, precision, batch, arguments.size);
  if (!arguments.resize.empty()) inference.set_resize(parse_resize(arguments.resize));
  const auto& classes = inference.trained().classes;
  const std::string out = arguments.out.empty() && arguments.json.empty() ? "runs/detect" : arguments.out;
  if (!out.empty()) {
    std::error_code error;
    fs::create_directories(out, error);
    if (error)
      throw InputError("this folder cannot be made: " + error.message(), out, "Name another with --out");
  }

  Json answer = Json::array();
  int64_t objects = 0, seen = 0;
  const auto skipped =
      detect(inference, images, nms_options(inference.trained().model, arguments), [&](FoundObjects& found) {
        answer.push_back(
            to_json(found.file.string(), found.image.cols, found.image.rows, found.boxes, classes));
        objects += static_cast<int64_t>(found.boxes.size());
        ++seen;
        if (out.empty()) return;
        draw_detections(found.image, found.boxes, classes);
        write_image(picture_path(out, found.file), found.image);
      });
  for (const auto& [file, reason] : skipped) spdlog::warn("Skipped {}: {}.", file.string(), reason);
  if (seen == 0) throw InputError("none of the images could be read", arguments.source);
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(answer));
  spdlog::info("{} objects in {} images{}", objects, seen,
               skipped.empty() ? "" : fmt::format(" ({} could not be read)", skipped.size()));
  if (!out.empty()) spdlog::info("Pictures: {}", out);
  return 0;
}

}  // namespace

void add_detect(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("detect", "find objects in images with trained weights");
  const auto arguments = std::make_shared<DetectArguments>();
  command->add_option("--weights", arguments->weights, "safetensors of a run")->type_name("FILE")->required();
  command->add_option("--source", arguments->source, "an image or a folder of images")->required();
  command
      ->add_option("--out", arguments->out,
                   "folder for pictures with boxes; runs/detect unless --json is given")
      ->type_name("DIR");
  command->add_option("--json", arguments->json, "write the boxes there; - for standard output")
      ->type_name("FILE");
  command->add_option("--conf", arguments->confidence, "lowest score of an object")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--nms", arguments->nms, "overlap (IoU) from which the worse of two boxes goes")
      ->check(CLI::Range(0.0, 1.0));
  command
      ->add_option(
          "--resize", arguments->resize,
          "how images are brought to the input's size: antialiased, or exactly as darknet does; if not "
          "given, as the weights say (imported ones: darknet)")
      ->check(CLI::IsMember({"antialiased", "darknet"}));
  command->add_option("--batch", arguments->batch, "images at a time")->check(CLI::PositiveNumber);
  command->add_option("--size", arguments->size, "side of the input; 0: as trained")
      ->check(CLI::NonNegativeNumber);
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  command->callback([=, &action] { action = [arguments] { return detect_objects(*arguments); }; });
}

}  // namespace brightnet::cli
