#include "bench/inference_benchmark.h"

#include <algorithm>

#include "core/clock.h"
#include "core/random.h"
#include "core/threads.h"

namespace brightnet {
namespace {

constexpr int warm_up_runs = 3, profiled_runs = 5;

std::vector<uint8_t> random_pixels(const NetworkSetup& setup) {
  Random random(0, Purpose::test);
  std::vector<uint8_t> pixels(static_cast<size_t>(setup.batch) * static_cast<size_t>(setup.size().pixels()) *
                              static_cast<size_t>(setup.model->channels));
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random.below(256));
  return pixels;
}

std::vector<LayerTime> quickest_passes(Network& network, const std::vector<uint8_t>& pixels) {
  std::vector<LayerTime> quickest;
  for (int round = 0; round < profiled_runs; ++round) {
    std::vector<LayerTime> times;
    network.profile(&times);
    network.set_pixels(pixels.data());
    network.infer();
    network.profile(nullptr);
    if (quickest.empty()) quickest = times;
    for (size_t i = 0; i < times.size(); ++i)
      quickest[i].forward = std::min(quickest[i].forward, times[i].forward);
  }
  return quickest;
}

}  // namespace

InferenceBenchmark measure_inference(InferenceNetwork& inference, double seconds, int min_rounds) {
  Network& network = inference.network();
  const NetworkSetup& setup = network.setup();
  Backend& backend = *setup.backend;
  const std::vector<uint8_t> pixels = random_pixels(setup);
  const auto run = [&] {
    network.set_pixels(pixels.data());
    network.infer();
    backend.synchronize();
  };
  for (int round = 0; round < warm_up_runs; ++round) run();
  std::vector<double> rounds;
  const double begin = seconds_now();
  while (static_cast<int>(rounds.size()) < min_rounds || seconds_now() - begin < seconds) {
    const double start = seconds_now();
    run();
    rounds.push_back(seconds_now() - start);
  }
  InferenceBenchmark result{.device = backend.name(),
                            .precision = setup.precision,
                            .batch = setup.batch,
                            .threads = compute_threads(),
                            .rounds = static_cast<int>(rounds.size()),
                            .size = setup.size(),
                            .seconds = median(rounds),
                            .least = *std::min_element(rounds.begin(), rounds.end()),
                            .peak_bytes = backend.peak_bytes()};
  const std::vector<LayerTime> passes = quickest_passes(network, pixels);
  for (int i = 0; i < network.layer_count(); ++i) {
    const LayerDescription& description = setup.model->layers[i];
    LayerBenchmark layer{.name = description.name,
                         .kind = Model::kind(description),
                         .output = network.output_shape(i),
                         .forward = passes[i].forward,
                         .implementation = network.implementation(i)};
    if (const ConvolutionSpec* spec = network.convolution(i)) layer.flops = spec->flops();
    result.flops += layer.flops;
    result.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace brightnet
