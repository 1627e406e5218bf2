#include <algorithm>

#include <fmt/format.h>

#include "brightnet/evaluate.h"
#include "core/json.h"
#include "core/progress_line.h"
#include "detect/evaluate/metrics_json.h"
#include "detect/evaluate/metrics_table.h"
#include "detect/open_weights.h"
#include "formats/darknet/cfg.h"
#include "formats/darknet/weights.h"
#include "train/distributed/agreement.h"
#include "train/report/progress_text.h"
#include "train/setup/eval_pictures.h"
#include "train/setup/named_run.h"
#include "train/setup/preparation.h"
#include "train/setup/weights_evaluation.h"

namespace brightnet {
namespace {

/// If the configuration is a .cfg, it is also the default .cfg of the weights.
TrainedModel load_weights(const WeightsReportOptions& options, const std::vector<std::string>& classes) {
  WeightsFiles files = options.weights;
  files.classes = classes;
  const std::string& config = options.run.config;
  if (files.cfg.empty() && is_darknet_cfg(config) && is_darknet_weights(files.weights)) files.cfg = config;
  return open_weights(files);
}

std::filesystem::path plots_folder(const WeightsReportOptions& options, const RunConfig& config) {
  if (!options.plots.empty()) return options.plots;
  return std::filesystem::path("runs") / "eval" / (config.name + '-' + options.split);
}

Answer answer_of(const Metrics& metrics, const std::string& split, const DataOptions& data) {
  Json answer = to_json(metrics);
  answer["split"] = split;
  if (data.fold) answer["fold"] = to_text(data.fold);
  if (data.tiles) answer["tiles"] = to_text(data.tiles);
  return {metrics_table(metrics) + '\n', to_text(answer)};
}

}  // namespace

Answer report_weights(const WeightsReportOptions& options, Ranks& all) {
  Communicator& ranks = all.communicator();
  std::optional<WeightsEvaluation> evaluation;
  std::optional<EvalPictures> pictures;
  const RankDevice device = common_device(all, options.device);
  prepare_together(ranks, [&] {
    if (ranks.leads()) NamedRun(options.run).say_data();
    evaluation.emplace(
        options, [&](const auto& classes) { return load_weights(options, classes); }, device, ranks);
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
  return ranks.leads() ? answer_of(metrics, options.split, config.data) : Answer();
}

}  // namespace brightnet
