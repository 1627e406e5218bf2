// brightnet bench: the speed of a training step, of single operations, or of the loader.
#include <iostream>
#include <memory>

#include "brightnet/benchmark.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

struct BenchArguments {
  std::string json;
  bool kernels = false, traffic = false, inference = false;
  BenchmarkOptions options;
};

int bench(BenchArguments arguments, const char* first_key, Answer (*measure)(const BenchmarkOptions&)) {
  BenchmarkOptions& options = arguments.options;
  bool printed = false;
  if (arguments.json != "-") {
    options.measured = [&](const std::string& text) {
      std::cout << text << std::flush;
      printed = true;
    };
  }
  return answer(arguments.json, first_key, [&] {
    Answer answer = measure(options);
    if (printed) answer.text.clear();
    return answer;
  });
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "bench",
      "measure the speed of a training step, of a network in use, of single operations, or of the loader");
  const auto arguments = std::make_shared<BenchArguments>();
  BenchmarkOptions& options = arguments->options;
  auto* model = command->add_option(
      "model", options.model,
      "a model's name, or the YAML of a model or of a run; with --inference also weights");
  model->type_name("NAME|MODEL.yaml");
  auto* data = command->add_option(
      "--data", options.data, "measure the loader on this run's data, or on a data set as `train` takes it");
  data->type_name("CONFIG.yaml|DATA")->excludes(model);
  auto* kernels = command->add_flag("--kernels", arguments->kernels,
                                    "compare the bandwidth of all other operations with a memory copy");
  kernels->excludes(model)->excludes(data);
  command->add_flag("--steps-only", options.steps_only, "skip the bare convolutions and the table of layers")
      ->needs(model);
  auto* inference = command->add_flag("--inference", arguments->inference,
                                      "measure the network in use instead, without its training");
  inference->needs(model);
  command
      ->add_flag("--recompute", options.recompute,
                 "recompute activations in the backward pass, as train.recompute: activations")
      ->needs(model)
      ->excludes(inference);
  auto* traffic = command->add_flag(
      "--traffic", arguments->traffic,
      "count the bytes and operations of a training step on a GPU, from its plan: needs no GPU");
  traffic->needs(model)->excludes(inference);
  command
      ->add_option("--card", options.card,
                   "with --traffic: the ceilings for its time, one of " + card_names() +
                       ", or the TB/s and TFLOP/s that the card reaches: 1.5,200")
      ->type_name("CARD")
      ->needs(traffic);
  command->add_option("--batch", options.batch, "images per step")->check(at_least(1));
  take_size(*command, options.height, options.width, "the input in pixels");
  command->add_option("--classes", options.classes, "number of classes; the file's if not given")
      ->check(at_least(1));
  command->add_option("--workers", options.workers, "with --data: number of loader threads")
      ->check(at_least(0))
      ->needs(data);
  command->add_option("--seconds", options.seconds, "measuring time for each precision, in seconds")
      ->check(above_zero());
  take_json(*command, arguments->json, "the results as JSON");
  command
      ->add_option("--precision", options.precision,
                   "one or more of fp32, tf32, bf16, fp16; with --inference also int8")
      ->type_name("P,...");
  take_device(*command, options.device);
  take_settings(*command, options.settings);
  command->callback([=, &action] {
    if (model->count() + data->count() + kernels->count() == 0)
      throw CLI::RequiredError("MODEL.yaml, --data CONFIG.yaml or --kernels");
    const bool loader = data->count() > 0;
    action = [=] {
      if (arguments->kernels) return bench(*arguments, "results", benchmark_kernels);
      if (arguments->traffic) return bench(*arguments, "model", count_step);
      if (arguments->inference) return bench(*arguments, "model", benchmark_inference);
      return loader ? bench(*arguments, "loader", benchmark_loader)
                    : bench(*arguments, "model", benchmark_step);
    };
  });
}

}  // namespace brightnet::cli
