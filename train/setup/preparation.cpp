#include "train/setup/preparation.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "core/files.h"
#include "core/log.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/split/shared_images.h"
#include "formats/class_channels.h"
#include "formats/darknet/import.h"
#include "formats/weights.h"
#include "kernels/device/device.h"
#include "layers/model/reader.h"
#include "train/distributed/agreement.h"
#include "train/loop/length.h"
#include "train/loop/validation.h"
#include "train/run/data_fingerprint.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/automatic_class_weights.h"
#include "train/setup/automatic_head.h"
#include "train/setup/automatic_size.h"
#include "train/setup/data_sets.h"
#include "train/setup/finetune.h"
#include "train/setup/memory_advice.h"
#include "train/setup/model.h"
#include "train/setup/pretrained_boxes.h"
#include "train/setup/quantized_start.h"
#include "train/setup/teacher.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// With fewer images, one object more or less decides which epoch is the best.
constexpr size_t fewest_validated = 10;

/// Reports what was ignored in a darknet .cfg, and that the heads are resized without editing filters=.
void say_what_was_imported(const RunConfig& config, int classes) {
  if (!config.imported) return;
  for (const ImportNote& note : config.imported->notes) log::info("{}: {}", note.where, note.text);
  if (config.imported->model.classes == classes) return;
  log::info("{} is written for {} classes and the data set has {}: its prediction layers are made for {}",
            config.model, config.imported->model.classes, classes, classes);
}

struct StartingParameters {
  std::vector<float> values;
  std::vector<PretrainedPrediction> of_other_classes;  ///< prediction layers whose boxes are kept
};

/// What is asked of pretrained layers in a run from scratch.
void warn_of_keys_without_weights(const TrainOptions& train) {
  const auto warn = [](const char* key) {
    log::warn("{} applies to layers loaded with --weights, which is not given: it has no effect.", key);
  };
  if (train.pretrained_rate != 1) warn("train.pretrained_rate");
  if (train.pretrained_warmup > 0) warn("train.pretrained_warmup");
  if (!train.freeze.value_or({}).empty()) {
    log::warn(
        "train.freeze keeps layers that were never trained, since --weights is not given: they stay as random as they "
        "begin.");
  }
}

/// Initial parameters, overwritten by train.weights, whose missing layers train.fresh lists then.
StartingParameters starting_parameters(RunConfig& config, const Model& model,
                                       const std::vector<std::string>& classes, const Backend& backend,
                                       bool resuming) {
  const ParameterLayout layout(model);
  check_parameter_memory(model, layout, backend);
  StartingParameters start{initial_parameters(model, layout, config.train.seed), {}};
  if (resuming) return start;
  if (!config.train.weights.empty()) {
    start.of_other_classes = read_pretrained(config.train, model, classes, layout, start.values);
  } else {
    warn_of_keys_without_weights(config.train);
  }
  return start;
}

/// train.micro_batch becomes a number that divides this rank's part of the batch.
void settle_micro_batch(RunConfig& config, const Model& model, Backend& backend, const Communicator& ranks,
                        bool resuming, std::vector<Choice>& choices) {
  const int batch = batch_of_rank(config.train, ranks.size());
  Auto<int>& micro_batch = config.train.micro_batch;
  if (!micro_batch.has_value()) {
    // Ranks on one machine share its memory, but each has its own GPU.
    const size_t sharing = backend.works_beside_host() ? 1 : static_cast<size_t>(ranks.local_size());
    micro_batch = choose_micro_batch(config, model, backend, batch, memory_budget(config, backend) / sharing,
                                     ranks.size());
    choices.push_back(
        {"train.micro_batch", std::to_string(micro_batch),
         micro_batch == batch
             ? "the whole batch fits into memory at once"
             : fmt::format("images at once: the largest part of {} that fits into memory", batch)});
    return;
  }
  if (resuming) {  // with more ranks, perhaps, of which each has fewer images
    while (batch % micro_batch != 0) micro_batch = micro_batch - 1;
  }
  check_memory(config, model, backend, ranks.local_size());
}

