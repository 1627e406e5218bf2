#include "layers/model/block_numbers.h"

#include <cctype>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace brightnet {
namespace {

/// Value of "$a", "$a/2", "2*$a" or a chain of these, left to right.
int evaluate(const std::string& text, const BlockNumbers& numbers, const std::string& where) {
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
      throw InputError("'" + text + "' uses '" + word + "', which is not a parameter of this block", where);
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
    const int64_t result = operation == '*' ? int64_t{value} * right : value / right;
    if (result > std::numeric_limits<int>::max()) throw InputError("'" + text + "' is too large", where);
    value = static_cast<int>(result);
  }
  return value;
}

/// The values of one layer, and those of aliases as often as they stand there: aliases of aliases are soon beyond counting.
constexpr int most_values = 100'000;

YAML::Node substitute_counted(const YAML::Node& node, const BlockNumbers& numbers, const std::string& where,
                              int& values) {
  if (++values > most_values) {
    throw InputError(fmt::format("a layer has more than {} values", most_values), where,
                     "Do aliases repeat each other?");
  }
  if (node.IsMap()) {
    YAML::Node copy(YAML::NodeType::Map);
    for (const auto& entry : node)
      copy[entry.first.as<std::string>()] = substitute_counted(entry.second, numbers, where, values);
    return copy;
  }
  if (node.IsSequence()) {
    YAML::Node copy(YAML::NodeType::Sequence);
    for (const auto& element : node) copy.push_back(substitute_counted(element, numbers, where, values));
    return copy;
  }
  if (!node.IsScalar()) return YAML::Node(YAML::NodeType::Map);
  const std::string& text = node.Scalar();
  const bool computed = text.find('$') != std::string::npos;
  return YAML::Node(computed ? std::to_string(evaluate(text, numbers, where)) : text);
}

}  // namespace

YAML::Node substitute(const YAML::Node& node, const BlockNumbers& numbers, const std::string& where) {
  int values = 0;
  return substitute_counted(node, numbers, where, values);
}

}  // namespace brightnet
