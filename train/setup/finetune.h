// Fine-tuning: loads pretrained weights, freezes layers and sets the layers' learning rates.
#pragma once

#include <string>
#include <vector>

#include "formats/weights.h"
#include "layers/parameters.h"
#include "train/config/config.h"
#include "train/setup/pretrained_boxes.h"

namespace brightnet {

/// Which layers train.freeze names; none while it is automatic. Throws InputError for a layer or block that the model
/// does not have, and when nothing is left to train.
std::vector<bool> frozen_layers(const Model& model, const TrainOptions& train);

/// Puts the layers of each block that train.fresh names in the block's place, so that the list has names of layers alone.
/// Throws InputError for a layer or block that the model does not have. Not for a run that is resumed: what it was
/// trained with stays as it is.
void name_fresh_layers(TrainOptions& train, const Model& model);

/// Sets the layers' rates: 0 for the frozen ones, 1 for the layers in `fresh`, `pretrained_rate` for all others, which are
/// the pretrained ones of a run with `weights`. For a run it is called once, when its configuration is complete. Throws
/// InputError as frozen_layers() does.
void set_rates(Model& model, const TrainOptions& train);

/// Loads train.weights (safetensors, or darknet's .weights) into `values`, logs what matches and what does
/// not, and adds the layers that it does not contain to train.fresh. The prediction layers are read by the
/// names of `classes`, which are the data set's: in their order, where the weights have them. Returns those that are for
/// other classes, for keep_boxes() once the run's heads are known.
std::vector<PretrainedPrediction> read_pretrained(TrainOptions& train, const Model& model,
                                                  const std::vector<std::string>& classes,
                                                  const ParameterLayout& layout, std::vector<float>& values);

/// The differences between the heads of pretrained prediction layers and those of the run that change what
/// their outputs mean (anchors, scale_xy, new_coords), as a message; "" when there are none.
std::string describe_other_heads(const TrainOptions& train, const Model& model);

/// How many of the model's convolutions have a rate of 0.
int frozen_convolutions(const Model& model);

}  // namespace brightnet
