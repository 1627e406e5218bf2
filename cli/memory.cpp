// brightnet memory: the memory that a run will need, without running it.
#include "train/loop/memory.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/json.h"
#include "core/log.h"
#include "kernels/device/device.h"
#include "train/setup/memory_advice.h"
#include "train/setup/run_facts.h"

namespace brightnet::cli {
namespace {

struct MemoryArguments {
  CommonOptions common;
  int batch = 0, classes = 0;
  InputSize size;
  std::string device_memory, json;
};

struct MemoryReport {
  NamedModel named;
  PlannedRun plan;
  NetworkMemory inference;
  ParameterLayout layout;
  int batch;
  int largest = -1;  ///< −1: not asked for
  size_t device_memory = 0;

  size_t inference_peak() const { return layout.floats() * sizeof(float) + inference.arena(); }
};

/// The memory that `micro_batch: auto` would plan for: --device-memory, or a fraction of the free memory.
size_t planning_budget(const MemoryArguments& arguments, const RunConfig& config) {
  if (!arguments.device_memory.empty()) return parse_bytes(arguments.device_memory);
  return memory_budget(config, *open_device(arguments.common.device, config.train.precision));
}

MemoryReport make_report(const MemoryArguments& arguments) {
  arguments.common.say_data();
  CommonOptions common = arguments.common;
  common.precision.clear();  // a model's YAML has none; it is set below
  NamedModel named = read_model(common.config, common.overrides(), arguments.classes);
  RunConfig& config = named.config;
  if (!arguments.common.precision.empty())
    config.train.precision = parse_precision(arguments.common.precision);
  if (arguments.size.given()) config.train.size = arguments.size;  // not `auto`
  const std::string assumption =
      choose_for_planning(config, named.model, fast_precision(arguments.common.device));
  const auto backend = open_planner(arguments.common.device, config.train.precision);
  if (arguments.size.given()) config.train.sizes.clear();
  // Without --batch: what a run of this configuration would choose.
  int batch = arguments.batch > 0 ? arguments.batch : config.train.micro_batch.value_or(0);
  if (batch == 0) {
    if (!assumption.empty()) log::info("{}", assumption);
    batch = choose_micro_batch(config, named.model, *backend, config.train.batch,
                               planning_budget(arguments, config));
  }
  const ParameterLayout layout(named.model);
  const Parameters parameters{.layout = &layout};
  const Network inference({.model = &named.model,
                           .backend = backend.get(),
                           .parameters = &parameters,
                           .batch = batch,
                           .height = config.evaluation_size().height,
                           .width = config.evaluation_size().width,
                           .precision = config.train.precision,
                           .mode = Mode::infer});
  MemoryReport report{named, plan_run(config, named.model, *backend, batch), inference.memory(), layout,
                      batch};
  if (!arguments.device_memory.empty()) {
    report.device_memory = parse_bytes(arguments.device_memory);
    report.largest = largest_batch(config, named.model, *backend, report.device_memory);
  }
  return report;
}

std::string bytes(size_t count) {
  return format_bytes(static_cast<double>(count));
}

std::string layer_table(const MemoryReport& report) {
  std::string text = fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n",
                                 "layer", "kind", "output (n,h,w,c)", "parameters", "activation", "saved",
                                 "gradient", "weights", "workspace", "inference");
  const auto& rows = report.plan.training.rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const auto& infer = report.inference.rows[i];
    text += fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n", row.name,
                        row.kind, to_string(row.output), bytes(row.parameters), bytes(row.activation),
                        bytes(row.saved), bytes(row.gradient), bytes(row.working_weights),
                        bytes(row.workspace), bytes(infer.activation));
  }
  return text;
}

