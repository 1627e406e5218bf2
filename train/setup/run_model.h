// The model of a run: what its configuration names, with heads for the data set's classes.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"
#include "train/config/config.h"

namespace brightnet {

/// The model with heads for this many classes and the run's head options. Throws InputError when the run
/// names none, or its input sizes are no multiples of the model's stride.
Model load_model(const RunConfig& config, int classes);

/// A model and a configuration around it.
struct NamedModel {
  RunConfig config;
  Model model;
};
/// The model of MODEL.yaml or of darknet's X.cfg, or that of a run's CONFIG.yaml. `classes` ≤ 0: as many as
/// the file declares (or its data set has).
NamedModel read_model(const std::string& file, const std::vector<std::string>& assignments, int classes);

}  // namespace brightnet
