// darknet's .weights: a header, then for each convolution in the order of the .cfg its biases (with
// batch-norm: shift, scale, running mean, running variance) and its weights in OIHW, all as fp32. There are
// no names or shapes: which values belong to which layer follows from the network, so that only the file's
// length and the validity of its running variances tell whether a file belongs to this network.
// (AlexeyAB/darknet, src/parser.c: load_weights_upto, load_convolutional_weights.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/weights.h"
#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

/// Little-endian; the count of images seen has 32 bits before version 0.2 and 64 from then on.
struct DarknetHeader {
  int32_t major = 0, minor = 2, revision = 5;
  uint64_t seen = 0;
  bool wide() const { return major * 10 + minor >= 2; }
  size_t bytes() const { return wide() ? 20 : 16; }
  bool is_plausible() const { return major >= 0 && major <= 9 && minor >= 0 && minor <= 99; }
};

/// Whether a file is darknet's rather than safetensors, by its first bytes or, if unreadable, its extension.
bool is_darknet_weights(const std::filesystem::path& file);

struct DarknetWeightsOptions {
  /// The network of the file's own .cfg; nullptr: the model itself, with any number of classes.
  const Model* network = nullptr;
  /// Take the convolutions before the first invalid one, instead of refusing the file.
  bool partial = false;
  /// The command has --weights-partial, so that an error may advise it.
  bool may_be_partial = false;
};

/// A prediction layer of a file for another number of classes, which the model has no place for.
struct DarknetPrediction {
  std::string layer;                ///< name of the layer in the model
  std::vector<float> weight, bias;  ///< parameters of all its channels in the file; weights in OHWI
};

/// The result of load_darknet_weights().
struct DarknetWeightsReport {
  DarknetHeader header;
  int convolutions = 0, all_convolutions = 0;  ///< convolutions that the file has, and all of the network
  /// darknet's count of the layers up to there, 137 for a yolov4.conv.137; none where darknet cannot have them.
  std::optional<int> layers;
  int classes = 0;  ///< number of classes of the file's heads
  MatchReport match;
  std::vector<DarknetPrediction> predictions;  ///< prediction layers of the file, in the order of the network
  bool whole() const { return convolutions == all_convolutions; }
  /// "107 of 110 convolutions (the first 137 layers as darknet counts them)"; the latter where it has a count.
  std::string summary() const;
};

/// Overwrites parameters in `values` (in layout order) whose convolution the file has in the same shape.
///
/// The file is taken for the whole network when its length is that of the model, or that of the model with
/// another number of classes; the prediction layers then keep their values. It is taken for its first layers
/// when it ends where a layer does (as yolov4.conv.137). Anything else throws InputError with what was
/// expected and where the file ends, and so do numbers that cannot be of this network (a negative or infinite
/// running variance, a NaN), unless `partial`: then the convolutions up to the last batch-normalised one that
/// makes sense are taken. InputError when nothing fits.
DarknetWeightsReport load_darknet_weights(const std::filesystem::path& file, const Model& model,
                                          const ParameterLayout& layout, std::vector<float>& values,
                                          const DarknetWeightsOptions& options = {});

/// Writes the whole network atomically.
void save_darknet_weights(const std::filesystem::path& file, const Model& model,
                          const ParameterLayout& layout, const std::vector<float>& values,
                          const DarknetHeader& header = {});

}  // namespace brightnet
