// Strict YAML: one description of a struct's fields reads it, prints it with every default visible, and
// reports unknown keys as errors with file, line and the nearest known key.
//
//   struct Schedule {
//     float warmup = 3;
//     void fields(Fields& f) { f("warmup", warmup, "epochs of warm-up").at_least(0); }
//   };
//   auto document = YamlDocument::load("train.yaml");  document.set("schedule.warmup=2");
//   Schedule s;  read_config(document.root(), s);
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "core/auto.h"
#include "core/enum_names.h"
#include "core/error.h"

namespace brightnet {

/// A YAML node that knows which file it came from.
struct YamlValue {
  YAML::Node node;
  std::string file;

  /// "file:line" of this node, or the option ("--set") of a value from the command line.
  std::string where() const;
  bool from_command_line() const;
  bool defined() const { return node.IsDefined() && !node.IsNull(); }
};

/// A parsed file with the command line's overrides applied.
class YamlDocument {
 public:
  /// Throws InputError for a missing file, for YAML that does not parse (with its line), and for more than
  /// one document in a file.
  static YamlDocument load(const std::filesystem::path& file);
  static YamlDocument parse(const std::string& text, const std::string& name);

  /// Applies "key.path=value", creating intermediate maps. The value is YAML where it begins with a bracket or a quote, and
  /// otherwise the text as it stands, which has no comments; "", "~" and "null" are none. Error messages name `--set`, or
  /// the option that "--option:key.path=value" begins with. Throws InputError for a path through a non-map.
  void set(const std::string& assignment);

  YamlValue root() const { return {root_, file_}; }
  /// The value of "key.path"; not defined where there is none.
  YamlValue at(const std::string& key) const;
  const std::string& file() const { return file_; }

 private:
  YAML::Node root_;
  std::string file_;
};

/// The option that an assignment stands for: "--epochs" of "--epochs:train.epochs=3"; "--set" where it names none.
std::string option_of(const std::string& assignment);
/// "train.epochs=3" of "--epochs:train.epochs=3".
std::string without_option(const std::string& assignment);

/// Whether assignments give this key a value, by itself or in a mapping: "data.val=a", "data={val: a}". Throws what
/// YamlDocument::set() throws.
bool assigns(const std::vector<std::string>& assignments, const std::string& key);

/// `text` as a YAML string whatever it contains, for "key.path=value" assignments.
std::string yaml_quoted(const std::string& text);

/// Visits the fields of a struct, to read or to print them. The reader refuses a key without a value (unless
/// it is a section of a file) and numbers that are not finite.
class Fields {
 public:
  virtual ~Fields() = default;

 protected:
  enum class Kind { boolean, integer, unsigned64, real, text, texts, reals, integers, matrix };
  static constexpr Kind kind_of(const bool*) { return Kind::boolean; }
  static constexpr Kind kind_of(const int*) { return Kind::integer; }
  static constexpr Kind kind_of(const uint64_t*) { return Kind::unsigned64; }
  static constexpr Kind kind_of(const float*) { return Kind::real; }
  static constexpr Kind kind_of(const std::string*) { return Kind::text; }
  static constexpr Kind kind_of(const std::vector<std::string>*) { return Kind::texts; }
  static constexpr Kind kind_of(const std::vector<float>*) { return Kind::reals; }
  static constexpr Kind kind_of(const std::vector<int>*) { return Kind::integers; }
  static constexpr Kind kind_of(const std::vector<std::vector<float>>*) { return Kind::matrix; }

 public:
  /// Limits on the value just visited, if it has one; the reader throws InputError when it is outside.
  class Limits {
   public:
    Limits(Fields& fields, std::string key, std::optional<double> value)
        : fields_(fields), key_(std::move(key)), value_(value) {}
    Limits& at_least(double low);
    Limits& at_most(double high);
    Limits& above(double low);
    Limits& within(double low, double high) { return at_least(low).at_most(high); }

   private:
    Fields& fields_;
    std::string key_;
    std::optional<double> value_;
  };

