// The teacher of a run: the trained network of train.teacher, from which the run's own learns (layers/distillation.h).
#pragma once

#include <string>
#include <vector>

#include "layers/distillation.h"
#include "train/config/config.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// Throws InputError for a train.teacher that is not there or is another program's, for weights without a loss, and for options
/// that ask something of a teacher (train.distill) where there is none.
void check_teacher(const RunConfig& config);

/// Opens the teacher for a run of this model and these classes (empty: not known yet), whose input sizes are chosen; without
/// one warns of keys that ask something of it. Sets RunConfig::distillation and train.teacher_sha256. `old`: the folder of a
/// run that is resumed. Throws InputError, naming both sides, for a teacher of other classes, heads or strides, and for another
/// file than the run began with.
void open_teacher(RunConfig& config, const Model& model, const std::vector<std::string>& classes,
                  const RunFolder* old = nullptr);

/// The values of `model` in the layout of trained_model(): with initial ones of the adapters.
std::vector<float> with_adapters(const RunConfig& config, const Model& model, std::vector<float> values);

}  // namespace brightnet
