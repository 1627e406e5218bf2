#include "train/loop/kept_sets.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/error.h"
#include "core/log.h"
#include "formats/safetensors.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kept_format = "brightnet kept parameters";
constexpr const char *kept_prefix = "best-", *kept_suffix = ".safetensors";

}  // namespace

bool evaluates_average(int average, int64_t evaluations) {
  return average >= 2 && evaluations >= 2;
}

void keep_set(std::vector<KeptSet>& kept, const KeptSet& evaluation, int count) {
  kept.push_back(evaluation);
  const auto worse = [](const KeptSet& a, const KeptSet& b) {
    return a.score < b.score || (a.score == b.score && a.iteration < b.iteration);
  };
  while (static_cast<int>(kept.size()) > count) {  // more than one where `count` is lower after a resume
    kept.erase(std::min_element(kept.begin(), kept.end(), worse));
  }
}

fs::path KeptSets::file(int64_t iteration) const {
  return folder_.state().parent_path() / (kept_prefix + std::to_string(iteration) + kept_suffix);
}

void KeptSets::add(int64_t iteration, std::vector<float> values, const std::vector<KeptSet>& kept) {
  forget_others(kept);
  const auto set = std::make_shared<const std::vector<float>>(std::move(values));
  in_memory_[iteration] = set;
  const fs::path path = file(iteration);
  files_.write(path, set->size() * sizeof(float), [path, set] {
    write_safetensors(
        path, std::vector<SafetensorsEntry>{{"values", {static_cast<int64_t>(set->size())}, set->data()}},
        {{"format", kept_format}});
  });
}

void KeptSets::remove_others(const std::vector<KeptSet>& kept) {
  std::set<std::string> wanted;
  for (const KeptSet& one : kept) wanted.insert(file(one.iteration).filename().string());
  std::vector<fs::path> others;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_.state().parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kept_prefix) && name.ends_with(kept_suffix) && !wanted.contains(name))
      others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove(path, ignored);
  forget_others(kept);
}

void KeptSets::forget_others(const std::vector<KeptSet>& kept) {
  std::erase_if(in_memory_, [&](const auto& one) {
    // No structured binding: clang 16, which scripts/fuzz compiles with, has no lambda capture one under OpenMP.
    const int64_t iteration = one.first;
    if (one.second.expired()) return true;  // it is written
    const bool wanted =
        std::any_of(kept.begin(), kept.end(), [&](const KeptSet& k) { return k.iteration == iteration; });
    if (!wanted) files_.forget(file(iteration));
    return !wanted;
  });
}

std::vector<float> KeptSets::read(int64_t iteration) const {
  const auto found = in_memory_.find(iteration);
  if (found != in_memory_.end()) {
    if (const auto set = found->second.lock()) return *set;
  }
  SafetensorsReader reader(file(iteration));
  return reader.read("values", floats_);
}

std::pair<std::vector<float>, int> KeptSets::mean(const std::vector<KeptSet>& kept) const {
  std::vector<int64_t> iterations;
  for (const KeptSet& one : kept) iterations.push_back(one.iteration);
  std::sort(iterations.begin(), iterations.end());
  std::vector<double> sums(floats_);
  int sets = 0;
  for (const int64_t iteration : iterations) {
    try {
      const std::vector<float> values = read(iteration);
      for (size_t i = 0; i < floats_; ++i) sums[i] += static_cast<double>(values[i]);
      ++sets;
    } catch (const InputError& e) {
      log::warn("The weights after step {} are left out of the average: {}", iteration, e.what());
    }
  }
  std::vector<float> mean(floats_);
  for (size_t i = 0; i < floats_ && sets > 0; ++i) mean[i] = static_cast<float>(sums[i] / sets);
  return {std::move(mean), sets};
}

}  // namespace brightnet
