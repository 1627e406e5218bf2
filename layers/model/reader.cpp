#include <algorithm>
#include <cctype>
#include <map>

#include "layers/model/model.h"
#include "layers/model/model_attributes.h"

namespace brightnet {
namespace {

using Numbers = std::map<std::string, int>;

/// Value of "$a", "$a/2", "2*$a" or a chain of these, left to right.
int evaluate(const std::string& text, const Numbers& numbers, const std::string& where) {
  size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  };
  const auto operand = [&] {
    skip();
    const bool named = at < text.size() && text[at] == '$';
    const size_t begin = named ? ++at : at;
    const auto inside = [&](unsigned char c) {
      return named ? std::isalnum(c) || c == '_' : std::isdigit(c) != 0;
    };
    while (at < text.size() && inside(static_cast<unsigned char>(text[at]))) ++at;
    const std::string word = text.substr(begin, at - begin);
    if (!named && !word.empty() && word.size() < 9) return std::stoi(word);
    const auto found = numbers.find(word);
    if (!named || found == numbers.end()) {
      throw InputError("'" + text + "' uses '" + word + "', which is no parameter of this block", where);
    }
    return found->second;
  };
  int value = operand();
  for (skip(); at < text.size(); skip()) {
    const char operation = text[at++];
    const int right = operand();
    const bool exact = operation == '*' || (operation == '/' && right != 0 && value % right == 0);
    if (!exact)
      throw InputError("'" + text + "' is not a whole number", where,
                       "Use $name, * and / without remainder.");
    value = operation == '*' ? value * right : value / right;
  }
  return value;
}

/// A copy of `node` with every "$…" evaluated. Its nodes carry no line of their own: messages name the
/// layer's.
YAML::Node substitute(const YAML::Node& node, const Numbers& numbers, const std::string& where) {
  if (node.IsMap()) {
    YAML::Node copy(YAML::NodeType::Map);
    for (const auto& entry : node) {
      copy[entry.first.as<std::string>()] = substitute(entry.second, numbers, where);
    }
    return copy;
  }
  if (node.IsSequence()) {
    YAML::Node copy(YAML::NodeType::Sequence);
    for (const auto& element : node) copy.push_back(substitute(element, numbers, where));
    return copy;
  }
  if (!node.IsScalar()) return YAML::Node(YAML::NodeType::Map);
  const std::string& text = node.Scalar();
  const bool computed = text.find('$') != std::string::npos;
  return YAML::Node(computed ? std::to_string(evaluate(text, numbers, where)) : text);
}

/// The names that a list of layers can use.
struct Scope {
  std::string prefix;
  std::map<std::string, int> names;
  std::map<std::string, int> count;  ///< of unnamed layers, by kind
  int previous = network_input;
};

class ModelReader {
 public:
  ModelReader(Model& model, std::string file, Activation activation, YoloAttributes head, YAML::Node blocks)
      : model_(model),
        file_(std::move(file)),
        activation_(activation),
        head_(std::move(head)),
        blocks_(std::move(blocks)) {}

  void read(const YAML::Node& layers) {
    Scope scope;
    scope.names["input"] = network_input;
    read_list(layers, scope, {}, 0);
    finish();
  }

 private:
  std::string place(const YAML::Node& node) const { return YamlValue{node, file_}.where(); }

  void read_list(const YAML::Node& list, Scope& scope, const Numbers& numbers, int depth) {
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
    Numbers numbers;
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
    layer.attributes = read_layer(kind, value, activation_, head_, reference);
    layer.where = value.file;
    for (const auto& name : reference.from) layer.inputs.push_back(resolve(name, scope, layer.where));
    if (layer.inputs.empty()) layer.inputs.push_back(scope.previous);
    const std::string name = unique_name(reference.name, kind, scope, layer.where);
    layer.name = scope.prefix + name;
    const int index = static_cast<int>(model_.layers.size());
    std::visit([&](auto& attributes) { complete(attributes, layer); }, layer.attributes);
    check_channels(layer, layer.channels);
    model_.layers.push_back(std::move(layer));
    scope.names[name] = index;
    scope.previous = index;
  }