/// Warns of valid settings that are costly or useless and probably unintended.
void remark_on_sizes(const RunConfig& config, const Dataset& training, const Dataset& validation) {
  const auto images = static_cast<int>(training.images.size());
  if (config.train.batch > images) {
    log::warn(
        "train.batch is {} and there are {} training images: each step sees every image {:.3g} times. "
        "A batch of {} or less costs less memory and makes more steps of an epoch.",
        config.train.batch.value(), images, static_cast<double>(config.train.batch) / images, images);
  }
  int side = 0;
  for (const ImageRecord& image : training.images) side = std::max({side, image.width, image.height});
  const auto sizes = config.input_sizes();
  const int size = std::max_element(sizes.begin(), sizes.end())->longer();
  if (size > 1024 && size > 4 * side) {
    log::warn(
        "The network's input has a side of {} pixels and the largest training image has {}: enlarging adds work "
        "and memory, but no detail. Planning it takes long.",
        size, side);
  }
  const auto empty = [](const ImageRecord& image) { return image.annotations.empty(); };
  if (std::all_of(validation.images.begin(), validation.images.end(), empty)) {
    log::warn(
        "No object is labelled in the validation split, so nothing can be scored: the newest weights count "
        "as the best.");
  } else if (validation.images.size() < fewest_validated) {
    log::warn(
        "The validation split has {}, by which the best weights are chosen: the score of fewer than {} is mostly chance.",
        counted(validation.images.size(), "image", "images"), fewest_validated);
  }
}

/// Warns of a schedule that was made for a much longer run: that of a .cfg, say, whose run is shortened. Of a run that
/// `continues` it cannot be changed.
void remark_on_schedule(const RunConfig& config, const Dataset& training, bool continues) {
  const ScheduleOptions& schedule = config.schedule;
  const RunLength length(config.train, static_cast<int64_t>(training.images.size()));
  if (!length.bounded()) return;
  const int64_t steps = length.steps(), per_epoch = length.steps_per_epoch();
  const std::string run = counted(steps, "step", "steps");
  const std::string other_run =
      fmt::format("Give it more epochs, or start a new run from {} weights (--weights)",
                  config.train.quantize ? "the same" : "its");
  // Under train.minutes the warm-up is cut to a tenth of what fits.
  const int64_t warmup = config.train.minutes > 0 ? 0 : schedule.in_steps(schedule.warmup, per_epoch);
  if (warmup > steps / 2) {
    log::warn("The warm-up (schedule.warmup) takes {} and the run has {}: the learning rate rises {}. {}.",
              counted(warmup, "step", "steps"), run,
              warmup < steps ? "for more than half of it" : "until its end and never falls",
              continues ? other_run.c_str()
                        : "For a warm-up of a tenth of the run at most: --set schedule.warmup=auto");
  }
  if (schedule.kind != ScheduleKind::steps || schedule.steps.empty()) return;
  const int64_t first = schedule.in_steps(schedule.steps.front(), per_epoch);
  if (first < steps) return;
  log::warn(
      "The first of schedule.steps is step {} and the run has {}: none of them is reached, and the learning rate does not "
      "fall. {}.",
      first, run,
      continues ? other_run.c_str() : "For one that falls over the run: --set schedule.kind=cosine");
}

void append(std::vector<Choice>& choices, std::vector<Choice> more) {
  choices.insert(choices.end(), more.begin(), more.end());
}

/// The model in the folder of a run that is resumed: its `head:` has the run's keys. They are not applied again, since
/// in the folder of an earlier version yolo layers have kept values of their own, which the run was trained with.
Model model_of_folder(const RunConfig& config, int classes) {
  RunConfig without_head = config;
  without_head.head = {};
  return load_model(without_head, classes);
}

/// The model, its initial parameters and what of its heads follows from the data.
void prepare_model(Preparation& run) {
  RunConfig& config = run.config;
  const auto classes = static_cast<int>(run.training.classes.size());
  run.model = run.old ? model_of_folder(config, classes) : load_model(config, classes);
  if (!run.old) name_fresh_layers(config.train, run.model);
  if (const auto size = choose_size(config, run.training, run.model)) run.choices.push_back(*size);
  StartingParameters start =
      starting_parameters(config, run.model, run.training.classes, *run.backend, run.old.has_value());
  if (!run.old) {
    // None of this changes which parameters there are. The head may bring its own anchors.
    append(run.choices, choose_head(config, run.model));
    for (const auto& choice : {choose_anchors(config, run.training, run.model),
                               choose_class_weights(config, run.training, run.model)}) {
      if (choice) run.choices.push_back(*choice);
    }
    set_head(config.head, run.model);
    if (const auto choice = choose_static_assignment(config, run.model)) run.choices.push_back(*choice);
    const auto kept = keep_boxes(start.of_other_classes, run.model, ParameterLayout(run.model), start.values);
    if (!kept.empty())
      log::info(
          "  {}: the weights' boxes are kept, for the anchors of this run; objectness and classes start fresh.",
          fmt::join(kept, ", "));
  }
  run.initial = std::move(start.values);
  if (const auto boxes = box_shapes(run.training, anchor_options(config, run.model)); !boxes.empty())
    run.anchors = anchor_fit(run.model, boxes);
}

