#include "layers/model/reader.h"

#include <map>
#include <optional>
#include <utility>

#include "layers/model/block_numbers.h"
#include "layers/model/builder.h"

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
  std::map<std::string, int> count;  ///< number of unnamed layers of each kind
  int previous = network_input;
};

class ModelReader {
 public:
  ModelReader(ModelBuilder& builder, std::string file, Activation activation, YoloAttributes head,
              const HeadOptions& head_of_run, YAML::Node blocks)
      : builder_(builder),
        file_(std::move(file)),
        activation_(activation),
        head_(std::move(head)),
        head_of_run_(head_of_run),
        blocks_(std::move(blocks)) {}

  void read(const YAML::Node& layers) {
    Scope scope;
    scope.names["input"] = network_input;
    read_list(layers, scope, {}, 0);
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
    scope.previous = builder_.add(std::move(layer));
    scope.names[name] = scope.previous;
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

  ModelBuilder& builder_;
  std::string file_;
  Activation activation_;
  YoloAttributes head_;
  const HeadOptions& head_of_run_;
  YAML::Node blocks_;
};

/// Takes these keys from the yolo layers of a list, which may have anything else in it: nobody has looked at a block that
/// no layer uses.
void remove_from_heads(YAML::Node layers, const std::vector<std::string>& keys) {
  for (YAML::Node layer : layers) {
    if (!layer.IsMap()) continue;
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
    // Keys that are left to the model, or to training until it has chosen, stay as they are.
    if (entry.second.IsScalar() && enum_value<LeftTo>(entry.second.Scalar())) continue;
    keys.push_back(entry.first.Scalar());
    model["head"][keys.back()] = entry.second;
  }
  if (keys.empty()) return;
  remove_from_heads(model["layers"], keys);
  if (!std::as_const(model)["blocks"].IsDefined()) return;
  for (const auto& block : model["blocks"]) {
    if (block.second.IsMap()) remove_from_heads(block.second["layers"], keys);
  }
}

}  // namespace

Model parse_model(const YamlDocument& document, int classes, const HeadOptions& head, int channels) {
  Model model;
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
  ModelBuilder builder(std::move(model));
  ModelReader(builder, document.file(), activation, defaults, head, blocks).read(layers);
  model = builder.finish(document.file());
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
  if (model.description.IsNull()) return;
  // Copies of the model share the document, and assigning to a node of yaml-cpp changes all of its copies.
  model.description.reset(YAML::Clone(model.description));
  override_head(model.description, head);
}

}  // namespace brightnet
