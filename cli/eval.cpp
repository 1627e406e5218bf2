// brightnet eval: the metrics of trained weights on a split of a data set.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/eval_pictures.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "detect/evaluate/metrics_json.h"
#include "detect/evaluate/metrics_table.h"
#include "formats/darknet/cfg.h"
#include "formats/darknet/weights.h"
#include "train/distributed/agreement.h"
#include "train/report/progress_text.h"
#include "train/setup/preparation.h"
#include "train/setup/weights_evaluation.h"

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

/// If the configuration is a .cfg, it is also the default --cfg of the weights.
TrainedModel load_weights(const EvalArguments& arguments, const std::vector<std::string>& classes) {
  WeightsOptions options = arguments.weights;
  const std::string& config = arguments.common.config;
  if (options.cfg.empty() && is_darknet_cfg(config) && is_darknet_weights(options.weights))
    options.cfg = config;
  return options.load(classes);
}

std::filesystem::path plots_folder(const EvalArguments& arguments, const RunConfig& config) {
  if (!arguments.plots.empty()) return arguments.plots;
  return std::filesystem::path("runs") / "eval" / (config.name + '-' + arguments.split);
}

EvaluationRequest request_of(const EvalArguments& arguments) {
  return {.config = arguments.common.config,
          .overrides = arguments.common.overrides(),
          .split = enum_value<Split>(arguments.split).value(),
          .open_weights = [&](const auto& classes) { return load_weights(arguments, classes); },
          .weights_name = arguments.weights.weights,
          .tiles = arguments.tiles,
          .batch = arguments.batch,
          .size = arguments.size,
          .rect = arguments.rect};
}

int evaluate_on_rank(const EvalArguments& arguments, Communicator& ranks) {
  std::optional<WeightsEvaluation> evaluation;
  std::optional<EvalPictures> pictures;
  const RankDevice device = common_device(ranks, [&] {
    arguments.common.check_ranks(ranks);
    return arguments.common.device_of(ranks);
  });
  prepare_together(ranks, [&] {
    if (ranks.leads()) check_answer(arguments.json, "AP");
    if (ranks.leads()) arguments.common.say_data();
    evaluation.emplace(request_of(arguments), device, ranks);
    if (!arguments.no_plots)
      pictures.emplace(plots_folder(arguments, evaluation->config()), !arguments.plots.empty(),
                       arguments.split, evaluation->dataset(), ranks.leads());
  });
  const RunConfig& config = evaluation->config();
  ProgressLine line(config.train.log_every);
  const auto images = std::ssize(evaluation->dataset().images);
  int64_t done = 0;  // the other ranks are about as far
  const auto see = [&](int index, std::span<const ScoredBox> boxes) {
    if (pictures) pictures->add(index, boxes);
    done = std::min<int64_t>(images, done + ranks.size());
    if (ranks.leads() && line.due()) line.show(evaluation_text(done, images));
    return true;
  };
  const Metrics metrics = *evaluation->run(see, ranks);
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
