// brightnet bench: the speed of a training step, of single operations, or of the loader.
#include <iostream>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include "cli/bench_traffic.h"
#include "cli/commands.h"
#include "core/json.h"
#include "data/loader/benchmark.h"
#include "kernels/device/device.h"
#include "train/bench/benchmark.h"
#include "train/bench/kernel_benchmark.h"
#include "train/loop/memory.h"
#include "train/setup/automatic_size.h"
#include "train/setup/run_facts.h"

namespace brightnet::cli {
namespace {

struct BenchArguments {
  CommonOptions common;
  std::string json, card = "h200";
  int batch = 0, classes = 0, workers = 1;
  InputSize size;
  double seconds = 8;
  bool kernels = false, steps_only = false, traffic = false;
};

std::vector<Precision> precisions(const std::string& list, Precision fallback) {
  if (list.empty()) return {fallback};
  std::vector<Precision> all;
  std::stringstream in(list);
  for (std::string name; std::getline(in, name, ',');) all.push_back(parse_precision(name));
  return all;
}

double milliseconds(double seconds) {
  return 1e3 * seconds;
}

Json step_json(const StepBenchmark& step) {
  Json json{{"device", step.device},
            {"precision", std::string(enum_name(step.precision))},
            {"batch", step.batch},
            {"size", step.size},
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
      "\n{} {} on {} with {} threads, batch {} at {}, medians of {} rounds\n"
      "  {:.2f} images/s  step {:.1f} ms = forward {:.1f} + backward {:.1f} + update {:.1f}\n"
      "  {}{:.0f} GFLOP/s   peak {}\n",
      "training step,", enum_name(step.precision), step.device, step.threads, step.batch,
      step.size.described(), step.rounds, step.images_per_second(), milliseconds(step.step),
      milliseconds(step.forward), milliseconds(step.backward), milliseconds(step.update), floor,
      step.flops / step.step / 1e9, format_bytes(static_cast<double>(step.peak_bytes)));
  return text;
}

int bench_step(const BenchArguments& arguments) {
  check_answer(arguments.json, "model");
  NamedModel named = read_model(arguments.common.config, arguments.common.assignments, arguments.classes);
  StepBenchmarkOptions options;
  if (arguments.batch > 0) options.batch = arguments.batch;
  if (!named.config.train.batch.has_value()) named.config.train.batch = options.batch;
  if (arguments.size.given()) named.config.train.size = arguments.size;  // not `auto`
  choose_for_planning(named.config, named.model, fast_precision(arguments.common.device));
  options.size = arguments.size.given() ? arguments.size : named.config.train.size.value();
  options.seconds = arguments.seconds;
  options.steps_only = arguments.steps_only;
  Json answer{{"model", named.model.name}, {"results", Json::array()}};
  for (const Precision precision : precisions(arguments.common.precision, named.config.train.precision)) {
    options.precision = precision;
    // A new backend, so that peak_bytes is that of this precision.
    const auto backend = open_device(arguments.common.device, precision);
    const StepBenchmark step = measure_step(named.config, named.model, *backend, options);
    if (arguments.json != "-") std::cout << step_table(step) << std::endl;
    answer["results"].push_back(step_json(step));
  }
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(answer));
  return 0;
}

int bench_kernels(const BenchArguments& arguments) {
  check_answer(arguments.json, "results");
  Json answer{{"results", Json::array()}};
  for (const Precision precision : precisions(arguments.common.precision, Precision::fp32)) {
    const auto backend = open_device(arguments.common.device, precision);
    const auto kernels = measure_kernels(*backend, precision, arguments.batch > 0 ? arguments.batch : 8);
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
    if (arguments.json != "-") std::cout << table << std::flush;
  }
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(answer));
  return 0;
}

int count_step(const BenchArguments& arguments) {
  const CommonOptions& common = arguments.common;
  return bench_traffic(read_model(common.config, common.assignments, arguments.classes),
                       {arguments.batch, arguments.size, arguments.card, common.precision, arguments.json});
}

Json rate_json(const Rate& rate) {
  return {{"per_s", rate.per_second}, {"per_cpu_s", rate.per_cpu_second}};
}

