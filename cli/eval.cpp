// brightnet eval: the metrics of trained weights on a split of a data set.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/eval_pictures.h"
#include "cli/metrics_table.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "detect/evaluate/evaluate.h"
#include "detect/evaluate/metrics_json.h"
#include "detect/inference.h"
#include "formats/class_channels.h"
#include "formats/darknet/cfg.h"
#include "formats/darknet/weights.h"
#include "kernels/device/device.h"
#include "train/distributed/agreement.h"
#include "train/distributed/evaluation_ranks.h"
#include "train/run/progress_text.h"
#include "train/setup/preparation.h"
#include "train/setup/run_facts.h"

namespace brightnet::cli {
namespace {

struct EvalArguments {
  CommonOptions common;
  WeightsOptions weights;
  std::string split = "val", json, plots;
  bool no_plots = false;
  std::string tiles;
  int batch = 8;
  InputSize size;
  bool rect = false;
};

/// Gives the data set the weights' order of classes, which are matched by name. Throws InputError when they
/// are not the same.
void match_classes_by_name(const InferenceNetwork& inference, Dataset& dataset, const std::string& weights,
                           bool speaks) {
  const auto& trained = inference.trained().classes;
  const ClassMatch match = match_classes(trained, dataset.classes);
  if (match.relation == ClassRelation::same) return;
  if (match.relation == ClassRelation::numbered) {
    if (speaks)
      log::info(
          "The weights number their classes and do not name them: they are taken to be, in this order, {}.",
          fmt::join(dataset.classes, ", "));
    return;
  }
  if (match.relation != ClassRelation::reordered) {
    throw InputError(fmt::format("these weights were trained for the classes {}, and the data set has {}",
                                 fmt::join(trained, ", "), fmt::join(dataset.classes, ", ")),
                     weights, "Evaluate them on data with the classes they were trained for, in any order.");
  }
  if (speaks) {
    log::info("The data set lists the classes as {}, the weights as {}: they are matched by name.",
              fmt::join(dataset.classes, ", "), fmt::join(trained, ", "));
  }
  for (ImageRecord& image : dataset.images) {
    for (Annotation& object : image.annotations)
      object.class_id = match.source[static_cast<size_t>(object.class_id)];
  }
  dataset.classes = trained;
}

/// If the configuration is a .cfg, it is also the default --cfg of the weights.
TrainedModel load_weights(const EvalArguments& arguments, const Dataset& dataset) {
  WeightsOptions options = arguments.weights;
  const std::string& config = arguments.common.config;
  if (options.cfg.empty() && is_darknet_cfg(config) && is_darknet_weights(options.weights))
    options.cfg = config;
  return options.load(dataset.classes);
}

/// Refuses values that would be ignored: the weights contain the model and its input, and nothing is trained.
void refuse_idle_assignments(const std::vector<std::string>& assignments) {
  for (const std::string& assignment : assignments) {
    const std::string key = assignment.substr(0, assignment.find('='));
    const auto begins = [&](const char* part) { return key.rfind(part, 0) == 0; };
    if (begins("data.") || begins("loader.") || begins("evaluate.nms") || key == "train.precision" ||
        key == "train.log_every")
      continue;
    std::string remedy =
        "These have an effect: data., loader., evaluate.nms., train.precision and train.log_every.";
    if (key == "train.size" || key == "evaluate.size") remedy = "Set the size of the input with --size.";
    if (key == "train.batch" || key == "evaluate.batch") remedy = "Set the batch size with --batch.";
    throw InputError("'" + key + "' has no effect on an evaluation", "--set", remedy);
  }
}

std::filesystem::path plots_folder(const EvalArguments& arguments, const RunConfig& config) {
  if (!arguments.plots.empty()) return arguments.plots;
  return std::filesystem::path("runs") / "eval" / (config.name + '-' + arguments.split);
}

int evaluate_on_rank(const EvalArguments& arguments, Communicator& ranks) {
  RunConfig config;
  std::unique_ptr<Backend> backend;
  std::optional<InferenceNetwork> inference;
  std::optional<EvalPictures> pictures;
  Dataset dataset;
  const RankDevice device = common_device(ranks, [&] {
    arguments.common.check_ranks(ranks);
    return arguments.common.device_of(ranks);
  });
  prepare_together(ranks, [&] {
    refuse_idle_assignments(arguments.common.assignments);
    if (ranks.leads()) check_answer(arguments.json, "AP");
    config = load_run_config(arguments.common.config, arguments.common.all_assignments());
    if (!arguments.tiles.empty())
      config.data.tiles = parse_tiles(arguments.tiles, "--tiles", config.data.tiles);
    if (ranks.leads()) arguments.common.say_data();
    backend = open_device(device.name, config.train.precision.value_or(device.fast.precision));
    dataset = read_split(config, enum_value<Split>(arguments.split).value(), ranks.leads());
    choose_automatic(config, run_facts(config, nullptr, dataset, device, ranks));
    // No rank has more images than this, so a larger batch would only waste memory.
    const auto share = (static_cast<int64_t>(dataset.images.size()) + ranks.size() - 1) / ranks.size();
    const int batch =
        config.data.tiles ? arguments.batch : static_cast<int>(std::min<int64_t>(arguments.batch, share));
    inference.emplace(load_weights(arguments, dataset), *backend, config.train.precision, batch,
                      arguments.size, true);
    match_classes_by_name(*inference, dataset, arguments.weights.weights, ranks.leads());
    if (!arguments.no_plots)
      pictures.emplace(plots_folder(arguments, config), !arguments.plots.empty(), arguments.split, dataset,
                       ranks.leads());
  });
  DetectOptions options{.nms = for_model(config.evaluate.nms, inference->trained().model),
                        .workers = std::max(1, config.loader.workers.value()),
                        .tiles = config.data.tiles};
  if (arguments.rect) {
    if (config.data.tiles) {
      throw InputError("tiles are all of one shape, so rectangular batches have no effect", "--rect",
                       "Leave it out.");
    }
    options.rect = inference->begin_rect();
  }
  ProgressLine line(config.train.log_every);
  const auto images = static_cast<int64_t>(dataset.images.size());
  int64_t done = 0;  // the other ranks are about as far
  const auto see = [&](int index, std::span<const ScoredBox> boxes) {
    if (pictures) pictures->add(index, boxes);
    done = std::min(images, done + ranks.size());
    if (ranks.leads() && line.due()) line.show(evaluation_text(done, images));
    return true;
  };
  const Metrics metrics =
      *evaluate(inference->network(), dataset, inference->fit(), options, see, evaluation_ranks(ranks));
  line.clear();
  if (pictures) {
    pictures->write(metrics, fmt::format("{}, {} split", arguments.weights.weights, arguments.split), ranks);
  }
  if (!ranks.leads()) return 0;
  if (arguments.json != "-") std::cout << metrics_table(metrics) << std::endl;
  if (!arguments.json.empty()) {
    Json answer = to_json(metrics);
    answer["split"] = arguments.split;
    if (config.data.fold) answer["fold"] = to_text(config.data.fold);
    if (config.data.tiles) answer["tiles"] = to_text(config.data.tiles);
    write_answer(arguments.json, to_text(answer));
  }
  return 0;
}

int evaluate_weights(const EvalArguments& arguments) {
  if (arguments.common.must_launch()) return arguments.common.launch();
  const auto ranks = open_communicator();
  return run_as_rank(*ranks, [&] { return evaluate_on_rank(arguments, *ranks); });
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("eval", "compute the metrics of trained weights on a data set");
  const auto arguments = std::make_shared<EvalArguments>();
  arguments->common.needs_validation = true;
  arguments->common.add_config(*command);
  arguments->common.add_data(*command);
  arguments->weights.add(*command);
  command->add_option("--split", arguments->split, "val (default), train or test")
      ->check(CLI::IsMember(enum_names<Split>()));
  command
      ->add_option("--json", arguments->json, "write the metrics as JSON to this file; - for standard output")
      ->type_name("FILE");
  auto* plots = command->add_option(
      "--plots", arguments->plots,
      "folder for plots, the worst images and report.html; runs/eval/NAME-SPLIT if not given. Replaces only what "
      "this command wrote there");
  plots->type_name("DIR");
  command->add_flag("--no-plots", arguments->no_plots, "draw nothing")->excludes(plots);
  command->add_option("--batch", arguments->batch, "batch size (default: 8)")->check(at_least(1));
  add_input_size(*command, arguments->size, "the input in pixels (default: as recorded in the weights)", 0);
  auto* rect = command->add_flag(
      "--rect", arguments->rect,
      "rectangular batches: images letterboxed, of like shapes together, with the least padding");
  add_tiles(*command, arguments->tiles)->excludes(rect);
  arguments->common.add_fold(*command);
  arguments->common.add_ranks(*command);
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] { action = [arguments] { return evaluate_weights(*arguments); }; });
}

}  // namespace brightnet::cli
