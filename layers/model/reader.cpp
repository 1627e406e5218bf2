#include "layers/model/reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "layers/model/block_numbers.h"

namespace brightnet {
namespace {

/// The keys of every layer besides its own attributes.
struct LayerReference {
  std::string name;               ///< empty: numbered by its kind
  std::vector<std::string> from;  ///< empty: the layer before

  void fields(Fields& f) {
    f("name", name, "what other layers call it");
    f.custom(
        "from",
        [&](const YamlValue& value) {
          from = value.node.IsScalar() ? std::vector<std::string>{value.node.Scalar()}
                                       : yaml_as<std::vector<std::string>>(value, "from");
          if (from.empty()) throw InputError("'from' names no layer", value.where());
        },
        [] { return YAML::Node(); }, "the layers it reads");
  }
};

/// The defaults of a kind of layer.
LayerAttributes attributes_of(const std::string& kind, const std::string& where) {
  std::optional<LayerAttributes> found;
  std::vector<std::string> known;
  for_each_layer_kind([&](const auto& defaults) {
    known.emplace_back(defaults.kind);
    if (known.back() == kind) found = defaults;
  });
  if (found) return *found;
  const std::string nearest = nearest_word(kind, known);
  std::string remedy = "Known kinds:";
  for (const auto& name : known) remedy += ' ' + name;
  throw InputError("unknown kind of layer '" + kind + "'", where,
                   nearest.empty() ? remedy + '.' : "Did you mean '" + nearest + "'?");
}

/// The names that are visible in a list of layers.
struct Scope {
  std::string prefix;
  std::map<std::string, int> names;
  std::map<std::string, int> count;  ///< of unnamed layers, by kind
  int previous = network_input;
};

class ModelReader {
 public:
  ModelReader(Model& model, std::string file, Activation activation, YoloAttributes head,
              const HeadOptions& head_of_run, YAML::Node blocks)
      : model_(model),
        file_(std::move(file)),
        activation_(activation),
        head_(std::move(head)),
        head_of_run_(head_of_run),
        blocks_(std::move(blocks)) {}

  void read(const YAML::Node& layers) {
    Scope scope;
    scope.names["input"] = network_input;
    read_list(layers, scope, {}, 0);
    finish();
  }

 private:
  std::string place(const YAML::Node& node) const { return YamlValue{node, file_}.where(); }

  void read_list(const YAML::Node& list, Scope& scope, const BlockNumbers& numbers, int depth) {
    if (!list.IsDefined() || !list.IsSequence() || list.size() == 0) {
      throw InputError("a list of layers was expected here", place(list));
    }
    if (depth > 8)
      throw InputError("blocks are nested more than 8 deep", place(list), "Does a block use itself?");
    for (const auto& item : list) {
      if (!item.IsMap() || item.size() != 1) {
        throw InputError("a layer is written as '- kind: {…}'", place(item));
      }
      const auto kind = item.begin()->first.as<std::string>();
      const std::string where = place(item);
      const YamlValue value{substitute(item.begin()->second, numbers, where), where};
      const YAML::Node block = constant(blocks_)[kind];
      if (block.IsDefined()) {
        read_block(kind, block, value, scope, depth);
      } else {
        read_one(kind, value, scope);
      }
    }
  }

  // The const operator[] does not insert.
  static const YAML::Node& constant(const YAML::Node& node) { return node; }

  int resolve(const std::string& name, const Scope& scope, const std::string& where) const {
    const auto found = scope.names.find(name);
    if (found != scope.names.end()) return found->second;
    std::vector<std::string> known;
    for (const auto& entry : scope.names) known.push_back(entry.first);
    const std::string nearest = nearest_word(name, known);
    throw InputError(
        "there is no layer '" + name + "' before this one", where,
        nearest.empty() ? "Give the layer that is meant a name." : "Did you mean '" + nearest + "'?");
  }

  std::string unique_name(const std::string& given, const std::string& kind, Scope& scope,
                          const std::string& where) {
    const std::string name = given.empty() ? kind + std::to_string(++scope.count[kind]) : given;
    if (scope.names.contains(name)) throw InputError("there are two layers named '" + name + "'", where);
    return name;
  }

