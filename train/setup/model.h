// The model of a run: what its configuration names, with heads for the data set's classes.
#pragma once

#include <string>

#include "layers/model/model.h"
#include "train/config/config.h"

namespace brightnet {

/// Throws InputError, with what there is, when the run names no model.
void require_model(const RunConfig& config);

/// The model with heads for this many classes and the run's head options; its layers' rates are set_rates()'s
/// (train/setup/finetune.h). Throws InputError when the run names none, when its input sizes are no multiples of the
/// model's stride, and for train.freeze as frozen_layers() does.
Model load_model(const RunConfig& config, int classes);

/// A model and a configuration around it.
struct NamedModel {
  RunConfig config;
  Model model;
};
/// The model of a MODEL.yaml, of a name, of darknet's X.cfg, or of a run's CONFIG.yaml. `classes` ≤ 0: as many as the
/// data set has or, without one, the file declares. With a data set among the overrides, they are those of a run;
/// otherwise those of a MODEL.yaml are of its own keys.
NamedModel read_model(const std::string& file, const Overrides& overrides, int classes);

}  // namespace brightnet
