#include "formats/darknet/layers.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/darknet/sections.h"

namespace brightnet {
namespace {

constexpr size_t most_layers = 4096;
constexpr double largest_scale = 4096;
constexpr int largest_side = 1 << 14;
constexpr int most_channels = 1 << 18;
constexpr double most_parameters = 4e9;

/// The output of a section: the layer that makes it, and its shape at the configuration's input size.
struct Map {
  int layer = network_input;
  int width = 0, height = 0, channels = 0;
  double scale = 1;   ///< input pixels per pixel
  bool head = false;  ///< a [yolo]: nothing may read it

  bool fits(const Map& other) const {
    return width == other.width && height == other.height && scale == other.scale;
  }
};

std::string size_text(const Map& map) {
  return std::to_string(map.width) + 'x' + std::to_string(map.height) + 'x' + std::to_string(map.channels);
}

/// Activations that darknet has, by the same names.
constexpr Activation activations_of_darknet[] = {Activation::linear, Activation::relu,  Activation::leaky,
                                                 Activation::mish,   Activation::swish, Activation::logistic};

class LayerReader {
 public:
  explicit LayerReader(const DarknetCfg& cfg) : cfg_(cfg) {}

  DarknetLayers read() {
    refuse_other_networks(cfg_);
    read_net();
    for (const CfgSection& section : cfg_.sections) {
      maps_.push_back(read_section(section));
      read_training_keys(section);
      for (const CfgSetting& setting : section.not_understood()) {
        note(section, setting.key,
             "'" + setting.key + "' is not read by darknet in [" + section.kind() + "] either");
      }
    }
    finish();
    drop_repeated_notes();
    return std::move(result_);
  }

 private:
  Model& model() { return result_.model; }

  void note(const CfgSection& section, std::string_view key, std::string text) {
    result_.notes.push_back({section.where(key), std::move(text)});
  }

  /// A note that applies to several heads is kept once.
  void drop_repeated_notes() {
    std::vector<ImportNote> kept;
    for (ImportNote& note : result_.notes) {
      const bool said =
          std::any_of(kept.begin(), kept.end(), [&](const auto& other) { return other.text == note.text; });
      if (!said) kept.push_back(std::move(note));
    }
    result_.notes = std::move(kept);
  }

  void read_net() {
    const CfgSection& net = cfg_.net;
    const int width = net.integer("width", 0, 0, 8192), height = net.integer("height", 0, 0, 8192);
    if (width == 0 || height == 0) net.refuse("", "does not say width and height");
    model().size = {height, width};
    model().channels = net.integer("channels", 3, 0, 4096);
    if (model().channels != 1 && model().channels != 3) {
      net.refuse("channels", "has channels=" + std::to_string(model().channels) +
                                 ", and images are read with 3 channels (RGB) or 1 (grey)");
    }
    input_ = {network_input, width, height, model().channels};
  }

  /// The output of section `index`; −1: the network's input.
  const Map& map_of(int index) const { return index < 0 ? input_ : maps_[index]; }

  Map previous(const CfgSection& section) const {
    const Map map = map_of(static_cast<int>(maps_.size()) - 1);
    if (map.head) section.refuse("", "reads the [yolo] before it", "Begin the next branch with a [route].");
    return map;
  }

  /// A layer named by index: from the first section, or relative to this one if negative.
  Map named(const CfgSection& section, std::string_view key, int index) const {
    const int here = static_cast<int>(maps_.size()), layer = index < 0 ? here + index : index;
    if (layer < 0 || layer >= here) {
      section.refuse(key, "reads layer " + std::to_string(index) + ", which is not one of the " +
                              std::to_string(here) + " before it");
    }
    const Map map = map_of(layer);
    if (map.head) section.refuse(key, "reads layer " + std::to_string(index) + ", a [yolo]");
    return map;
  }

