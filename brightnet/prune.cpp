#include "brightnet/prune.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/enum_names.h"
#include "core/files.h"
#include "core/host_memory.h"
#include "core/json.h"
#include "core/log.h"
#include "core/output_files.h"
#include "core/printable.h"
#include "core/progress_line.h"
#include "data/loader/loader.h"
#include "detect/open_weights.h"
#include "formats/class_channels.h"
#include "layers/model/writer.h"
#include "layers/network.h"
#include "layers/pruning.h"
#include "train/setup/data_sets.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

constexpr const char* automatic = "auto";

FilterImportance parse_importance(const std::string& word) {
  if (const auto importance = enum_value<FilterImportance>(word)) return *importance;
  throw InputError("there is no importance '" + word + "'", "--by",
                   fmt::format("There are {}, {}.", automatic, fmt::join(channel_importances(), ", ")));
}

/// Measured in docs/deploy.md.
FilterImportance importance_of(const PruningOptions& options, const Model& model) {
  if (options.by != automatic) return parse_importance(options.by);
  if (!options.data.empty()) return FilterImportance::taylor;
  const bool has_scales =
      std::any_of(model.layers.begin(), model.layers.end(), [](const LayerDescription& layer) {
        const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
        return conv && conv->batch_norm;
      });
  return has_scales ? FilterImportance::scale : FilterImportance::norm;
}

void check(const PruningOptions& options) {
  if (options.out.empty())
    throw InputError("it is empty", "--out", "Name a folder for model.yaml and weights.safetensors.");
  if (!(options.keep > 0 && options.keep <= 1)) {
    throw InputError(fmt::format("'keep' is {} and must be above 0 and at most 1", options.keep), "--keep",
                     "It is the share of the FLOP that is left: 0.5 is half of them.");
  }
  if (options.multiple < 1)
    throw InputError(fmt::format("'multiple' is {} and must be at least 1", options.multiple), "--multiple");
  if (options.by != automatic && needs_gradients(parse_importance(options.by)) && options.data.empty()) {
    throw InputError(
        "the importance '" + options.by + "' is measured on training images, and no data were given", "--by",
        "Give --data: what the network was trained on, or another --by.");
  }
}

TrainedModel open_whole(const WeightsFiles& files) {
  TrainedModel trained = open_weights(files);
  if (trained.model.quantization.empty()) return trained;
  throw InputError("these weights are quantised: their scales are those of all of their channels",
                   files.weights.string(),
                   "Prune the weights that they were made from, fine-tune, and quantise what comes of it.");
}

/// Σ |w · ∂L/∂w| of each parameter over batches of augmented training images, as training sees them.
std::vector<float> taylor_sums(const TrainedModel& trained, const std::string& data) {
  constexpr int batches = 32, images_of_batch = 4;
  const NamedRun named(configuration_at(data, {}), false);
  named.say_data();
  RunConfig config = named.load();
  config.data.takes_settings = false;
  if (const auto tiles = trained.training.find("tiles");
      tiles != trained.training.end() && !config.data.tiles) {
    log::warn(
        "These weights were trained on tiles of larger pictures ({}), and channels are judged by whole pictures: give "
        "the run's own configuration as the data, or another with data.tiles.",
        tiles->second);
  }
  const Dataset images = training_images(config, read_split(config, Split::train));
  if (match_classes(trained.classes, images.classes).relation != ClassRelation::same) {
    throw InputError("these data have other classes than the weights, or in another order", data,
                     "Give what the network was trained on, or choose --by scale.");
  }
  Loader::Setup setup;
  setup.dataset = &images;
  setup.augment = config.augment;
  setup.augment.letterbox = trained.letterbox;
  setup.loader = config.loader;
  setup.batch = images_of_batch;
  setup.sizes = {trained.size};
  setup.channels = trained.model.channels;
  setup.seed = config.train.seed;
  setup.steps_per_epoch = batches;
  Loader loader(setup);
  const auto backend = make_cpu_backend();
  std::vector<float> values = trained.values, gradients(trained.layout.trainable_floats());
  const Parameters parameters{
      .layout = &trained.layout, .values = values.data(), .gradients = gradients.data()};
  Network network({.model = &trained.model,
                   .backend = backend.get(),
                   .parameters = &parameters,
                   .batch = images_of_batch,
                   .height = trained.size.height,
                   .width = trained.size.width});
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  std::vector<float> sums(values.size());
  ProgressLine line(10);
  for (int batch = 0; batch < batches; ++batch) {
    backend->finish_uploads();
    const Batch* const next = loader.next();
    BRIGHTNET_CHECK(next, "the loader ended early");
    network.set_batch(next->pixels, next->truths);
    network.forward_backward({}, false);
    backend->synchronize();
    for (size_t i = 0; i < gradients.size(); ++i) sums[i] += std::abs(trained.values[i] * gradients[i]);
    if (line.due()) line.show(fmt::format("gradients of {} of {} batches", batch + 1, batches));
  }
  line.clear();
  backend->finish_uploads();
  return sums;
}

