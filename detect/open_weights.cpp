#include "detect/open_weights.h"

#include <system_error>
#include <utility>

#include "core/error.h"
#include "formats/darknet/trained.h"
#include "formats/download/fetch.h"
#include "formats/foreign_weights.h"

namespace brightnet {
namespace {

/// Published weights of this name, unless there is a file of that name.
std::optional<PublishedWeights> published(const std::filesystem::path& weights) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(weights, failed)) return std::nullopt;
  return find_published_weights(weights.string());
}

}  // namespace

TrainedModel open_weights(const WeightsFiles& files) {
  const auto& [weights, cfg, names, classes] = files;
  if (weights.empty()) {
    throw InputError("no weights were given", "",
                     "Give --weights best.safetensors, or darknet's --weights X.weights --cfg X.cfg.");
  }
  if (const auto known = published(weights)) {
    const FetchedNetwork network = fetch_network(*known);
    return open_weights(
        {network.weights, cfg.empty() ? network.cfg : cfg, names.empty() ? network.names : names, classes});
  }
  if (const auto of_run = weights_of_run(weights); of_run != weights)
    return open_weights({of_run, cfg, names, classes});
  refuse_foreign_weights(weights);
  if (!is_darknet_weights(weights)) {
    if (!cfg.empty() || !names.empty()) {
      throw InputError("--cfg and --names are for darknet's .weights, and this is a brightnet file",
                       weights.string(), "Leave them out: a .safetensors contains its model and classes.");
    }
    return load_trained_model(weights);
  }
  if (cfg.empty()) {
    throw InputError("these are darknet weights, which do not contain a network description",
                     weights.string(), "Give its .cfg with --cfg.");
  }
  DarknetTrained read = read_darknet_trained({cfg, weights, names, false, classes});
  if (!read.report.whole()) {
    throw InputError("it contains only " + read.report.summary(), weights.string(),
                     "`brightnet train` can start from it; this command needs the weights of all layers.");
  }
  return std::move(read.trained);
}

}  // namespace brightnet
