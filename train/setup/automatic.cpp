#include "train/setup/automatic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/division.h"
#include "core/host_memory.h"
#include "core/text.h"
#include "train/setup/growing_sizes.h"

namespace brightnet {
namespace {

// Images from which a data set is middling, and from which it is large. Small sets need many steps of small
// batches; large ones have the batch of YOLOv4 (Bochkovskiy et al. 2020, section 4).
constexpr int64_t middling_set = 500, large_set = 5000;
constexpr int small_batch = 8, middling_batch = 16, large_batch = 64;
// A run whose images make fewer steps than these gets smaller batches. Statistics of batch-norm over 2 images are too
// poor (docs/measurements/batch_and_warmup.md), and each rank has its own.
constexpr double fewest_steps_of_a_short_run = 1500;
constexpr int smallest_batch = 4;

// A run is as long as both demand. Pretrained features need fewer steps. An epoch of tiles shows each object about once,
// as one of pictures does, and it is from objects that a detector learns: tiles make epochs longer, not fewer.
constexpr int64_t fewest_epochs = 100, fewest_steps = 3000;
constexpr int64_t fewest_epochs_pretrained = 30, fewest_steps_pretrained = 1000;
// A trained network has only the rounding to learn (docs/deploy.md).
constexpr int64_t fewest_epochs_quantized = 5, fewest_steps_quantized = 200;

// The warm-up lets AdamW's moments settle (100 steps) and batch-norm see all images (3 epochs).
constexpr int64_t warmup_epochs = 3, warmup_steps = 100;
constexpr double largest_warmup = 0.1;            // of the run
constexpr int64_t published_warmup_steps = 1000;  // YOLOv4's burn-in
// YOLOv4's warm-up and average are for large sets and for runs of which its burn-in is at most the tenth above.
constexpr int64_t fewest_published_steps = 10000;
// With darknet's fourth power the rate is next to nothing for half of the warm-up, which a short run cannot spare.
constexpr float warmup_power = 1, published_warmup_power = 4;

// Runs of fewer steps gain by an average over less of the run and, from scratch, by a higher rate of AdamW; longer ones lose
// (docs/measurements/average_and_rate.md).
constexpr int64_t few_steps = 1000;

// AdamW's rates. Pretrained layers gain by the highest one where many objects teach them; from few they lose at a high
// rate what they brought (docs/measurements/fine_tuning.md).
constexpr float usual_rate = 0.002f, high_rate = 0.003f, adapting_rate = 0.004f, quantized_rate = 0.00002f;
constexpr int64_t many_boxes = 1000;

// The part of the run that the average spans, but no more than the published 0.9998 does. Its ramp is over early: 1500
// steps get 0.998 and 200, known to be good there.
constexpr double average_share = 1.0 / 3, average_share_of_few_steps = 0.1, ramp_share = 1.0 / 7.5;
constexpr double published_decay = 0.9998, published_ramp = 2000;
constexpr double smallest_decay = 0.9, smallest_ramp = 10;

// Images trained in a minute where nobody knows: yolov4-tiny at 416 pixels on two cores does 1200. Too low an
// estimate costs little: a shorter warm-up and a shorter average. The GPU's figure is a guess: 10 TFLOP/s.
constexpr double images_per_minute_on_cpu = 1000, images_per_minute_on_gpu = 30000;
constexpr int usual_threads = 2;              // of the former
constexpr double usual_flops = 6775488512.0;  // of both: RunFacts::flops of yolov4-tiny at 416 pixels

// The input grows to its full size over this part of the run (train/setup/growing_sizes.h). A small input is of little use below
// the smallest size, where few pixels are left; on GPUs it has not been measured.
constexpr float growing_part = 0.6f;
constexpr int smallest_growing_size = 288;
// Smaller objects are hardly learned from the small inputs: on circuit boards, whose defects have 10 pixels there, the
// score rose only once the input had grown. Pretrained layers know objects at full size, and small inputs teach them
// little (docs/measurements/fine_tuning.md).
constexpr double smallest_object = 24;

// The last part of a run, on whole images as an evaluation sees them: measured for small sets
// (docs/measurements/mosaic_off.md).
constexpr float whole_images_part = 0.3f, published_whole_images_part = 0.1f;

constexpr double evaluations = 25, fewest_evaluations = 5;  // of a run
// An evaluated image costs a third of a trained one: no backward pass. Evaluations take at most this part of the time,
// unless there would be too few.
constexpr double evaluated_per_trained = 1.0 / 3, evaluation_part = 0.1;

// Shorter runs end by themselves before patience would tell anything; and with cosine decay the last third of
// a run is where the score rises, so that patience is never shorter.
constexpr int64_t shortest_with_patience = 10000;
constexpr int64_t smallest_patience = 10;

// A worker prepares images for about eight cores that train on the CPU; for a GPU all cores can work.
constexpr int cores_a_worker = 8, most_workers = 16;

// The cache's part of the free memory, beside the 60 % that a CPU's micro-batch may take.
constexpr double cache_share_on_cpu = 0.25, cache_share_on_gpu = 0.5;

constexpr double mebibyte = 1 << 20;

/// `value` with four significant digits, so that its text in config.yaml reads back as the same float.
float rounded(double value, const char* format = "{:.4g}") {
  return static_cast<float>(parse_number(fmt::format(fmt::runtime(format), value)).value());
}

std::string text(int value) {
  return std::to_string(value);
}
std::string text(float value) {
  return fmt::format("{:.7g}", value);
}
std::string text(Precision value) {
  return std::string(enum_name(value));
}

class Chooser {
 public:
  Chooser(RunConfig& config, const RunFacts& facts)
      : config_(config), facts_(facts), images_(facts.images > 0 ? facts.images : 10 * large_set) {}