  void read_block(const std::string& kind, const YAML::Node& block, const YamlValue& value, Scope& scope,
                  int depth) {
    LayerReference reference;
    BlockNumbers numbers;
    int repeat = 1;
    std::vector<std::string> parameters;
    YAML::Node layers;
    read_fields({block, file_}, [&](Fields& f) {
      f("parameters", parameters, "numbers that its layers use as $name");
      f.custom(
          "layers", [&](const YamlValue& list) { layers = list.node; }, [] { return YAML::Node(); }, "");
    });
    read_fields(value, [&](Fields& f) {
      f("name", reference.name, "");
      f.custom(
          "from", [&](const YamlValue& from) { reference.from = {yaml_as<std::string>(from, "from")}; },
          [] { return YAML::Node(); }, "");
      f("repeat", repeat, "").within(1, 1000);
      for (const auto& parameter : parameters) {
        int number = -1;
        f(parameter.c_str(), number, "");
        if (number < 0) throw InputError("block '" + kind + "' needs '" + parameter + "'", value.where());
        numbers[parameter] = number;
      }
    });
    const std::string name = unique_name(reference.name, kind, scope, value.file);
    if (!reference.from.empty()) scope.previous = resolve(reference.from[0], scope, value.file);
    for (int i = 1; i <= repeat; ++i) {
      const std::string instance = repeat == 1 ? name : name + '.' + std::to_string(i);
      Scope inner;
      inner.prefix = scope.prefix + instance + '.';
      inner.previous = scope.previous;
      inner.names["input"] = scope.previous;
      read_list(layers, inner, numbers, depth + 1);
      for (const auto& [inner_name, index] : inner.names) {
        if (inner_name != "input") scope.names[instance + '.' + inner_name] = index;
      }
      scope.previous = inner.previous;
    }
    scope.names[name] = scope.previous;
  }

  void read_one(const std::string& kind, const YamlValue& value, Scope& scope) {
    LayerReference reference;
    LayerDescription layer;
    layer.attributes = read_attributes(kind, value, reference);
    layer.where = value.file;
    for (const auto& name : reference.from) layer.inputs.push_back(resolve(name, scope, layer.where));
    if (layer.inputs.empty()) layer.inputs.push_back(scope.previous);
    const std::string name = unique_name(reference.name, kind, scope, layer.where);
    layer.name = scope.prefix + name;
    const int index = static_cast<int>(model_.layers.size());
    std::visit([&](auto& attributes) { complete(attributes, layer); }, layer.attributes);
    model_.layers.push_back(std::move(layer));
    scope.names[name] = index;
    scope.previous = index;
  }

  LayerAttributes read_attributes(const std::string& kind, const YamlValue& value,
                                  LayerReference& reference) const {
    LayerAttributes attributes = attributes_of(kind, value.where());
    auto* yolo = std::get_if<YoloAttributes>(&attributes);
    if (yolo) *yolo = head_;
    read_fields(value, [&](Fields& f) {
      reference.fields(f);
      LayerFields fields(f, activation_, LayerFields::Purpose::reading);
      std::visit([&](auto& layer) { layer.fields(fields); }, attributes);
    });
    if (yolo) apply(head_of_run_, *yolo);
    return attributes;
  }

  int known_channels(int index, const LayerDescription& layer) const {
    const int channels = model_.channels_of(index);
    if (channels > 0) return channels;
    throw InputError("'" + layer.name + "' reads '" + model_.layers[index].name + "', whose filters are auto",
                     layer.where, "Only a yolo layer may read it.");
  }

  static int checked_channels(const LayerDescription& layer, int64_t channels) {
    if (channels <= max_channels) return static_cast<int>(channels);
    throw InputError("'" + layer.name + "' would have " + std::to_string(channels) +
                         " channels, and a layer can have " + std::to_string(max_channels),
                     layer.where);
  }

  static void check_input_count(int wanted, const LayerDescription& layer) {
    if (wanted == any_number || layer.inputs.size() == static_cast<size_t>(wanted)) return;
    if (wanted == 1) throw InputError("this kind of layer reads exactly one other", layer.where);
    throw InputError("this kind of layer reads exactly " + std::to_string(wanted) + " others", layer.where,
                     "Write from: [a, b].");
  }

