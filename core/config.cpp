#include "core/config.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"

namespace brightnet {
namespace {

std::string number(double value) {
  return fmt::format("{:.7g}", value);
}

}  // namespace

Fields::Limits& Fields::Limits::at_least(double low) {
  if (value_ && !(*value_ >= low)) fields_.out_of_limits(key_, *value_, "at least " + number(low));
  return *this;
}
Fields::Limits& Fields::Limits::at_most(double high) {
  if (value_ && !(*value_ <= high)) fields_.out_of_limits(key_, *value_, "at most " + number(high));
  return *this;
}
Fields::Limits& Fields::Limits::above(double low) {
  if (value_ && !(*value_ > low)) fields_.out_of_limits(key_, *value_, "above " + number(low));
  return *this;
}

Fields::Limits Fields::choice(const char* key, std::string& value, const std::vector<std::string>& choices,
                              const char* doc) {
  Limits limits = (*this)(key, value, doc);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) not_a_choice(key, value, choices);
  return limits;
}

namespace {

template <typename T>
bool is_finite(const T&) {
  return true;
}
bool is_finite(float number) {
  return std::isfinite(number);
}
template <typename T>
bool is_finite(const std::vector<T>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](const T& number) { return is_finite(number); });
}

class FieldReader : public Fields {
 public:
  explicit FieldReader(const YamlValue& value) : value_(value) {
    if (value.defined() && !value.node.IsMap()) {
      throw InputError("a mapping (key: value) was expected here", value.where());
    }
  }

  /// Refuses duplicate keys and keys that no field has read.
  void finish() const {
    if (!value_.defined()) return;
    std::set<std::string> seen;
    for (const auto& entry : value_.node) {
      if (!entry.first.IsScalar()) {
        throw InputError("a key must be a word", YamlValue{entry.first, value_.file}.where());
      }
      const auto key = entry.first.as<std::string>();
      if (!seen.insert(key).second) {
        throw InputError("the key '" + key + "' is there twice", YamlValue{entry.first, value_.file}.where(),
                         "Remove one of the two.");
      }
      if (known_.contains(key)) continue;
      const YamlValue place{
          YamlValue{entry.second, value_.file}.from_command_line() ? entry.second : entry.first, value_.file};
      const std::string nearest = nearest_word(key, known_);
      std::string remedy = "Did you mean '" + nearest + "'?";
      if (nearest.empty()) {
        remedy = "Known here:";
        for (const auto& word : known_) remedy += ' ' + word;
      }
      if (key == "<<") remedy = "YAML's merging of mappings is not supported: write the keys out.";
      throw InputError("unknown key '" + key + "'", place.where(), remedy);
    }
  }

  void custom(const char* key, const std::function<void(const YamlValue&)>& read,
              const std::function<YAML::Node()>&, const char*) override {
    const YamlValue value = child(key);
    refuse_null(value, key);
    if (value.defined()) read(value);
  }

 protected:
  void visit(const char* key, Kind kind, void* out, const char*) override {
    const YamlValue value = child(key);
    refuse_null(value, key);
    const bool may_be_automatic = std::exchange(may_be_automatic_, false);
    if (!value.defined()) return;
    switch (kind) {
      case Kind::integer:
        return assign<int>(value, key, out, may_be_automatic ? "a whole number or auto" : "a whole number");
      case Kind::real:
        return assign<float>(value, key, out, may_be_automatic ? "a number or auto" : "a number");
      case Kind::boolean: return assign<bool>(value, key, out, "true or false");
      case Kind::unsigned64: return assign<uint64_t>(value, key, out, "a whole number from 0");
      case Kind::text: return assign<std::string>(value, key, out, "a text");
      case Kind::texts: return assign<std::vector<std::string>>(value, key, out, "a list of texts");
      case Kind::reals: return assign<std::vector<float>>(value, key, out, "a list of numbers");
      case Kind::integers: return assign<std::vector<int>>(value, key, out, "a list of whole numbers");
      case Kind::matrix:
        return assign<std::vector<std::vector<float>>>(value, key, out, "a list of number lists");
    }
  }

  bool visit_automatic(const char* key, bool automatic, const char*) override {
    const YamlValue value = child(key);
    refuse_null(value, key);
    if (value.defined()) automatic = value.node.IsScalar() && value.node.Scalar() == "auto";
    may_be_automatic_ = !automatic;
    return automatic;
  }

  bool visit_optional(const char* key, bool) override { return child(key).node.IsDefined(); }

  void nested(const char* key, const char*, const std::function<void(Fields&)>& visit_inner) override {
    const YamlValue section = child(key);
    // In a file all keys of a section may be commented out.
    if (section.from_command_line()) refuse_null(section, key);
    FieldReader inner(section);
    visit_inner(inner);
    inner.finish();
  }

  void out_of_limits(const std::string& key, double value, const std::string& rule) override {
    if (child(key.c_str()).node.IsSequence()) {
      throw InputError("'" + key + "' lists " + number(value) + (value == 1 ? " value" : " values") +
                           " and must list " + rule,
                       child(key.c_str()).where());
    }
    throw InputError("'" + key + "' is " + number(value) + " and must be " + rule,
                     child(key.c_str()).where());
  }

  void not_a_choice(const char* key, const std::string& value,
                    const std::vector<std::string>& choices) override {
    std::string list;
    for (const auto& choice : choices) list += (list.empty() ? "" : ", ") + choice;
    const std::string nearest = nearest_word(value, choices);
    throw InputError("'" + std::string(key) + "' is '" + value + "' and must be one of: " + list,
                     child(key).where(), nearest.empty() ? "" : "Did you mean '" + nearest + "'?");
  }

