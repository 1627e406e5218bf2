// A weights file: the parameters by name, and in its metadata everything that is needed to use them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/image/placement.h"
#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

/// A trained network: what its file says about it, and its values.
struct TrainedModel {
  Model model;
  std::vector<std::string> classes;
  InputSize size = 416;                 ///< size of the input that it was evaluated at
  bool letterbox = false;               ///< whether images are letterboxed into the input or stretched
  Resize resize = Resize::antialiased;  ///< resize in `detect` and `eval`; darknet's for imported weights
  /// Says where the weights come from: "epoch", "AP", …; for people.
  std::map<std::string, std::string> training;
  ParameterLayout layout;     ///< layout of the parameters of `model`
  std::vector<float> values;  ///< values of the parameters, in the layout's order

  InputFit fit() const { return {size, letterbox, resize, model.channels}; }
};

/// "antialiased" or "darknet"; throws InputError for another name.
Resize parse_resize(const std::string& name);

/// Writes a weights file atomically: fp32, convolution weights in OHWI. `half`: the weights in fp16, which are nearly all of
/// the values; biases and batch-norm stay fp32, whose range they need. Throws InputError for a weight beyond fp16's range.
void save_weights(const std::filesystem::path& file, const TrainedModel& trained, bool half = false);

/// Returns for a run's folder the weights to use: the average of the best, which is there where it is better than they are,
/// else the best, else the last. Other paths as they are.
std::filesystem::path weights_of_run(const std::filesystem::path& given);

/// Reads a weights file. Throws InputError when it is not one of brightnet's, and as load_weights() does.
TrainedModel load_trained_model(const std::filesystem::path& file);

/// Reads a weights file except its values and layout; none for a safetensors file of another program.
std::optional<TrainedModel> describe_weights(const std::filesystem::path& file);

/// The values of every parameter of `layout`. Throws InputError when one is missing, has another shape or is
/// not finite.
std::vector<float> load_weights(const std::filesystem::path& file, const ParameterLayout& layout);

/// Sources of parameters, by their names: for each output channel, the file's channel that it is read from, or −1: it
/// keeps its value (formats/class_channels.h).
using ChannelSources = std::map<std::string, std::vector<int>>;

/// The result of load_matching_weights().
struct MatchReport {
  std::vector<std::string> taken;    ///< parameters that the file's values overwrote, all or in part
  std::vector<std::string> summed;   ///< the parameters in `taken` that are sums over RGB channels
  std::vector<std::string> left;     ///< parameters that keep their value: "name (why)"
  std::vector<std::string> ignored;  ///< tensors of the file that the model does not have
};

/// Overwrites the parameters in `values` that the file has by the same name and shape, for example to start
/// training for another number of classes. The parameters in `sources` are read channel by channel; those of `summed`
/// are summed over three input channels where the file has them for RGB and the model for grey
/// (formats/input_channels.h). Throws InputError when none match.
MatchReport load_matching_weights(const std::filesystem::path& file, const ParameterLayout& layout,
                                  std::vector<float>& values, const ChannelSources& sources = {},
                                  const std::set<std::string>& summed = {});

}  // namespace brightnet
