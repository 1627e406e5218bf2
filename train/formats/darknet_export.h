// A model as a darknet .cfg: the other direction of darknet_import.h. What darknet cannot say is an error.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "layers/model.h"
#include "train/weights.h"

namespace brightnet {

/// The text of a .cfg whose convolutions stand in the model's order, for an input of `fit` (size 0: the
/// model's). It has what inference needs and what the heads' loss says; settings of training are darknet's
/// defaults. Throws InputError for a layer that darknet has not.
std::string write_darknet_cfg(const Model& model, const InputFit& fit = {.size = 0});

/// How many layers darknet counts up to layer `index` and with it.
int darknet_layer_count(const Model& model, int index);

/// Writes NAME.cfg, NAME.weights and NAME.names.
struct DarknetFiles {
  std::filesystem::path cfg, weights, names;
};
DarknetFiles export_darknet(const std::filesystem::path& folder, const std::string& name,
                            const TrainedModel& trained, const ParameterLayout& layout,
                            const std::vector<float>& values);

}  // namespace brightnet