 private:
  YamlValue child(const char* key) {
    known_.insert(key);
    if (!value_.defined()) return {YAML::Node(YAML::NodeType::Undefined), value_.file};
    const YAML::Node& constant = value_.node;  // the const operator[] does not insert
    return {constant[key], value_.file};
  }

  template <typename T>
  void assign(const YamlValue& value, const char* key, void* out, const char* expected) {
    *static_cast<T*>(out) = yaml_as<T>(value, key, expected);
    if (!is_finite(*static_cast<const T*>(out)))
      throw InputError("'" + std::string(key) + "' has a number that is not finite", value.where());
  }

  /// A key without a value is an error, reported at the key: yaml-cpp marks an empty value at the next token.
  void refuse_null(const YamlValue& value, const std::string& key) const {
    if (!value.node.IsDefined() || !value.node.IsNull()) return;
    YamlValue place = value;
    for (const auto& entry : value_.node) {
      if (!value.from_command_line() && entry.first.IsScalar() && entry.first.Scalar() == key)
        place.node.reset(entry.first);
    }
    throw InputError("'" + key + "' has no value", place.where(),
                     "Write one (\"\" for an empty text), or leave the key out.");
  }

  YamlValue value_;
  std::set<std::string> known_;
  bool may_be_automatic_ = false;  // whether the value visited next may be `auto`
};

class FieldPrinter : public Fields {
 public:
  FieldPrinter(std::string& out, int indent, bool docs) : out_(out), indent_(indent), docs_(docs) {}

  void custom(const char* key, const std::function<void(const YamlValue&)>&,
              const std::function<YAML::Node()>& print, const char* doc) override {
    YAML::Node node = print();
    if (node.IsNull()) return;
    if (node.IsSequence() || node.IsMap()) node.SetStyle(YAML::EmitterStyle::Flow);
    line(key, emit(node), doc);
  }

 protected:
  void visit(const char* key, Kind kind, void* value, const char* doc) override {
    YAML::Node node;
    switch (kind) {
      case Kind::boolean: node = *static_cast<bool*>(value); break;
      case Kind::integer: node = *static_cast<int*>(value); break;
      case Kind::unsigned64: node = *static_cast<uint64_t*>(value); break;
      case Kind::real: return line(key, exact_number(*static_cast<float*>(value)), doc);
      case Kind::text: return line(key, quoted(*static_cast<std::string*>(value)), doc);
      case Kind::texts: {
        std::string list;
        for (const auto& text : *static_cast<std::vector<std::string>*>(value)) {
          list += (list.empty() ? "" : ", ") + quoted(text);
        }
        return line(key, '[' + list + ']', doc);
      }
      case Kind::reals: return line(key, list(*static_cast<std::vector<float>*>(value)), doc);
      case Kind::integers: node = *static_cast<std::vector<int>*>(value); break;
      case Kind::matrix: {
        std::string rows;
        for (const auto& row : *static_cast<std::vector<std::vector<float>>*>(value)) {
          rows += (rows.empty() ? "" : ", ") + list(row);
        }
        return line(key, '[' + rows + ']', doc);
      }
    }
    if (node.IsSequence()) node.SetStyle(YAML::EmitterStyle::Flow);
    line(key, emit(node), doc);
  }

  bool visit_automatic(const char* key, bool automatic, const char* doc) override {
    const std::string chosen = *doc ? std::string(doc) + "; auto: chosen when the run starts" : "";
    if (automatic) line(key, "auto", chosen.c_str());
    return automatic;
  }

  bool visit_optional(const char*, bool given) override { return given; }

  void nested(const char* key, const char* doc, const std::function<void(Fields&)>& visit_inner) override {
    line(key, "", doc);
    FieldPrinter inner(out_, indent_ + 2, docs_);
    visit_inner(inner);
  }

  void out_of_limits(const std::string&, double, const std::string&) override {}
  void not_a_choice(const char*, const std::string&, const std::vector<std::string>&) override {}

 private:
  static std::string emit(const YAML::Node& node) {
    YAML::Emitter emitter;
    emitter << node;
    return emitter.c_str();
  }

  static std::string list(const std::vector<float>& values) {
    std::string text;
    for (const float value : values) text += (text.empty() ? "" : ", ") + exact_number(value);
    return '[' + text + ']';
  }

  // Quotes text that YAML would read as another type, such as a class named "no" or "1".
  static std::string quoted(const std::string& text) {
    const bool plain = !text.empty() && text.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-./") == std::string::npos;
    static const std::set<std::string> words{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    const bool letter_first =
        !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/');
    return plain && letter_first && !words.contains(lower_case(text)) ? text : yaml_quoted(text);
  }

  void line(const char* key, const std::string& value, const char* doc) {
    std::string text(static_cast<size_t>(indent_), ' ');
    text += std::string(key) + ':' + (value.empty() ? "" : " " + value);
    if (docs_ && doc && *doc) {
      if (text.size() < 40) text.resize(40, ' ');
      text += std::string("  # ") + doc;
    }
    out_ += text + '\n';
  }

  std::string& out_;
  int indent_;
  bool docs_;
};

}  // namespace

void read_fields(const YamlValue& value, const std::function<void(Fields&)>& visit) {
  FieldReader reader(value);
  visit(reader);
  reader.finish();
}

std::string print_fields(const std::function<void(Fields&)>& visit, bool docs) {
  std::string text;
  FieldPrinter printer(text, 0, docs);
  visit(printer);
  return text;
}

std::string yaml_quoted(const std::string& text) {
  YAML::Emitter emitter;
  emitter << YAML::DoubleQuoted << text;
  return emitter.c_str();
}

}  // namespace brightnet
