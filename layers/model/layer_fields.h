// The keys of a layer in a model's YAML: each kind of layer (layers/model/layer_kinds.h) visits its own in
// fields(), once for reading and writing.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/config.h"
#include "kernels/math/activation.h"

namespace brightnet {

/// Receives the keys that a layer kind's fields() visits.
class LayerFields {
 public:
  enum class Purpose { reading, writing };
  /// `activation`: the activation of convolutions that do not name one.
  LayerFields(Fields& fields, Activation activation, Purpose purpose)
      : fields_(fields), activation_(activation), writes_(purpose == Purpose::writing) {}

  Activation model_activation() const { return activation_; }

  /// A key that is always written. When it is absent in reading, the value stays unchanged.
  template <typename Value>
  auto operator()(const char* key, Value& value, const char* doc) {
    return fields_(key, value, doc);
  }

  /// A key that is left out where its value is `otherwise`.
  template <typename Value>
  requires(!NamedEnum<Value>) Fields::Limits operator()(const char* key, Value& value,
                                                        const std::type_identity_t<Value>& otherwise,
                                                        const char* doc) {
    if (left_out(value, otherwise)) return {fields_, key, static_cast<double>(value)};
    return fields_(key, value, doc);
  }
  template <NamedEnum Enum>
  void operator()(const char* key, Enum& value, std::type_identity_t<Enum> otherwise, const char* doc) {
    if (!left_out(value, otherwise)) fields_(key, value, doc);
  }

  /// The keys of a struct of its own.
  template <typename Struct>
  void keys_of(Struct& keys) {
    keys.fields(fields_);
  }

  /// A key whose value is one of a list of words, left out where it is `otherwise`.
  void choice(const char* key, std::string& value, const std::string& otherwise,
              const std::vector<std::string>& choices, const char* doc) {
    if (!left_out(value, otherwise)) fields_.choice(key, value, choices, doc);
  }

  /// A key whose value the layer reads and prints itself.
  void custom(const char* key, const std::function<void(const YamlValue&)>& read,
              const std::function<YAML::Node()>& print, const char* doc) {
    fields_.custom(key, read, print, doc);
  }

 private:
  /// Nothing is left out in reading, but the value is set in case the key is absent.
  template <typename Value>
  bool left_out(Value& value, const Value& otherwise) const {
    if (writes_) return value == otherwise;
    value = otherwise;
    return false;
  }

  Fields& fields_;
  const Activation activation_;
  const bool writes_;
};

/// Keys and the texts of their values, in the order in which they are written.
using YamlTexts = std::vector<std::pair<std::string, std::string>>;

/// All fields that are visited, as a mapping of values and lists in flow style.
YAML::Node field_nodes(const std::function<void(Fields&)>& visit);
/// The texts of all fields that are visited.
YamlTexts field_texts(const std::function<void(Fields&)>& visit);

/// The shortest text, without an exponent, that reads back as the same float.
std::string yaml_number(double value);

}  // namespace brightnet
