#include "train/formats/darknet_export.h"

#include <algorithm>

#include "train/formats/layer_yaml.h"

namespace brightnet {
namespace {

class CfgWriter {
 public:
  CfgWriter(const Model& model, const DarknetCfgOptions& options) : model_(model), options_(options) {}

  std::string write() {
    write_net();
    for (size_t i = 0; i < model_.layers.size(); ++i) {
      layer_ = &model_.layers[i];
      before_head_ = nullptr;
      for (const LayerDescription& reader : model_.layers) {
        const auto* yolo = std::get_if<YoloAttributes>(&reader.attributes);
        if (yolo && reader.inputs[0] == static_cast<int>(i)) before_head_ = yolo;
      }
      std::visit([this](const auto& attributes) { write(attributes); }, layer_->attributes);
      sections_.push_back(section_count_ - 1);
    }
    return std::move(text_);
  }

 private:
  void begin(const char* kind) {
    text_ += std::string("\n[") + kind + "]\n";
    ++section_count_;
  }
  void set(const char* key, const std::string& value) { text_ += std::string(key) + '=' + value + '\n'; }
  void set(const char* key, int value) { set(key, std::to_string(value)); }
  void set(const char* key, float value) { set(key, yaml_number(value)); }

  void write_net() {
    const int size = options_.size > 0 ? options_.size : model_.size;
    text_ = "# " + model_.name + ", written by brightnet\n[net]\n";
    set("batch", 64);
    set("subdivisions", 16);
    set("width", size);
    set("height", size);
    set("channels", model_.channels);
    if (options_.letterbox) set("letter_box", 1);
    text_ +=
        "# To train it on in darknet; brightnet's own recipe is in the run's config.yaml.\n"
        "momentum=0.9\ndecay=0.0005\nlearning_rate=0.001\nburn_in=1000\nmax_batches=10000\npolicy=constant\n"
        "saturation=1.5\nexposure=1.5\nhue=0.1\n";
  }

  /// The section that makes what a layer gives.
  int section_of(int layer) const {
    if (layer == network_input) {
      throw InputError(
          "'" + layer_->name + "' reads the image, and a .cfg can say that of its first layer only",
          layer_->where);
    }
    return sections_[static_cast<size_t>(layer)];
  }

  /// How the section that begins now names another: near ones from here, far ones from the start.
  std::string reference(int section) const {
    const int back = section - section_count_;
    return std::to_string(back >= -9 ? back : section);
  }

  /// Sees to it that the section that begins now follows the layer's (first) input.
  void follow(int input) {
    if (input == network_input && section_count_ == 0) return;
    const int section = section_of(input);
    if (section == section_count_ - 1) return;
    const std::string name = reference(section);
    begin("route");
    set("layers", name);
  }

  void write(const ConvAttributes& conv) {
    follow(layer_->inputs[0]);
    begin("convolutional");
    if (conv.batch_norm) set("batch_normalize", 1);
    set("filters", conv.filters > 0 ? conv.filters : layer_->channels);
    set("size", conv.size);
    set("stride", conv.stride);
    if (conv.padding == conv.size / 2) {
      set("pad", 1);
    } else {
      set("padding", conv.padding);
    }
    // A head with new_coords leaves its σ to the convolution.
    const bool logistic = before_head_ && before_head_->head.new_coords;
    set("activation", activation_text(logistic ? Activation::logistic : conv.activation));
  }

  void write(const MaxPoolAttributes& pool) {
    follow(layer_->inputs[0]);
    write_pool(pool.size, pool.stride);
  }
  void write_pool(int size, int stride) {
    begin("maxpool");
    set("size", size);
    set("stride", stride);
  }

