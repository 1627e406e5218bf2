#include "train/setup/resumed_ranks.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/log.h"
#include "core/text.h"
#include "train/loop/device_memory.h"
#include "train/run/checkpoint.h"
#include "train/setup/memory_advice.h"
#include "train/setup/preparation.h"

namespace brightnet {
namespace {

/// Images from which batch-norm computes its statistics.
int64_t images_of_a_statistic(const TrainOptions& train, const RanksBefore& pass) {
  return static_cast<int64_t>(pass.micro_batch) * (train.sync_bn ? pass.ranks : 1);
}

}  // namespace

void read_ranks_before(Preparation& run, const Communicator& ranks) {
  const RunState state = read_state(run.old->folder.state());
  const bool known = state.ranks > 0;  // not from earlier versions
  run.before = {.ranks = known ? state.ranks : ranks.size(),
                .micro_batch = known ? state.micro_batch : run.config.train.micro_batch.value_or(0)};
}

void keep_statistics(Preparation& run, const Communicator& ranks) {
  TrainOptions& train = run.config.train;
  if (!train.sync_bn || run.before.ranks == ranks.size() || run.old->sets_micro_batch ||
      !train.micro_batch.has_value())
    return;
  const int batch = batch_of_rank(train, ranks.size());
  const size_t budget = memory_budget(run.config, *run.backend) /
                        (run.backend->works_beside_host() ? 1 : static_cast<size_t>(ranks.local_size()));
  const auto is_possible = [&](int images) {
    return batch % images == 0 &&
           (images <= train.micro_batch ||
            (images <= most_countable_images(run.config) &&
             plan_run(run.config, run.model, *run.backend, images).memory.peak() <= budget));
  };
  auto images = static_cast<int>(
      std::clamp<int64_t>(images_of_a_statistic(train, run.before) / ranks.size(), 1, batch));
  while (!is_possible(images)) --images;
  run.old->changed |= images != train.micro_batch;
  train.micro_batch = images;
}

void remark_on_ranks(const Preparation& run, const Communicator& ranks) {
  if (!run.old || !ranks.leads()) return;
  const TrainOptions& train = run.config.train;
  const RanksBefore& before = run.before;
  if (before.ranks != ranks.size()) {
    log::info("The run had {} when its state was saved, and has {} now.",
              counted(before.ranks, "rank", "ranks"), ranks.size());
  }
  const int64_t saved = images_of_a_statistic(train, before),
                now = images_of_a_statistic(train, {ranks.size(), train.micro_batch});
  if (saved == 0 || now == saved) return;
  const int sharing = train.sync_bn ? ranks.size() : 1;
  const int64_t images = saved % sharing == 0 ? saved / sharing : 0;
  const bool divides = images > 0 && batch_of_rank(train, ranks.size()) % images == 0;
  log::warn(
      "Batch-norm computed its statistics from {} when the state was saved, and from {} now: the weights will be others "
      "than those of an uninterrupted run.{}",
      counted(saved, "image", "images"), now,
      divides ? fmt::format(" --set train.micro_batch={} restores that.", images) : "");
}

}  // namespace brightnet