  template <LayerKind Kind>
  void complete(const Kind& kind, LayerDescription& layer) {
    check_input_count(Kind::inputs, layer);
    std::vector<int> channels;
    for (const int input : layer.inputs) channels.push_back(known_channels(input, layer));
    if constexpr (requires { kind.refusal(channels); }) {
      if (const std::string why = kind.refusal(channels); !why.empty()) throw InputError(why, layer.where);
    }
    layer.channels = checked_channels(layer, kind.channels(channels));
  }

  static void check_mask(const YoloAttributes& yolo, const LayerDescription& layer) {
    for (const int anchor : std::span(yolo.head.mask, static_cast<size_t>(yolo.head.mask_count))) {
      if (anchor >= 0 && anchor < yolo.head.anchor_count) continue;
      throw InputError("'mask' names anchor " + std::to_string(anchor) + ", but there are " +
                           std::to_string(yolo.head.anchor_count) + ", counted from 0",
                       layer.where, "The anchors are listed at " + yolo.anchors_where + '.');
    }
  }

  /// Also sets the filters of the convolution before the head, if they are `auto`.
  void complete(YoloAttributes& yolo, LayerDescription& layer) {
    check_input_count(YoloAttributes::inputs, layer);
    if (yolo.head.mask_count == 0) throw InputError("a yolo layer needs a mask", layer.where);
    check_mask(yolo, layer);
    if (layer.inputs[0] == network_input) throw InputError("a yolo layer cannot read the image", layer.where);
    yolo.head.classes = model_.classes;
    if (!yolo.class_weights.empty() && static_cast<int>(yolo.class_weights.size()) != model_.classes) {
      throw InputError("class_weights lists " + std::to_string(yolo.class_weights.size()) + " numbers for " +
                           std::to_string(model_.classes) + " classes",
                       layer.where);
    }
    const int needed = checked_channels(layer, int64_t{yolo.head.mask_count} * (5 + int64_t{model_.classes}));
    LayerDescription& source = model_.layers[layer.inputs[0]];
    if (source.channels == 0) {
      std::get<ConvAttributes>(source.attributes).filters = needed;
      source.channels = needed;
    } else if (source.channels != needed) {
      throw InputError("this head needs " + std::to_string(needed) +
                           " channels (anchors · (5 + classes)), and '" + source.name + "' has " +
                           std::to_string(source.channels),
                       layer.where, "Write filters: auto there.");
    }
    layer.channels = needed;
  }

  /// Strides, and checks that need the whole model.
  void finish() {
    for (const auto& layer : model_.layers) {
      if (layer.channels > 0) continue;
      throw InputError("'filters: auto' has no yolo layer after it", layer.where, "Write a number.");
    }
    const std::vector<double> scales = layer_scales(model_.layers);
    const auto scale_of = [&](int input) { return input == network_input ? 1.0 : scales[input]; };
    for (const auto& layer : model_.layers) {
      const double scale = scale_of(layer.inputs[0]);
      check_scales(layer, scale);
      for (size_t i = 0; i < layer.inputs.size(); ++i) {
        const bool one_pixel = reads_one_pixel(layer, i);
        if (scale_of(layer.inputs[i]) == (one_pixel ? whole_image : scale)) continue;
        if (one_pixel) {
          throw InputError("the second input of '" + layer.name + "' is not one pixel for the whole image",
                           layer.where,
                           "Write from: [map, factors], the factors after a global_average_pool.");
        }
        throw InputError("the inputs of '" + layer.name + "' have different sizes", layer.where,
                         "Upsample or pool one of them first.");
      }
    }
    for (const double scale : scales) model_.stride = std::max(model_.stride, static_cast<int>(scale));
    check_readers();
  }

  /// What a global pool makes has one pixel, and stays so.
  static void check_scales(const LayerDescription& layer, double scale) {
    if (scale != whole_image) return;
    const bool enlarges = std::visit([](const auto& kind) { return kind.side(1) != 1; }, layer.attributes);
    if (enlarges || is_head(layer)) {
      throw InputError("'" + layer.name +
                           "' reads the single pixel that a global_average_pool makes, which " +
                           (is_head(layer) ? "is no map for a head" : "it would change the size of"),
                       layer.where, "Between that pool and a scale_channels stand convolutions of size 1.");
    }
  }

