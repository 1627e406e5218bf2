// Weights without training: the small run's model with random weights, which detects something everywhere.
#pragma once

#include <algorithm>
#include <filesystem>

#include "formats/weights.h"
#include "layers/model/reader.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {

inline std::filesystem::path write_small_weights(const SmallRun& run,
                                                 const std::vector<std::string>& classes = {"circle",
                                                                                            "square"}) {
  TrainedModel trained;
  trained.model = load_model(run.folder() / "model.yaml", static_cast<int>(classes.size()));
  trained.classes = classes;
  trained.size = 64;
  trained.layout = ParameterLayout(trained.model);
  const std::filesystem::path file = run.folder() / "weights.safetensors";
  trained.values = initial_parameters(trained.model, trained.layout, 3);
  // The initial biases of a head predict no object anywhere.
  for (const auto& entry : trained.layout.entries()) {
    if (entry.kind == ParameterKind::bias)
      std::fill_n(trained.values.begin() + static_cast<long>(entry.offset), entry.count, 0.0f);
  }
  save_weights(file, trained);
  return file;
}

}  // namespace brightnet::testing