/// What cuts the data as those were that a network was trained on; empty where it was on whole pictures.
std::string tiles_setting(const TrainedModel& trained, const std::string& data) {
  const auto tiles = trained.training.find("tiles");
  const bool has_own = !data.empty() && NamedRun(configuration_at(data, {}), false).load().data.tiles;
  if (tiles == trained.training.end() || has_own) return "";
  const std::string& text = tiles->second;  // "96,0.2"
  const size_t comma = text.find(',');
  return fmt::format(" --set 'data.tiles={{size: {}{}}}'", text.substr(0, comma),
                     comma == std::string::npos ? "" : ", overlap: " + text.substr(comma + 1));
}

double flop_of(const TrainedModel& trained) {
  const std::vector<double> flops = forward_flops(trained.model, trained.size);
  return std::accumulate(flops.begin(), flops.end(), 0.0);
}

size_t bytes_of(const ParameterLayout& layout) {
  size_t bytes = 0;
  for (const ParameterEntry& entry : layout.entries()) bytes += entry.count * sizeof(float);
  return bytes;
}

/// What was made of a network.
struct Pruning {
  TrainedModel before, after;
  FilterImportance by = FilterImportance::norm;
  /// For each layer why all of its channels had to stay; empty where they could go.
  std::vector<std::string> whole = {};

  double kept() const { return flop_of(after) / flop_of(before); }
};

/// `is_judged`: the layer's filters have an importance.
std::string reason_to_stay(const CoupledChannels& coupled, const std::vector<int>& sets, bool is_judged) {
  std::set<std::string> reasons;
  for (const int set : sets) reasons.insert(coupled.kept_for[set]);
  if (!reasons.contains("")) return fmt::format("{}", fmt::join(reasons, ", "));
  return is_judged ? "" : "without batch-norm";
}

Pruning prune_network(TrainedModel trained, const PruningOptions& options) {
  const FilterImportance by = importance_of(options, trained.model);
  const CoupledChannels coupled = couple_channels(trained.model);
  const auto importances =
      filter_importances(trained.model, trained.layout,
                         needs_gradients(by) ? taylor_sums(trained, options.data) : trained.values, by);
  const std::vector<bool> removed =
      choose_removed(trained.model, coupled, importances,
                     {.keep = options.keep, .multiple = options.multiple, .size = trained.size});
  TrainedModel left = trained;
  left.model = without_channels(trained.model, coupled, removed);
  left.layout = ParameterLayout(left.model);
  left.values =
      values_without_channels(trained.model, trained.layout, trained.values, coupled, removed, left.layout);
  for (const char* of_the_whole : {"AP", "AP50"}) left.training.erase(of_the_whole);
  Pruning pruning{.before = std::move(trained), .after = std::move(left), .by = by};
  pruning.after.training["pruned"] = fmt::format("{:.1f} % of the FLOP are left", 100 * pruning.kept());
  for (size_t i = 0; i < importances.size(); ++i)
    pruning.whole.push_back(reason_to_stay(coupled, coupled.sets[i], !importances[i].empty()));
  return pruning;
}

/// Calls f(before, after, why it is whole) for each convolution.
template <typename F>
void for_each_convolution(const Pruning& pruning, F&& f) {
  for (size_t i = 0; i < pruning.whole.size(); ++i) {
    const LayerDescription &before = pruning.before.model.layers[i], &after = pruning.after.model.layers[i];
    if (!std::holds_alternative<ConvAttributes>(before.attributes)) continue;
    f(before, after, before.channels == after.channels ? pruning.whole[i] : "");
  }
}