  Map add(const CfgSection& section, const std::vector<Map>& inputs, LayerAttributes attributes) {
    if (model().layers.size() >= most_layers) section.refuse("", "makes too many layers");
    const Map& in = inputs[0];
    std::vector<int> sources, channels;
    for (const Map& input : inputs) {
      sources.push_back(input.layer);
      channels.push_back(input.channels);
    }
    Map out;
    int64_t out_channels = 0;
    std::visit(
        [&](const auto& kind) {
          out.width = kind.side(in.width);
          out.height = kind.side(in.height);
          out.scale = kind.scale(in.scale);
          out.head = std::is_same_v<decltype(kind), const YoloAttributes&>;
          out_channels = kind.channels(channels);
        },
        attributes);
    if (out_channels > most_channels)
      section.refuse("", "would make " + std::to_string(out_channels) + " channels");
    out.channels = static_cast<int>(out_channels);
    if (out.width < 1 || out.height < 1) section.refuse("", "gets a map that is smaller than its window");
    if (in.scale == whole_image && (out.head || out.width != 1))
      section.refuse("", "reads the one pixel that an [avgpool] makes, which only factors are made from");
    if (out.scale > largest_scale || out.width > largest_side)
      section.refuse("", "would make a map of " + size_text(out) + " at too large a stride");
    out.layer = static_cast<int>(model().layers.size());
    model().layers.push_back({"", std::move(sources), std::move(attributes), section.where(), out.channels});
    sections_.push_back(&section);
    return out;
  }

  Map read_section(const CfgSection& section) {
    const std::string& kind = section.kind();
    if (kind == "convolutional" || kind == "conv") return read_convolution(section);
    if (kind == "maxpool" || kind == "max")
      return add(section, {previous(section)}, read_darknet_max_pool(section));
    if (kind == "local_avgpool" || kind == "local_avg")
      return add(section, {previous(section)}, read_darknet_average_pool(section));
    if (kind == "avgpool" || kind == "avg") return add(section, {previous(section)}, GlobalPoolAttributes{});
    if (kind == "route") return read_route(section);
    if (kind == "shortcut") return read_shortcut(section);
    if (kind == "sam") return read_sam(section);
    if (kind == "scale_channels") return read_scale_channels(section);
    if (kind == "upsample") return read_upsample(section);
    if (kind == "reorg3d") return read_reorg(section);
    if (kind == "yolo") return read_yolo(section);
    if (kind == "dropout") return pass_over_dropout(section);
    refuse_darknet_section(section);
  }

  /// Dropout, and DropBlock, change nothing but training.
  Map pass_over_dropout(const CfgSection& section) {
    section.pass_over({"dropblock", "dropblock_size_rel", "dropblock_size_abs"});
    const double probability = section.number("probability", 0.5, 0, 1);
    if (probability > 0) {
      note(section, "probability",
           fmt::format("dropout of probability {:g} is left out: the network detects the same, and trains "
                       "without this regularisation",
                       probability));
    }
    return previous(section);
  }

  Map read_convolution(const CfgSection& section) {
    const Map in = previous(section);
    const ConvAttributes conv = read_darknet_convolution(section);
    for (const auto& [channels, what] : {std::pair{in.channels, "channels"}, {conv.filters, "filters"}}) {
      if (channels % conv.groups != 0)
        section.refuse("groups", "cannot divide " + std::to_string(channels) + ' ' + what + " into " +
                                     std::to_string(conv.groups) + " groups");
    }
    parameters_ += static_cast<double>(conv.filters) * conv.size * conv.size * (in.channels / conv.groups);
    if (parameters_ > most_parameters)
      section.refuse("filters", "would give the network more than 4 · 10⁹ parameters");
    return add(section, {in}, conv);
  }

  Map read_route(const CfgSection& section) {
    const std::vector<int> layers = section.integers("layers", -100000, 100000);
    if (layers.empty()) section.refuse("", "names no layers");
    section.pass_over({"stream"});
    const int groups = section.integer("groups", 1, 1, most_channels);
    const int part = section.integer("group_id", 0, 0, most_channels);
    if (part >= groups)
      section.refuse("group_id", "selects group " + std::to_string(part) + " of " + std::to_string(groups));
    std::vector<Map> maps;
    for (const int layer : layers) {
      Map map = named(section, "layers", layer);
      if (!maps.empty() && !map.fits(maps[0])) {
        section.refuse("layers", "joins maps of different sizes, " + size_text(map_of(index_of(layers[0]))) +
                                     " and " + size_text(map));
      }
      if (groups > 1) {
        if (map.channels % groups != 0)
          section.refuse("groups", "cannot split " + std::to_string(map.channels) + " channels into " +
                                       std::to_string(groups) + " groups");
        map = add(section, {map}, SplitAttributes{groups, part});
      }
      maps.push_back(map);
    }
    return maps.size() == 1 ? maps[0] : add(section, maps, ConcatAttributes{});
  }
  int index_of(int named) const { return named < 0 ? static_cast<int>(maps_.size()) + named : named; }

