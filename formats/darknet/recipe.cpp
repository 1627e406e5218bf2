// darknet sums a batch's gradient, subtracts decay · batch · w, and divides the rate by the batch. This
// equals our mean gradient with decay · w, so that rate, momentum and decay carry over unchanged.
#include "formats/darknet/recipe.h"

#include <algorithm>
#include <cmath>

#include "layers/model/layer_fields.h"

namespace brightnet {
namespace {

class RecipeWriter {
 public:
  RecipeWriter(const DarknetCfg& cfg, int stride, int frozen, std::vector<ImportNote>& notes)
      : net_(cfg.net),
        notes_(notes),
        size_(cfg.net.integer("height", 0, 0, 8192), cfg.net.integer("width", 0, 0, 8192)),
        stride_(stride),
        frozen_(frozen) {
    for (const CfgSection& section : cfg.sections) {
      if (section.kind() == "yolo") yolo_ = &section;
    }
    BRIGHTNET_CHECK(yolo_, "a detector has a [yolo]");
  }

  std::string write(const std::string& model) {
    refuse_what_changes_training();
    text_ = "model: " + model + '\n';
    line("head: {anchors: model, assignment: model}", "darknet's; auto fits them to the data");
    text_ += "data:\n  format: darknet\n  train: obj.data  # its lists of images and class names\n";
    write_train();
    write_optimizer();
    write_schedule();
    text_ += "ema: {decay: " + number("ema_alpha", 0, 0, 0.999999) + "}\n";
    write_augment();
    write_evaluate();
    for (const CfgSetting& setting : net_.not_understood()) {
      notes_.push_back(
          {net_.where(setting.key), "'" + setting.key + "' is not read by darknet in [net] either"});
    }
    return std::move(text_);
  }

 private:
  std::string number(std::string_view key, double otherwise, double low, double high) const {
    return yaml_number(net_.number(key, otherwise, low, high));
  }

  static std::string yaml_size(const InputSize& size) {
    if (size.square()) return size.text();
    return '[' + std::to_string(size.height) + ", " + std::to_string(size.width) + ']';
  }

  void line(const std::string& text, const std::string& comment = "") {
    text_ += text + (comment.empty() ? "" : "  # " + comment) + '\n';
  }

  void refuse_what_changes_training() const {
    net_.require({"adam", "adversarial_lr", "contrastive", "unsupervised", "track", "dynamic_minibatch",
                  "weights_reject_freq", "equidistant_point", "badlabels_rejection_percentage",
                  "num_sigmas_reject_badlabels"},
                 0);
    net_.require({"time_steps"}, 1);
    // Keys for classifiers and sequences.
    net_.pass_over({"inputs", "max_crop", "min_crop", "angle", "aspect", "cutmix", "label_smooth_eps",
                    "attention", "contrastive_jit_flip", "contrastive_color", "augment_speed"});
    // Keys for speed, memory and plots, or for policies and optimizers that are refused.
    net_.pass_over({"B1", "B2", "eps", "gamma", "learning_rate_min", "loss_scale", "optimized_memory"});
    net_.pass_over({"workspace_size_limit_MB", "sequential_subdivisions", "try_fix_nan", "use_cuda_graph",
                    "max_chart_loss", "show_receptive_field"});
  }

  void write_train() {
    const int batch = net_.integer("batch", 1, 1, 1 << 20);
    const int parts = net_.integer("subdivisions", 1, 1, 1 << 20);
    if (batch % parts != 0) {
      net_.refuse("subdivisions", "has batch=" + std::to_string(batch) + " and subdivisions=" +
                                      std::to_string(parts) + ", which does not divide it");
    }
    if (batch == 1) {
      notes_.push_back({net_.where("batch"),
                        "batch=1 is what darknet's files say for testing; to train, take the "
                        "batch and subdivisions that stand commented out beside it"});
    }
    line("train:");
    line("  size: " + yaml_size(size_));
    line("  grow: 0");
    write_sizes();
    line("  batch: " + std::to_string(batch));
    line("  micro_batch: " + std::to_string(batch / parts), "batch / subdivisions; auto takes what fits");
    const int steps = net_.integer("max_batches", 0, 0, 2000000000);
    if (steps > 0) line("  iterations: " + std::to_string(steps));
    line("  patience: 0", "all of max_batches");
    if (frozen_ > 0)
      line("  freeze: " + std::to_string(frozen_), "stopbackward=1");
    else
      line("  freeze: []");
  }