/// Batch-norm makes zero of a single value, which is its own mean.
void refuse_batch_norm_of_one_value(const RunConfig& config, const Model& described, int ranks) {
  if (config.train.micro_batch >= least_micro_batch(config, described, ranks)) return;
  const Model& model = trained_model(config, described);
  const int layer = layer_of_one_value(config, described);
  const LayerDescription& normalised = model.layers[layer];
  std::string remedy =
      "Let two images or more go through the network at once (train.micro_batch, of a rank's "
      "part of train.batch)";
  if (ranks > 1) remedy += ", set train.sync_bn to true";
  if (layer_scales(model.layers)[layer] != whole_image) remedy += ", take a larger train.size";
  throw InputError("the batch-norm of '" + normalised.name +
                       "' would be trained on one value of each channel, since one image goes through the "
                       "network at once and its map has one pixel there: it would learn nothing, and its "
                       "running variance would become 0",
                   normalised.where, remedy + ", or write batch_norm: false in that layer.");
}

/// A run's weights mean the classes that it began with, in their order.
void refuse_other_classes(const RunFolder& folder, const std::vector<std::string>& classes) {
  std::optional<TrainedModel> trained;
  try {
    trained = describe_weights(folder.last());
  } catch (const InputError&) {  // resuming needs the state alone
  }
  if (!trained || match_classes(trained->classes, classes).relation == ClassRelation::same) return;
  throw InputError(fmt::format("the run was trained for the classes {}, and its data set now has {}",
                               enumerated(trained->classes), enumerated(classes)),
                   folder.path().string(),
                   "Put the classes back into their order, or " + folder.new_run() +
                       " instead: classes are matched by name.");
}

}  // namespace

RankDevice common_device(Communicator& ranks, const std::function<std::string()>& device) {
  RankDevice own;
  prepare_together(ranks, [&] {
    own.name = device();
    own.fast = fast_precision(own.name);
  });
  const auto kind = fmt::format("{} {}", own.fast.gpu, enum_name(own.fast.precision));
  for (const std::string& other : ranks.all_gather(kind)) {
    if (other != kind) own.fast = {Precision::fp32, false, "the ranks' devices differ"};
  }
  own.threads = 0;
  for (const std::string& other : ranks.all_gather(std::to_string(compute_threads())))
    own.threads += std::stoi(other);
  return own;
}

RankDevice common_device(const Ranks& ranks, const std::string& device) {
  Communicator& communicator = ranks.communicator();
  return common_device(communicator, [&] {
    if (ranks.expected() != 0 && ranks.expected() != communicator.size()) {
      throw InputError("--ranks asks for " + std::to_string(ranks.expected()) +
                           " ranks, and a launcher has started " + std::to_string(communicator.size()),
                       "", "Leave --ranks out: mpirun and srun set the number of ranks.");
    }
    if (communicator.local_size() == 1) return device;
    return device_of_rank(device, communicator.local_rank(), communicator.local_size(),
                          cuda::inspect(communicator.local_rank()));
  });
}

EngineChoice engine_choice(const TrainOptions& train) {
  constexpr double most_of_the_time = 0.1;
  EngineChoice choice{.deterministic = train.deterministic};
  if (train.minutes > 0)
    choice.timing_seconds = std::min(choice.timing_seconds, most_of_the_time * 60 * train.minutes);
  return choice;
}

