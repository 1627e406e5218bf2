#include "train/loop/device_memory.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

#include "core/alignment.h"
#include "core/require_memory.h"
#include "core/text.h"
#include "data/loader/sample.h"
#include "train/distributed/communicator.h"
#include "train/loop/growing_input.h"
#include "train/optimizer/ema.h"
#include "train/optimizer/optimizer.h"
#include "train/optimizer/optimizer_step.h"

namespace brightnet {
namespace {

/// The first layer, or -1, with a batch-norm that is trained on maps of one pixel.
int normalised_pixel(const Model& model, const InputSize& size) {
  std::vector<Shape> shapes;
  for (const LayerDescription& layer : model.layers) {
    std::vector<Shape> inputs;
    for (const int input : layer.inputs)
      inputs.push_back(input == network_input ? Shape{1, size.height, size.width, model.channels}
                                              : shapes[input]);
    const Shape& shape = shapes.emplace_back(output_shape(layer, inputs));
    const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
    if (conv && conv->batch_norm && layer.rate > 0 && shape.pixels() == 1)
      return static_cast<int>(shapes.size()) - 1;
  }
  return -1;
}

}  // namespace

bool device_paints(const RunConfig& config, const Backend& backend) {
  const std::string alone = painted_by_cpu_alone(config.augment);
  switch (config.loader.paint) {
    case LoaderDevice::automatic: return backend.works_beside_host() && alone.empty();
    case LoaderDevice::cpu: return false;
    case LoaderDevice::gpu: break;
  }
  const std::string where = config.where("loader.paint");
  if (!backend.works_beside_host()) {
    throw InputError("loader.paint is gpu, and this trains on '" + backend.name() + "'", where,
                     "Set loader.paint to auto, or train on a GPU (--device cuda).");
  }
  if (!alone.empty()) {
    throw InputError("loader.paint is gpu, and augment." + alone + " is above 0, which only the CPU paints",
                     where, "Set augment." + alone + " to 0, or loader.paint to auto or cpu.");
  }
  return true;
}

bool device_decodes(const RunConfig& config, const Backend& backend) {
  const std::string where = config.where("loader.decode");
  switch (config.loader.decode) {
    case LoaderDevice::automatic: return backend.works_beside_host() && backend.why_no_jpeg_decoder().empty();
    case LoaderDevice::cpu: return false;
    case LoaderDevice::gpu: break;
  }
  if (!backend.works_beside_host()) {
    throw InputError("loader.decode is gpu, and this trains on '" + backend.name() + "'", where,
                     "Set loader.decode to auto, or train on a GPU (--device cuda).");
  }
  if (const std::string problem = backend.why_no_jpeg_decoder(); !problem.empty()) {
    throw DeviceError("loader.decode is gpu, and nvJPEG cannot be used: " + problem, where,
                      "Install nvJPEG for CUDA 13 (`scripts/setup --cuda` brings it), put its folder into "
                      "LD_LIBRARY_PATH if it is installed elsewhere, or set loader.decode to auto or cpu.");
  }
  return true;
}

RunNetworks::RunNetworks(const RunConfig& config, const Model& model, Backend& backend, int micro_batch,
                         const Parameters& trained, const Parameters& averaged,
                         StatisticsExchange* statistics, bool evaluates) {
  if (config.train.quantize && model.quantization.empty()) {
    throw InputError("train.quantize needs scales, which are calibrated when a run begins: this is none",
                     config.where("train.quantize"), "Leave it out here.");
  }
  if (!config.train.teacher.empty() && !config.distillation) {
    throw InputError("train.teacher is opened where a run begins or its memory is planned: this is neither",
                     config.where("train.teacher"), "Leave it out here.");
  }
  distillation_ = config.distillation;
  NetworkSetup setup{.model = &trained_model(config, model),
                     .backend = &backend,
                     .parameters = &trained,
                     .batch = micro_batch};
  setup.precision = config.train.precision;
  setup.statistics = statistics;
  setup.recompute = recomputes(config.train.recompute);
  setup.simulates_int8 = config.train.quantize;
  setup.strokes = device_paints(config, backend) ? most_placed_images(config.augment) : 0;
  const auto add = [&](Networks& networks, const InputSize& size) {
    setup.height = size.height;
    setup.width = size.width;
    networks[size] = std::make_unique<Network>(setup);
    networks[size]->allow_recording(config.train.graph);
  };
  const GrowingInput growing(config);
  for (const InputSize& size : config.input_sizes()) {
    setup.height = size.height;
    setup.width = size.width;
    if (distillation_) add_teacher(config, backend, setup);
    if (distillation_) setup.output_loss = teachers_.at(size).loss.get();
    add(training_, size);
  }
  if (!evaluates) return;
  setup.model = &model;
  setup.output_loss = nullptr;
  setup.mode = Mode::infer;
  setup.strokes = 0;
  setup.loss_of_inference = true;
  setup.parameters = &averaged;
  if (config.evaluate.batch > 0) setup.batch = config.evaluate.batch;
  for (const InputSize& size : growing.smaller_sizes()) add(evaluation_, size);
  add(evaluation_, config.evaluation_size());
}

void RunNetworks::add_teacher(const RunConfig& config, Backend& backend, const NetworkSetup& student) {
  teacher_parameters_.layout = &distillation_->teacher_layout;
  Teacher teacher;
  teacher.network = std::make_unique<Network>(NetworkSetup{.model = &distillation_->teacher,
                                                           .backend = &backend,
                                                           .parameters = &teacher_parameters_,
                                                           .batch = student.batch,
                                                           .height = student.height,
                                                           .width = student.width,
                                                           .precision = student.precision,
                                                           .mode = Mode::infer,
                                                           .kept = kept_outputs(*distillation_)});
  teacher.network->allow_recording(config.train.graph);
  teacher.loss = std::make_unique<DistillationLoss>(*distillation_, *teacher.network, backend);
  teachers_[student.size()] = std::move(teacher);
}

size_t RunNetworks::teacher_bytes() const {
  if (!distillation_) return 0;
  size_t arena = 0, workspace = 0;
  for (const auto& [size, teacher] : teachers_) {
    arena = std::max(arena, teacher.network->memory().arena());
    workspace = std::max(workspace, teacher.loss->workspace_bytes());
  }
  return aligned(distillation_->teacher_values.size() * sizeof(float), device_alignment) +
         aligned(workspace, device_alignment) + arena;
}

void RunNetworks::bind_teacher(void* memory) {
  auto* next = static_cast<std::byte*>(memory);
  teacher_parameters_.values = reinterpret_cast<float*>(next);
  next += aligned(distillation_->teacher_values.size() * sizeof(float), device_alignment);
  size_t workspace = 0;
  for (const auto& [size, teacher] : teachers_) {
    teacher.loss->bind(next);
    workspace = std::max(workspace, teacher.loss->workspace_bytes());
  }
  teacher_arena_ = next + aligned(workspace, device_alignment);
}

void RunNetworks::teach(const Network& student) {
  if (!distillation_) return;
  Network& teacher = *teachers_.at(student.setup().size()).network;
  if (bound_teacher_ != &teacher) teacher.bind(teacher_arena_);
  bound_teacher_ = &teacher;
  teacher.set_pixels(student);
  teacher.infer();
}

size_t RunNetworks::arena_bytes() const {
  return std::max(training_memory().arena(), evaluation_.empty() ? 0 : evaluation_memory().arena());
}

const NetworkMemory& RunNetworks::largest(const Networks& networks) {
  const auto smaller = [](const auto& a, const auto& b) {
    return a.second->memory().arena() < b.second->memory().arena();
  };
  return std::max_element(networks.begin(), networks.end(), smaller)->second->memory();
}

void RunNetworks::drop_recordings() {
  for (const Networks* networks : {&training_, &evaluation_}) {
    for (const auto& [size, network] : *networks) network->drop_recordings();
  }
  for (const auto& [size, teacher] : teachers_) teacher.network->drop_recordings();
}

Network& RunNetworks::use(Network& network) {
  BRIGHTNET_CHECK(arena_, "the networks have no arena yet");
  if (bound_ != &network) network.bind(arena_);
  bound_ = &network;
  return network;
}

const Model& trained_model(const RunConfig& config, const Model& model) {
  return config.distillation ? config.distillation->student : model;
}

RunMemory plan_run_memory(const RunConfig& config, const ParameterLayout& layout, size_t arena_bytes,
                          size_t teacher_bytes, size_t decoder_bytes) {
  RunMemory memory;
  memory.parameters = layout.floats() * sizeof(float);
  memory.gradients = layout.trainable_floats() * sizeof(float);
  memory.optimizer = optimizer_bytes(config.optimizer, layout);
  memory.average = average_bytes(config.ema, layout);
  memory.statistics = OptimizerStep::statistics_bytes(layout);
  memory.control = OptimizerStep::control_bytes();
  memory.arena = arena_bytes;
  memory.teacher = teacher_bytes;
  memory.decoder = decoder_bytes;
  return memory;
}

size_t decoder_bytes(const RunConfig& config, const Backend& backend) {
  return device_decodes(config, backend) ? backend.jpeg_decoder_bytes(config.loader.decoded_at_once()) : 0;
}

PlannedRun plan_run(const RunConfig& config, const Model& model, Backend& backend, int micro_batch) {
  const ParameterLayout layout(trained_model(config, model));
  const Parameters parameters{.layout = &layout};
  // Synchronized batch-norm needs workspace even with one rank.
  StatisticsExchange* const statistics =
      config.train.sync_bn ? &Communicator::solo().host_collectives() : nullptr;
  const RunNetworks networks(config, model, backend, micro_batch, parameters, parameters, statistics);
  return {plan_run_memory(config, layout, networks.arena_bytes(), networks.teacher_bytes(),
                          decoder_bytes(config, backend)),
          networks.training_memory(), networks.evaluation_memory()};
}

int layer_of_one_value(const RunConfig& config, const Model& model) {
  const auto sizes = config.input_sizes();
  return normalised_pixel(trained_model(config, model), *std::min_element(sizes.begin(), sizes.end()));
}

int least_micro_batch(const RunConfig& config, const Model& model, int ranks) {
  const bool shared = config.train.sync_bn && ranks > 1;
  return shared || layer_of_one_value(config, model) < 0 ? 1 : 2;
}

int most_countable_images(const RunConfig& config) {
  const std::vector<InputSize> sizes = config.input_sizes();
  const int64_t pixels = std::max_element(sizes.begin(), sizes.end())->pixels();
  return static_cast<int>(std::numeric_limits<int32_t>::max() / std::max<int64_t>(1, pixels));
}

int choose_micro_batch(const RunConfig& config, const Model& model, Backend& backend, int batch,
                       size_t budget, int ranks) {
  const int wanted = std::min(batch, least_micro_batch(config, model, ranks));
  const int countable = std::max(wanted, most_countable_images(config));
  size_t needed = 0;
  int least = batch;
  for (int micro_batch = batch; micro_batch >= wanted; --micro_batch) {
    if (batch % micro_batch != 0 || micro_batch > countable) continue;
    least = micro_batch;
    needed = plan_run(config, model, backend, micro_batch).memory.peak();
    if (needed <= budget) return micro_batch;
  }
  const std::string images = least == 1 ? "a single image" : std::to_string(least) + " images";
  require_memory("training '" + model.name + "' with a micro-batch of " + images, needed,
                 {backend.name(), budget, "may be used"}, [&] {
                   return "Lower train.size, use --precision bf16, raise train.memory_fraction, or set "
                          "train.micro_batch to " +
                          std::to_string(least) + " to try nevertheless.";
                 });
  return least;
}

int largest_batch(const RunConfig& config, const Model& model, Backend& backend, size_t budget) {
  const auto fits = [&](int batch) {
    return plan_run(config, model, backend, batch).memory.peak() <= budget;
  };
  int low = least_micro_batch(config, model, 1), high = 2 * low;
  if (!fits(low)) return 0;
  const int limit = std::min(1 << 14, most_countable_images(config) + 1);
  while (high < limit && fits(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, limit);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

size_t parse_bytes(const std::string& text) {
  const std::string_view amount = trimmed(text);
  double value = 0;
  const auto read = std::from_chars(amount.data(), amount.data() + amount.size(), value);
  const std::string_view unit = trimmed(amount.substr(static_cast<size_t>(read.ptr - amount.data())));
  static const std::map<std::string, double> units{
      {"", 1},       {"b", 1},         {"kb", 1e3},         {"mb", 1e6},           {"gb", 1e9},
      {"tb", 1e12},  {"k", 1024},      {"m", 1048576},      {"g", 1073741824},     {"t", 1099511627776},
      {"kib", 1024}, {"mib", 1048576}, {"gib", 1073741824}, {"tib", 1099511627776}};
  const auto factor = units.find(lower_case(std::string(unit)));
  if (read.ec != std::errc() || factor == units.end() || !(value > 0) || value * factor->second > 1e18) {
    throw InputError("'" + text + "' is no amount of memory", "",
                     "Write it as 8GiB, 512MB or a number of bytes.");
  }
  return static_cast<size_t>(value * factor->second);
}

}  // namespace brightnet
