#include <utility>

#include <fmt/format.h>

#include "brightnet/data.h"
#include "core/enum_names.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "core/text.h"
#include "data/commands/check.h"
#include "data/commands/convert.h"
#include "data/commands/shard.h"
#include "data/commands/stats.h"
#include "train/config/models.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/automatic_size.h"
#include "train/setup/data_config.h"
#include "train/setup/data_sets.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

/// What is written of a data set: every split that it names, and with data.fold both of its parts, also where there is no
/// data.val. All are read before any is written, since the classes are written once for all of them.
std::vector<std::pair<Split, Dataset>> read_all_splits(const RunConfig& config) {
  std::vector<Split> splits = given_splits(config.data);
  std::vector<std::pair<Split, Dataset>> read;
  if (config.data.fold) {
    std::erase_if(splits, [](Split split) { return split != Split::test; });
    RunData parts = read_run_data(config);
    read.emplace_back(Split::train, std::move(parts.training));
    read.emplace_back(Split::val, std::move(parts.validation));
  }
  for (const Split split : splits) read.emplace_back(split, read_split(config, split));
  for (const auto& [split, dataset] : read) {
    if (dataset.classes == read.front().second.classes) continue;
    throw InputError(
        fmt::format("data.{} has other classes than data.{}", enum_name(split), enum_name(Split::train)), "",
        "List the names of all classes under data.classes.");
  }
  return read;
}

std::vector<Split> splits_of(const std::vector<std::pair<Split, Dataset>>& read) {
  std::vector<Split> splits;
  for (const auto& [split, dataset] : read) splits.push_back(split);
  return splits;
}

/// What anchors are wanted: those of the run's model; of data without a model, `count` of them for the size of train.size, or,
/// where one of the two is not given, as many and for a size as yolov4-tiny has. `of_model`: no configuration names a run,
/// so that where train.size is not said it is the model's own.
AnchorOptions wanted_anchors(RunConfig& config, const Dataset& dataset, int count, bool of_model) {
  if (config.model.empty() && count > 0 && config.train.size.has_value())
    return {.count = count,
            .size = config.train.size,
            .letterbox = config.augment.letterbox,
            .seed = config.train.seed};
  if (config.model.empty()) {
    constexpr const char* usual_model = "yolov4-tiny";
    config.model = model_file(usual_model, "").string();
    log::info("No model is named, so the anchors are as for {}; --model names another.", usual_model);
  }
  const Model model = load_model(config, static_cast<int>(dataset.classes.size()));
  if (of_model && !config.says("train.size")) config.train.size = model.size;
  choose_size(config, dataset, model);
  AnchorOptions options = anchor_options(config, model);
  if (count > 0) options.count = count;
  return options;
}

}  // namespace

RunConfig data_config(const Configuration& data) {
  const NamedRun named(with_data_for_config(data), false);
  RunConfig config = named.load();
  named.say_data();
  return config;
}

DataCheck check_data(const Configuration& data) {
  const CheckReport report = check_dataset(data_config(data).data);
  return {report.exit_code() == ExitCode::done, answer_of(report.text(), report.json())};
}

Answer count_data(const Configuration& data, const std::string& split) {
  const Split wanted = parse_split(split);
  const DatasetStats stats = dataset_stats(read_split(data_config(data), wanted));
  nlohmann::json json = stats.json();
  json["split"] = split;
  return answer_of(stats.text(), json);
}

Answer fit_anchors(const Configuration& data, int count, int height, int width) {
  const OptionRanges ranges("fit_anchors()");
  ranges.at_least(0, "count", count);
  ranges.input_size(height, width);
  Configuration sized = with_data_for_config(data);
  if (height > 0) sized.size = InputSize(height, width).text();
  RunConfig config = data_config(sized);
  const Dataset dataset = training_images(config, read_split(config, Split::train));
  const AnchorResult anchors =
      find_anchors(dataset, wanted_anchors(config, dataset, count, sized.config.empty()));
  return answer_of(anchors.text(), anchors.json());
}

std::vector<std::string> written_formats() {
  return enum_names<WrittenFormat>();
}

void convert_data(const Configuration& data, const std::string& format, const std::filesystem::path& folder,
                  bool copy) {
  const auto written = enum_value<WrittenFormat>(format);
  if (!written)
    throw InputError("data sets are not written in the format '" + format + "'", "", "It is yolo or coco.");
  const ConvertOptions options{*written, folder, copy};
  const RunConfig config = data_config(data);
  check_empty_folder(options.folder);
  check_outside(config.data, options.folder);
  const auto splits = read_all_splits(config);
  make_empty_folder(options.folder);
  for (const auto& [split, dataset] : splits) {
    const std::string lost = convert_split(dataset, split, options);
    if (!lost.empty()) log::warn("{}", lost);
    log::result("{}: {}", enum_name(split), counted(dataset.images.size(), "image", "images"));
  }
  write_names(splits.front().second.classes, splits_of(splits), options);
  log::result("Written: {}", options.folder.string());
}

void shard_data(const Configuration& data, const std::filesystem::path& folder, uint64_t bytes) {
  OptionRanges("shard_data()").at_least(1, "bytes", bytes);
  const RunConfig config = data_config(data);
  check_empty_folder(folder);
  check_outside(config.data, folder);
  const auto splits = read_all_splits(config);
  make_empty_folder(folder);
  for (const auto& [split, dataset] : splits) {
    const std::string lost = what_is_lost(dataset, WrittenFormat::yolo);
    if (!lost.empty()) log::warn("{}", lost);
    const int archives = shard_split(dataset, split, folder, bytes);
    log::result("{}: {} in {}", enum_name(split), counted(dataset.images.size(), "image", "images"),
                counted(archives, "archive", "archives"));
  }
  write_names_of_shards(splits.front().second.classes, splits_of(splits), folder);
  log::result("Written: {}", folder.string());
}

}  // namespace brightnet
