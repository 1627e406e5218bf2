// The limits are set so that noise does not cross them: a curve is judged by means over several evaluations,
// a class by at least a few objects. One cause, its evidence and one thing to change come first; what else is said
// advises nothing that contradicts them.
#include "train/report/closing_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <span>

#include <fmt/ranges.h>

namespace brightnet {
namespace {

constexpr size_t most_sentences = 4;

/// Scores of fewer validation objects say little, and of fewer objects of a class.
constexpr int64_t least_objects = 20, least_objects_of_class = 5;

/// A run's evaluations at its final input size.
struct Evaluations {
  /// NaN in `val_loss`: an older version made the evaluation.
  std::vector<double> epochs, AP, loss, val_loss;

  size_t count() const { return AP.size(); }
};

Evaluations evaluations_of(const MetricsTable& table) {
  Evaluations all;
  const int AP = table.column("AP"), loss = table.column("loss"), val_loss = table.column("val_loss");
  if (AP < 0 || loss < 0) return all;
  const double comparable_after = table.comparable_after();
  for (const auto& row : table.rows) {
    if (row[0] <= comparable_after) continue;
    const double score = row[AP], sum = row[loss];
    if (std::isnan(score) || std::isnan(sum)) continue;
    all.epochs.push_back(row[0]);
    all.AP.push_back(score);
    all.loss.push_back(sum);
    all.val_loss.push_back(val_loss < 0 ? std::nan("") : row[val_loss]);
  }
  return all;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / values.size();
}

/// How many evaluations a mean is over: a tenth of them, at least 3.
size_t window_of(const Evaluations& all) {
  return std::max<size_t>(3, all.count() / 10);
}

std::string percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

/// What helps where many objects have few pixels for the network, whatever they have in the photographs, by which COCO's
/// APs counts. "" where they have enough.
std::string small_objects(const RunOutcome& run) {
  constexpr double few_pixels = 16;
  const ObjectSizes& sizes = run.sizes;
  if (sizes.small <= 0 || sizes.small >= few_pixels) return "";
  const char* const help = sizes.shrunk >= 2    ? "cutting the images into tiles (data.tiles)"
                           : sizes.shrunk > 1.2 ? "a larger input (--size)"
                           : sizes.heads < 3
                               ? "a model with a finer prediction layer (--model yolov4-tiny-3l)"
                               : "photographing from nearer";
  const double side = std::max(1.0, std::ceil(sizes.small));
  return fmt::format(
      "a quarter of the objects have less than {0:.0f} x {0:.0f} pixels in the network's input, for which {1} helps",
      side, help);
}

std::string nothing_learned(const RunOutcome& run, const Evaluations& all) {
  constexpr double next_to_nothing = 0.02;
  if (run.best.AP50 == no_truths || run.best.AP50 > next_to_nothing) return "";
  if (all.count() < 2) {
    return fmt::format(
        "Next to nothing was detected (AP50 {:.3f}) in the only evaluation of this run: train longer (--epochs, or "
        "train.minutes).",
        run.best.AP50);
  }
  const bool loss_fell = all.loss.back() < 0.9 * all.loss.front();
  return fmt::format(
      "Next to nothing was detected (AP50 {:.3f}), {}.", run.best.AP50,
      !loss_fell
          ? "and the loss hardly fell: look at the labels in train_batch0.jpg and with `brightnet data check`; "
            "where they are right, try another optimizer.rate"
      : run.stopped_early
          ? "though the loss was falling: go on without train.patience (--resume, with --set train.patience=0)"
          : "though the loss was falling: train longer (--epochs, or train.minutes)");
}

std::string as_sentence(std::string text) {
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + '.';
}

constexpr const char* against_over_fitting =
    "more training images, or more varied ones, help most; where there are none, stronger augmentation (augment.*)";

bool tells(const TrainingImages& images) {
  return images.training.truths >= least_objects && images.validation.truths >= least_objects;
}

/// By how much more the last weights score on images that they were trained on; 0 where that says little.
double gap(const RunOutcome& run) {
  if (!run.training_images || !tells(*run.training_images)) return 0;
  return run.training_images->training.AP - run.training_images->validation.AP;
}

constexpr double large_gap = 0.15;

/// The validation score has fallen since its peak, while the training loss went on falling. Beside a large gap half the
/// fall is enough.
std::string validation_fell(const RunOutcome& run, const Evaluations& all) {
  const size_t window = window_of(all);
  if (all.count() < 3 * window) return "";
  size_t peak = 0;
  double highest = -1;
  for (size_t i = 0; i + window <= all.count(); ++i) {
    const double score = mean(std::span(all.AP).subspan(i, window));
    if (score > highest) {
      highest = score;
      peak = i;
    }
  }
  if (peak + 2 * window > all.count()) return "";
  const double last = mean(std::span(all.AP).last(window));
  const double loss_then = mean(std::span(all.loss).subspan(peak, window));
  const double loss_now = mean(std::span(all.loss).last(window));
  const double val_loss_then = mean(std::span(all.val_loss).subspan(peak, window));
  const double val_loss_now = mean(std::span(all.val_loss).last(window));
  const double least_fall = std::max(0.015, 0.05 * highest) * (gap(run) >= large_gap ? 0.5 : 1);
  if (highest - last < least_fall || loss_now >= loss_then || val_loss_now < val_loss_then) return "";
  return fmt::format(
      "It over-fits from about epoch {:.0f}: AP on the validation images fell from {:.3f} to {:.3f} while the training "
      "loss kept falling, from {:.3g} to {:.3g}; {}.",
      all.epochs[peak + window / 2], highest, last, loss_then, loss_now, against_over_fitting);
}

/// The same weights score far better on the images that they were trained on.
std::string knows_training_images(const RunOutcome& run) {
  if (gap(run) < large_gap) return "";
  const auto& [training, validation] = *run.training_images;
  if (validation.AP > 0.7 * training.AP) return "";
  return fmt::format(
      "It over-fits: the last weights score AP {:.3f} on training images (without augmentation) and {:.3f} "
      "on validation images; {}.",
      training.AP, validation.AP, against_over_fitting);
}

/// The validation loss has risen since its lowest, the training loss has fallen, and AP has not gained.
std::string validation_loss_rose(const Evaluations& all) {
  const size_t window = window_of(all);
  if (all.count() < 3 * window) return "";
  const auto mean_at = [&](const std::vector<double>& values, size_t i) {
    return mean(std::span(values).subspan(i, window));
  };
  const size_t end = all.count() - window;
  size_t least = end;
  for (size_t i = 0; i < end; ++i) {
    if (mean_at(all.val_loss, i) < mean_at(all.val_loss, least)) least = i;
  }
  const double then = mean_at(all.val_loss, least), now = mean_at(all.val_loss, end);
  if (least + window > end || !(now > 1.1 * then)) return "";
  if (mean_at(all.loss, end) >= mean_at(all.loss, least)) return "";
  if (mean_at(all.AP, end) > mean_at(all.AP, least) + 0.01) return "";
  return fmt::format(
      "It begins to over-fit from about epoch {:.0f}: the validation loss rose from {:.3g} to {:.3g} while "
      "the training loss fell, and AP gained nothing; {}.",
      all.epochs[least + window / 2], then, now, against_over_fitting);
}

std::string over_fitting(const RunOutcome& run, const Evaluations& all) {
  for (const std::string& sentence :
       {validation_fell(run, all), knows_training_images(run), validation_loss_rose(all)}) {
    if (!sentence.empty()) return sentence;
  }
  return "";
}

/// Not even the training images are known, and the run was not still improving.
std::string under_fitting(const RunOutcome& run) {
  if (!run.training_images || !tells(*run.training_images)) return "";
  const auto& [training, validation] = *run.training_images;
  if (training.AP50 >= 0.5 || gap(run) >= large_gap) return "";
  return fmt::format(
      "It under-fits: the last weights score only AP50 {:.3f} on images that they were trained on; {}.",
      training.AP50,
      run.stopped_early ? "since the score rose no more, take a larger model (--model)"
                        : "train longer (--epochs, or train.minutes)");
}

std::string still_improving(const RunOutcome& run, const Evaluations& all) {
  const size_t part = all.count() / 5;
  if (run.stopped_early || part < 2) return "";
  const double last = mean(std::span(all.AP).last(part));
  const double before = mean(std::span(all.AP).subspan(all.count() - 2 * part, part));
  if (last - before < std::max(0.01, 0.04 * last)) return "";
  return fmt::format(
      "It was still improving when it ended (AP {:.3f} in the last fifth of the run, {:.3f} in the fifth before): "
      "train longer (--epochs, or train.minutes).",
      last, before);
}

std::string unfit_anchors(const RunOutcome& run) {
  if (!run.anchor_recall || *run.anchor_recall >= 0.9) return "";
  return fmt::format(
      "The anchors fit only {} of the training boxes, which limits recall: leave them out of the YAML (head.anchors: "
      "auto), and they are fitted to the data.",
      percent(*run.anchor_recall));
}

enum class Cause {
  over_fits,
  improving,  ///< or under-fitting, for which training longer helps as well
  other,
};

/// What helps a network that finds too little or too roughly, without contradicting the cause.
const char* remedy(Cause cause, const char* otherwise) {
  switch (cause) {
    case Cause::over_fits: return "more varied training images help";
    case Cause::improving: return "longer training helps";
    case Cause::other: break;
  }
  return otherwise;
}

std::string badly_placed(const RunOutcome& run, Cause cause) {
  const Metrics& best = run.best;
  if (best.AP50 < 0.4 || best.AP75 == no_truths || best.AP75 > 0.4 * best.AP50) return "";
  return fmt::format(
      "Objects are found, but their boxes are badly placed (AP50 {:.3f}, AP75 {:.3f}): {}, where val_pred0.jpg shows "
      "that the labels are tight.",
      best.AP50, best.AP75, remedy(cause, "a larger input (--size) helps"));
}

/// The class with the fewest training objects among those that score far below the others.
std::string few_objects(const RunOutcome& run) {
  const auto& classes = run.best.per_class;
  const std::vector<int64_t>& objects = run.training_objects;
  if (objects.size() != classes.size() || classes.size() < 2) return "";
  const int64_t all = std::accumulate(objects.begin(), objects.end(), int64_t{0});
  const double even_share = all / static_cast<double>(classes.size());
  size_t rarest = classes.size();
  for (size_t i = 0; i < classes.size(); ++i) {
    const bool rare = objects[i] < 30 || static_cast<double>(objects[i]) < 0.2 * even_share;
    const bool bad = classes[i].truths >= least_objects_of_class && classes[i].AP50 < 0.75 * run.best.AP50;
    if (rare && bad && (rarest == classes.size() || objects[i] < objects[rarest])) rarest = i;
  }
  if (rarest == classes.size()) return "";
  return fmt::format(
      "Class {} has few objects, {} of the {} in training, and an AP50 of {:.3f}, where the mean of the classes is "
      "{:.3f}: label more of it, or weight it more (head.class_weights).",
      classes[rarest].name, objects[rarest], all, classes[rarest].AP50, run.best.AP50);
}

std::string confused(const RunOutcome& run) {
  const ConfusionMatrix& matrix = run.best.confusion;
  constexpr double least_share = 0.15;
  int from = -1, to = -1;
  double worst = least_share;
  for (int truth = 0; truth < matrix.classes; ++truth) {
    int64_t total = 0;
    for (int predicted = 0; predicted <= matrix.classes; ++predicted) total += matrix.at(predicted, truth);
    for (int predicted = 0; predicted < matrix.classes; ++predicted) {
      const int64_t taken = matrix.at(predicted, truth);
      if (predicted == truth || taken < least_objects_of_class) continue;
      const double share = taken / static_cast<double>(total);
      if (share <= worst) continue;
      worst = share;
      from = truth;
      to = predicted;
    }
  }
  if (from < 0) return "";
  const auto name = [&](int id) { return run.best.per_class[id].name; };
  return fmt::format(
      "{} of the objects of class {} are taken for {}: check that the two are labelled consistently "
      "(confusion_matrix.png, val_pred*.jpg).",
      percent(worst), name(from), name(to));
}

/// Judges by the precision and recall that the report shows.
std::string false_alarms_or_misses(const RunOutcome& run, Cause cause) {
  const OperatingPoint& point = run.best.best;
  if (point.f1 <= 0) return "";
  if (point.precision < 0.5 && point.precision <= point.recall) {
    return fmt::format(
        "Many detections are false alarms (precision {:.3f} at confidence {:.3f}): where val_pred0.jpg does not show "
        "them to be objects that nobody labelled, add training images without objects.",
        point.precision, point.score);
  }
  if (point.recall >= 0.65) return "";
  const std::string small = small_objects(run);
  return fmt::format("Many objects are missed (recall {:.3f} at confidence {:.3f}): {}.", point.recall,
                     point.score, small.empty() ? remedy(cause, "a larger model (--model) helps") : small);
}

}  // namespace

std::vector<std::string> closing_words(const RunOutcome& run) {
  if (run.best.truths < least_objects) return {};
  const Evaluations all = evaluations_of(run.curves);
  // Training longer does not help a network that knows its training images by heart.
  if (const std::string nothing = nothing_learned(run, all);
      !nothing.empty() && knows_training_images(run).empty())
    return small_objects(run).empty() ? std::vector{nothing}
                                      : std::vector{nothing, as_sentence(small_objects(run))};
  // One of them is the likeliest cause, and the remedies of the others contradict it.
  Cause cause = Cause::over_fits;
  std::string first = over_fitting(run, all);
  if (first.empty()) {
    cause = Cause::improving;
    first = still_improving(run, all);
  }
  if (first.empty()) {
    first = under_fitting(run);
    cause = first.empty() || run.stopped_early ? Cause::other : Cause::improving;
  }
  // Objects of a wrong class are both false alarms and missed ones.
  const std::string mixed = confused(run);
  std::vector<std::string> sentences;
  for (std::string& sentence :
       std::vector{first, unfit_anchors(run), badly_placed(run, cause), few_objects(run), mixed,
                   mixed.empty() ? false_alarms_or_misses(run, cause) : ""}) {
    if (!sentence.empty() && sentences.size() < most_sentences) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

}  // namespace brightnet
