#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "bench/benchmark.h"
#include "bench/inference_benchmark.h"
#include "bench/kernel_benchmark.h"
#include "bench/measured_config.h"
#include "brightnet/benchmark.h"
#include "core/host_memory.h"
#include "core/json.h"
#include "data/loader/benchmark.h"
#include "detect/open_weights.h"
#include "kernels/device/device.h"
#include "train/loop/device_memory.h"
#include "train/setup/automatic_size.h"
#include "train/setup/data_sets.h"
#include "train/setup/heeded_keys.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

std::vector<Precision> precisions(const std::string& list, Precision fallback) {
  if (list.empty()) return {fallback};
  std::vector<Precision> all;
  std::stringstream in(list);
  for (std::string name; std::getline(in, name, ',');) all.push_back(parse_precision(name));
  return all;
}

std::vector<Precision> trainable_precisions(const std::string& list, Precision fallback) {
  const std::vector<Precision> all = precisions(list, fallback);
  if (std::find(all.begin(), all.end(), Precision::int8) != all.end()) {
    throw InputError("int8 is a precision of inference, and what is measured here trains", "--precision",
                     "Measure fp32, bf16 or fp16; or --inference, of weights that were quantised.");
  }
  return all;
}

/// Throws InputError for settings and classes, which what is measured does not take from the options.
void refuse_settings_and_classes(const BenchmarkOptions& options, const std::string& reason) {
  const std::string option = !options.settings.empty() ? "--set" : options.classes > 0 ? "--classes" : "";
  if (!option.empty()) throw InputError(reason + ", so this has no effect", option, "Leave it out.");
}

/// The keys that the loader's speed is measured with.
const HeededKeys& keys_of_loader() {
  static const HeededKeys keys{
      .by = "the measurement of the loader",
      .keys = {"data.", "augment.", "input.channels", "loader.decode", "train.size"},
      .remedies = {{"loader.workers", "Give the number of workers with --workers."},
                   {"loader.cache_mb", "Both are measured: with every image in the cache, and with none."},
                   {"train.batch", "Give the batch size with --batch."}}};
  return keys;
}

/// Refuses a precision that the device does not have before the first is measured.
void check_device(const BenchmarkOptions& options, const std::vector<Precision>& precisions) {
  for (const Precision precision : precisions) open_device(options.device, precision);
}

double milliseconds(double seconds) {
  return 1e3 * seconds;
}

Json step_json(const StepBenchmark& step) {
  Json json{{"device", step.device},
            {"precision", std::string(enum_name(step.precision))},
            {"batch", step.batch},
            {"size", step.size},
            {"recompute", step.recompute},
            {"threads", step.threads},
            {"rounds", step.rounds},
            {"images_per_s", step.images_per_second()},
            {"step_ms", milliseconds(step.step)},
            {"forward_ms", milliseconds(step.forward)},
            {"backward_ms", milliseconds(step.backward)},
            {"update_ms", milliseconds(step.update)},
            {"floor_ms", milliseconds(step.floor)},
            {"floor_ratio", step.floor_ratio()},
            {"gflops", step.flops / step.step / 1e9},
            {"gflop_per_step", step.flops / 1e9},
            {"peak_bytes", step.peak_bytes},
            {"layers", Json::array()}};
  for (const auto& layer : step.layers) {
    json["layers"].push_back({{"name", layer.name},
                              {"kind", layer.kind},
                              {"output", {layer.output.n, layer.output.h, layer.output.w, layer.output.c}},
                              {"forward_ms", milliseconds(layer.forward)},
                              {"backward_ms", milliseconds(layer.backward)},
                              {"floor_ms", milliseconds(layer.floor)},
                              {"forward_gflop", layer.flops / 1e9},
                              {"gradient_bytes", layer.gradient_bytes},
                              {"implementation", layer.implementation}});
  }
  return json;
}

