#include "train/setup/automatic_facts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "core/host_memory.h"
#include "core/processors.h"
#include "core/threads.h"
#include "train/report/loader_advice.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/automatic_size.h"
#include "train/setup/data_sets.h"

namespace brightnet {

namespace {

/// The quarter of all boxes that is smallest ends here: √area, as a fraction of the image's.
double small_box(const Dataset& dataset) {
  std::vector<double> sides;
  for (const ImageRecord& image : dataset.images) {
    const double pixels = static_cast<double>(image.width) * image.height;
    for (const Annotation& box : image.annotations) {
      if (!box.crowd && pixels > 0)
        sides.push_back(std::sqrt(static_cast<double>(box.x2 - box.x1) * (box.y2 - box.y1) / pixels));
    }
  }
  if (sides.empty()) return 0;
  const auto quarter = sides.begin() + sides.size() / 4;
  std::nth_element(sides.begin(), quarter, sides.end());
  return *quarter;
}

/// A picture has as many records as it has tiles.
int64_t pictures(const Dataset& dataset) {
  std::set<std::filesystem::path> files;
  for (const ImageRecord& image : dataset.images) files.insert(image.file);
  return static_cast<int64_t>(files.size());
}

/// Name of the network's first convolution, where it comes from the run's weights; otherwise empty.
std::string first_convolution(const Model& model, const TrainOptions& train) {
  if (train.weights.empty()) return "";
  const auto first = std::find_if(
      model.layers.begin(), model.layers.end(),
      [](const LayerDescription& layer) { return std::holds_alternative<ConvAttributes>(layer.attributes); });
  const bool fresh =
      first == model.layers.end() || std::ranges::find(train.fresh, first->name) != train.fresh.end();
  return fresh ? "" : first->name;
}

/// FLOP of all layers but those that heads read.
double flops(const Model& model, const InputSize& size) {
  std::vector<double> of_layers = forward_flops(model, size);
  for (const LayerDescription& layer : model.layers) {
    if (is_head(layer)) of_layers[layer.inputs[0]] = 0;
  }
  return std::accumulate(of_layers.begin(), of_layers.end(), 0.0);
}

}  // namespace

RunFacts run_facts(const RunConfig& config, const Model* model, const Dataset& training,
                   const RankDevice& device, const Communicator& ranks) {
  return {.images = static_cast<int64_t>(training.images.size()),
          .pictures = config.data.tiles ? pictures(training) : 0,
          .decoded_bytes = decoded_bytes(training),
          .pretrained = !config.train.weights.empty(),
          .new_predictions =
              model && !config.train.weights.empty() && !has_pretrained_predictions(*model, config.train),
          .first_convolution = model ? first_convolution(*model, config.train) : "",
          .stride = model ? model->stride : RunFacts().stride,
          .boxes = count_boxes(training),
          .small_box = small_box(training),
          .flops = model && config.train.size.has_value() ? flops(*model, config.train.size) : 0,
          .device = device.fast,
          .free_memory = static_cast<double>(free_host_memory()),
          .processors = usable_processors(),
          .threads = device.threads,
          .ranks = ranks.size(),
          .ranks_here = ranks.local_size(),
          .sharing_cores = ranks.sharing_cores()};
}

std::string choose_for_planning(RunConfig& config, const Model& model, const FastPrecision& device) {
  Dataset training;
  const bool sized = config.train.size.has_value();
  if ((!config.train.batch.has_value() || !sized) && !config.data.train.empty()) {
    try {
      training = training_images(config, read_split(config, Split::train, false), false);
    } catch (const InputError&) {
      training = {};  // planning needs no data
    }
  }
  if (!sized) choose_size(config, training, model);
  const bool assumed = !config.train.batch.has_value() && training.images.empty();
  choose_automatic(
      config, run_facts(config, &model, training, {"", device, compute_threads()}, Communicator::solo()));
  if (!assumed) return "";
  return fmt::format(
      "The training images are not known here, so a batch of {} is assumed, as for a large data set; --batch N "
      "sets another.",
      config.train.batch.value());
}

}  // namespace brightnet