  void check_readers() const {
    if (std::none_of(model_.layers.begin(), model_.layers.end(), is_head))
      throw InputError("the model has no yolo layer", file_);
    std::vector<bool> read(model_.layers.size());
    for (const auto& layer : model_.layers) {
      for (const int input : layer.inputs) {
        if (input != network_input) read[input] = true;
      }
    }
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i] || is_head(model_.layers[i])) continue;
      throw InputError("nothing reads '" + model_.layers[i].name + "'", model_.layers[i].where,
                       "Remove it, or name it in the 'from' of a later layer.");
    }
  }

  Model& model_;
  std::string file_;
  Activation activation_;
  YoloAttributes head_;
  const HeadOptions& head_of_run_;
  YAML::Node blocks_;
};

/// Takes these keys from the yolo layers of a list.
void remove_from_heads(YAML::Node layers, const std::vector<std::string>& keys) {
  for (YAML::Node layer : layers) {
    YAML::Node yolo = layer["yolo"];
    if (!yolo.IsDefined() || !yolo.IsMap()) continue;
    for (const std::string& key : keys) yolo.remove(key);
  }
}

/// The model's YAML with the keys in it: in its `head:`, and no longer in its yolo layers, where they would win.
void override_head(YAML::Node model, const HeadOptions& head) {
  std::vector<std::string> keys;
  HeadOptions copy = head;
  for (const auto& entry : field_nodes([&](Fields& f) { copy.fields(f); })) {
    // Those that are left to the model, or to training until it has chosen, stay as they are.
    if (entry.second.IsScalar() && enum_value<LeftTo>(entry.second.Scalar())) continue;
    keys.push_back(entry.first.Scalar());
    model["head"][keys.back()] = entry.second;
  }
  if (keys.empty()) return;
  remove_from_heads(model["layers"], keys);
  if (!std::as_const(model)["blocks"].IsDefined()) return;
  for (const auto& block : model["blocks"]) remove_from_heads(block.second["layers"], keys);
}

}  // namespace

Model parse_model(const YamlDocument& document, int classes, const HeadOptions& head, int channels) {
  Model model;
  model.stride = 1;
  YAML::Node blocks(YAML::NodeType::Map), layers;
  YoloAttributes defaults;
  Activation activation = Activation::leaky;
  int declared_classes = 80;
  const auto keep = [](YAML::Node& node) {
    return [&node](const YamlValue& value) { node.reset(value.node); };
  };
  const auto nothing = [] { return YAML::Node(); };
  read_fields(document.root(), [&](Fields& f) {
    f("name", model.name, "");
    f.custom(
        "input",
        [&](const YamlValue& value) {
          read_fields(value, [&](Fields& input) {
            input_size_field(input, "size", model.size, {.high = largest_input_side}, "pixels");
            input("channels", model.channels, "").within(1, 4096);
          });
        },
        nothing, "");
    f("classes", declared_classes, "").at_least(1);
    f("activation", activation, "");
    f.custom(
        "head",
        [&](const YamlValue& value) {
          HeadOptions own;
          read_config(value, own);
          apply(own, defaults);
        },
        nothing, "");
    f.custom("blocks", keep(blocks), nothing, "");
    f.custom("layers", keep(layers), nothing, "");
  });
  apply(head, defaults);
  model.classes = classes > 0 ? classes : declared_classes;
  if (channels > 0) model.channels = channels;
  if (!blocks.IsMap())
    throw InputError("'blocks' must be a mapping", YamlValue{blocks, document.file()}.where());
  if (layers.IsNull()) throw InputError("the model has no 'layers'", document.file());
  ModelReader(model, document.file(), activation, defaults, head, blocks).read(layers);

  model.description = YAML::Clone(document.root().node);
  model.description["classes"] = model.classes;
  if (channels > 0) model.description["input"]["channels"] = channels;
  override_head(model.description, head);
  return model;
}

Model load_model(const std::filesystem::path& file, int classes, const HeadOptions& head, int channels) {
  return parse_model(YamlDocument::load(file), classes, head, channels);
}

void set_head(const HeadOptions& head, Model& model) {
  for (LayerDescription& layer : model.layers) {
    if (auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) apply(head, *yolo);
  }
  model.description = YAML::Clone(model.description);  // copies of the model share it
  override_head(model.description, head);
}

}  // namespace brightnet
