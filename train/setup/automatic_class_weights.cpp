#include "train/setup/automatic_class_weights.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/text.h"

namespace brightnet {
namespace {

// A class with very few objects would otherwise decide every step that it is in.
constexpr double lowest = 0.25, highest = 4;

double weight(double scale, int64_t objects) {
  return std::clamp(scale / objects, lowest, highest);
}

bool wants_class_weights(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const LayerDescription& layer) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    return yolo && yolo->automatic_class_weights;
  });
}

}  // namespace

std::vector<float> balanced_class_weights(const std::vector<int64_t>& objects) {
  std::vector<int64_t> occurring;
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(occurring),
               [](int64_t n) { return n > 0; });
  std::vector<float> weights(objects.size(), 1.0f);
  if (occurring.empty()) return weights;
  const auto mean = [&](double scale) {
    double sum = 0;
    for (const int64_t n : occurring) sum += weight(scale, n);
    return sum / occurring.size();
  };
  // The mean grows with the scale, from `lowest` to `highest`.
  double low = 0, high = highest * (*std::max_element(occurring.begin(), occurring.end()));
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (mean(middle) < 1 ? low : high) = middle;
  }
  for (size_t c = 0; c < objects.size(); ++c) {
    if (objects[c] > 0) weights[c] = static_cast<float>(weight(high, objects[c]));
  }
  return weights;
}

std::optional<Choice> choose_class_weights(RunConfig& config, const Dataset& train, const Model& model) {
  if (!wants_class_weights(model)) return std::nullopt;
  const std::vector<int64_t> objects = train.objects_of_classes();
  // Three digits, so that the configuration reads back as the same numbers.
  HeadClassWeights weights;
  for (const float factor : balanced_class_weights(objects))
    weights.list.push_back(static_cast<float>(*parse_number(fmt::format("{:.3g}", factor))));
  config.head.class_weights = weights;
  const auto [fewest, most] = std::minmax_element(objects.begin(), objects.end());
  return Choice{"head.class_weights", fmt::format("[{:g}]", fmt::join(weights.list, ", ")),
                fmt::format("rare classes count more: a class has from {} to {} objects", *fewest, *most)};
}

}  // namespace brightnet