  std::vector<Choice> choose() {
    batch();
    steps_per_epoch_ = divided_up(images_, config_.train.batch);
    epochs();
    steps_ = expected_steps();
    choose("train.precision", config_.train.precision, facts_.device.precision, facts_.device.reason);
    grow();
    // Patience is counted in evaluations.
    evaluate_every();
    patience();
    freeze();
    rate();
    warmup();
    average();
    whole_images();
    loader();
    return std::move(choices_);
  }

 private:
  template <typename T>
  void choose(const char* key, Auto<T>& setting, std::type_identity_t<T> value, const std::string& reason) {
    if (setting.has_value()) return;
    setting = value;
    choices_.push_back({key, text(value), reason});
  }

  // Tiles of one picture say little more about other pictures than the picture does.
  int64_t pictures() const { return facts_.pictures > 0 ? facts_.pictures : images_; }
  bool large() const { return pictures() >= large_set; }
  bool published() const { return large() && steps_ >= fewest_published_steps; }
  bool has_few_steps() const { return steps_ < few_steps; }
  /// Each rank on a GPU has its own; those on CPUs may share the cores of one.
  double images_per_minute() const {
    const double devices = facts_.device.gpu ? images_per_minute_on_gpu * facts_.ranks
                                             : images_per_minute_on_cpu * facts_.threads / usual_threads;
    return devices * (facts_.flops > 0 ? usual_flops / facts_.flops : 1);
  }

  std::string images() const {
    if (facts_.images <= 0) return "the data are not known here, a large set is assumed";
    std::string text =
        counted(facts_.pictures > 0 ? facts_.pictures : facts_.images, "training image", "training images");
    if (facts_.pictures > 0) text += fmt::format(" in {} tiles", facts_.images);
    return text;
  }

  /// Images trained in the whole run, where its length is given; 0: it follows from the batch.
  double images_trained() const {
    const TrainOptions& train = config_.train;
    double trained = 0;
    if (train.epochs.has_value() && train.iterations == 0)
      trained = train.epochs * static_cast<double>(images_);
    if (train.minutes > 0) {
      const double in_time = train.minutes * images_per_minute();
      trained = trained > 0 ? std::min(trained, in_time) : in_time;
    }
    return trained;
  }

  // Divisible by the ranks, and by the images that a user gave each rank's pass.
  void batch() {
    const int64_t part = int64_t{facts_.ranks} * config_.train.micro_batch.value_or(1);
    const int smallest = smallest_batch * (config_.train.sync_bn ? 1 : facts_.ranks);
    int wanted = std::max(smallest, large()                      ? large_batch
                                    : pictures() >= middling_set ? middling_batch
                                                                 : small_batch);
    std::string reason = (facts_.images > 0 ? "for " : "") + images() +
                         (facts_.ranks > 1 ? fmt::format(", {} ranks", facts_.ranks) : "");
    const double trained = images_trained();
    if (wanted > smallest && trained > 0 && trained / wanted < fewest_steps_of_a_short_run) {
      while (wanted > smallest && trained / wanted < fewest_steps_of_a_short_run)
        wanted = std::max(smallest, wanted / 2);
      reason +=
          fmt::format("; {}{:.0f} are seen in the whole run, and smaller batches make more steps of them",
                      config_.train.minutes > 0 ? "about " : "", trained);
    }
    int64_t batch = divided_up(std::min<int64_t>(wanted, images_), part) * part;
    if (batch > images_) batch = std::max(part, images_ / part * part);
    choose("train.batch", config_.train.batch, static_cast<int>(batch), reason);
  }

