// The file's nodes, and what the command line sets in them.
#include <algorithm>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/null.h>

#include "core/config.h"
#include "core/files.h"
#include "core/text.h"

namespace brightnet {
namespace {

// Nodes set from the command line have no line in a file; their YAML tag names the option instead: "!--set".
constexpr std::string_view command_line_tag = "!--";

bool is_from_command_line(const YAML::Node& node) {
  return node.IsDefined() && std::string_view(node.Tag()).starts_with(command_line_tag);
}

/// Whether a file has control characters that no YAML has. UTF-16 may, behind its byte-order mark.
bool is_binary(std::string_view text) {
  return !text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff") &&
         std::any_of(text.begin(), text.end(), [](char c) { return c > 0 && c < '\t'; });
}

/// Whether an assignment begins with an option: "--epochs:train.epochs=3".
bool is_of_option(const std::string& assignment) {
  return assignment.starts_with("--") && assignment.find(':') != std::string::npos;
}

/// Scans a document before it is parsed into nodes: finds where it begins and checks that every key is a scalar.
class DocumentCheck : public YAML::EventHandler {
 public:
  explicit DocumentCheck(const std::string& file) : file_(file) {}

  int position() const { return start_.pos; }
  [[noreturn]] void refuse(const YAML::Mark& at, const std::string& what, const std::string& remedy) const {
    throw InputError("this is not valid YAML: " + what, file_ + ':' + std::to_string(at.line + 1), remedy);
  }
  [[noreturn]] void refuse_start() const {
    refuse(start_, "no value can begin here", "Remove the comma, or put the text into quotes.");
  }

