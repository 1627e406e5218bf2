#include "formats/darknet/export.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/require_memory.h"
#include "formats/darknet/layers.h"
#include "formats/darknet/weights.h"
#include "layers/layer.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// What a head was trained with and darknet, which says nothing of keys that it does not know, would not train with.
std::vector<std::string> remarks_on_training(const YoloAttributes& yolo) {
  const YoloHead& head = yolo.head;
  std::vector<std::string> remarks;
  const auto add = [&](bool unlike, const char* key, const auto& value, const char* darknets) {
    if (unlike) remarks.push_back(fmt::format("{}: {}; darknet would train with {}", key, value, darknets));
  };
  add(head.assignment != AssignmentKind::best_anchor, "assignment", enum_name(head.assignment),
      "best_anchor");
  add(head.focal_gamma > 0 && head.focal_gamma != 2, "focal_gamma", head.focal_gamma, "2");
  add(head.negative_weight != 1, "negative_weight", head.negative_weight, "1");
  add(head.objectness_gamma > 0, "objectness_gamma", head.objectness_gamma, "0");
  const std::vector<float>& weights = yolo.class_weights;
  add(std::any_of(weights.begin(), weights.end(), [](float weight) { return weight != 1; }), "class_weights",
      fmt::format("[{}]", fmt::join(weights, ", ")), "1 for each class");
  return remarks;
}

/// The sections of a .cfg after [net], and which of them stands for which of our layers.
class Sections {
 public:
  explicit Sections(const Model& model) : model_(model) {}

  void add_layer(int index) {
    const LayerDescription& layer = model_.layers[index];
    std::visit([&](const auto& attributes) { add(layer, attributes); }, layer.attributes);
    section_of_.push_back(count_ - 1);
  }

  const std::string& text() const { return text_; }
  int count() const { return count_; }

 private:
  int source(const LayerDescription& layer, size_t input) const {
    const int index = layer.inputs[input];
    if (index == network_input)
      refuse(layer, "reads the network's input, which darknet's layers cannot name");
    return section_of_[index];
  }

  [[noreturn]] static void refuse(const LayerDescription& layer, const std::string& what) {
    throw InputError("darknet cannot have this model: '" + layer.name + "' " + what, layer.where,
                     "Export it as ONNX");
  }

  void open(const char* kind) {
    text_ += fmt::format("\n[{}]\n", kind);
    ++count_;
  }
  template <typename Value>
  void set(const char* key, const Value& value) {
    text_ += fmt::format("{}={}\n", key, value);
  }

  void set_activation(const LayerDescription& layer, Activation activation) {
    if (!is_known_to_darknet(activation))
      refuse(layer, fmt::format("ends in {}, which darknet does not have", enum_name(activation)));
    set("activation", enum_name(activation));
  }

  /// A layer reads the section before it; a [route] brings it what it reads instead.
  void need(const LayerDescription& layer) {
    if (layer.inputs[0] == network_input && count_ == 0) return;
    const int wanted = source(layer, 0);
    if (wanted != count_ - 1) route({wanted});
  }
  void route(const std::vector<int>& sections) {
    std::string list;
    for (const int section : sections) list += fmt::format("{}{}", list.empty() ? "" : ",", section - count_);
    open("route");
    set("layers", list);
  }

  void add(const LayerDescription& layer, const ConvAttributes& conv) {
    need(layer);
    open("convolutional");
    if (conv.batch_norm) set("batch_normalize", 1);
    set("filters", conv.filters);
    set("size", conv.size);
    set("stride", conv.stride);
    if (conv.groups > 1) set("groups", conv.groups);
    if (conv.padding == conv.size / 2) {
      set("pad", 1);
    } else {
      set("padding", conv.padding);
    }
    const bool logistic = conv.activation == Activation::linear && feeds_new_coords(layer);
    set_activation(layer, logistic ? Activation::logistic : conv.activation);
  }

  /// The heads of Scaled-YOLOv4 leave the logistic function to the convolution before them.
  bool feeds_new_coords(const LayerDescription& layer) const {
    return std::any_of(model_.layers.begin(), model_.layers.end(), [&](const LayerDescription& other) {
      const auto* yolo = std::get_if<YoloAttributes>(&other.attributes);
      return yolo && yolo->head.new_coords && other.inputs[0] >= 0 &&
             &model_.layers[other.inputs[0]] == &layer;
    });
  }

  void add(const LayerDescription& layer, const MaxPoolAttributes& pool) {
    need(layer);
    open("maxpool");
    set("size", pool.size);
    set("stride", pool.stride);
  }

  void add(const LayerDescription& layer, const AveragePoolAttributes& pool) {
    need(layer);
    open("local_avgpool");
    set("size", pool.size);
    set("stride", pool.stride);
  }

  void add(const LayerDescription& layer, const GlobalPoolAttributes&) {
    need(layer);
    open("avgpool");
  }

