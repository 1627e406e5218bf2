#include "train/setup/run_data.h"

#include "core/log.h"

namespace brightnet {

Dataset read_split(const RunConfig& config, Split split, bool speaks) {
  Dataset dataset = read_dataset(config.data, split);
  const std::string problems = summarize(dataset.problems);
  if (speaks && !problems.empty()) spdlog::warn("{}", problems);
  return dataset;
}

std::vector<std::string> class_names(const RunConfig& config) {
  if (!config.data.classes.empty()) return config.data.classes;
  return read_dataset(config.data, Split::train).classes;
}

}  // namespace brightnet