  /// A scalar, or a list, whose length is what Limits apply to.
  template <typename T>
  requires requires(T* value) { kind_of(value); }
  Limits operator()(const char* key, T& value, const char* doc) {
    visit(key, kind_of(&value), &value, doc);
    if constexpr (std::is_arithmetic_v<T>) {
      return {*this, key, static_cast<double>(value)};
    } else {
      return {*this, key, static_cast<double>(value.size())};
    }
  }
  /// A string out of a fixed list; an unknown one is an InputError that names the nearest.
  Limits choice(const char* key, std::string& value, const std::vector<std::string>& choices,
                const char* doc);
  /// An enum by its name; an unknown name is an InputError that names the nearest.
  template <NamedEnum Enum>
  void operator()(const char* key, Enum& value, const char* doc) {
    std::string name(enum_name(value));
    choice(key, name, enum_names<Enum>(), doc);
    value = enum_value<Enum>(name).value();
  }
  /// A value or `auto`; limits apply to a value.
  template <typename T>
  requires requires(T* value) { kind_of(value); }
  Limits operator()(const char* key, Auto<T>& value, const char* doc) {
    if (visit_automatic(key, !value.has_value(), doc)) {
      value = {};
      return {*this, key, std::nullopt};
    }
    T given = value.value_or({});
    const Limits limits = (*this)(key, given, doc);
    value = std::move(given);
    return limits;
  }
  template <NamedEnum Enum>
  void operator()(const char* key, Auto<Enum>& value, const char* doc) {
    if (visit_automatic(key, !value.has_value(), doc)) {
      value = {};
      return;
    }
    std::string name(enum_name(value.value_or({})));
    std::vector<std::string> names = enum_names<Enum>();
    names.emplace_back("auto");
    choice(key, name, names, doc);
    if (const std::optional<Enum> given = enum_value<Enum>(name)) value = *given;
  }
  /// A value that may be left out: read where its key is there, printed where it has one.
  template <typename T>
  requires requires(T* value) { kind_of(value); }
  Limits operator()(const char* key, std::optional<T>& value, const char* doc) {
    if (!visit_optional(key, value.has_value())) return {*this, key, std::nullopt};
    T given = value.value_or(T());
    const Limits limits = (*this)(key, given, doc);
    value = std::move(given);
    return limits;
  }
  template <NamedEnum Enum>
  void operator()(const char* key, std::optional<Enum>& value, const char* doc) {
    if (!visit_optional(key, value.has_value())) return;
    Enum given = value.value_or(Enum());
    (*this)(key, given, doc);
    value = given;
  }
  /// A nested struct with its own fields().
  template <typename Struct>
  requires requires(Struct& s, Fields& f) { s.fields(f); }
  void operator()(const char* key, Struct& value, const char* doc) {
    nested(key, doc, [&value](Fields& inner) { value.fields(inner); });
  }
  /// A value that a struct reads and prints itself: a mapping or list without a fixed set of keys. `read` is
  /// called only when the key is present; `print` returns the node to print.
  virtual void custom(const char* key, const std::function<void(const YamlValue&)>& read,
                      const std::function<YAML::Node()>& print, const char* doc) = 0;

 protected:
  virtual void visit(const char* key, Kind kind, void* value, const char* doc) = 0;
  /// Whether a value that may be automatic is so: a reader looks for `auto` in the YAML, where it may be left
  /// as it is (`automatic`); a printer prints `auto`. When it is not, visit() follows.
  virtual bool visit_automatic(const char* key, bool automatic, const char* doc) = 0;
  /// Whether a value that may be left out is there: for a reader in the YAML, for a printer as `given` says. When it
  /// is, visit() follows.
  virtual bool visit_optional(const char* key, bool given) = 0;
  virtual void nested(const char* key, const char* doc, const std::function<void(Fields&)>& visit_inner) = 0;
  virtual void out_of_limits(const std::string& key, double value, const std::string& rule) = 0;
  virtual void not_a_choice(const char* key, const std::string& value,
                            const std::vector<std::string>& choices) = 0;
  friend class Limits;
};

/// Reads the fields of one mapping; any other key in it is an error.
void read_fields(const YamlValue& value, const std::function<void(Fields&)>& visit);

/// Prints fields as YAML; with `docs` each is followed by its description as a comment.
std::string print_fields(const std::function<void(Fields&)>& visit, bool docs);

template <typename Struct>
void read_config(const YamlValue& value, Struct& out) {
  read_fields(value, [&out](Fields& f) { out.fields(f); });
}

template <typename Struct>
std::string print_config(const Struct& value, bool docs = true) {
  Struct copy = value;
  return print_fields([&copy](Fields& f) { copy.fields(f); }, docs);
}

/// Converts one node; throws InputError with its location when it is not a T. The message names the value by
/// `what` and the type by `expected` ("a number").
template <typename T>
T yaml_as(const YamlValue& value, const std::string& what, const std::string& expected = "") {
  try {
    return value.node.as<T>();
  } catch (const YAML::Exception&) {
    const std::string is =
        value.node.IsScalar() ? " is '" + value.node.Scalar() + "'" : " is a list or mapping";
    throw InputError(
        "'" + what + "'" +
            (expected.empty() ? " has a value of the wrong type" : is + " and must be " + expected),
        value.where());
  }
}

}  // namespace brightnet
