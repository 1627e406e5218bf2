// The keys of a run's YAML, each with its range and what it means.
#include "core/field_list.h"
#include "train/config/config.h"

namespace brightnet {

void TrainOptions::fields(Fields& f) {
  constexpr InputSizeLimits limits{.low = 32, .high = largest_input_side};
  input_size_field(f, "size", size, limits,
                   "input in pixels: a square's side, [height, width], or auto: by the images' shapes");
  input_size_field(
      f, "sizes", sizes, limits,
      "multi-scale: sizes to draw from, of the ratio of size (a number: the height); empty: size alone");
  f("grow", grow,
    "first part of the run in which the input grows through sizes (auto: from half of size); 0: they are drawn")
      .within(0, 0.9);
  f("size_every", size_every, "optimizer steps between changes of size").at_least(1);
  f("static_assignment", static_assignment,
    "first part of the run in which simota takes all its candidates; 0: never")
      .within(0, 1);
  f("batch", batch, "images of one optimizer step, over all ranks").at_least(1);
  f("micro_batch", micro_batch, "images of one pass; gradients are accumulated").at_least(1);
  f("memory_fraction", memory_fraction,
    "fraction of the free memory for micro_batch: auto; 0: 0.6 on the CPU, 0.9 on a GPU; lower it beside other programs")
      .at_least(0)
      .at_most(1);
  f("recompute", recompute, "what the backward pass recomputes; less memory, slower");
  f("graph", graph, "GPU: capture each step as a CUDA graph and replay it");
  f("deterministic", deterministic, "GPU: use only deterministic convolution algorithms");
  f("epochs", epochs, "passes over the training split; with minutes, as many as fit unless given")
      .at_least(1);
  f("iterations", iterations, "optimizer steps; 0: determined by epochs").at_least(0);
  f("minutes", minutes, "time limit: as many steps as fit, at most those of epochs; 0: none").at_least(0);
  f("precision", precision, "precision of activations and working weights");
  f("seed", seed, "random seed");
  f("sync_bn", sync_bn,
    "batch-norm statistics over all ranks; on the CPU, bit-identical for any number of ranks");
  f("quantize", quantize,
    "round as int8 does while the weights are fine-tuned, by scales calibrated on training images; in fp32");
  f("patience", patience, "evaluations without a better score before stopping; 0: never").at_least(0);
  f("average", average,
    "of how many of the best evaluations the weights are averaged at the end, and kept if better; 0: none")
      .within(0, 20);
  f("weights", weights,
    "safetensors, darknet's .weights or the name of published ones to start from; empty: from scratch");
  f("weights_partial", weights_partial,
    "load the leading layers of a .weights file that matches only up to a point");
  f("weights_cfg", weights_cfg, "the .cfg of a .weights file that belongs to another model");
  f("teacher", teacher,
    "trained network of any model to learn from besides the ground truth, as weights; of the same classes; empty: none");
  f("teacher_cfg", teacher_cfg, "the .cfg of a teacher that is a .weights file");
  f("teacher_sha256", teacher_sha256,
    "of the teacher's file; the run adds it and is resumed with no other file");
  f("distill", distill,
    "weight of the loss against the teacher's predictions, of which boxes and classes count by its objectness; 0: none")
      .at_least(0);
  f("distill_features", distill_features,
    "weight of the loss against the features that the teacher predicts from, through trained 1 x 1 adapters; 0: none")
      .at_least(0);
  f.custom(
      "freeze",
      [this](const YamlValue& value) {
        if (!value.node.IsScalar()) {
          freeze = yaml_as<std::vector<std::string>>(value, "freeze");
        } else if (value.node.Scalar() == "auto") {
          freeze = {};
        } else {
          freeze = std::vector<std::string>{value.node.Scalar()};
        }
      },
      [this] {
        if (!freeze.has_value()) return YAML::Node("auto");
        YAML::Node list(YAML::NodeType::Sequence);
        for (const auto& part : freeze.value()) list.push_back(part);
        return list;
      },
      "not trained: the first K layers, or layers and blocks by name; []: all are trained");
  f("pretrained_rate", pretrained_rate, "factor on the learning rate of layers loaded from the weights")
      .above(0);
  f("pretrained_warmup", pretrained_warmup,
    "first part of the run over which the rate of layers loaded from the weights rises from 0; 0: at once")
      .within(0, 1);
  f("fresh", fresh, "layers or blocks that the weights do not contain; they are trained at the full rate");
  f("save_every", save_every, "seconds between saved states; more if saving would take over 2 % of the time")
      .at_least(0);
  f("save_epochs", save_epochs,
    "epochs between snapshots of the weights that are kept, weights/epoch_NNN.safetensors; 0: none")
      .at_least(0);
  f("log_every", log_every, "seconds between progress lines without a terminal").above(0);
  f("bucket_mb", bucket_mb,
    "MiB of gradients per all-reduce; larger ones suit a network with a long delay, smaller ones begin earlier")
      .above(0);
  f("overlap", overlap, "all-reduce gradients during the backward pass; bit-identical either way");
  f("comm_timeout", comm_timeout, "seconds that a rank waits for others before the run ends").at_least(3);
  f("restarts", restarts,
    "times that the run is started again from its last saved state after its processes died; 0: never")
      .at_least(0);
}

void InputOptions::fields(Fields& f) {
  f("channels", channels, "of the input: 3 (RGB), 1 (grey); 0: the model's").within(0, 3);
}

void RunConfig::fields(Fields& f) {
  f("name", name, "name of the run's folder");
  f("model", model, "YAML or .cfg of the model, or the name of one that `brightnet models` lists");
  f.custom(
      "head", [this](const YamlValue& value) { read_config(value, head); },
      [this] { return field_nodes([this](Fields& keys) { head.fields(keys); }); },
      "overrides for keys of the model's head");
  f("input", input, "");
  f("data", data, "");
  f("train", train, "");
  f("optimizer", optimizer, "");
  f("schedule", schedule, "");
  f("ema", ema, "");
  f("augment", augment, "");
  f("loader", loader, "");
  f("evaluate", evaluate, "");
}

std::vector<ConfigKey> describe_config_keys() {
  std::vector<ConfigKey> keys;
  const auto add = [&](const std::string& section, const std::vector<ListedField>& fields) {
    for (const ListedField& field : fields) keys.push_back({section + field.key, field.doc, field.values});
  };
  for (const ListedField& field : fields_of<RunConfig>()) {
    field.key == "head" ? add("head.", fields_of<HeadOptions>()) : add("", {field});
  }
  return keys;
}

std::vector<std::string> config_keys() {
  std::vector<std::string> names;
  for (const ConfigKey& key : describe_config_keys()) names.push_back(key.name);
  return names;
}

}  // namespace brightnet