  /// The outputs of the layer before and of those that `from` names.
  std::vector<Map> joined_maps(const CfgSection& section) const {
    std::vector<Map> maps{previous(section)};
    const std::vector<int> from = section.integers("from", -100000, 100000);
    if (from.empty()) section.refuse("from", "does not say 'from'");
    for (const int layer : from) maps.push_back(named(section, "from", layer));
    return maps;
  }

  static void refuse_other_sizes(const CfgSection& section, const std::vector<Map>& maps) {
    for (const Map& map : maps) {
      if (map.fits(maps[0])) continue;
      section.refuse("from",
                     "joins maps of different sizes, " + size_text(maps[0]) + " and " + size_text(map));
    }
  }

  /// The output of the layer before and the one that `from` names.
  std::pair<Map, Map> two_maps(const CfgSection& section) const {
    const std::vector<Map> maps = joined_maps(section);
    if (maps.size() != 2)
      section.refuse("from", "names more than one layer, and darknet reads the first alone");
    return {maps[0], maps[1]};
  }

  Map read_shortcut(const CfgSection& section) {
    const std::vector<Map> maps = joined_maps(section);
    refuse_other_sizes(section, maps);
    const Activation activation = read_activation(section, Activation::linear);
    if (auto weighted = read_darknet_sum_weights(section)) {
      weighted->activation = activation;
      std::vector<int> channels;
      for (const Map& map : maps) channels.push_back(map.channels);
      if (const std::string why = weighted->refusal(channels); !why.empty()) section.refuse("from", why);
      return add(section, maps, *weighted);
    }
    // darknet adds the channels that both have and keeps those of the layer before. Of several, one at a time.
    Map sum = maps[0];
    for (size_t i = 1; i < maps.size(); ++i) {
      const bool last = i + 1 == maps.size(), partial = sum.channels != maps[i].channels;
      sum = add(section, {sum, maps[i]}, ShortcutAttributes{last ? activation : Activation::linear, partial});
    }
    return sum;
  }

  /// The layer before makes the factors, `from` is what they scale.
  Map read_scale_channels(const CfgSection& section) {
    section.require({"scale_wh"}, 0);
    const auto [factors, map] = two_maps(section);
    if (read_activation(section, Activation::linear) != Activation::linear)
      section.refuse("activation", "has an activation after the product, which brightnet does not support");
    if (factors.width != 1 || factors.height != 1 || factors.scale != whole_image)
      section.refuse("", "reads factors of " + size_text(factors) + ", and needs one for each channel",
                     "Put an [avgpool] before the layers that make them.");
    if (factors.channels != map.channels)
      section.refuse("from", "scales " + std::to_string(map.channels) + " channels by " +
                                 std::to_string(factors.channels) + " factors");
    return add(section, {map, factors}, ScaleChannelsAttributes{});
  }

  Map read_sam(const CfgSection& section) {
    const auto [in, other] = two_maps(section);
    refuse_other_sizes(section, {in, other});
    if (read_activation(section, Activation::linear) != Activation::linear)
      section.refuse("activation", "has an activation after the product, which brightnet does not support");
    if (in.channels != other.channels)
      section.refuse("from",
                     "multiplies maps of different shapes, " + size_text(in) + " and " + size_text(other));
    return add(section, {in, other}, MultiplyAttributes{});
  }

  Map read_upsample(const CfgSection& section) {
    const Map in = previous(section);
    section.require({"scale"}, 1);
    return add(section, {in}, UpsampleAttributes{section.integer("stride", 2, 1, 8)});
  }

