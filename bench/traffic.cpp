#include "bench/traffic.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "bench/measured_config.h"
#include "core/error.h"
#include "kernels/device/device.h"
#include "kernels/traffic.h"
#include "train/loop/training_step.h"

namespace brightnet {
namespace {

// Data sheets, in TB/s and TFLOP/s without sparsity. GeForce cards accumulate fp16 products in fp32 at half of
// their highest rate.
struct KnownCard {
  const char* name;
  double memory, half, tensor_float, single;
  int multiprocessors;
};
constexpr KnownCard known_cards[] = {
    {"h200", 4.8, 989, 494, 67, 132}, {"rtx4090", 1.008, 165, 83, 83, 128}, {"t4", 0.32, 65, 8.1, 8.1, 40}};
// What is reached of them: 4.0 TB/s and 780 TFLOP/s of an H200.
constexpr double reached_memory = 4.0 / 4.8, reached_flops = 780.0 / 989;

double flops_of(const KnownCard& card, Precision precision) {
  switch (precision) {
    case Precision::fp32: return card.single;
    case Precision::tf32: return card.tensor_float;
    case Precision::bf16:
    case Precision::fp16: return card.half;
    case Precision::int8: break;
  }
  return 0;
}

/// Steps on a device that only lists its work.
class ListedStep {
 public:
  ListedStep(const RunConfig& config, const Model& model, const TrafficOptions& options, bool fuses)
      : list_(options.card.multiprocessors, fuses),
        backend_(open_planner("cuda", options.precision)),
        config_(measured_config(config, options.batch, options.size, options.precision)),
        layout_(model),
        step_(
            {.config = config_, .model = model, .layout = layout_, .backend = *backend_, .evaluates = false},
            std::vector<float>(layout_.floats())),
        network_(step_.network(options.size)) {
    run();  // the first step also folds frozen layers
    list_.clear();
    run();
  }

  const std::vector<LaunchRecord>& records() const { return list_.records(); }
  Shape output_shape(int layer) const { return network_.output_shape(layer); }

 private:
  void run() {
    list_.set_layer(-1);
    network_.forward();
    network_.backward(step_.gradient_scale(), false, step_.optimizer().losses());
    list_.set_layer(-1);
    step_.update_only();
  }

  LaunchList list_;
  std::unique_ptr<Backend> backend_;
  RunConfig config_;
  ParameterLayout layout_;
  TrainingStep step_;
  Network& network_;
};

void add(WorkTraffic& sum, const LaunchRecord& record, const Card& card) {
  BRIGHTNET_CHECK(record.states_traffic, "a launch in " + record.name + ".cu does not state its traffic");
  const auto bytes = static_cast<double>(record.traffic.bytes());
  (record.convolution ? sum.convolution_bytes : sum.own_bytes) += bytes;
  sum.flops += record.flops;
  sum.launches += 1;
  sum.ceiling_s += std::max(bytes / card.bytes_per_s, record.flops / card.flops_per_s);
}

double number(std::string_view text, const std::string& whole) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > 0) return value;
  throw InputError("'" + whole + "' is not a card", "--card",
                   "Known are " + card_names() +
                       "; or write the TB/s of memory and the TFLOP/s that the card reaches: 1.5,200");
}

}  // namespace

std::string card_names() {
  std::string names;
  for (const KnownCard& card : known_cards) names += (names.empty() ? "" : ", ") + std::string(card.name);
  return names;
}

Card parse_card(const std::string& text, Precision precision) {
  for (const KnownCard& card : known_cards) {
    if (text == card.name) {
      return {card.name, reached_memory * card.memory * 1e12,
              reached_flops * flops_of(card, precision) * 1e12, card.multiprocessors};
    }
  }
  const size_t comma = text.find(',');
  const double memory = number(std::string_view(text).substr(0, comma), text);
  const double flops = number(
      comma == std::string::npos ? std::string_view() : std::string_view(text).substr(comma + 1), text);
  return {text, memory * 1e12, flops * 1e12, known_cards[0].multiprocessors};
}

StepTraffic count_traffic(const RunConfig& config, const Model& model, const TrafficOptions& options) {
  StepTraffic traffic;
  std::map<std::string, WorkTraffic> kernels;
  {
    const ListedStep step(config, model, options, true);
    for (size_t i = 0; i < model.layers.size(); ++i) {
      traffic.layers.push_back(
          {model.layers[i].name, Model::kind(model.layers[i]), step.output_shape(static_cast<int>(i)), {}});
    }
    traffic.layers.push_back({"input, update", "", {}, {}});
    for (const LaunchRecord& record : step.records()) {
      const size_t row = record.layer < 0 ? model.layers.size() : static_cast<size_t>(record.layer);
      add(traffic.layers[row].work, record, options.card);
      add(traffic.total, record, options.card);
      add(kernels[record.name], record, options.card);
    }
  }
  for (const auto& [name, work] : kernels) traffic.kernels.push_back({name, "", {}, work});
  std::sort(traffic.kernels.begin(), traffic.kernels.end(),
            [](const LayerTraffic& a, const LayerTraffic& b) { return a.work.ceiling_s > b.work.ceiling_s; });
  const ListedStep unfused(config, model, options, false);
  for (const LaunchRecord& record : unfused.records()) {
    if (!record.convolution) traffic.unfused_own_bytes += record.traffic.bytes();
  }
  return traffic;
}

}  // namespace brightnet
