#include "layers/model/layer_fields.h"

#include <array>
#include <charconv>

namespace brightnet {
namespace {

template <typename Items, typename Text>
std::string list_text(const Items& items, Text&& text) {
  std::string list = "[";
  for (const auto& item : items) list.append(list.size() > 1 ? ", " : "").append(text(item));
  return list + ']';
}

std::string node_text(const YAML::Node& node) {
  return node.IsSequence() ? list_text(node, node_text) : node.Scalar();
}

/// Collects texts. Limits are not checked: attributes that were read or imported are within them.
class FieldTexts : public Fields {
 public:
  explicit FieldTexts(YamlTexts& texts) : texts_(texts) {}

  void custom(const char* key, const std::function<void(const YamlValue&)>&,
              const std::function<YAML::Node()>& print, const char*) override {
    texts_.emplace_back(key, node_text(print()));
  }

 protected:
  void visit(const char* key, Kind kind, void* value, const char*) override {
    texts_.emplace_back(key, text_of(kind, value));
  }
  bool visit_automatic(const char* key, bool automatic, const char*) override {
    if (automatic) texts_.emplace_back(key, "auto");
    return automatic;
  }
  void nested(const char* key, const char*, const std::function<void(Fields&)>&) override {
    BRIGHTNET_CHECK(false, std::string("a layer's key '") + key + "' cannot be a mapping");
  }
  void out_of_limits(const std::string&, double, const std::string&) override {}
  void not_a_choice(const char*, const std::string&, const std::vector<std::string>&) override {}

 private:
  static std::string text_of(Kind kind, const void* value) {
    const auto number = [](float real) { return yaml_number(real); };
    const auto integer = [](int whole) { return std::to_string(whole); };
    const auto same = [](const std::string& text) { return text; };
    const auto row = [&](const std::vector<float>& numbers) { return list_text(numbers, number); };
    switch (kind) {
      case Kind::boolean: return *static_cast<const bool*>(value) ? "true" : "false";
      case Kind::integer: return integer(*static_cast<const int*>(value));
      case Kind::unsigned64: return std::to_string(*static_cast<const uint64_t*>(value));
      case Kind::real: return number(*static_cast<const float*>(value));
      case Kind::text: return *static_cast<const std::string*>(value);
      case Kind::texts: return list_text(*static_cast<const std::vector<std::string>*>(value), same);
      case Kind::reals: return row(*static_cast<const std::vector<float>*>(value));
      case Kind::integers: return list_text(*static_cast<const std::vector<int>*>(value), integer);
      case Kind::matrix: return list_text(*static_cast<const std::vector<std::vector<float>>*>(value), row);
    }
    return {};
  }

  YamlTexts& texts_;
};

}  // namespace

YamlTexts field_texts(const std::function<void(Fields&)>& visit) {
  YamlTexts texts;
  FieldTexts fields(texts);
  visit(fields);
  return texts;
}

std::string yaml_number(double value) {
  std::array<char, 128> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value),
                                 std::chars_format::fixed);
  return {text.data(), end.ptr};
}

}  // namespace brightnet