  void epochs() {
    TrainOptions& train = config_.train;
    if (train.iterations > 0) {
      choose("train.epochs", train.epochs, static_cast<int>(divided_up(train.iterations, steps_per_epoch_)),
             fmt::format("as many as train.iterations = {} takes", train.iterations));
      return;
    }
    if (train.minutes > 0) {
      if (!train.epochs.has_value())
        choices_.push_back(
            {"train.epochs", "auto", fmt::format("as many as fit into {:g} minutes", train.minutes)});
      return;
    }
    struct Least {
      const char* of;
      int64_t epochs, steps;
    };
    const Least least =
        train.quantize
            ? Least{"fine-tuning to int8's rounding", fewest_epochs_quantized, fewest_steps_quantized}
        : facts_.pretrained
            ? Least{"from pretrained weights", fewest_epochs_pretrained, fewest_steps_pretrained}
            : Least{"from scratch", fewest_epochs, fewest_steps};
    choose("train.epochs", train.epochs,
           static_cast<int>(std::max(least.epochs, divided_up(least.steps, steps_per_epoch_))),
           fmt::format("{}: at least {} epochs and {} steps, of which an epoch has {}", least.of,
                       least.epochs, least.steps, steps_per_epoch_));
  }

  int64_t expected_steps() const {
    const TrainOptions& train = config_.train;
    int64_t steps =
        train.iterations > 0 ? train.iterations : train.epochs.value_or(1 << 30) * steps_per_epoch_;
    if (train.minutes > 0) {
      steps = std::min<int64_t>(steps, std::llround(train.minutes * images_per_minute() / train.batch));
    }
    return std::max<int64_t>(1, steps);
  }

  std::string run_of() const {
    return fmt::format("a run of {}{} steps", config_.train.minutes > 0 ? "about " : "", steps_);
  }

  void warmup() {
    ScheduleOptions& schedule = config_.schedule;
    const int64_t wanted =
        published() ? published_warmup_steps : std::max(warmup_epochs * steps_per_epoch_, warmup_steps);
    const int64_t steps = std::min<int64_t>(wanted, std::llround(largest_warmup * steps_));
    const bool in_epochs = counts_epochs(schedule.unit);
    const double unit = in_epochs ? static_cast<double>(steps_per_epoch_) : 1;
    const std::string rule =
        published() ? fmt::format("YOLOv4's {} steps", published_warmup_steps)
                    : fmt::format("the larger of {} epochs and {} steps", warmup_epochs, warmup_steps);
    choose("schedule.warmup", schedule.warmup, rounded(steps / unit),
           fmt::format("{}{}, at most {:g} % of {}", in_epochs ? fmt::format("{} steps: ", steps) : "", rule,
                       100 * largest_warmup, run_of()));
    choose("schedule.power", schedule.power, published() ? published_warmup_power : warmup_power,
           published() ? "YOLOv4's warm-up" : "the warm-up is linear");
  }

  void rate() {
    const auto rate_of = [this]() -> std::pair<float, std::string> {
      const OptimizerKind kind = config_.optimizer.kind;
      if (const Auto<float> own = OptimizerOptions::of(kind).rate; own.has_value())
        return {own.value(), fmt::format("the usual rate of {}", enum_name(kind))};
      if (config_.train.quantize) return {quantized_rate, "fine-tuning to int8's rounding"};
      if (published()) return {usual_rate, "for a long run on many images"};
      if (!facts_.pretrained) return {has_few_steps() ? high_rate : usual_rate, "for " + run_of()};
      if (!facts_.new_predictions) return {usual_rate, "the prediction layers are pretrained"};
      const bool many = facts_.boxes >= many_boxes;
      return {many ? adapting_rate : usual_rate,
              fmt::format("new prediction layers on pretrained ones, {} {} objects",
                          many ? "at least" : "fewer than", many_boxes)};
    };
    const auto [rate, reason] = rate_of();
    choose("optimizer.rate", config_.optimizer.rate, rate, reason);
  }

