#include "kernels/cuda/timed_choice.h"

#include <algorithm>
#include <limits>

namespace brightnet::cuda {
namespace {

constexpr double shares = 100;           ///< parts of the time left, of which a choice gets one
constexpr double worthwhile_runs = 1e4;  ///< runs that a search may take: few beside all steps of a training
constexpr int least_timed = 2;           ///< candidates timed at least: the best with a fusion and without
constexpr int most_compiled = 2;
constexpr float hopeless = 1.5f;  ///< factor on the fastest time: slower ones are not worth the repetitions

}  // namespace

int first_that_runs(const std::vector<Candidate>& candidates, bool compiled) {
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].compiled && !compiled) continue;
    if (candidates[i].time(0) >= 0) return static_cast<int>(i);
  }
  return -1;
}

TimingBudget::Choice TimingBudget::choose(const std::vector<Candidate>& candidates) {
  if (left_ <= 0) {
    const int ready = first_that_runs(candidates, false);
    return {ready >= 0 ? ready : first_that_runs(candidates), false};
  }
  const double began = now_();
  const int index = fastest(candidates);
  left_ -= now_() - began;
  return {index, true};
}

int TimingBudget::fastest(const std::vector<Candidate>& candidates) const {
  const double began = now_(), share = left_ / shares;
  int best = -1, timed = 0, compiled = 0;
  float milliseconds = std::numeric_limits<float>::max();
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double enough = std::min(share, worthwhile_runs * 1e-3 * milliseconds);
    if (timed >= least_timed && now_() - began > enough) break;
    if (candidates[i].compiled && ++compiled > most_compiled) continue;
    const float taken = candidates[i].time(hopeless * milliseconds);
    if (taken < 0) continue;
    ++timed;
    if (taken >= milliseconds) continue;
    milliseconds = taken;
    best = static_cast<int>(i);
  }
  return best;
}

}  // namespace brightnet::cuda
