// Weights without training: the small run's model as it is drawn, which finds something everywhere.
#pragma once

#include <algorithm>
#include <filesystem>

#include "layers/model/reader.h"
#include "tests/train/small_run.h"
#include "train/formats/weights.h"

namespace brightnet::testing {

inline std::filesystem::path write_small_weights(const SmallRun& run,
                                                 const std::vector<std::string>& classes = {"circle",
                                                                                            "square"}) {
  TrainedModel trained;
  trained.model = load_model(run.folder() / "model.yaml", static_cast<int>(classes.size()));
  trained.classes = classes;
  trained.size = 64;
  const ParameterLayout layout(trained.model);
  const std::filesystem::path file = run.folder() / "weights.safetensors";
  std::vector<float> values = initial_parameters(trained.model, layout, 3);
  // A fresh head's biases say that there is nothing anywhere.
  for (const auto& entry : layout.entries()) {
    if (entry.kind == ParameterKind::bias)
      std::fill_n(values.begin() + static_cast<long>(entry.offset), entry.count, 0.0f);
  }
  save_weights(file, trained, layout, values);
  return file;
}

}  // namespace brightnet::testing
