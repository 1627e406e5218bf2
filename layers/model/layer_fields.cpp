#include "layers/model/layer_fields.h"

#include <array>
#include <charconv>

namespace brightnet {
namespace {

YAML::Node scalar(bool value) {
  return YAML::Node(value ? "true" : "false");
}
YAML::Node scalar(int value) {
  return YAML::Node(std::to_string(value));
}
YAML::Node scalar(uint64_t value) {
  return YAML::Node(std::to_string(value));
}
YAML::Node scalar(float value) {
  return YAML::Node(yaml_number(value));
}
YAML::Node scalar(const std::string& value) {
  return YAML::Node(value);
}
template <typename Item>
YAML::Node scalar(const std::vector<Item>& items) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const auto& item : items) list.push_back(scalar(item));
  return list;
}

std::string node_text(const YAML::Node& node) {
  if (!node.IsSequence()) return node.Scalar();
  std::string list = "[";
  for (const YAML::Node& item : node) list.append(list.size() > 1 ? ", " : "").append(node_text(item));
  return list + ']';
}

/// Limits are not checked: attributes that were read or imported are within them.
class FieldNodes : public Fields {
 public:
  void custom(const char* key, const std::function<void(const YamlValue&)>&,
              const std::function<YAML::Node()>& print, const char*) override {
    add(key, print());
  }

  YAML::Node nodes{YAML::NodeType::Map};

 protected:
  void visit(const char* key, Kind kind, void* value, const char*) override {
    switch (kind) {
      case Kind::boolean: return add(key, scalar(*static_cast<const bool*>(value)));
      case Kind::integer: return add(key, scalar(*static_cast<const int*>(value)));
      case Kind::unsigned64: return add(key, scalar(*static_cast<const uint64_t*>(value)));
      case Kind::real: return add(key, scalar(*static_cast<const float*>(value)));
      case Kind::text: return add(key, scalar(*static_cast<const std::string*>(value)));
      case Kind::texts: return add(key, scalar(*static_cast<const std::vector<std::string>*>(value)));
      case Kind::reals: return add(key, scalar(*static_cast<const std::vector<float>*>(value)));
      case Kind::integers: return add(key, scalar(*static_cast<const std::vector<int>*>(value)));
      case Kind::matrix: return add(key, scalar(*static_cast<const std::vector<std::vector<float>>*>(value)));
    }
  }
  bool visit_automatic(const char* key, bool automatic, const char*) override {
    if (automatic) add(key, YAML::Node("auto"));
    return automatic;
  }
  bool visit_optional(const char*, bool given) override { return given; }
  void nested(const char* key, const char*, const std::function<void(Fields&)>&) override {
    BRIGHTNET_CHECK(false, std::string("a layer's key '") + key + "' cannot be a mapping");
  }
  void out_of_limits(const std::string&, double, const std::string&) override {}
  void not_a_choice(const char*, const std::string&, const std::vector<std::string>&) override {}

 private:
  void add(const char* key, YAML::Node node) {
    if (node.IsNull()) return;
    if (node.IsSequence()) node.SetStyle(YAML::EmitterStyle::Flow);
    nodes[key] = node;
  }
};

}  // namespace

YAML::Node field_nodes(const std::function<void(Fields&)>& visit) {
  FieldNodes fields;
  visit(fields);
  return fields.nodes;
}

YamlTexts field_texts(const std::function<void(Fields&)>& visit) {
  YamlTexts texts;
  for (const auto& entry : field_nodes(visit))
    texts.emplace_back(entry.first.Scalar(), node_text(entry.second));
  return texts;
}

std::string yaml_number(double value) {
  std::array<char, 128> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value),
                                 std::chars_format::fixed);
  return {text.data(), end.ptr};
}

}  // namespace brightnet
