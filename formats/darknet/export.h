// A model as a darknet .cfg, the reverse of formats/darknet/import.h. What a .cfg cannot express is
// an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/weights.h"
#include "layers/model/model.h"

namespace brightnet {

/// The text of a .cfg whose convolutions are in the model's order, for an input of `fit` (size 0: the
/// model's). It has what inference needs and the heads' loss; settings of training are darknet's defaults.
/// Throws InputError for a layer that darknet does not have.
std::string write_darknet_cfg(const Model& model, const InputFit& fit = {.size = 0});

/// How many layers darknet counts up to and including layer `index`; none where darknet cannot have one of them.
std::optional<int> darknet_layer_count(const Model& model, int index);

/// The values that a .weights gets. darknet adds 1e-5 to a running variance before taking its root, as this
/// program does; OpenCV's importer adds 1e-6 (modules/dnn/src/darknet/darknet_io.cpp), which changes a
/// channel of variance 1e-3 by half a percent, and the scores of a trained network by about 1e-3.
enum class DarknetNumbers : uint8_t {
  kept,   ///< the trained values, unchanged to the bit
  scaled  ///< values of scaled_to_large_variances(), by which darknet and OpenCV compute the same
};

constexpr std::string_view enum_name(DarknetNumbers numbers) {
  switch (numbers) {
    case DarknetNumbers::kept: return "kept";
    case DarknetNumbers::scaled: return "scaled";
  }
  return {};
}

constexpr bool are_scaled(DarknetNumbers numbers) {
  switch (numbers) {
    case DarknetNumbers::kept: return false;
    case DarknetNumbers::scaled: return true;
  }
  return false;
}

/// Returns values of the same network: each batch-normalised channel whose variance is below 1 has its
/// weights and mean multiplied by a power of two, and its variance increased to match, so that adding 1e-5 or
/// 1e-6 to it makes no difference (5e-6 of the result at most). Batch-norm cancels the factor, in training
/// too.
std::vector<float> scaled_to_large_variances(const ParameterLayout& layout, std::vector<float> values);

/// Writes NAME.cfg, NAME.weights and NAME.names. The header of the weights counts the images that darknet had
/// seen when the network was imported; otherwise 0. With kept numbers it also has the version of the imported
/// file, if that is 0.2 or later.
struct DarknetFiles {
  std::filesystem::path cfg, weights, names;
};
DarknetFiles export_darknet(const std::filesystem::path& folder, const std::string& name,
                            const TrainedModel& trained, DarknetNumbers numbers);

}  // namespace brightnet