  /// random=1: every ten steps darknet draws a factor between 1/1.4 and 1.4 and rounds up to the
  /// next resize_step.
  void write_sizes() {
    const double random = yolo_->number("random", 0, 0, 4);
    if (random == 0) {
      if (net_.has("resize_step"))
        notes_.push_back(
            {net_.where("resize_step"), "resize_step has no effect without random, here as in darknet"});
      return;
    }
    const double factor = random == 1 ? 1.4 : random;
    if (factor < 1) yolo_->refuse("random", "has a random below 1");
    const int step = std::max(net_.integer("resize_step", 32, 1, 4096), stride_);
    if (step % stride_ != 0)
      net_.refuse("resize_step", "has a resize_step that is no multiple of the stride");
    const auto rounded = [&](double size) { return (static_cast<int>(std::lround(size / step)) + 1) * step; };
    // darknet draws one factor for both sides.
    std::string list;
    for (int height = rounded(size_.height / factor); height <= rounded(size_.height * factor);
         height += step) {
      const double scale = static_cast<double>(height - step) / size_.height;
      const InputSize size(height, size_.square() ? height : rounded(size_.width * scale));
      list.append(list.empty() ? "" : ", ").append(yaml_size(size));
    }
    line("  sizes: [" + list + ']', "random=" + yaml_number(random));
    line("  size_every: 10");
  }

  void write_optimizer() {
    const double rate = net_.number("learning_rate", 0.001, 0, 1000);
    if (rate == 0) net_.refuse("learning_rate", "has learning_rate=0");
    line("optimizer: {kind: sgd, rate: " + yaml_number(rate) + ", momentum: " +
             number("momentum", 0.9, 0, 1) + ", decay: " + number("decay", 0.0001, 0, 1000) + ", clip: 0}",
         "darknet does not clip the gradient");
  }

  void write_schedule() {
    const std::string policy = net_.text("policy", "constant");
    std::string text = "schedule: {kind: ";
    if (policy == "steps") {
      text += "steps";
    } else if (policy == "constant") {
      text += "constant";
    } else if (policy == "sgdr" && single_cycle()) {
      text += "cosine";
    } else {
      net_.refuse(
          "policy", "has policy=" + policy.substr(0, 40) + ", which brightnet does not support",
          "It has constant, steps, and sgdr of one cycle; schedule.kind: linear is poly with power=1.");
    }
    text += ", unit: iterations, warmup: " + std::to_string(net_.integer("burn_in", 0, 0, 2000000000)) +
            ", power: " + number("power", 4, 0, 100);
    if (policy == "steps") text += steps();
    if (policy == "sgdr") {
      const double rate = net_.number("learning_rate", 0.001, 0, 1000);
      text +=
          ", final: " + yaml_number(std::min(1.0, net_.number("learning_rate_min", 0.00001, 0, 1000) / rate));
    }
    line(text + '}');
  }

  bool single_cycle() const {
    const int length = net_.integer("max_batches", 0, 0, 2000000000);
    return !net_.has("steps") && net_.integer("sgdr_cycle", length, 0, 2000000000) == length;
  }

  std::string steps() const {
    // YOLOv2's recipes begin with steps=-1: a factor that holds from the first iteration on.
    std::vector<int> at = net_.integers("steps", -1, 2000000000);
    for (int& step : at) step = std::max(step, 0);
    const std::vector<double> scales = net_.numbers("scales", 0, 1e6),
                              sequence = net_.numbers("seq_scales", 0, 1e6);
    if (at.empty() || at.size() != scales.size()) {
      net_.refuse("scales", "has " + std::to_string(at.size()) + " steps and " +
                                std::to_string(scales.size()) +
                                " scales, and policy=steps needs as many of each");
    }
    if (!std::is_sorted(at.begin(), at.end())) net_.refuse("steps", "has steps that do not ascend");
    if (std::any_of(sequence.begin(), sequence.end(), [](double scale) { return scale != 1; }))
      net_.refuse("seq_scales", "has seq_scales, which are of sequences");
    std::string text = ", steps: [", factors;
    for (size_t i = 0; i < at.size(); ++i) {
      const char* comma = i > 0 ? ", " : "";
      text.append(comma).append(std::to_string(at[i]));
      factors.append(comma).append(yaml_number(scales[i]));
    }
    return text + "], scales: [" + factors + ']';
  }