std::string text_of(const Pruning& pruning) {
  std::string text = fmt::format("{:<24} {:>8} {:>8}\n", "channels of", "before", "after");
  for_each_convolution(pruning, [&](const auto& before, const auto& after, const std::string& whole) {
    text += fmt::format("{:<24} {:>8} {:>8}  {}\n", before.name, before.channels, after.channels, whole);
  });
  const auto row = [&](const std::string& what, double before, double after, auto&& shown) {
    text += fmt::format("{:<24} {:>12} {:>12} {:>7.1f} %\n", what, shown(before), shown(after),
                        100 * after / before);
  };
  const TrainedModel &before = pruning.before, &after = pruning.after;
  text += fmt::format("\nby importance: {}\n{:<24} {:>12} {:>12} {:>9}\n", enum_name(pruning.by), "",
                      "before", "after", "left");
  row("GFLOP at " + before.size.described(), flop_of(before), flop_of(after),
      [](double flop) { return fmt::format("{:.3f}", flop / 1e9); });
  row("parameters", static_cast<double>(before.layout.trainable_parameters()),
      static_cast<double>(after.layout.trainable_parameters()),
      [](double count) { return fmt::format("{:.3f} M", count / 1e6); });
  row("weights", static_cast<double>(bytes_of(before.layout)), static_cast<double>(bytes_of(after.layout)),
      [](double bytes) { return format_bytes(bytes); });
  return text;
}

Json json_of(const Pruning& pruning, const PruningOptions& options) {
  const TrainedModel &before = pruning.before, &after = pruning.after;
  Json json{{"keep", options.keep},
            {"kept", pruning.kept()},
            {"by", enum_name(pruning.by)},
            {"size", before.size},
            {"flop_before", flop_of(before)},
            {"flop_after", flop_of(after)},
            {"parameters_before", before.layout.trainable_parameters()},
            {"parameters_after", after.layout.trainable_parameters()},
            {"bytes_before", bytes_of(before.layout)},
            {"bytes_after", bytes_of(after.layout)},
            {"layers", Json::array()}};
  for_each_convolution(pruning, [&](const auto& before, const auto& after, const std::string& whole) {
    json["layers"].push_back({{"name", before.name},
                              {"channels_before", before.channels},
                              {"channels_after", after.channels},
                              {"whole", whole}});
  });
  return json;
}

}  // namespace

std::vector<std::string> channel_importances() {
  return enum_names<FilterImportance>();
}

std::vector<std::filesystem::path> files_of_pruning(const std::filesystem::path& out) {
  return {out / "model.yaml", out / "weights.safetensors"};
}

PrunedNetwork prune(const PruningOptions& options) {
  check(options);
  const std::vector<std::filesystem::path> files = files_of_pruning(options.out);
  PrunedNetwork made{.model = files[0], .weights = files[1]};
  const WeightsFiles& read = options.weights;
  refuse_to_replace_inputs(files, {weights_file(read.weights), read.cfg, read.names});
  for (const auto& file : files) {
    if (!options.replace) refuse_to_replace(file);
  }
  check_folder(options.out, "--out");
  const Pruning pruning = prune_network(open_whole(read), options);
  if (std::abs(pruning.kept() / options.keep - 1) > pruning_tolerance) {
    log::warn(
        "{:.1f} % of the FLOP are left, not {:g} %: no step comes nearer without going below it. Of each layer at "
        "least an eighth and {} channels are left, in multiples of {} (--multiple).",
        100 * pruning.kept(), 100 * options.keep, fewest_channels, options.multiple);
  }
  const TrainedModel& after = pruning.after;
  prepare_folder(options.out, "--out");
  write_atomically(made.model, write_model_yaml(after.model, {"Pruned by `brightnet prune`."}));
  save_weights(made.weights, after);
  made.answer = {text_of(pruning), to_text(json_of(pruning, options))};
  made.fine_tuning = fmt::format(
      "brightnet train --model {} --weights {} --size {} --data {}{}{}", shell_path(made.model),
      shell_path(made.weights), after.size.text(), options.data.empty() ? "DATA" : shell_path(options.data),
      after.letterbox ? " --set augment.letterbox=true" : "", tiles_setting(after, options.data));
  return made;
}

}  // namespace brightnet
