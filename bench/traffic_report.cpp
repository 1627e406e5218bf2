#include <fmt/format.h>

#include "bench/measured_config.h"
#include "bench/traffic.h"
#include "core/json.h"

namespace brightnet {
namespace {

constexpr double giga = 1e9;

std::string row(const LayerTraffic& layer) {
  const WorkTraffic& work = layer.work;
  return fmt::format("{:<24} {:<14} {:>18} {:>9.3f} {:>9.3f} {:>10.1f} {:>8} {:>8.3f}\n", layer.name,
                     layer.kind, layer.output.count() > 0 ? to_string(layer.output) : "",
                     work.own_bytes / giga, work.convolution_bytes / giga, work.flops / giga, work.launches,
                     1e3 * work.ceiling_s);
}

std::string table(const StepTraffic& traffic, const TrafficOptions& options) {
  std::string text = fmt::format("{:<24} {:<14} {:>18} {:>9} {:>9} {:>10} {:>8} {:>8}\n", "layer", "kind",
                                 "output (n,h,w,c)", "own GB", "conv. GB", "GFLOP", "launches", "ms");
  for (const LayerTraffic& layer : traffic.layers) text += row(layer);
  text += "\nby source file\n";
  for (const LayerTraffic& kernel : traffic.kernels) text += row(kernel);
  text += fmt::format(
      "\ntraining step, {}, batch {} at {}, counted from its plan\n"
      "  own kernels {:.1f} GB ({:.1f} GB without cuDNN's fusions)   convolutions {:.1f} GB, {:.1f} TFLOP   "
      "{} launches\n"
      "  at the ceilings of {} ({:.2f} TB/s, {:.0f} TFLOP/s): {:.1f} ms, {:.0f} images/s\n",
      enum_name(options.precision), options.batch, options.size.described(), traffic.total.own_bytes / giga,
      traffic.unfused_own_bytes / giga, traffic.total.convolution_bytes / giga, traffic.total.flops / 1e12,
      traffic.total.launches, options.card.name, options.card.bytes_per_s / 1e12,
      options.card.flops_per_s / 1e12, 1e3 * traffic.total.ceiling_s,
      options.batch / traffic.total.ceiling_s);
  return text;
}

Json work_json(const WorkTraffic& work) {
  return {{"own_bytes", work.own_bytes},
          {"convolution_bytes", work.convolution_bytes},
          {"flop", work.flops},
          {"launches", work.launches},
          {"ceiling_ms", 1e3 * work.ceiling_s}};
}

Json answer(const Model& model, const StepTraffic& traffic, const TrafficOptions& options) {
  Json total = work_json(traffic.total);
  total["unfused_own_bytes"] = traffic.unfused_own_bytes;
  Json json{{"model", model.name},
            {"precision", std::string(enum_name(options.precision))},
            {"batch", options.batch},
            {"size", options.size},
            {"card", options.card.name},
            {"bytes_per_s", options.card.bytes_per_s},
            {"flop_per_s", options.card.flops_per_s},
            {"total", std::move(total)},
            {"layers", Json::array()},
            {"kernels", Json::array()}};
  for (const LayerTraffic& layer : traffic.layers) {
    Json one = work_json(layer.work);
    one["name"] = layer.name;
    one["kind"] = layer.kind;
    one["output"] = {layer.output.n, layer.output.h, layer.output.w, layer.output.c};
    json["layers"].push_back(std::move(one));
  }
  for (const LayerTraffic& kernel : traffic.kernels) {
    Json one = work_json(kernel.work);
    one["name"] = kernel.name;
    json["kernels"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

Answer count_step(const BenchmarkOptions& options) {
  check_ranges(options);
  TrafficOptions how;
  how.precision = options.precision.empty() ? Precision::fp16 : parse_precision(options.precision);
  how.card = parse_card(options.card, how.precision);
  if (options.batch > 0) how.batch = options.batch;
  const NamedModel named =
      read_measured_model(options, how.batch, {how.precision, true, "a GPU computes in it"});
  how.size = named.config.train.size.value();
  const StepTraffic traffic = count_traffic(named.config, named.model, how);
  return {table(traffic, how), to_text(answer(named.model, traffic, how))};
}

}  // namespace brightnet