  int channels_of(int index, const LayerDescription& layer) const {
    if (index == network_input) return model_.channels;
    if (model_.layers[index].channels == 0) {
      throw InputError(
          "'" + layer.name + "' reads '" + model_.layers[index].name + "', whose filters are auto",
          layer.where, "Only a yolo layer may read it.");
    }
    return model_.layers[index].channels;
  }

  static void check_channels(const LayerDescription& layer, int64_t channels) {
    if (channels <= max_channels) return;
    throw InputError("'" + layer.name + "' would have " + std::to_string(channels) +
                         " channels, and a layer can have " + std::to_string(max_channels),
                     layer.where);
  }

  void one_input(const LayerDescription& layer) const {
    if (layer.inputs.size() != 1) throw InputError("this kind of layer reads exactly one other", layer.where);
  }

  void two_alike(LayerDescription& layer, const std::string& what, bool partial = false) const {
    if (layer.inputs.size() != 2) throw InputError(what + " two layers", layer.where, "Write from: [a, b].");
    layer.channels = channels_of(layer.inputs[0], layer);
    const int other = channels_of(layer.inputs[1], layer);
    if (partial || other == layer.channels) return;
    throw InputError(what + " layers of equally many channels, and these have " +
                         std::to_string(layer.channels) + " and " + std::to_string(other),
                     layer.where);
  }