Preparation prepare(const RunRequest& request, const RankDevice& device, const Communicator& ranks) {
  Preparation run;
  if (request.resuming) {
    run.old = open_old_run(request);
    run.config = run.old->config;
  } else {
    run.config = request.begin_again ? config_of_begun_run(request)
                 : request.loaded    ? *request.loaded
                                     : requested_config(request);
  }
  RunConfig& config = run.config;
  if (config.train.quantize && !config.train.precision.has_value()) {
    config.train.precision = Precision::fp32;
    run.choices.push_back({"train.precision", "fp32", "train.quantize rounds to 8 bits in fp32"});
  }
  run.continues = request.resuming || request.begin_again;
  check_batch(config.train, ranks.size(), run.continues);
  run.backend = open_device(device.name, config.train.precision.value_or(device.fast.precision),
                            engine_choice(config.train));
  RunData data = read_run_data(config, ranks.leads());
  if (config.data.tiles) run.pictures = data.training;
  run.training = training_images(config, std::move(data.training), ranks.leads());
  run.validation = std::move(data.validation);
  if (run.old) refuse_other_classes(run.old->folder, run.training.classes);
  prepare_model(run);
  RunFacts facts = run_facts(config, &run.model, run.training, device, ranks);
  facts.no_jpeg_decoder = run.backend->why_no_jpeg_decoder();
  facts.validation_images = evaluated_images(run.validation, config.data.tiles);
  if (run.old) read_ranks_before(run, ranks);
  facts.keeps_cache = !run.old || run.old->sets_cache || ranks.size() <= run.before.ranks;
  append(run.choices, choose_automatic(config, facts));
  set_rates(run.model, config.train);
  const bool new_length =
      run.continues &&
      fit_warmup(request, static_cast<int64_t>(run.training.images.size()), config, ranks.leads());
  if (ranks.leads()) {
    remark_on_sizes(config, run.training, run.validation);
    if (!run.continues || new_length) remark_on_schedule(config, run.training, run.continues);
    if (const std::string shared = describe_trained_on(run.training, run.validation); !shared.empty())
      log::warn("{}", shared);
  }
  if (!run.old && ranks.leads()) {
    say_what_was_imported(config, run.model.classes);
    const std::string heads = describe_other_heads(config.train, run.model);
    if (!heads.empty()) log::warn("{}", heads);
  }
  if (run.old && ranks.leads()) {
    const std::string differences = describe_differences(*run.old, request.config, run.model);
    if (!differences.empty()) log::warn("{}", differences);
  }
  run.model_yaml = run.model.yaml();
  if (config.train.quantize) begin_quantized(run, ranks.leads());
  open_teacher(config, run.model, run.training.classes, run.old ? &run.old->folder : nullptr);
  run.model_layout = ParameterLayout(run.model);
  run.layout = std::make_unique<ParameterLayout>(trained_model(config, run.model));
  run.initial = with_adapters(config, run.model, std::move(run.initial));
  return run;
}

void fit_into_memory(Preparation& run, const Communicator& ranks) {
  if (run.old) keep_statistics(run, ranks);
  settle_micro_batch(run.config, run.model, *run.backend, ranks, run.continues, run.choices);
  refuse_batch_norm_of_one_value(run.config, run.model, ranks.size());
}

void compare_ranks(Communicator& ranks, Preparation& run) {
  if (ranks.alone()) return;
  // Machines may have different amounts of free memory: all use the smallest micro-batch.
  int micro_batch = run.config.train.micro_batch;
  for (const auto& other : ranks.all_gather(std::to_string(micro_batch)))
    micro_batch = std::min(micro_batch, std::stoi(other));
  run.config.train.micro_batch = micro_batch;
  prepare_together(ranks, [&] { refuse_batch_norm_of_one_value(run.config, run.model, ranks.size()); });
  for (Choice& choice : run.choices) {
    if (choice.key == "train.micro_batch") choice.value = std::to_string(micro_batch);
  }
  RunConfig config = run.config;
  config.model = run.model.yaml();
  config.data.root.clear();
  config.train.weights.clear();
  config.train.teacher.clear();
  config.train.teacher_cfg.clear();
  config.loader = {};
  config.loader.shuffle_buffer = run.config.loader.shuffle_buffer;  // the order of the samples
  // Other data come before what was chosen by them, such as anchors, and what they were read by before them.
  require_same(ranks, "configuration", print_config(config.data));
  require_same(ranks, "training split", describe(fingerprint(run.training)));
  require_same(ranks, "validation split", describe(fingerprint(run.validation)));
  require_same(ranks, "configuration", print_config(config));
  require_same(ranks, "set of initial weights",
               {reinterpret_cast<const char*>(run.initial.data()), run.initial.size() * sizeof(float)});
}

void write_description(const RunFolder& folder, const Preparation& run, Communicator& ranks) {
  prepare_together(ranks, [&] {
    if (!ranks.leads() || (run.old && !run.old->changed)) return;
    // The folder is self-contained: resuming needs nothing else but the images.
    RunConfig own = run.config;
    own.model = folder.model().filename().string();
    own.train.weights.clear();
    own.train.weights_cfg.clear();
    own.train.weights_partial = false;
    if (!run.old) {
      write_start(folder, run.config.train);
      write_atomically(folder.model(), run.model_yaml);
    }
    write_atomically(folder.config(), print_config(own));
  });
}

}  // namespace brightnet
