#include <algorithm>

#include <fmt/format.h>

#include "brightnet/evaluate.h"
#include "core/json.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "detect/evaluate/metrics_json.h"
#include "detect/evaluate/metrics_table.h"
#include "detect/open_weights.h"
#include "formats/darknet/cfg.h"
#include "formats/darknet/weights.h"
#include "formats/weights.h"
#include "train/distributed/agreement.h"
#include "train/report/progress_text.h"
#include "train/run/run_folder.h"
#include "train/setup/data_sets.h"
#include "train/setup/eval_pictures.h"
#include "train/setup/named_run.h"
#include "train/setup/preparation.h"
#include "train/setup/weights_evaluation.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// If the configuration is a .cfg, it is also the default .cfg of the weights.
TrainedModel load_weights(const WeightsReportOptions& options, const std::vector<std::string>& classes) {
  WeightsFiles files = options.weights;
  files.classes = classes;
  const std::string& config = options.run.config;
  if (files.cfg.empty() && is_darknet_cfg(config) && is_darknet_weights(files.weights)) files.cfg = config;
  return open_weights(files);
}

/// Where neither a configuration nor data are named: the run that made the weights, by whose folder they lie, says them.
WeightsReportOptions with_data_of_run(WeightsReportOptions options, bool speaks) {
  Configuration& run = options.run;
  if (!run.config.empty() || !run.data.empty() || options.weights.weights.empty()) return options;
  const fs::path weights = fs::absolute(weights_of_run(options.weights.weights));
  const RunFolder folder = RunFolder::at(fs::proximate(weights.parent_path().parent_path()));
  if (!folder.begun() || weights.parent_path().filename() != folder.best().parent_path().filename()) {
    throw InputError(
        "no data set was named, and these weights do not lie in the folder of the run that made them",
        options.weights.weights.string(),
        "Name the data: --data DATA, or a CONFIG.yaml. In runs/NAME/weights they are those of the run.");
  }
  run.config = folder.config().string();
  const RunConfig config = NamedRun(run).load(false);
  std::error_code failed;
  if (!fs::is_directory(config.data.root, failed)) {
    throw InputError(
        "the data of the run that made these weights are not there any more: " + config.data.root, run.config,
        "Name the folder in which they are now, --set data.root=FOLDER, or other data, --data DATA.");
  }
  if (speaks) log::info("Data: those of the run {}, {}.", folder.path().string(), config.data.root);
  return options;
}

fs::path plots_folder(const WeightsReportOptions& options, const RunConfig& config) {
  if (!options.plots.empty()) return options.plots;
  return fs::path("runs") / "eval" / (config.name + '-' + options.split);
}

Answer answer_of(const Metrics& metrics, const std::string& split, bool augmented, const DataOptions& data) {
  Json answer = to_json(metrics);
  answer["split"] = split;
  if (data.fold) answer["fold"] = to_text(data.fold);
  if (augmented) answer["augmented"] = true;
  if (data.tiles) answer["tiles"] = to_text(data.tiles);
  return {metrics_table(metrics) + '\n', to_text(answer)};
}

/// What the weights were trained for and are not evaluated with.
void say_how_they_were_trained(const WeightsEvaluation& evaluation, const Configuration& run) {
  const bool chosen = !run.precision.empty() || assigns(run.settings, "train.precision");
  if (!chosen) say_scales_are_not_used(evaluation.trained(), evaluation.config().train.precision.value());
  const auto& training = evaluation.trained().training;
  if (const auto tiles = training.find("tiles"); tiles != training.end() && !evaluation.config().data.tiles)
    log::warn("These weights were trained on tiles of larger pictures: --tiles {} evaluates in such tiles.",
              tiles->second);
}

}  // namespace

Answer report_weights(const WeightsReportOptions& asked, Ranks& all) {
  Communicator& ranks = all.communicator();
  WeightsReportOptions options = asked;
  std::optional<WeightsEvaluation> evaluation;
  std::optional<EvalPictures> pictures;
  const RankDevice device = common_device(all, options.device);
  prepare_together(ranks, [&] {
    options = with_data_of_run(asked, ranks.leads());
    if (ranks.leads()) NamedRun::evaluated(options.run, parse_split(options.split)).say_data();
    evaluation.emplace(
        options, [&](const auto& classes) { return load_weights(options, classes); }, device, ranks);
    if (ranks.leads()) say_how_they_were_trained(*evaluation, options.run);
    if (!options.no_plots)
      pictures.emplace(plots_folder(options, evaluation->config()), !options.plots.empty(), options.split,
                       evaluation->dataset(), ranks.leads());
  });
  const RunConfig& config = evaluation->config();
  ProgressLine line(config.train.log_every);
  const auto images = std::ssize(evaluation->dataset().images);
  int64_t done = 0;  // the other ranks are about as far
  const auto see = [&](int, std::span<const ScoredBox>) {
    done = std::min<int64_t>(images, done + ranks.size());
    if (ranks.leads() && line.due()) line.show(evaluation_text(done, images));
    return true;
  };
  const Metrics metrics = *evaluation->run(see, ranks);
  line.clear();
  if (pictures) {
    pictures->write(metrics, fmt::format("{}, {} split", options.weights.weights.string(), options.split));
  }
  return ranks.leads() ? answer_of(metrics, options.split, options.augment, config.data) : Answer();
}

}  // namespace brightnet
