// The averaged parameters of a run's best evaluations, kept in its folder until the end: their mean often
// scores better than each of them (Izmailov et al. 2018, "Averaging weights leads to wider optima and better
// generalization"). Running statistics are averaged with the weights.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "train/run/output_files.h"
#include "train/run/progress.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// Whether a run ends with one more evaluation, of the average, if it has had this many: what a plan of its
/// time has to reserve. `average` is train.average.
bool evaluates_average(int average, int64_t evaluations);

/// Lists an evaluation if it is among the best `count`, and drops the worst of more than that. Of equal
/// scores the later is better.
void keep_set(std::vector<KeptSet>& kept, const KeptSet& evaluation, int count);

/// The files of the kept parameters, state/best-STEPS.safetensors; for rank 0.
class KeptSets {
 public:
  /// `folder` and `files` outlive this object. `floats`: the number of values in each set.
  KeptSets(const RunFolder& folder, OutputFiles& files, size_t floats)
      : folder_(folder), files_(files), floats_(floats) {}

  /// Writes the set of the evaluation after so many steps. While that fails, it stays in memory for as long as it
  /// is in `kept`.
  void add(int64_t iteration, std::vector<float> values, const std::vector<KeptSet>& kept);
  /// Removes all other sets. Call it once a state that lists `kept` is saved: an older one may need them.
  void remove_others(const std::vector<KeptSet>& kept);
  /// The mean of the kept sets, and their number: one that cannot be read is left out, with a warning.
  std::pair<std::vector<float>, int> mean(const std::vector<KeptSet>& kept) const;

 private:
  std::filesystem::path file(int64_t iteration) const;
  std::vector<float> read(int64_t iteration) const;
  void forget_others(const std::vector<KeptSet>& kept);

  const RunFolder& folder_;
  OutputFiles& files_;
  size_t floats_;
  /// The sets that are not written yet; OutputFiles owns them.
  std::map<int64_t, std::weak_ptr<const std::vector<float>>> in_memory_;
};

}  // namespace brightnet