int bench_loader(const BenchArguments& arguments) {
  check_answer(arguments.json, "loader");
  const CommonOptions& common = arguments.common;
  const bool run = common.data.ends_with(".yaml") && !is_data(common.data);
  if (!run) common.say_data();
  RunConfig config =
      run ? load_run_config(common.data, common.assignments) : load_run_config("", common.overrides());
  const Dataset dataset = training_images(config, read_split(config, Split::train));
  LoaderBenchmarkOptions options;
  options.augment = config.augment;
  if (arguments.size.given()) config.train.size = arguments.size;
  if (!config.train.size.has_value()) choose_size(config, dataset, Model());
  options.size = config.train.size;
  options.channels = config.input.channels == 1 ? 1 : 3;
  if (arguments.batch > 0) options.batch = arguments.batch;
  options.workers = arguments.workers;
  options.seconds = arguments.seconds;
  const LoaderBenchmark result = measure_loader(dataset, options);
  if (arguments.json != "-") {
    const auto line = [](const char* what, const Rate& rate) {
      return fmt::format("  {:<40} {:>9.0f} /s   {:>9.0f} per CPU second\n", what, rate.per_second,
                         rate.per_cpu_second);
    };
    std::cout << fmt::format("loader, {} workers, {}, {} images\n", result.workers, options.size.described(),
                             result.images)
              << line("samples, decoded images cached", result.cached)
              << line("samples, nothing cached", result.uncached)
              << line("images decoded by OpenCV, one thread", result.decode) << std::flush;
  }
  const Json answer{{"loader",
                     {{"workers", result.workers},
                      {"size", options.size},
                      {"images", result.images},
                      {"cached", rate_json(result.cached)},
                      {"uncached", rate_json(result.uncached)},
                      {"decode", rate_json(result.decode)}}}};
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(answer));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "bench", "measure the speed of a training step, of single operations, or of the loader");
  const auto arguments = std::make_shared<BenchArguments>();
  auto* model = command->add_option("model", arguments->common.config,
                                    "a model's name, or the YAML of a model or of a run");
  model->type_name("NAME|MODEL.yaml");
  auto* data =
      command->add_option("--data", arguments->common.data,
                          "measure the loader on this run's data, or on a data set as `train` takes it");
  data->type_name("CONFIG.yaml|DATA")->excludes(model);
  auto* kernels = command->add_flag("--kernels", arguments->kernels,
                                    "compare the bandwidth of all other operations with a memory copy");
  kernels->excludes(model)->excludes(data);
  command
      ->add_flag("--steps-only", arguments->steps_only, "skip the bare convolutions and the table of layers")
      ->needs(model);
  auto* traffic = command->add_flag(
      "--traffic", arguments->traffic,
      "count the bytes and operations of a training step on a GPU, from its plan: needs no GPU");
  traffic->needs(model);
  command
      ->add_option("--card", arguments->card,
                   "with --traffic: the ceilings for its time, one of " + card_names() +
                       ", or TB/s and TFLOP/s: 1.5,200")
      ->type_name("CARD")
      ->needs(traffic);
  command->add_option("--batch", arguments->batch, "images per step")->check(at_least(1));
  add_input_size(*command, arguments->size, "the input in pixels");
  command->add_option("--classes", arguments->classes, "number of classes; the file's if not given")
      ->check(at_least(1));
  command->add_option("--workers", arguments->workers, "with --data: number of loader threads")
      ->check(at_least(0));
  command->add_option("--seconds", arguments->seconds, "measuring time for each precision, in seconds")
      ->check(above_zero());
  command
      ->add_option("--json", arguments->json, "write the results as JSON to this file; - for standard output")
      ->type_name("FILE");
  command->add_option("--precision", arguments->common.precision, "one or more of fp32, tf32, bf16, fp16")
      ->type_name("P,...");
  arguments->common.add_device(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    if (model->count() + data->count() + kernels->count() == 0)
      throw CLI::RequiredError("MODEL.yaml, --data CONFIG.yaml or --kernels");
    const bool loader = data->count() > 0;
    action = [=] {
      if (arguments->kernels) return bench_kernels(*arguments);
      if (arguments->traffic) return count_step(*arguments);
      return loader ? bench_loader(*arguments) : bench_step(*arguments);
    };
  });
}

}  // namespace brightnet::cli
