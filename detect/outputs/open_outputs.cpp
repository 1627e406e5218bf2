#include "detect/outputs/open_outputs.h"

#include <array>
#include <map>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "core/output_files.h"
#include "data/formats/yolo.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The JSON files by their options; empty: not requested.
std::array<std::pair<const char*, std::string>, 3> answer_files(const DetectionOptions& options) {
  return {{{"--json", options.json},
           {"--coco-json", options.coco_json},
           {"--darknet-json", options.darknet_json}}};
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
void protect_inputs(const DetectionOptions& options, const Source& source) {
  std::error_code error;
  const auto same = [&](const fs::path& a, const fs::path& b) {
    return !a.empty() && fs::equivalent(a, b, error);
  };
  const auto refuse = [](const std::string& what, const fs::path& place, const std::string& option) {
    throw InputError(what, place.string(), "Name another with " + option + '.');
  };
  // The folder of labels need not exist.
  const auto normal = [](const fs::path& path) { return without_slash(fs::absolute(path)); };
  const fs::path pictures = writes_pictures(options) ? pictures_folder(options) : fs::path();
  std::set<fs::path> checked;
  for (const fs::path& file : source.files()) {
    const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
    if (!checked.insert(folder).second) continue;
    if (same(pictures, folder))
      refuse("this folder contains the input images, which would be overwritten", folder, "--out");
    if (options.save_crops && lies_in(folder, crops_folder(options)))
      refuse("this folder contains input images, which crops would overwrite", folder, "--out");
    for (const fs::path& labels : label_folders(folder)) {
      if (same(options.txt, labels) || (!options.txt.empty() && normal(options.txt) == normal(labels)))
        refuse("this folder is for the images' ground-truth labels; detections would be mistaken for them",
               options.txt, "--txt");
    }
  }
  std::vector<fs::path> read = source.files();
  const WeightsFiles& weights = options.weights;
  read.insert(read.end(), {weights.weights, weights.cfg, weights.names, options.source, options.coco_ids});
  std::map<fs::path, const char*> written;
  for (const auto& [option, answer] : answer_files(options)) {
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

}  // namespace

bool writes_pictures(const DetectionOptions& options) {
  const bool others = !options.json.empty() || !options.coco_json.empty() || !options.darknet_json.empty() ||
                      !options.txt.empty() || options.save_crops;
  return !options.no_save && (!options.out.empty() || !others);
}

BoxStyle box_style(const DetectionOptions& options) {
  return {.line_width = options.line_width, .labels = !options.hide_labels};
}

fs::path pictures_folder(const DetectionOptions& options) {
  return options.out.empty() ? fs::path("runs/detect") : options.out;
}

fs::path crops_folder(const DetectionOptions& options) {
  return pictures_folder(options) / "crops";
}

void refuse_idle_outputs(const DetectionOptions& options) {
  if (options.save_conf && options.txt.empty())
    throw InputError("--save-conf requires --txt, which is not given", "--save-conf",
                     "Name the folder of the labels with --txt.");
  if ((options.line_width > 0 || options.hide_labels) && !writes_pictures(options) && !options.show)
    throw InputError("no boxes are drawn", options.hide_labels ? "--hide-labels" : "--line-width",
                     "Remove this option, or name a folder for pictures with --out.");
  if (!options.coco_ids.empty() && options.coco_json.empty())
    throw InputError("--coco-ids requires --coco-json, which is not given", "--coco-ids");
  if (!options.coco_ids.empty() && is_live_source(options.source))
    throw InputError("no annotations have the frames of a camera or stream", "--coco-ids",
                     "Leave it out: the id of a frame is its number then.");
  if (!options.out.empty() && options.no_save && !options.save_crops)
    throw InputError("with --no-save there is nothing to write there", "--out",
                     "Remove one of the two options.");
}

std::vector<std::unique_ptr<DetectionOutput>> open_outputs(const DetectionOptions& options,
                                                           const Source& source,
                                                           const std::vector<std::string>& classes) {
  protect_inputs(options, source);
  std::vector<std::unique_ptr<DetectionOutput>> outputs;
  outputs.push_back(line_output(classes, options.scores));
  if (!options.json.empty()) outputs.push_back(json_output(options.json, classes));
  if (!options.coco_json.empty()) {
    outputs.push_back(coco_json_output(
        options.coco_json, options.coco_ids.empty() ? CocoIds(source.files(), classes)
                                                    : CocoIds(fs::path(options.coco_ids), classes)));
  }
  if (!options.darknet_json.empty()) outputs.push_back(darknet_json_output(options.darknet_json, classes));
  if (!options.txt.empty()) {
    prepare_folder(options.txt, "--txt");
    outputs.push_back(text_label_output(options.txt, options.save_conf));
  }
  if (options.save_crops) {
    prepare_folder(pictures_folder(options), "--out");
    outputs.push_back(crop_output(crops_folder(options), classes));
  }
  if (writes_pictures(options)) {
    prepare_folder(pictures_folder(options), "--out");
    outputs.push_back(picture_output(pictures_folder(options), classes, box_style(options)));
  }
  check_outputs(outputs, source);
  return outputs;
}

}  // namespace brightnet