std::string step_table(const StepBenchmark& step) {
  std::string text;
  if (!step.layers.empty()) {
    text = fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10} {:>10} {:>8}\n", "layer", "kind",
                       "output (n,h,w,c)", "forward", "backward", "floor", "ratio");
  }
  for (const auto& layer : step.layers) {
    const double both = layer.forward + layer.backward;
    text += fmt::format(
        "{:<24} {:<10} {:>18} {:>7.2f} ms {:>7.2f} ms {:>7.2f} ms {:>8}\n", layer.name, layer.kind,
        to_string(layer.output), milliseconds(layer.forward), milliseconds(layer.backward),
        milliseconds(layer.floor),
        layer.floor > 0 && both > 0 ? fmt::format("{:.2f}", layer.floor / both) : std::string("-"));
  }
  const std::string floor = step.floor > 0 ? fmt::format("bare convolutions {:.1f} ms: floor ratio {:.3f}   ",
                                                         milliseconds(step.floor), step.floor_ratio())
                                           : "";
  text += fmt::format(
      "\n{} {} on {} with {} threads, batch {} at {}{}, medians of {} rounds\n"
      "  {:.2f} images/s  step {:.1f} ms = forward {:.1f} + backward {:.1f} + update {:.1f}\n"
      "  {}{:.0f} GFLOP/s   peak {}\n",
      "training step,", enum_name(step.precision), step.device, step.threads, step.batch,
      step.size.described(), step.recompute ? ", activations recomputed" : "", step.rounds,
      step.images_per_second(), milliseconds(step.step), milliseconds(step.forward),
      milliseconds(step.backward), milliseconds(step.update), floor, step.flops / step.step / 1e9,
      format_bytes(static_cast<double>(step.peak_bytes)));
  return text;
}

Json inference_json(const InferenceBenchmark& inference) {
  Json json{{"device", inference.device},
            {"precision", std::string(enum_name(inference.precision))},
            {"batch", inference.batch},
            {"size", inference.size},
            {"threads", inference.threads},
            {"rounds", inference.rounds},
            {"images_per_s", inference.images_per_second()},
            {"ms", milliseconds(inference.seconds)},
            {"least_ms", milliseconds(inference.least)},
            {"gflops", inference.flops / inference.seconds / 1e9},
            {"peak_bytes", inference.peak_bytes},
            {"layers", Json::array()}};
  for (const auto& layer : inference.layers) {
    json["layers"].push_back({{"name", layer.name},
                              {"kind", layer.kind},
                              {"output", {layer.output.n, layer.output.h, layer.output.w, layer.output.c}},
                              {"ms", milliseconds(layer.forward)},
                              {"gflop", layer.flops / 1e9},
                              {"implementation", layer.implementation}});
  }
  return json;
}

std::string inference_table(const InferenceBenchmark& inference, bool layers) {
  std::string text;
  if (layers) {
    text = fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10}  {}\n", "layer", "kind", "output (n,h,w,c)",
                       "time", "GFLOP/s", "implementation");
    for (const auto& layer : inference.layers) {
      text += fmt::format(
          "{:<24} {:<10} {:>18} {:>7.3f} ms {:>10}  {}\n", layer.name, layer.kind, to_string(layer.output),
          milliseconds(layer.forward),
          layer.flops > 0 ? fmt::format("{:.0f}", layer.flops / layer.forward / 1e9) : std::string("-"),
          layer.implementation);
    }
    text += '\n';
  }
  return text + fmt::format(
                    "inference, {} on {} with {} threads, batch {} at {}: median of {} rounds\n"
                    "  {:.2f} images/s  {:.2f} ms, the quickest {:.2f}   {:.0f} GFLOP/s   peak {}\n",
                    enum_name(inference.precision), inference.device, inference.threads, inference.batch,
                    inference.size.described(), inference.rounds, inference.images_per_second(),
                    milliseconds(inference.seconds), milliseconds(inference.least),
                    inference.flops / inference.seconds / 1e9,
                    format_bytes(static_cast<double>(inference.peak_bytes)));
}