  void complete(ConvAttributes& conv, LayerDescription& layer) {
    one_input(layer);
    channels_of(layer.inputs[0], layer);
    if (conv.padding < 0) conv.padding = conv.size / 2;
    layer.channels = conv.filters;
  }
  void complete(MaxPoolAttributes&, LayerDescription& layer) {
    one_input(layer);
    layer.channels = channels_of(layer.inputs[0], layer);
  }
  void complete(SppAttributes& spp, LayerDescription& layer) {
    one_input(layer);
    for (const int window : spp.windows) {
      if (window < 2 || window > 15 || window % 2 == 0) {
        throw InputError("the windows of an spp layer are odd and at most 15", layer.where);
      }
    }
    layer.channels = channels_of(layer.inputs[0], layer) * static_cast<int>(1 + spp.windows.size());
  }
  void complete(ConcatAttributes&, LayerDescription& layer) {
    for (const int input : layer.inputs) layer.channels += channels_of(input, layer);
  }
  void complete(SplitAttributes& split, LayerDescription& layer) {
    one_input(layer);
    const int channels = channels_of(layer.inputs[0], layer);
    if (channels % split.groups != 0) {
      throw InputError(std::to_string(channels) + " channels cannot be split into " +
                           std::to_string(split.groups) + " equal groups",
                       layer.where);
    }
    layer.channels = channels / split.groups;
  }
  void complete(ShortcutAttributes& shortcut, LayerDescription& layer) {
    two_alike(layer, "a shortcut adds", shortcut.partial);
  }
  void complete(MultiplyAttributes&, LayerDescription& layer) { two_alike(layer, "a product takes"); }
  void complete(SpaceToDepthAttributes& fold, LayerDescription& layer) {
    one_input(layer);
    layer.channels = channels_of(layer.inputs[0], layer) * fold.block * fold.block;
  }
  void complete(UpsampleAttributes&, LayerDescription& layer) {
    one_input(layer);
    layer.channels = channels_of(layer.inputs[0], layer);
  }
  void complete(YoloAttributes& yolo, LayerDescription& layer) {
    one_input(layer);
    if (yolo.head.anchor_count == 0)
      throw InputError("there are no anchors", layer.where, "Write head: {anchors: [[w, h], …]}.");
    if (yolo.head.mask_count == 0) throw InputError("a yolo layer needs a mask", layer.where);
    if (layer.inputs[0] == network_input) throw InputError("a yolo layer cannot read the image", layer.where);
    yolo.head.classes = model_.classes;
    if (!yolo.class_weights.empty() && static_cast<int>(yolo.class_weights.size()) != model_.classes) {
      throw InputError("class_weights lists " + std::to_string(yolo.class_weights.size()) + " numbers for " +
                           std::to_string(model_.classes) + " classes",
                       layer.where);
    }
    check_channels(layer, int64_t{yolo.head.mask_count} * (5 + int64_t{model_.classes}));
    const int needed = yolo.head.mask_count * (5 + model_.classes);
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

  /// Strides, and what can only be judged of the whole.
  void finish() {
    bool has_head = false;
    std::vector<double> scale;  // input pixels per output pixel
    for (const auto& layer : model_.layers) {
      if (layer.channels == 0) {
        throw InputError("'filters: auto' has no yolo layer behind it", layer.where, "Write a number.");
      }
      std::vector<double> scales;
      for (const int input : layer.inputs) scales.push_back(input == network_input ? 1.0 : scale[input]);
      if (std::any_of(scales.begin(), scales.end(), [&](double s) { return s != scales[0]; })) {
        throw InputError("the inputs of '" + layer.name + "' have different sizes", layer.where,
                         "Upsample or pool one of them first.");
      }
      double own = scales[0];
      if (const auto* conv = std::get_if<ConvAttributes>(&layer.attributes)) own *= conv->stride;
      if (const auto* pool = std::get_if<MaxPoolAttributes>(&layer.attributes)) own *= pool->stride;
      if (const auto* fold = std::get_if<SpaceToDepthAttributes>(&layer.attributes)) own *= fold->block;
      if (const auto* up = std::get_if<UpsampleAttributes>(&layer.attributes)) own /= up->factor;
      scale.push_back(own);
      model_.stride = std::max(model_.stride, static_cast<int>(own));
      has_head = has_head || std::holds_alternative<YoloAttributes>(layer.attributes);
    }
    if (!has_head) throw InputError("the model has no yolo layer", file_);
    std::vector<bool> read(model_.layers.size());
    for (const auto& layer : model_.layers) {
      for (const int input : layer.inputs) {
        if (input != network_input) read[input] = true;
      }
    }
    for (size_t i = 0; i < read.size(); ++i) {
      if (read[i] || std::holds_alternative<YoloAttributes>(model_.layers[i].attributes)) continue;
      throw InputError("nothing reads '" + model_.layers[i].name + "'", model_.layers[i].where,
                       "Remove it, or name it in the 'from' of a later layer.");
    }
  }

  Model& model_;
  std::string file_;
  Activation activation_;
  YoloAttributes head_;
  YAML::Node blocks_;
};

}  // namespace

std::string Model::kind(const LayerDescription& layer) {
  return layer_kinds()[layer.attributes.index()];
}

Model parse_model(const YamlDocument& document, int classes, const YamlValue& head_overrides) {
  Model model;
  model.stride = 1;
  YAML::Node blocks(YAML::NodeType::Map), layers;
  YoloAttributes head;
  std::string activation = "leaky";
  int declared_classes = 80;
  YamlValue head_value;
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
            input("size", model.size, "pixels").within(1, 8192);
            input("channels", model.channels, "").within(1, 4096);
          });
        },
        nothing, "");
    f("classes", declared_classes, "").at_least(1);
    f.choice("activation", activation, activation_names(), "");
    f.custom(
        "head", [&](const YamlValue& value) { read_head(value, head); }, nothing, "");
    f.custom("blocks", keep(blocks), nothing, "");
    f.custom("layers", keep(layers), nothing, "");
  });
  if (head_overrides.defined()) read_head(head_overrides, head);
  model.classes = classes > 0 ? classes : declared_classes;
  if (!blocks.IsMap())
    throw InputError("'blocks' must be a mapping", YamlValue{blocks, document.file()}.where());
  if (!layers.IsDefined()) throw InputError("the model has no 'layers'", document.file());
  ModelReader(model, document.file(), parse_activation(activation), head, blocks).read(layers);

  YAML::Node resolved = YAML::Clone(document.root().node);
  resolved["classes"] = model.classes;
  if (head_overrides.defined()) {
    for (const auto& entry : head_overrides.node)
      resolved["head"][entry.first.as<std::string>()] = YAML::Clone(entry.second);
  }
  YAML::Emitter emitter;
  emitter << resolved;
  model.yaml = std::string(emitter.c_str()) + '\n';
  return model;
}

Model load_model(const std::filesystem::path& file, int classes, const YamlValue& head_overrides) {
  return parse_model(YamlDocument::load(file), classes, head_overrides);
}

}  // namespace brightnet
