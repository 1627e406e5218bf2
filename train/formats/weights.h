// A weights file: parameters by name, and in the metadata all that is needed to use them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/image/placement.h"
#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

/// A trained network, as a file holds it.
struct TrainedModel {
  Model model;
  std::vector<std::string> classes;
  int size = 416;          ///< side of the input it was evaluated at
  bool letterbox = false;  ///< how images were fitted into it
  /// How it came about: "epoch", "AP", …; for people.
  std::map<std::string, std::string> training;
  Resize resize =
      Resize::antialiased;  ///< whose resize `detect` and `eval` use; darknet's for imported weights

  InputFit fit() const { return {size, letterbox, resize}; }
};

/// "antialiased" or "darknet"; throws InputError for another name.
Resize parse_resize(const std::string& name);

/// Writes `values` (in the layout's order) atomically, fp32, convolution weights in OHWI.
void save_weights(const std::filesystem::path& file, const TrainedModel& trained,
                  const ParameterLayout& layout, const std::vector<float>& values);

/// What a weights file says about itself. Throws InputError when it is not one of brightnet's.
TrainedModel load_trained_model(const std::filesystem::path& file);

/// The values of every parameter of `layout`; InputError when one is missing, has another shape or is
/// not finite.
std::vector<float> load_weights(const std::filesystem::path& file, const ParameterLayout& layout);

/// A trained network with its numbers.
struct TrainedNetwork {
  TrainedModel trained;
  ParameterLayout layout;
  std::vector<float> values;  ///< in the layout's order
};
TrainedNetwork load_trained_network(const std::filesystem::path& file);

/// What load_matching_weights() did.
struct MatchReport {
  std::vector<std::string> taken;    ///< parameters that have the file's values now
  std::vector<std::string> left;     ///< parameters that keep their value: "name (why)"
  std::vector<std::string> ignored;  ///< tensors of the file that the model has no use for
};

/// Overwrites those of `values` that the file has by the same name and shape: a starting point for another
/// number of classes, say. Throws InputError when nothing fits.
MatchReport load_matching_weights(const std::filesystem::path& file, const ParameterLayout& layout,
                                  std::vector<float>& values);

}  // namespace brightnet