  /// As darknet's own files do it: max-pools of one map, and a route that joins them, the largest first.
  void write(const SppAttributes& spp) {
    std::vector<int> windows = spp.windows;
    std::sort(windows.begin(), windows.end());
    std::vector<int> pools;
    for (const int window : windows) {
      follow(layer_->inputs[0]);
      write_pool(window, 1);
      pools.insert(pools.begin(), section_count_ - 1);
    }
    pools.push_back(section_of(layer_->inputs[0]));
    write_route(pools);
  }

  void write_route(const std::vector<int>& sections) {
    std::string list;
    for (const int section : sections) list += (list.empty() ? "" : ",") + reference(section);
    begin("route");
    set("layers", list);
  }

  void write(const ConcatAttributes&) {
    std::vector<int> sections;
    for (const int input : layer_->inputs) sections.push_back(section_of(input));
    write_route(sections);
  }

  void write(const SplitAttributes& split) {
    write_route({section_of(layer_->inputs[0])});
    set("groups", split.groups);
    set("group_id", split.part);
  }

  void write_pair(const char* kind) {
    follow(layer_->inputs[0]);
    const std::string other = reference(section_of(layer_->inputs[1]));
    begin(kind);
    set("from", other);
  }
  void write(const ShortcutAttributes& shortcut) {
    write_pair("shortcut");
    set("activation", activation_text(shortcut.activation));
  }
  void write(const MultiplyAttributes&) { write_pair("sam"); }

  void write(const UpsampleAttributes& up) {
    follow(layer_->inputs[0]);
    begin("upsample");
    set("stride", up.factor);
  }
  void write(const SpaceToDepthAttributes& fold) {
    follow(layer_->inputs[0]);
    begin("reorg3d");
    set("stride", fold.block);
  }

  void write(const YoloAttributes& yolo) {
    follow(layer_->inputs[0]);
    begin("yolo");
    const YoloHead& head = yolo.head;
    std::string mask, anchors;
    for (int i = 0; i < head.mask_count; ++i) mask += (i > 0 ? "," : "") + std::to_string(head.mask[i]);
    for (int i = 0; i < head.anchor_count; ++i) {
      anchors += (i > 0 ? ",  " : "") + yaml_number(head.anchors[i].w) + ',' + yaml_number(head.anchors[i].h);
    }
    set("mask", mask);
    set("anchors", anchors);
    set("classes", model_.classes);
    set("num", head.anchor_count);
    set("scale_x_y", head.scale_xy);
    if (head.new_coords) set("new_coords", 1);
    set("ignore_thresh", head.ignore_threshold);
    set("truth_thresh", head.truth_threshold);
    set("iou_thresh", head.iou_threshold);
    write_loss(head);
    if (yolo.nms == NmsKind::diou) {
      set("nms_kind", "diounms");
      set("beta_nms", yolo.nms_beta);
    }
    set("jitter", ".3");
    set("random", 0);
  }

  void write_loss(const YoloHead& head) {
    constexpr const char* losses[] = {"mse", "iou", "giou", "diou", "ciou"};
    set("iou_loss", losses[static_cast<size_t>(head.iou_kind)]);
    set("iou_normalizer", head.iou_kind == IouKind::mse ? "0.75" : head.new_coords ? "0.05" : "0.07");
    set("obj_normalizer", head.objectness_weight);
    set("cls_normalizer", head.class_weight);
    if (head.objectness_smooth) set("objectness_smooth", 1);
    if (head.label_smoothing > 0) set("label_smooth_eps", head.label_smoothing);
    if (head.focal_gamma > 0) set("focal_loss", 1);
    if (head.max_delta > 0) set("max_delta", head.max_delta);
  }

  const Model& model_;
  const DarknetCfgOptions options_;
  const LayerDescription* layer_ = nullptr;
  const YoloAttributes* before_head_ = nullptr;  ///< the head that reads the layer
  std::vector<int> sections_;                    ///< of each layer
  int section_count_ = 0;
  std::string text_;
};

}  // namespace

std::string write_darknet_cfg(const Model& model, const DarknetCfgOptions& options) {
  return CfgWriter(model, options).write();
}

}  // namespace brightnet