  // Its edges and colours are much the same for all images; without its backward pass a step is faster.
  void freeze() {
    auto& freeze = config_.train.freeze;
    if (freeze.has_value()) return;
    freeze = std::vector<std::string>{};
    if (!facts_.new_predictions || facts_.first_convolution.empty() || published()) return;
    freeze = std::vector<std::string>{facts_.first_convolution};
    choices_.push_back({"train.freeze", '[' + facts_.first_convolution + ']',
                        "the pretrained filters for edges and colours suit all images"});
  }

  void average() {
    const std::string reason = published() ? "as YOLOv4 is trained" : "for " + run_of();
    const double share = has_few_steps() ? average_share_of_few_steps : average_share;
    const double rest = rounded(1 / (share * steps_), "{:.2g}");
    const double decay =
        published() ? published_decay : std::clamp(1 - rest, smallest_decay, published_decay);
    const double ramp =
        published() ? published_ramp : std::clamp(ramp_share * steps_, smallest_ramp, published_ramp);
    choose("ema.decay", config_.ema.decay, rounded(decay, "{:.6g}"), reason);
    choose("ema.ramp", config_.ema.ramp, rounded(ramp, "{:.2g}"), reason);
  }

  void whole_images() {
    choose("augment.mosaic_off", config_.augment.mosaic_off,
           published() ? published_whole_images_part : whole_images_part,
           "the last part of the run has no mosaics, as evaluations have none");
  }

  void loader() {
    LoaderOptions& loader = config_.loader;
    const int cores = std::max(1, facts_.processors / facts_.sharing_cores);
    const std::string share =
        facts_.ranks_here > 1 ? fmt::format(" for each of {} ranks", facts_.ranks_here) : "";
    const int workers = facts_.device.gpu ? cores - 1 : cores / cores_a_worker;
    choose("loader.workers", loader.workers, std::clamp(workers, 1, most_workers),
           fmt::format("{}{}, {}", counted(cores, "processor", "processors"), share,
                       facts_.device.gpu ? "beside a GPU that trains" : "which also train"));
    if (facts_.device.gpu && loader.paint == LoaderDevice::automatic) {
      const std::string alone = painted_by_cpu_alone(config_.augment);
      choices_.push_back({"loader.paint", alone.empty() ? "gpu" : "cpu",
                          alone.empty() ? "the GPU resizes and colours the samples"
                                        : "only the CPU paints augment." + alone});
    }
    if (facts_.device.gpu && loader.decode == LoaderDevice::automatic) {
      const std::string& problem = facts_.no_jpeg_decoder;
      choices_.push_back({"loader.decode", problem.empty() ? "gpu" : "cpu",
                          problem.empty() ? "nvJPEG decodes JPEG files beside the steps"
                                          : "nvJPEG cannot be used: " + problem});
    }
    if (facts_.decoded_bytes <= 0) return;
    const double part = facts_.device.gpu ? cache_share_on_gpu : cache_share_on_cpu;
    const double room = part * facts_.free_memory / facts_.ranks_here;
    // A run that goes on may have more ranks than when this was chosen. It influences no sample.
    if (!facts_.keeps_cache && loader.cache() * mebibyte > room && facts_.decoded_bytes > room)
      loader.cache_mb = {};
    const std::string needed = "all images take " + format_bytes(facts_.decoded_bytes) + " decoded";
    if (facts_.decoded_bytes <= room) {
      choose("loader.cache_mb", loader.cache_mb,
             static_cast<float>(std::ceil(facts_.decoded_bytes / mebibyte)), needed);
    } else {
      choose("loader.cache_mb", loader.cache_mb, rounded(std::floor(room / mebibyte)),
             fmt::format("{:g} % of the free memory, {}{}; {}", 100 * part, format_bytes(facts_.free_memory),
                         share, needed));
    }
  }

  /// Why the input is constant where the user did not say; "" where it grows.
  std::string why_constant(const InputSize& size) const {
    if (size.shorter() < smallest_growing_size) return "the input is small";
    if (published()) return "as YOLOv4 is trained";
    if (facts_.pretrained) return "pretrained layers know objects at full size";
    if (facts_.small_box > 0 &&
        facts_.small_box * first_growing_size * std::sqrt(static_cast<double>(size.pixels())) <
            smallest_object)
      return fmt::format("a quarter of the objects would have less than {:g} pixels", smallest_object);
    if (facts_.device.gpu) return "not measured on GPUs";
    if (growing_sizes(size, facts_.stride).size() == 1) return "no smaller size has the same ratio";
    return "";
  }