std::string table(const MemoryReport& report) {
  const RunMemory& memory = report.plan.memory;
  const NetworkMemory& training = report.plan.training;
  const auto line = [](const char* what, size_t count, const std::string& note = "") {
    return fmt::format("  {:<28} {:>12}  {}\n", what, bytes(count), note);
  };
  std::string text = layer_table(report);
  text += fmt::format("\nTraining, batch {} at {} in {}\n", report.batch,
                      report.named.config.train.size.value().described(),
                      enum_name(report.named.config.train.precision));
  text += line("parameters", memory.parameters);
  text += line("gradients", memory.gradients);
  text += line("optimizer", memory.optimizer, std::string(enum_name(report.named.config.optimizer.kind)));
  text += line("average (ema)", memory.average);
  text += line("copy of the statistics", memory.statistics);
  text += line("step control", memory.control);
  text += line("input", training.input, "pixels and boxes");
  text += line("working weights", training.working_weights,
               std::string(enum_name(report.named.config.train.precision)));
  text += line("step", training.step,
               "activations, gradients, workspace; " + bytes(training.unshared) + " without sharing");
  if (memory.arena > training.arena())
    text += line("additional for evaluation", memory.arena - training.arena());
  text += line("peak", memory.peak());
  text += fmt::format("Inference, batch {} at {}\n", report.batch,
                      report.named.config.evaluation_size().described());
  text += line("parameters", memory.parameters);
  text += line("input, weights, step", report.inference.arena());
  text += line("peak", report.inference_peak());
  if (report.largest >= 0)
    text += fmt::format("Largest training batch in {}: {}\n", bytes(report.device_memory), report.largest);
  return text;
}

Json network_json(const NetworkMemory& memory) {
  Json json{{"input", memory.input},
            {"working_weights", memory.working_weights},
            {"step", memory.step},
            {"step_without_sharing", memory.unshared},
            {"layers", Json::array()}};
  for (const auto& row : memory.rows) {
    json["layers"].push_back({{"name", row.name},
                              {"kind", row.kind},
                              {"output", {row.output.n, row.output.h, row.output.w, row.output.c}},
                              {"parameters", row.parameters},
                              {"activation", row.activation},
                              {"saved", row.saved},
                              {"gradient", row.gradient},
                              {"working_weights", row.working_weights},
                              {"workspace", row.workspace}});
  }
  return json;
}

Json answer(const MemoryReport& report) {
  const RunMemory& memory = report.plan.memory;
  Json json{{"model", report.named.model.name},
            {"batch", report.batch},
            {"size", report.named.config.train.size.value()},
            {"precision", enum_name(report.named.config.train.precision)},
            {"parameters", memory.parameters},
            {"gradients", memory.gradients},
            {"optimizer", memory.optimizer},
            {"average", memory.average},
            {"statistics", memory.statistics},
            {"control", memory.control},
            {"arena", memory.arena},
            {"peak_bytes", memory.peak()},
            {"inference_peak_bytes", report.inference_peak()},
            {"trainable_parameters", report.layout.trainable_parameters()}};
  if (report.largest >= 0) json["largest_batch"] = report.largest;
  json["training"] = network_json(report.plan.training);
  json["inference"] = network_json(report.inference);
  return json;
}

int print_memory(const MemoryArguments& arguments) {
  check_answer(arguments.json, "model");
  const MemoryReport report = make_report(arguments);
  if (arguments.json != "-") std::cout << table(report) << std::flush;
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(answer(report)));
  return 0;
}

}  // namespace

void add_memory(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("memory", "print how much memory a model or a run needs");
  const auto arguments = std::make_shared<MemoryArguments>();
  command->add_option("model", arguments->common.config, "a model's name, or the YAML of a model or of a run")
      ->type_name("NAME|MODEL.yaml")
      ->required();
  arguments->common.add_data(*command);
  command
      ->add_option("--batch", arguments->batch,
                   "images per pass (default: the micro-batch that a run would choose)")
      ->check(at_least(1));
  add_input_size(*command, arguments->size, "the input in pixels");
  command->add_option("--classes", arguments->classes, "number of classes; the file's if not given")
      ->check(at_least(1));
  command
      ->add_option("--device-memory", arguments->device_memory,
                   "print the largest batch that fits in this much memory")
      ->type_name("8GiB");
  command->add_option("--json", arguments->json, "write the plan as JSON to this file; - for standard output")
      ->type_name("FILE");
  arguments->common.add_device(*command);
  arguments->common.add_precision(*command);
  arguments->common.add_assignments(*command);
  command->callback([=, &action] { action = [arguments] { return print_memory(*arguments); }; });
}

}  // namespace brightnet::cli
