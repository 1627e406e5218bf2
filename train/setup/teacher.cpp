#include "train/setup/teacher.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "core/sha256.h"
#include "core/text.h"
#include "detect/open_weights.h"
#include "formats/class_channels.h"
#include "formats/darknet/weights.h"
#include "formats/download/fetch.h"
#include "formats/foreign_weights.h"
#include "train/loop/device_memory.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The file itself; of published weights, where they are once they are fetched.
fs::path file_of(const RunConfig& config) {
  const std::string& teacher = config.train.teacher;
  std::error_code failed;
  if (fs::is_regular_file(teacher, failed)) return teacher;
  if (const auto published = find_published_weights(teacher)) return weights_folder() / published->file;
  throw InputError(
      "'train.teacher' names '" + teacher + "', which does not exist", config.where("train.teacher"),
      config.train.teacher_sha256.empty()
          ? "Give trained weights: a .safetensors file, or darknet's .weights with train.teacher_cfg."
          : "The run learns from this file: put it back, or say where it is now with --set train.teacher=FILE.");
}

void refuse_other_file(const RunConfig& config, const std::string& hash) {
  if (config.train.teacher_sha256.empty() || config.train.teacher_sha256 == hash) return;
  throw InputError(
      fmt::format("the teacher's file has another SHA-256, {}, than that of the run's teacher, {}", hash,
                  config.train.teacher_sha256),
      config.train.teacher, "Put back the file that the run began with, or start a new run with this one.");
}

/// That a run has, or has not, a teacher is decided where it begins.
void refuse_change(const RunConfig& config, const RunFolder& folder) {
  const bool has_one = !config.train.teacher.empty(), had_one = !config.train.teacher_sha256.empty();
  if (has_one == had_one) return;
  throw InputError(had_one ? "the run began with a teacher and cannot be resumed without it"
                           : "the run began without a teacher and cannot be resumed with one",
                   config.where("train.teacher"),
                   "Leave train.teacher as it was, or " + folder.new_run() + " instead.");
}

/// Keys that ask for something of a teacher, where there is none.
std::vector<const char*> idle_keys(const RunConfig& config) {
  const TrainOptions &train = config.train, usual;
  std::vector<const char*> keys;
  const auto add = [&](const char* key, bool asks, bool is_usual) {
    if (asks && (!is_usual || config.where(key).starts_with("--"))) keys.push_back(key);
  };
  add("train.teacher_cfg", !train.teacher_cfg.empty(), false);
  add("train.distill", train.distill > 0, train.distill == usual.distill);
  add("train.distill_features", train.distill_features > 0, train.distill_features == usual.distill_features);
  return keys;
}

/// A configuration's file may have them for the teacher that is named at times.
void refuse_idle_options(const RunConfig& config) {
  for (const char* key : idle_keys(config)) {
    const std::string place = config.where(key);
    if (!place.starts_with("--")) continue;
    throw InputError(fmt::format("'{}' is of runs with a teacher, and none is named", key), place,
                     "Name it, --set train.teacher=FILE, or leave this out.");
  }
}

void warn_of_idle_keys(const RunConfig& config) {
  for (const char* key : idle_keys(config))
    log::warn("{}: {} has no effect, as train.teacher names no teacher.", config.where(key), key);
}

/// How images come to the size of the input.
const char* words_of_fit(bool letterboxed) {
  return letterboxed ? "letterboxed" : "stretched";
}

void refuse_other_classes(const RunConfig& config, const TrainedModel& teacher,
                          const std::vector<std::string>& classes) {
  if (classes.empty() || match_classes(teacher.classes, classes).relation == ClassRelation::same) return;
  throw InputError(fmt::format("the teacher was trained for the classes {}, and the run's are {}",
                               enumerated(teacher.classes), enumerated(classes)),
                   config.train.teacher,
                   "Give a teacher of the same classes in the same order, or list them so: data.classes.");
}

void check_sizes(const RunConfig& config, const Model& teacher) {
  for (const InputSize& size : config.input_sizes()) {
    if (size.multiple_of(teacher.stride)) continue;
    throw InputError(fmt::format("the input of {} is no multiple of {}, the stride of the teacher '{}'",
                                 size.described(), teacher.stride, teacher.name),
                     config.where("train.size"),
                     "The teacher sees what the network sees. The nearest sizes are " +
                         nearest_input_sizes(size, teacher.stride) + '.');
  }
}

}  // namespace

void check_teacher(const RunConfig& config) {
  const TrainOptions& train = config.train;
  if (train.teacher.empty()) return refuse_idle_options(config);
  file_of(config);
  refuse_foreign_weights(train.teacher);
  if (is_darknet_weights(train.teacher) && train.teacher_cfg.empty()) {
    throw InputError("the teacher is darknet's weights, which do not contain a network description",
                     config.where("train.teacher"), "Give its .cfg: --set train.teacher_cfg=FILE.cfg.");
  }
  if (train.distill > 0 || train.distill_features > 0) return;
  throw InputError(
      "train.distill and train.distill_features are 0, so that nothing is learnt from train.teacher",
      config.where("train.teacher"), "Give one of them a weight, or no teacher.");
}

void open_teacher(RunConfig& config, const Model& model, const std::vector<std::string>& classes,
                  const RunFolder* old) {
  TrainOptions& train = config.train;
  if (old) refuse_change(config, *old);
  if (train.teacher.empty()) return warn_of_idle_keys(config);
  const fs::path file = file_of(config);
  TrainedModel teacher =
      open_weights({.weights = train.teacher, .cfg = train.teacher_cfg, .classes = classes});
  const std::string hash = sha256_of(file);
  refuse_other_file(config, hash);
  train.teacher_sha256 = hash;
  refuse_other_classes(config, teacher, classes);
  check_sizes(config, teacher.model);
  if (!old && teacher.letterbox != config.augment.letterbox) {
    log::warn(
        "The teacher was trained on {} images, and sees this run's, which are {}: augment.letterbox={} makes them alike.",
        words_of_fit(teacher.letterbox), words_of_fit(config.augment.letterbox), teacher.letterbox);
  }
  auto distillation = std::make_shared<Distillation>(
      make_distillation(model, teacher.model, train.distill, train.distill_features));
  distillation->teacher_layout = std::move(teacher.layout);
  distillation->teacher_values = std::move(teacher.values);
  config.distillation = std::move(distillation);
}

std::vector<float> with_adapters(const RunConfig& config, const Model& model, std::vector<float> values) {
  if (!config.distillation) return values;
  const Model& trained = trained_model(config, model);
  const ParameterLayout layout(trained), own(model);
  std::vector<float> all = initial_parameters(trained, layout, config.train.seed);
  for (const ParameterEntry& entry : own.entries())
    std::copy_n(values.begin() + static_cast<long>(entry.offset), entry.count,
                all.begin() + static_cast<long>(layout.find(entry.name)->offset));
  return all;
}

}  // namespace brightnet
