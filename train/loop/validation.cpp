#include "train/loop/validation.h"

#include <algorithm>

#include "train/distributed/evaluation_ranks.h"
#include "train/loop/kept_sets.h"

namespace brightnet {
namespace {

/// The mean of the scores with weights 1, 2, …, the newest having the greatest. Equal scores are their own
/// mean to the last bit.
double smoothed(const std::vector<double>& scores) {
  const double newest = scores.back();
  double sum = 0, weights = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto weight = static_cast<double>(i + 1);
    sum += weight * (scores[i] - newest);
    weights += weight;
  }
  return newest + sum / weights;
}

}  // namespace

int64_t evaluated_images(const Dataset& dataset, const TileOptions& tiles) {
  if (!tiles) return static_cast<int64_t>(dataset.images.size());
  size_t count = 0;
  for (const ImageRecord& image : dataset.images) count += tiles_of(image.width, image.height, tiles).size();
  return static_cast<int64_t>(count);
}

Validation::Validation(const RunConfig& config, const Model& model, const Dataset& dataset,
                       Communicator& communicator, EvaluationProgress progress)
    : config_(config),
      model_(model),
      dataset_(dataset),
      communicator_(communicator),
      progress_(std::move(progress)) {}

bool Validation::due(int64_t epoch, bool last) const {
  const EvaluateOptions& options = config_.evaluate;
  return last || (epoch >= options.start && (epoch - options.start) % options.every == 0);
}

std::optional<Metrics> Validation::run(Network& network, const std::stop_token& stop) {
  auto metrics = measure(network, stop);
  if (metrics) last_ = metrics;
  return metrics;
}

std::optional<Metrics> Validation::measure(Network& network, const std::stop_token& stop) {
  return measure(network, dataset_, stop, false);
}

std::optional<Metrics> Validation::measure(Network& network, const Dataset& images,
                                           const std::stop_token& stop) {
  return measure(network, images, stop, true);
}

std::optional<Metrics> Validation::measure(Network& network, const Dataset& images,
                                           const std::stop_token& stop, bool share_errors) {
  const InputFit fit{
      .size = network.setup().size(), .letterbox = config_.augment.letterbox, .channels = model_.channels};
  const PipelineOptions options{.nms = for_model(config_.evaluate.nms, model_),
                                .workers = std::max(1, config_.loader.threads()),
                                .tiles = config_.data.tiles};
  const auto all = static_cast<int64_t>(images.images.size());
  int64_t done = 0;  // the other ranks are about as far
  const auto sink = [&](int, std::span<const ScoredBox>) {
    done = std::min(all, done + communicator_.size());
    if (progress_) progress_(done, all);
    return !stop.stop_requested();
  };
  NetworkEngine engine(network);
  return evaluate(engine, images, fit, options, sink, evaluation_ranks(communicator_, share_errors));
}

double Validation::score(const Metrics& metrics) const {
  switch (config_.evaluate.best_by) {
    case BestBy::AP: return metrics.AP;
    case BestBy::AP50: return metrics.AP50;
  }
  return 0;
}

// Without ground truth in the validation split, no score is better than another, and the newest weights are
// kept as the best.
bool Validation::record_score(const Metrics& metrics, Progress& progress) {
  progress.evaluation = {progress.iteration, metrics.AP, metrics.AP50};
  std::vector<double>& recent = progress.recent_scores;
  recent.push_back(score(metrics));
  const auto window = static_cast<size_t>(config_.evaluate.smooth);
  if (recent.size() > window) recent.erase(recent.begin(), recent.end() - static_cast<long>(window));
  const double score = smoothed(recent);
  if (score != no_truths) keep_set(progress.kept, {progress.iteration, score}, config_.train.average);
  if (progress.best_epoch > 0 && score <= progress.best_score && score != no_truths) {
    ++progress.evaluations_since_best;
    return false;
  }
  progress.best_score = score;
  progress.best_epoch = static_cast<int>(progress.epoch) + (progress.step > 0 ? 1 : 0);
  progress.evaluations_since_best = 0;
  best_ = metrics;
  return true;
}

void Validation::begin_anew(Progress& progress) {
  progress.recent_scores.clear();
  progress.kept.clear();
  progress.best_score = -1;
  progress.best_epoch = 0;
  progress.evaluations_since_best = 0;
  progress.evaluation = {};
  best_.reset();
  last_.reset();
}

bool Validation::out_of_patience(const Progress& progress) const {
  const int patience = config_.train.patience;
  return patience > 0 && progress.evaluations_since_best >= patience;
}

}  // namespace brightnet