/// Trained weights, or a model with its first values: the speed of either is the same.
TrainedModel network_to_measure(const BenchmarkOptions& options) {
  std::error_code failed;
  if (options.model.ends_with(".safetensors") || std::filesystem::is_directory(options.model, failed)) {
    refuse_settings_and_classes(options, "weights have a model and classes of their own");
    return open_weights({.weights = weights_of_run(options.model)});
  }
  refuse_other_settings(options);
  NamedModel named = read_model(options.model, options.settings, options.classes);
  TrainedModel trained;
  trained.model = std::move(named.model);
  if (named.config.train.size.has_value()) trained.size = named.config.train.size;
  trained.layout = ParameterLayout(trained.model);
  trained.values = initial_parameters(trained.model, trained.layout, 1);
  return trained;
}

Json rate_json(const Rate& rate) {
  return {{"per_s", rate.per_second}, {"per_cpu_s", rate.per_cpu_second}};
}

void add(std::string& text, const std::string& part, const BenchmarkOptions& options) {
  text += part;
  if (options.measured) options.measured(part);
}

}  // namespace

Answer benchmark_step(const BenchmarkOptions& options) {
  check_ranges(options);
  StepBenchmarkOptions how;
  if (options.batch > 0) how.batch = options.batch;
  const NamedModel named = read_measured_model(options, how.batch, fast_precision(options.device));
  how.size = named.config.train.size.value();
  how.seconds = options.seconds;
  how.steps_only = options.steps_only;
  std::string text;
  Json answer{{"model", named.model.name}, {"results", Json::array()}};
  const auto precisions = trainable_precisions(options.precision, named.config.train.precision);
  check_device(options, precisions);
  for (const Precision precision : precisions) {
    how.precision = precision;
    // A new backend, so that peak_bytes is that of this precision.
    const auto backend = open_device(options.device, precision);
    const StepBenchmark step = measure_step(named.config, named.model, *backend, how);
    add(text, step_table(step) + '\n', options);
    answer["results"].push_back(step_json(step));
  }
  return {text, to_text(answer)};
}

Answer benchmark_inference(const BenchmarkOptions& options) {
  check_ranges(options);
  const TrainedModel trained = network_to_measure(options);
  const InputSize size = options.height > 0 ? InputSize(options.height, options.width) : InputSize(0);
  std::string text;
  Json answer{{"model", trained.model.name}, {"results", Json::array()}};
  const std::vector<Precision> all = precisions(options.precision, Precision::fp32);
  const auto network_in = [&](Precision precision, Backend& backend) {
    return InferenceNetwork(trained, backend,
                            {.precision = precision, .batch = std::max(1, options.batch), .size = size});
  };
  for (const Precision precision : all)  // refuses before the first is measured
    network_in(precision, *open_device(options.device, precision));
  for (const Precision precision : all) {
    const auto backend = open_device(options.device, precision);
    InferenceNetwork network = network_in(precision, *backend);
    const InferenceBenchmark measured = measure_inference(network, options.seconds);
    add(text, inference_table(measured, !options.steps_only) + '\n', options);
    answer["results"].push_back(inference_json(measured));
  }
  return {text, to_text(answer)};
}

Answer benchmark_kernels(const BenchmarkOptions& options) {
  check_ranges(options);
  const std::string reason = "the kernels are measured in fixed shapes, which are no model's";
  refuse_settings_and_classes(options, reason);
  if (options.height > 0) throw InputError(reason + ", so this has no effect", "--size", "Leave it out.");
  std::string text;
  Json answer{{"results", Json::array()}};
  const std::vector<Precision> precisions = trainable_precisions(options.precision, Precision::fp32);
  check_device(options, precisions);
  for (const Precision precision : precisions) {
    const auto backend = open_device(options.device, precision);
    const auto kernels = measure_kernels(*backend, precision, options.batch > 0 ? options.batch : 8);
    std::string table = fmt::format("{} in {}, relative to the bandwidth of a memory copy\n", backend->name(),
                                    enum_name(precision));
    for (const auto& kernel : kernels) {
      table +=
          fmt::format("{:<28} {:>18} {:>9.1f} GB/s {:>6.0f} % of copying\n", kernel.name,
                      to_string(kernel.shape), kernel.bytes / kernel.seconds / 1e9, 100 * kernel.copy_ratio);
      answer["results"].push_back(
          {{"device", backend->name()},
           {"precision", std::string(enum_name(precision))},
           {"kernel", kernel.name},
           {"shape", {kernel.shape.n, kernel.shape.h, kernel.shape.w, kernel.shape.c}},
           {"bytes", kernel.bytes},
           {"ms", milliseconds(kernel.seconds)},
           {"gb_per_s", kernel.bytes / kernel.seconds / 1e9},
           {"copy_ratio", kernel.copy_ratio}});
    }
    add(text, table, options);
  }
  return {text, to_text(answer)};
}

