#include "train/loop/checkpoint_writer.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/files.h"
#include "core/log.h"
#include "core/threads.h"
#include "formats/weights.h"

namespace brightnet {
namespace {

void warn_of_changed_data(const char* split, const std::optional<SplitFingerprint>& before,
                          const SplitFingerprint& now, const char* consequence) {
  const std::string change = before ? describe_change(*before, now) : "";
  if (change.empty()) return;
  log::warn("The {} split has changed since this run's state was saved: {}. {}", split, change, consequence);
}

void warn_of_changed_threads(int before, int now) {
  if (before == now) return;
  log::warn(
      "This run computed with {} threads and now has {}: sums round differently, so its weights will not be "
      "bit-identical to those of an uninterrupted run. OMP_NUM_THREADS={} restores that.",
      before, now, before);
}

}  // namespace

CheckpointWriter::CheckpointWriter(const TrainingSetup& setup, const ParameterLayout& layout,
                                   const TrainingStep& step, const Validation& validation)
    : setup_(setup),
      layout_(layout),
      step_(step),
      validation_(validation),
      train_data_(fingerprint(setup.train)),
      val_data_(fingerprint(setup.val)),
      growing_(setup.config),
      kept_(setup.folder, setup.files, layout.floats()) {}

RunState CheckpointWriter::load() const {
  RunState state =
      load_state(setup_.folder.state(), step_.state_arrays(), describe_layout(layout_), setup_.backend);
  if (!setup_.communicator.leads()) return state;
  warn_of_changed_data(
      "training", state.train, train_data_,
      "Training continues on the current data; if unintended, restore the data and resume again.");
  warn_of_changed_data("validation", state.val, val_data_,
                       "Later scores are not comparable with the earlier ones.");
  warn_of_changed_threads(state.threads, compute_threads());
  return state;
}

void CheckpointWriter::save(const Progress& progress, bool last) {
  setup_.files.retry();
  // A finished run is not written again: its weights come before the state that says so. Weights without any state are those
  // of a run whose state was lost, which is not resumed: those of the first save come after it, or not at all, but at the
  // end, where they are worth more than what could be begun again.
  const bool first = !setup_.folder.saved();
  if (!first) save_last(progress);
  const auto write_state = [this, progress] {
    // A run that resumes from this state continues the table behind these rows.
    flush_file(setup_.folder.metrics());
    save_state(
        setup_.folder.state(),
        {progress, describe_layout(layout_), compute_threads(), validation_.best(), train_data_, val_data_,
         setup_.model.quantization, setup_.communicator.size(), setup_.config.train.micro_batch},
        step_.state_arrays(), setup_.backend);
    kept_.remove_others(progress.kept);
    std::error_code ignored;
    if (progress.averaged_score < 0) std::filesystem::remove(setup_.folder.averaged(), ignored);
  };
  if (last) {
    setup_.files.write(setup_.folder.state(), step_.state_bytes(), write_state);
  } else {
    setup_.files.write_newest(setup_.folder.state(), step_.state_bytes(), write_state);
  }
  if (first && (setup_.folder.saved() || last)) save_last(progress);
}

void CheckpointWriter::save_last(const Progress& progress) {
  write_weights(setup_.folder.last(), step_.averaged_parameters(), progress.evaluation, progress);
}

void CheckpointWriter::save_best(const Progress& progress) {
  write_weights(setup_.folder.best(), step_.averaged_parameters(), progress.evaluation, progress);
}

void CheckpointWriter::save_snapshot(const Progress& progress) {
  write_weights(setup_.folder.snapshot(progress.epoch), step_.averaged_parameters(), progress.evaluation,
                progress);
}

void CheckpointWriter::keep_set(const Progress& progress) {
  if (progress.kept.empty() || progress.kept.back().iteration != progress.iteration) return;
  kept_.add(progress.iteration, step_.averaged_parameters(), progress.kept);
}

/// Leaves out the adapters of a run with a teacher.
std::vector<float> CheckpointWriter::values_of_model(std::vector<float> values,
                                                     const ParameterLayout& layout) const {
  if (!setup_.config.distillation) return values;
  std::vector<float> own(layout.floats());
  for (const ParameterEntry& entry : layout.entries()) {
    const ParameterEntry* const trained = layout_.find(entry.name);
    BRIGHTNET_CHECK(trained, "a parameter of the model is not trained");
    std::copy_n(values.begin() + static_cast<long>(trained->offset), entry.count,
                own.begin() + static_cast<long>(entry.offset));
  }
  return own;
}

void CheckpointWriter::write_weights(const std::filesystem::path& file, std::vector<float> values,
                                     const LastEvaluation& evaluation, const Progress& progress) {
  const auto trained = std::make_shared<TrainedModel>(
      TrainedModel{.model = setup_.model,
                   .classes = setup_.train.classes,
                   .size = growing_.evaluation_size(progress),
                   .letterbox = setup_.config.augment.letterbox,
                   .training = {{"run", setup_.config.name},
                                {"epoch", std::to_string(progress.epoch)},
                                {"iteration", std::to_string(progress.iteration)}},
                   .layout = ParameterLayout(setup_.model),
                   .values = {}});
  trained->values = values_of_model(std::move(values), trained->layout);
  if (const TileOptions& tiles = setup_.config.data.tiles)
    trained->training["tiles"] = fmt::format("{},{:g}", tiles.size, tiles.overlap);
  if (evaluation.iteration == progress.iteration && evaluation.AP != no_truths) {
    trained->training["AP"] = fmt::format("{:f}", evaluation.AP);
    trained->training["AP50"] = fmt::format("{:f}", evaluation.AP50);
  }
  setup_.files.write(file, trained->values.size() * sizeof(float),
                     [file, trained] { save_weights(file, *trained); });
}

/// Both by one evaluation: the best score of the run is smoothed over several. A run that was made longer may
/// have an earlier average.
void CheckpointWriter::offer_average(std::vector<float> values, const Metrics& metrics, int sets,
                                     Progress& progress) {
  const double average = validation_.score(metrics), earlier = progress.averaged_score;
  const double best = validation_.best() ? validation_.score(*validation_.best()) : progress.best_score;
  const std::string name(enum_name(setup_.config.evaluate.best_by));
  const std::string compared = fmt::format(
      "The average of the weights of the {} best evaluations scores {} {:.4f}, ", sets, name, average);
  if (average <= best || average <= earlier) {
    const bool still_better = earlier > best;
    log::info("{}no better than {} ({:.4f}): it is not kept.", compared,
              still_better ? "an earlier average" : "the best of them", std::max(best, earlier));
    if (still_better || earlier < 0) return;
    progress.averaged_score = -1;
    return;
  }
  progress.averaged_score = average;
  progress.averaged_confidence = metrics.best.f1 > 0 ? metrics.best.score : -1;
  log::info("{}more than the best of them ({:.4f}): it is kept as well.", compared, best);
  if (setup_.communicator.leads()) {
    write_weights(setup_.folder.averaged(), std::move(values), {progress.iteration, metrics.AP, metrics.AP50},
                  progress);
  }
}

}  // namespace brightnet