  /// Each window is pooled from the layer's input, and all are concatenated, the largest first.
  void add(const LayerDescription& layer, const SppAttributes& spp) {
    need(layer);
    const int input = count_ - 1;
    std::vector<int> windows = spp.largest_first(), parts{input};
    std::reverse(windows.begin(), windows.end());
    for (const int window : windows) {
      if (count_ - 1 != input) route({input});
      open("maxpool");
      set("stride", 1);
      set("size", window);
      parts.insert(parts.begin(), count_ - 1);
    }
    route(parts);
  }

  void add(const LayerDescription& layer, const ConcatAttributes&) {
    std::vector<int> sections;
    for (size_t i = 0; i < layer.inputs.size(); ++i) sections.push_back(source(layer, i));
    route(sections);
  }

  void add(const LayerDescription& layer, const SplitAttributes& split) {
    route({source(layer, 0)});
    set("groups", split.groups);
    set("group_id", split.part);
  }

  void add(const LayerDescription& layer, const ChannelShuffleAttributes&) {
    refuse(layer, "shuffles channels, for which darknet has no layer");
  }

  void add(const LayerDescription& layer, const ShortcutAttributes& shortcut) {
    if (layer.inputs.size() != 2) refuse(layer, "adds other than two maps");
    need(layer);
    from(layer, "shortcut");
    set_activation(layer, shortcut.activation);
  }

  void add(const LayerDescription& layer, const WeightedSumAttributes& sum) {
    if (sum.normalization == SumNormalization::none)
      refuse(layer, "has weights without a normalization, which darknet does not read");
    need(layer);
    std::string others;
    for (size_t i = 1; i < layer.inputs.size(); ++i)
      others += fmt::format("{}{}", i == 1 ? "" : ",", source(layer, i) - count_);
    open("shortcut");
    set("from", others);
    set("weights_type", is_shared(sum.weights) ? "per_feature" : "per_channel");
    set("weights_normalization", enum_name(sum.normalization));
    set_activation(layer, sum.activation);
  }

  void add(const LayerDescription& layer, const MultiplyAttributes&) {
    need(layer);
    from(layer, "sam");
  }

  /// darknet's layer before makes the factors, and `from` is what they scale.
  void add(const LayerDescription& layer, const ScaleChannelsAttributes&) {
    const int factors = source(layer, 1);
    if (factors != count_ - 1) route({factors});
    const int map = source(layer, 0) - count_;
    open("scale_channels");
    set("from", map);
  }

  void from(const LayerDescription& layer, const char* kind) {
    const int other = source(layer, 1) - count_;
    open(kind);
    set("from", other);
  }

  void add(const LayerDescription& layer, const UpsampleAttributes& upsample) {
    need(layer);
    open("upsample");
    set("stride", upsample.factor);
  }

  void add(const LayerDescription& layer, const SpaceToDepthAttributes& reorg) {
    need(layer);
    open("reorg3d");
    set("stride", reorg.block);
  }

  void add(const LayerDescription& layer, const YoloAttributes& yolo) {
    need(layer);
    open("yolo");
    const YoloHead& head = yolo.head;
    for (const std::string& remark : remarks_on_training(yolo)) text_ += "# trained with " + remark + '\n';
    set("mask", fmt::format("{}", fmt::join(head.mask, head.mask + head.mask_count, ",")));
    std::string anchors;
    for (int i = 0; i < head.anchor_count; ++i)
      anchors += fmt::format("{}{},{}", i == 0 ? "" : ", ", head.anchors[i].w, head.anchors[i].h);
    set("anchors", anchors);
    set("classes", head.classes);
    set("num", head.anchor_count);
    set("scale_x_y", head.scale_xy);
    if (head.new_coords) set("new_coords", 1);
    set("ignore_thresh", head.ignore_threshold);
    set("truth_thresh", head.truth_threshold);
    if (head.iou_threshold < 1) set("iou_thresh", head.iou_threshold);
    // darknet would train with `iou` in its place, and say nothing.
    if (!is_known_to_darknet(head.iou_kind))
      refuse(layer, fmt::format("has iou_loss: {}, which darknet does not have", enum_name(head.iou_kind)));
    set("iou_loss", enum_name(head.iou_kind));
    set("iou_normalizer", 0.07);  // darknet's own for its own gradient; λ of ours is another number
    // cls_normalizer has an effect beside counters_per_class alone, so that of the classes is that of all terms.
    const float all = head.class_weight > 0 ? head.class_weight : 1;
    if (all != 1) set("delta_normalizer", all);
    set("obj_normalizer", head.objectness_weight / all);
    if (head.label_smoothing > 0) set("label_smooth_eps", head.label_smoothing);
    if (head.focal_gamma > 0) set("focal_loss", 1);
    if (head.objectness_smooth) set("objectness_smooth", 1);
    if (head.max_delta > 0) set("max_delta", head.max_delta);
    // What darknet calls greedynms is the distance term at this exponent; its default is the plain IoU.
    switch (yolo.nms) {
      case NmsKind::greedy: set("nms_kind", "default"); break;
      case NmsKind::diou:
        set("nms_kind", yolo.nms_beta == 0.6f ? "greedynms" : "diounms");
        set("beta_nms", yolo.nms_beta);
        break;
    }
  }

