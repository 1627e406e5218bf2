#include <algorithm>

#include <fmt/format.h>

#include "brightnet/memory.h"
#include "core/json.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "data/formats/classes.h"
#include "kernels/device/device.h"
#include "train/config/contradictions.h"
#include "train/loop/device_memory.h"
#include "train/setup/automatic_facts.h"
#include "train/setup/memory_advice.h"
#include "train/setup/model.h"
#include "train/setup/named_run.h"
#include "train/setup/teacher.h"

namespace brightnet {
namespace {

struct MemoryReport {
  NamedModel named;
  PlannedRun plan;
  NetworkMemory inference;
  ParameterLayout layout;
  int batch;
  int largest;  ///< largest training batch in `device_memory`; −1: not asked for
  size_t device_memory;

  size_t inference_peak() const { return layout.floats() * sizeof(float) + inference.arena(); }
};

/// --size and --precision, which are no settings of a model's YAML.
void refuse_other_settings(const MemoryOptions& options) {
  std::vector<std::string> all = options.run.settings;
  if (options.height > 0)
    all.push_back("--size:train.size=" + InputSize(options.height, options.width).text());
  if (!options.run.precision.empty())
    all.push_back("--precision:train.precision=" + yaml_quoted(options.run.precision));
  refuse_contradictions(all);
}

/// The memory that `micro_batch: auto` would plan for: --device-memory, or a fraction of the free memory.
size_t planning_budget(const MemoryOptions& options, const RunConfig& config) {
  if (!options.device_memory.empty()) return parse_bytes(options.device_memory);
  return memory_budget(config, *open_device(options.device, config.train.precision));
}

void check_ranges(const MemoryOptions& options) {
  const OptionRanges ranges("MemoryOptions");
  ranges.at_least(0, "batch", options.batch);
  ranges.at_least(0, "classes", options.classes);
  ranges.input_size(options.height, options.width);
}

MemoryReport make_report(const MemoryOptions& options) {
  check_ranges(options);
  refuse_other_settings(options);
  Configuration run = options.run;
  run.precision.clear();  // a model's YAML has none; it is set below
  const NamedRun source(run, false);
  source.say_data();
  NamedModel named = read_model(source.config(), source.overrides(), options.classes);
  RunConfig& config = named.config;
  if (!options.run.precision.empty()) config.train.precision = parse_precision(options.run.precision);
  const bool sized = options.height > 0;
  if (sized) {
    config.train.size = InputSize(options.height, options.width);  // not `auto`
    require_input_size(named.model, config.train.size);
  }
  const std::string assumption = choose_for_planning(config, named.model, fast_precision(options.device));
  const auto backend = open_planner(options.device, config.train.precision);
  if (sized) config.train.sizes.clear();
  open_teacher(config, named.model, known_classes(config.data).value_or(std::vector<std::string>()));
  const bool asks = !options.device_memory.empty();
  const size_t device_memory = asks ? parse_bytes(options.device_memory) : 0;
  const int largest = asks ? largest_batch(config, named.model, *backend, device_memory) : -1;
  // Without --batch: what a run of this configuration would choose, or, where none would fit, what it needs at least.
  int batch = options.batch > 0 ? options.batch : config.train.micro_batch.value_or(0);
  if (batch == 0 && largest == 0)
    batch = std::min<int>(config.train.batch, least_micro_batch(config, named.model, 1));
  if (batch == 0) {
    if (!assumption.empty()) log::info("{}", assumption);
    batch = choose_micro_batch(config, named.model, *backend, config.train.batch,
                               planning_budget(options, config));
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
  return {named,
          plan_run(config, named.model, *backend, batch),
          inference.memory(),
          layout,
          batch,
          largest,
          device_memory};
}

std::string layer_table(const MemoryReport& report) {
  std::string text = fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n",
                                 "layer", "kind", "output (n,h,w,c)", "parameters", "activation", "saved",
                                 "gradient", "weights", "workspace", "inference");
  const auto& rows = report.plan.training.rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& row = rows[i];
    const bool is_adapter = i >= report.inference.rows.size();  // to a teacher, in training alone
    text += fmt::format("{:<24} {:<10} {:>18} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>12}\n", row.name,
                        row.kind, to_string(row.output), format_bytes(row.parameters),
                        format_bytes(row.activation), format_bytes(row.saved), format_bytes(row.gradient),
                        format_bytes(row.working_weights), format_bytes(row.workspace),
                        format_bytes(is_adapter ? 0 : report.inference.rows[i].activation));
  }
  return text;
}

std::string table(const MemoryReport& report) {
  const RunMemory& memory = report.plan.memory;
  const NetworkMemory& training = report.plan.training;
  const auto line = [](const char* what, size_t count, const std::string& note = "") {
    return fmt::format("  {:<28} {:>12}  {}\n", what, format_bytes(count), note);
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
               "activations, gradients, workspace; " + format_bytes(training.unshared) + " without sharing");
  if (memory.arena > training.arena())
    text += line("additional for evaluation", memory.arena - training.arena());
  if (memory.teacher > 0) text += line("teacher", memory.teacher, report.named.config.train.teacher);
  if (memory.decoder > 0) text += line("decoder", memory.decoder, "of JPEG files");
  text += line("peak", memory.peak());
  text += fmt::format("Inference, batch {} at {}\n", report.batch,
                      report.named.config.evaluation_size().described());
  text += line("parameters", report.layout.floats() * sizeof(float));
  text += line("input, weights, step", report.inference.arena());
  text += line("peak", report.inference_peak());
  if (report.largest >= 0)
    text +=
        fmt::format("Largest training batch in {}: {}\n", format_bytes(report.device_memory), report.largest);
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
            {"teacher", memory.teacher},
            {"decoder", memory.decoder},
            {"peak_bytes", memory.peak()},
            {"inference_peak_bytes", report.inference_peak()},
            {"trainable_parameters", report.layout.trainable_parameters()}};
  if (report.largest >= 0) json["largest_batch"] = report.largest;
  json["training"] = network_json(report.plan.training);
  json["inference"] = network_json(report.inference);
  return json;
}

}  // namespace

Answer plan_memory(const MemoryOptions& options) {
  const MemoryReport report = make_report(options);
  return {table(report), to_text(answer(report))};
}

}  // namespace brightnet