  void grow_through_given() {
    TrainOptions& train = config_.train;
    if (!train.size.has_value()) return;
    const std::vector<InputSize> sizes = grown_to(train.size, train.sizes, config_.where("train.sizes"));
    if (sizes.size() > train.sizes.size())
      choices_.push_back({"train.sizes", sizes_text(sizes), "the input grows to its full size"});
    train.sizes = sizes;
  }

  void grow() {
    TrainOptions& train = config_.train;
    const bool asked = train.grow.has_value();
    const auto constant = [&](const std::string& reason) {
      choose("train.grow", train.grow, 0.0f, "one size for the whole run: " + reason);
    };
    if (asked && train.grow == 0) return;
    if (asked && !train.sizes.empty()) return grow_through_given();
    if (!train.sizes.empty()) return constant("train.sizes are drawn at random");
    if (!train.size.has_value()) return constant("the input's size is not known here");
    if (const std::string why = asked ? "" : why_constant(train.size); !why.empty()) return constant(why);
    train.sizes = growing_sizes(train.size, facts_.stride);
    choices_.push_back({"train.sizes", sizes_text(train.sizes),
                        train.sizes.size() > 1 ? "training begins with small inputs"
                                               : "no smaller size has the same ratio"});
    choose("train.grow", train.grow, growing_part,
           "for this part of the run: small inputs take a fraction of the time");
  }

  int64_t expected_epochs() const { return divided_up(steps_, steps_per_epoch_); }

  void evaluate_every() {
    if (config_.train.minutes > 0) {
      if (!config_.evaluate.every.has_value())
        choices_.push_back(
            {"evaluate.every", "auto", "as often as the time that an evaluation takes allows"});
      return;
    }
    const auto epochs = static_cast<double>(expected_epochs());
    const double usual = std::max(1.0, std::round(epochs / evaluations));
    const double affordable =
        std::ceil(evaluated_per_trained * facts_.validation_images / (evaluation_part * images_));
    const double every = std::max(usual, std::min(affordable, std::floor(epochs / fewest_evaluations)));
    std::string reason = "after every epoch, as the run is short";
    if (every > 1) reason = fmt::format("about {:.0f} evaluations in {:g} epochs", epochs / every, epochs);
    if (every > usual) {
      reason += fmt::format(": {} validation images take as long as training {:.2g} epochs",
                            facts_.validation_images, evaluation_part * affordable);
    }
    choose("evaluate.every", config_.evaluate.every, static_cast<int>(every), reason);
  }

  void patience() {
    const auto never = [&](const std::string& reason) {
      choose("train.patience", config_.train.patience, 0, reason);
    };
    if (config_.train.minutes > 0) return never("never stop early: train.minutes is the limit");
    if (steps_ < shortest_with_patience)
      return never(fmt::format("never stop early: shorter than {} steps", shortest_with_patience));
    const int64_t third = divided_up(divided_up(expected_epochs(), config_.evaluate.every), 3);
    choose("train.patience", config_.train.patience, static_cast<int>(std::max(smallest_patience, third)),
           fmt::format("evaluations without a better score: a third of the run's, at least {}",
                       smallest_patience));
  }

  RunConfig& config_;
  const RunFacts& facts_;
  const int64_t images_;
  int64_t steps_per_epoch_ = 0, steps_ = 0;
  std::vector<Choice> choices_;
};

}  // namespace

std::vector<Choice> choose_automatic(RunConfig& config, const RunFacts& facts) {
  return Chooser(config, facts).choose();
}

std::vector<std::string> describe(const std::vector<Choice>& choices) {
  size_t key = 0, value = 0;
  for (const Choice& choice : choices) {
    key = std::max(key, choice.key.size());
    if (choice.value.size() < 20) value = std::max(value, choice.value.size());
  }
  std::vector<std::string> lines;
  for (const Choice& choice : choices)
    lines.push_back(fmt::format("  {:<{}}  {:<{}}  {}", choice.key, key, choice.value, value, choice.reason));
  return lines;
}

}  // namespace brightnet