  void OnDocumentStart(const YAML::Mark& at) override { start_ = at; }
  void OnDocumentEnd() override {
    places_.clear();
    open_.clear();
  }
  void OnNull(const YAML::Mark& at, YAML::anchor_t) override { take(at, false); }
  void OnAlias(const YAML::Mark& at, YAML::anchor_t anchor) override {
    // Such a value would contain itself, and reading it would never end.
    if (std::count(open_.begin(), open_.end(), anchor) > 0)
      refuse(at, "an alias stands inside of what it names", "Write out what is meant there.");
    take(at, false);
  }
  void OnScalar(const YAML::Mark& at, const std::string&, YAML::anchor_t, const std::string&) override {
    take(at, true);
  }
  void OnSequenceStart(const YAML::Mark& at, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(at, Place::item, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& at, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(at, Place::key, anchor);
  }
  void OnMapEnd() override { end(); }

 private:
  /// What comes next in each open list or mapping.
  enum class Place : uint8_t { item, key, value };

  void begin(const YAML::Mark& at, Place first, YAML::anchor_t anchor) {
    take(at, false);
    places_.push_back(first);
    open_.push_back(anchor);
  }
  void end() {
    places_.pop_back();
    open_.pop_back();
  }

  void take(const YAML::Mark& at, bool is_word) {
    if (places_.empty() || places_.back() == Place::item) return;
    if (places_.back() == Place::key && !is_word) refuse(at, "a key must be a word", "Write key: value.");
    places_.back() = places_.back() == Place::key ? Place::value : Place::key;
  }

  const std::string& file_;
  YAML::Mark start_ = YAML::Mark::null_mark();
  std::vector<Place> places_;
  std::vector<YAML::anchor_t> open_;  ///< the anchors of these lists and mappings; 0 without one
};

/// Scans every document of a text. Where a comma begins a value, yaml-cpp 0.7 consumes nothing and parses the same
/// document for ever: such a text is refused here.
void check_documents(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentCheck check(name);
  for (int last = -1; parser.HandleNextDocument(check); last = check.position()) {
    if (check.position() == last) check.refuse_start();
  }
}

/// The value of an assignment: a list, a mapping or a quoted text is read as YAML, which must end where the assignment
/// ends; everything else is the text as it stands, with its '#' and ':'.
YAML::Node assigned_value(const std::string& text) {
  const bool is_yaml = !text.empty() && std::string_view("[{\"'").find(text[0]) != std::string_view::npos;
  if (!is_yaml) return YAML::IsNullString(text) ? YAML::Node() : YAML::Node(text);
  const YAML::Node whole = YAML::Load('[' + text + ']');  // a comment would swallow the bracket
  if (whole.size() != 1) throw YAML::ParserException(whole.Mark(), "it has several values");
  return whole[0];
}

}  // namespace

bool YamlValue::from_command_line() const {
  return is_from_command_line(node);
}

std::string YamlValue::where() const {
  if (from_command_line()) return node.Tag().substr(1);
  const auto mark = node.IsDefined() ? node.Mark() : YAML::Mark::null_mark();
  if (mark.is_null()) return file;
  return file + ':' + std::to_string(mark.line + 1);
}

YamlDocument YamlDocument::parse(const std::string& text, const std::string& name) {
  YamlDocument document;
  document.file_ = name;
  try {
    check_documents(text, name);
    for (const YAML::Node& part : YAML::LoadAll(text)) {
      if (part.IsNull()) continue;
      if (document.root_.IsDefined() && !document.root_.IsNull()) {
        throw InputError("a second document begins here, after a line ---, but only one is read",
                         YamlValue{part, name}.where(), "Remove the line, or make it a file of its own.");
      }
      document.root_.reset(part);
    }
  } catch (const YAML::ParserException& e) {
    throw InputError("this is not valid YAML: " + e.msg, name + ':' + std::to_string(e.mark.line + 1),
                     "Check the indentation, quotes and brackets there and on the line before.");
  }
  if (document.root_.IsNull()) document.root_ = YAML::Node(YAML::NodeType::Map);
  if (!document.root_.IsMap()) {
    throw InputError("a mapping (key: value) was expected at the top of the file", name + ":1");
  }
  return document;
}

YamlDocument YamlDocument::load(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  if (is_binary(text)) {
    throw InputError("this is a binary file, as trained weights are, and YAML was expected", file.string(),
                     "Name the YAML of a model, a run or a data set here.");
  }
  return parse(text, file.string());
}

std::string option_of(const std::string& assignment) {
  return is_of_option(assignment) ? assignment.substr(0, assignment.find(':')) : "--set";
}

std::string without_option(const std::string& assignment) {
  return is_of_option(assignment) ? assignment.substr(assignment.find(':') + 1) : assignment;
}

void YamlDocument::set(const std::string& text) {
  const std::string option = option_of(text), assignment = without_option(text);
  const auto equals = assignment.find('=');
  const std::string whole_path = '.' + assignment.substr(0, equals) + '.';  // an empty key shows as two dots
  if (equals == std::string::npos || whole_path.find("..") != std::string::npos) {
    throw InputError("'" + assignment + "' is not of the form key.path=value", option);
  }
  YAML::Node value;
  try {
    value = assigned_value(std::string(trimmed(assignment.substr(equals + 1))));
  } catch (const YAML::ParserException& e) {
    throw InputError(
        "the value of '" + assignment + "' is not valid YAML: " + e.msg, option,
        "It begins with a bracket or a quote and must end with the one that belongs to it. A text that "
        "begins so is put into quotes: " +
            assignment.substr(0, equals + 1) + "\"...\"");
  }
  value.SetTag('!' + option);
  YAML::Node node = root_;
  std::istringstream path(assignment.substr(0, equals));
  std::vector<std::string> keys;
  for (std::string key; std::getline(path, key, '.');) keys.push_back(key);
  for (size_t i = 0; i + 1 < keys.size(); ++i) {
    YAML::Node next = node[keys[i]];
    if (!next.IsDefined() || next.IsNull()) {
      next = YAML::Node(YAML::NodeType::Map);
      next.SetTag('!' + option);
      node[keys[i]] = next;
    } else if (!next.IsMap()) {
      throw InputError("'" + keys[i] + "' of '" + assignment + "' is not a mapping", option);
    }
    node.reset(next);
  }
  node[keys.back()] = value;
}

YamlValue YamlDocument::at(const std::string& key) const {
  YAML::Node node = root_;
  std::istringstream path(key);
  for (std::string part; std::getline(path, part, '.');) {
    const YAML::Node& constant = node;  // the const operator[] does not insert
    const YAML::Node next = node.IsMap() ? constant[part] : YAML::Node(YAML::NodeType::Undefined);
    if (!next.IsDefined()) return {next, file_};
    node.reset(next);
  }
  return {node, file_};
}

bool assigns(const std::vector<std::string>& assignments, const std::string& key) {
  YamlDocument document = YamlDocument::parse("", "");
  for (const std::string& assignment : assignments) document.set(assignment);
  return document.at(key).node.IsDefined();
}

}  // namespace brightnet
