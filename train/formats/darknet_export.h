// A model as a darknet .cfg, which darknet and OpenCV's DNN module read. With the .weights of
// darknet_weights.h it is the whole network; imported again it is the same model.
#pragma once

#include <string>

#include "layers/model.h"

namespace brightnet {

struct DarknetCfgOptions {
  int size = 0;            ///< side of the input in pixels; 0: the model's
  bool letterbox = false;  ///< how images are put into it
};

/// The text of a .cfg whose convolutions stand in the model's order, for the model's number of classes. What
/// a head says about training is written as far as darknet has it; box weights, class weights and
/// negative_weight it has not, and iou_normalizer is darknet's usual one. Throws InputError for what a .cfg
/// cannot say: a layer other than the first that reads the image.
std::string write_darknet_cfg(const Model& model, const DarknetCfgOptions& options = {});

}  // namespace brightnet