Answer benchmark_loader(const BenchmarkOptions& options) {
  check_ranges(options);
  refuse_other_settings(options);
  const bool run = options.data.ends_with(".yaml") && !is_data(options.data);
  const NamedRun data({.data = options.data, .settings = options.settings, .precision = options.precision},
                      false);
  if (!run) data.say_data();
  if (options.classes > 0)
    throw InputError("the classes are those of the data, so this has no effect", "--classes",
                     "Leave it out.");
  RunConfig config = run ? load_run_config(options.data, options.settings) : data.load();
  keys_of_loader().refuse_others(options.settings, "--set");
  const Dataset dataset = training_images(config, read_split(config, Split::train));
  LoaderBenchmarkOptions how;
  how.augment = config.augment;
  if (options.height > 0) config.train.size = InputSize(options.height, options.width);
  if (!config.train.size.has_value()) choose_size(config, dataset, Model());
  how.size = config.train.size;
  how.channels = config.input.channels == 1 ? 1 : 3;
  if (options.batch > 0) how.batch = options.batch;
  how.workers = options.workers;
  how.seconds = options.seconds;
  config.loader.workers = options.workers;
  std::unique_ptr<Backend> backend;
  std::unique_ptr<JpegDecoder> decoder;
  if (config.loader.decode != LoaderDevice::cpu) {
    backend = open_device(options.device, Precision::fp32);
    if (device_decodes(config, *backend))
      decoder = backend->make_jpeg_decoder(config.loader.decoded_at_once());
  }
  how.decoder = decoder.get();
  const LoaderBenchmark result = measure_loader(dataset, how);
  const auto line = [](const char* what, const Rate& rate) {
    return fmt::format("  {:<40} {:>9.0f} /s   {:>9.0f} per CPU second\n", what, rate.per_second,
                       rate.per_cpu_second);
  };
  std::string text = fmt::format("loader, {} workers, {}, {} images\n", result.workers, how.size.described(),
                                 result.images) +
                     line("samples, decoded images cached", result.cached) +
                     line("samples, nothing cached", result.uncached) +
                     line("images decoded by OpenCV, one thread", result.decode);
  Json answer{{"loader",
               {{"workers", result.workers},
                {"size", how.size},
                {"images", result.images},
                {"cached", rate_json(result.cached)},
                {"uncached", rate_json(result.uncached)},
                {"decode", rate_json(result.decode)}}}};
  if (const auto& pictures = result.pictures) {
    const double pixels = static_cast<double>(how.size.pixels()) * how.channels;
    text += line("samples for a GPU that paints, cached", pictures->cached) +
            line("samples for a GPU that paints, not cached", pictures->uncached) +
            (pictures->decoded ? line("the same, decoded by the GPU", *pictures->decoded) : "") +
            fmt::format("  a sample is then {} on the bus instead of {}; the CPU paints {:.1f} %\n",
                        format_bytes(pictures->bytes), format_bytes(pixels), 100 * pictures->painted);
    answer["loader"]["pictures"] = {{"cached", rate_json(pictures->cached)},
                                    {"uncached", rate_json(pictures->uncached)},
                                    {"bytes", pictures->bytes},
                                    {"painted", pictures->painted}};
    if (pictures->decoded) answer["loader"]["pictures"]["decoded"] = rate_json(*pictures->decoded);
  }
  return {text, to_text(answer)};
}

}  // namespace brightnet