  void write_augment() {
    const bool mosaic = net_.integer("mosaic", 0, 0, 1) != 0;
    const bool mixup = !mosaic && net_.integer("mixup", 0, 0, 1) != 0;
    net_.pass_over({"mixup"});
    line("augment:");
    line(std::string("  mosaic: ") + (mosaic ? "0.5" : "0"),
         mosaic ? "darknet tosses a coin for each mini-batch" : "");
    line("  mosaic_off: 0");
    write_bound(mosaic);
    if (mixup) line("  mixup: 0.5");
    line(std::string("  flip: ") + (net_.integer("flip", 1, 0, 1) != 0 ? "0.5" : "0"));
    line("  jitter: " + yaml_number(yolo_->number("jitter", 0.2, 0, 0.45)));
    line("  resize: " + yaml_number(yolo_->number("resize", 1, 1, 4)));
    line("  hue: " + number("hue", 0, 0, 0.5));
    line("  saturation: " + factor("saturation"));
    line("  exposure: " + factor("exposure"));
    write_blur();
    write_noise();
    const bool letterbox = net_.integer("letter_box", 0, 0, 1) != 0;
    line(std::string("  letterbox: ") + (letterbox ? "true" : "false"));
  }

  /// darknet cuts boxes at a mosaic's seams with mosaic_bound=1, else only at the input's border; here always.
  void write_bound(bool mosaic) {
    const bool bound = net_.integer("mosaic_bound", 0, 0, 1) != 0;
    if (!mosaic || bound) return;
    notes_.push_back(
        {net_.where("mosaic"),
         "boxes of a mosaic end at its seams, as with mosaic_bound=1, since what lies beyond is not "
         "in the picture; darknet without mosaic_bound leaves them as they are"});
  }

  /// Of three images darknet leaves one, blurs the background of one, and the whole of one when blur > 1.
  void write_blur() {
    const int kernel = net_.integer("blur", 0, 0, 1000);
    if (kernel == 0) return;
    constexpr int of_background = 17;
    line("  blur_background: " + std::string(kernel == 1 ? "0.6667" : "0.3333"),
         "blur=" + std::to_string(kernel));
    line("  blur_background_sigma: " + sigma_of(of_background));
    if (kernel == 1) return;
    line("  blur: 0.3333");
    line("  blur_sigma: " + sigma_of(kernel / 2 * 2 + 1));
    notes_.push_back({net_.where("blur"),
                      "darknet blurs less where the smallest object has fewer than 8 pixels for each of the "
                      "kernel's, and brightnet does not"});
  }
  /// OpenCV's for a kernel of so many pixels.
  static std::string sigma_of(int kernel) {
    return yaml_number(std::clamp(0.3 * ((kernel - 1) * 0.5 - 1) + 0.8, 0.1, 20.0));
  }

  void write_noise() {
    const int sigma = net_.integer("gaussian_noise", 0, 0, 1 << 20);
    if (sigma == 0) return;
    line("  noise: 0.5", "gaussian_noise=" + std::to_string(sigma));
    line("  noise_sigma: " + std::to_string(std::min(sigma, 127)));
    notes_.push_back(
        {net_.where("gaussian_noise"),
         "noise makes pixels brighter and darker; darknet draws it without sign, so that it only "
         "makes them brighter"});
  }

  /// A factor and its inverse are drawn with equal probability, so one below 1 means its inverse.
  std::string factor(std::string_view key) const {
    const double value = net_.number(key, 1, 0.1, 10);
    return yaml_number(value < 1 ? 1 / value : value);
  }

  void write_evaluate() {
    line("evaluate:");
    line("  every: 4", "epochs, as darknet's -map");
  }

  const CfgSection& net_;
  std::vector<ImportNote>& notes_;
  const CfgSection* yolo_ = nullptr;
  const InputSize size_;
  const int stride_, frozen_;
  std::string text_;
};

}  // namespace

std::string write_darknet_recipe(const DarknetCfg& cfg, const std::string& model, int stride, int frozen,
                                 std::vector<ImportNote>& notes) {
  return RecipeWriter(cfg, stride, frozen, notes).write(model);
}

}  // namespace brightnet