  Map read_reorg(const CfgSection& section) {
    const Map in = previous(section);
    section.require({"reverse"}, 0);
    const int block = section.integer("stride", 1, 1, 8);
    if (in.width % block != 0 || in.height % block != 0)
      section.refuse("stride",
                     "gets a map of " + size_text(in) + ", whose sides are no multiples of the stride");
    return add(section, {in}, SpaceToDepthAttributes{block});
  }

  Map read_yolo(const CfgSection& section) {
    const Map in = previous(section);
    int classes = 0;
    YoloAttributes yolo = read_darknet_head(section, classes, result_.notes);
    if (model().classes != 0 && model().classes != classes) {
      section.refuse("classes", "has classes=" + std::to_string(classes) + ", and an earlier [yolo] has " +
                                    std::to_string(model().classes));
    }
    model().classes = yolo.head.classes = classes;
    if (in.layer == network_input ||
        !std::holds_alternative<ConvAttributes>(model().layers[in.layer].attributes))
      section.refuse("", "must stand after a [convolutional]");
    auto& conv = std::get<ConvAttributes>(model().layers[in.layer].attributes);
    const CfgSection& source = *sections_[in.layer];
    const int needed = yolo.head.mask_count * (5 + classes);
    if (conv.filters != needed) {
      source.refuse("filters",
                    "has filters=" + std::to_string(conv.filters) + ", and the [yolo] in line " +
                        std::to_string(section.line()) + " needs " + std::to_string(yolo.head.mask_count) +
                        " · (5 + " + std::to_string(classes) + " classes) = " + std::to_string(needed),
                    "Correct filters, mask or classes.");
    }
    const Activation needs = yolo.head.new_coords ? Activation::logistic : Activation::linear;
    if (conv.activation != needs) {
      source.refuse("activation",
                    std::string("stands before a [yolo] ") +
                        (yolo.head.new_coords ? "with new_coords=1 and must have activation=logistic"
                                              : "without new_coords and must have activation=linear"));
    }
    conv.activation = Activation::linear;  // the head's own σ
    return add(section, {in}, std::move(yolo));
  }

  /// Settings that every section may have.
  void read_training_keys(const CfgSection& section) {
    section.require({"train_only_bn", "dontload", "dontloadscales", "onlyforward", "dont_update",
                     "assisted_excitation", "clip"},
                    0);
    section.require({"learning_rate"}, 1);
    section.pass_over({"dontsave", "burnin_update", "wait_stream", "stream"});
    const int stop = section.integer("stopbackward", 0, 0, 1 << 30);
    if (stop == 1) {
      result_.frozen = static_cast<int>(model().layers.size()) - 1;
    } else if (stop > 1) {
      note(section, "stopbackward",
           "stopbackward=" + std::to_string(stop) + " (nothing before it learns in the first " +
               std::to_string(stop) +
               " steps) is left out: the burn-in's small rates protect pretrained layers");
    }
  }

  void finish() {
    const auto& layers = model().layers;
    const std::vector<int> readers = count_readers(model());
    for (size_t i = 0; i < layers.size(); ++i) {
      const bool head = is_head(layers[i]);
      if (!head && readers[i] == 0) sections_[i]->refuse("", "is read by no later layer", "Remove it.");
      if (head && readers[layers[i].inputs[0]] > 1)
        sections_[i]->refuse("", "shares the [convolutional] before it with another layer");
    }
  }

  const DarknetCfg& cfg_;
  DarknetLayers result_;
  Map input_;
  std::vector<Map> maps_;                    ///< output of each section
  std::vector<const CfgSection*> sections_;  ///< section of each layer
  double parameters_ = 0;
};

}  // namespace

std::vector<int> count_readers(const Model& model) {
  std::vector<int> readers(model.layers.size());
  for (const LayerDescription& layer : model.layers) {
    for (const int input : layer.inputs) {
      if (input != network_input) ++readers[input];
    }
  }
  return readers;
}

bool is_known_to_darknet(Activation activation) {
  return std::ranges::find(activations_of_darknet, activation) != std::end(activations_of_darknet);
}

DarknetLayers read_darknet_layers(const DarknetCfg& cfg) {
  DarknetLayers result = LayerReader(cfg).read();
  merge_spp(result);
  return result;
}

}  // namespace brightnet