  const Model& model_;
  std::string text_;
  int count_ = 0;                ///< number of sections so far
  std::vector<int> section_of_;  ///< section that has each layer's output
};

/// The number of images seen in training, by read_darknet_trained(); 0 for a network that was trained here.
uint64_t images_seen(const TrainedModel& trained) {
  uint64_t seen = 0;
  if (const auto noted = trained.training.find("images_seen"); noted != trained.training.end())
    std::from_chars(noted->second.data(), noted->second.data() + noted->second.size(), seen);
  return seen;
}

/// The version of the file that the network was imported from, by read_darknet_trained(), so that unchanged numbers
/// become the same file. Ours where none is noted, or one whose count of images has 32 bits, which ours may not fit.
DarknetHeader version_of_import(const TrainedModel& trained) {
  const auto noted = trained.training.find("darknet_version");
  if (noted == trained.training.end()) return {};
  DarknetHeader header;
  const char *at = noted->second.data(), *end = at + noted->second.size();
  int32_t* const numbers[] = {&header.major, &header.minor, &header.revision};
  for (int32_t* const number : numbers) {
    if (number != numbers[0] && (at == end || *at++ != '.')) return {};
    const auto read = std::from_chars(at, end, *number);
    if (read.ec != std::errc()) return {};
    at = read.ptr;
  }
  return at == end && header.is_plausible() && header.wide() ? header : DarknetHeader{};
}

}  // namespace

std::string write_darknet_cfg(const Model& model, const InputFit& fit) {
  Sections sections(model);
  for (int i = 0; i < static_cast<int>(model.layers.size()); ++i) sections.add_layer(i);
  const InputSize& size = fit.size.given() ? fit.size : model.size;
  std::string net = fmt::format(
      "[net]\n# Written by brightnet.\nbatch=1\nsubdivisions=1\nwidth={}\nheight={}\nchannels={}\n"
      "momentum=0.949\ndecay=0.0005\nlearning_rate=0.001\nburn_in=1000\nmax_batches=10000\npolicy=steps\n"
      "steps=8000,9000\nscales=.1,.1\n",
      size.width, size.height, model.channels);
  if (fit.letterbox) net += "letter_box=1\n";
  return net + sections.text();
}

std::optional<int> darknet_layer_count(const Model& model, int index) {
  Sections sections(model);
  try {
    for (int i = 0; i <= index; ++i) sections.add_layer(i);
  } catch (const InputError&) {  // it says what darknet does not have, which is no fault of what is counted
    return std::nullopt;
  }
  return sections.count();
}

std::vector<float> scaled_to_large_variances(const ParameterLayout& layout, std::vector<float> values) {
  for (const ParameterEntry& variance : layout.entries()) {
    if (variance.kind != ParameterKind::running_variance) continue;
    const std::string layer = variance.name.substr(0, variance.name.rfind('.'));
    const ParameterEntry *weight = layout.find(layer + ".weight"),
                         *mean = layout.find(layer + ".running_mean");
    BRIGHTNET_CHECK(weight && mean, "batch-norm without a convolution");
    const size_t inputs = weight->count / variance.count;
    for (size_t channel = 0; channel < variance.count; ++channel) {
      float& value = values[variance.offset + channel];
      const double under_root = static_cast<double>(value) + batch_norm_epsilon;
      if (under_root >= 1) continue;
      const int exponent = static_cast<int>(std::ceil(-0.5 * std::log2(under_root)));
      value = static_cast<float>(std::ldexp(under_root, 2 * exponent) - batch_norm_epsilon);
      float& average = values[mean->offset + channel];
      average = std::ldexp(average, exponent);
      float* row = values.data() + weight->offset + channel * inputs;
      for (size_t i = 0; i < inputs; ++i) row[i] = std::ldexp(row[i], exponent);
    }
  }
  return values;
}

DarknetFiles export_darknet(const fs::path& folder, const std::string& name, const TrainedModel& trained,
                            DarknetNumbers numbers) {
  for (const std::string& label : trained.classes) {
    if (label.find_first_of("\r\n") != std::string::npos)
      throw InputError("a class is called '" + label + "', and darknet's .names have one a line", name);
  }
  const DarknetFiles files{folder / (name + ".cfg"), folder / (name + ".weights"),
                           folder / (name + ".names")};
  require_memory("a scaled copy of the weights of '" + trained.model.name + "'",
                 trained.values.size() * sizeof(float), free_memory_of_host(),
                 [] { return "Free some memory, or export on a machine with more."; });
  const std::string cfg = write_darknet_cfg(trained.model, trained.fit());
  if (std::error_code failed; !folder.empty()) create_folders(folder, failed);
  write_atomically(files.cfg, cfg);
  DarknetHeader header = are_scaled(numbers) ? DarknetHeader{} : version_of_import(trained);
  header.seen = images_seen(trained);
  save_darknet_weights(
      files.weights, trained.model, trained.layout,
      are_scaled(numbers) ? scaled_to_large_variances(trained.layout, trained.values) : trained.values,
      header);
  write_atomically(files.names, fmt::format("{}\n", fmt::join(trained.classes, "\n")));
  return files;
}

}  // namespace brightnet
