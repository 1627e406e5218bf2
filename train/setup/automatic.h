// The values of a configuration that are `auto`, chosen from the data, the machine and what the user gave.
// docs/defaults.md lists the rules; their numbers are the constants at the top of automatic.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device/device.h"
#include "train/config/config.h"

namespace brightnet {

/// The facts that values are chosen from. All but `free_memory` and `processors` is the same on all ranks; so
/// is what is chosen, except in the `loader:` section, which may differ.
struct RunFacts {
  /// Images that an epoch trains on: those of the training split or, with data.tiles, their tiles. 0:
  /// unknown, as for a large data set.
  int64_t images = 0;
  int64_t pictures = 0;           ///< images that tiles are cut from; 0: there are no tiles
  int64_t validation_images = 0;  ///< images of an evaluation, tiles counted singly; 0: unknown
  double decoded_bytes = 0;       ///< bytes of the training images' pixels; 0: unknown
  bool pretrained = false;        ///< the run starts from weights
  bool new_predictions = false;   ///< the run starts from weights that lack its prediction layers
  std::string first_convolution;  ///< name of the first convolution, where the weights have it; else empty
  int stride = 32;                ///< stride of the model; the sides of its input are multiples of it
  int64_t boxes = 0;              ///< boxes of the training images; 0: unknown
  /// A quarter of the training boxes are smaller than this: √area, as a fraction of the image's. 0: unknown.
  double small_box = 0;
  /// Multiplications and additions of a forward pass of one image, without the prediction layers, whose width
  /// depends on the classes. 0: unknown, taken to be those of yolov4-tiny at 416 pixels.
  double flops = 0;
  FastPrecision device;
  std::string no_jpeg_decoder = {};  ///< why the device decodes no JPEG files; empty: it does
  double free_memory = 0;            ///< free memory of this machine, in bytes
  int processors = 1;                ///< processors that this rank may use
  int threads = 1;                   ///< threads that compute on the CPUs, of all ranks together
  int ranks = 1, ranks_here = 1;     ///< number of all ranks, and of those of this machine
  int sharing_cores = 1;             ///< ranks, this one among them, that share `processors`
  bool keeps_cache = true;           ///< a given loader.cache_mb is meant for as many ranks as there are
};

/// A value that was chosen, as text, and why.
struct Choice {
  std::string key, value, reason;
};

/// Gives every automatic value of the configuration a value, and returns these choices in the order of the
/// configuration. What the user gave stays and counts as given: the epochs follow from a given batch. Four
/// stay automatic: train.epochs with train.minutes, which fills the time, train.micro_batch, which the device's memory
/// decides, and loader.paint and loader.decode, as the run may go on elsewhere. The head's values have files of their own:
/// anchors, class weights, the assignment.
std::vector<Choice> choose_automatic(RunConfig& config, const RunFacts& facts);

/// The choices as an aligned table, a line each.
std::vector<std::string> describe(const std::vector<Choice>& choices);

}  // namespace brightnet
