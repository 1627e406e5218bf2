#include "cli/complete_words.h"

#include <algorithm>

#include "brightnet/configuration.h"
#include "brightnet/download.h"
#include "brightnet/models.h"
#include "brightnet/tune.h"
#include "cli/command_tree.h"
#include "cli/known_words.h"

namespace brightnet::cli {
namespace {

using Words = std::vector<Completion::Word>;

constexpr const char* value_of_set = "KEY.PATH=VALUE";  // the value of --set

Words plain(const std::vector<std::string>& words) {
  Words all;
  for (const std::string& word : words) all.push_back({word, ""});
  return all;
}

/// The first sentence or clause of a help text: there is a line for it.
std::string in_short(const std::string& text) {
  return text.substr(0, std::min({text.find(';'), text.find('\n'), text.find(": ")}));  // not of "cuda:N"
}

/// "KEY=", or, once the key is there, "KEY=VALUE". Whether a file is a run's or a model's is not looked up.
Words assignments(const CLI::App& command, const std::string& begun) {
  const size_t equals = begun.find('=');
  const std::vector<std::string> taken = run_keys(command);
  Words words;
  for (const ConfigKey& key : describe_config_keys()) {
    if (std::find(taken.begin(), taken.end(), key.name) == taken.end()) continue;
    if (equals == std::string::npos) {
      words.push_back({key.name + '=', in_short(key.about)});
    } else if (begun.substr(0, equals) == key.name) {
      for (const std::string& value : key.values) words.push_back({key.name + '=' + value, ""});
    }
  }
  return words;
}

std::vector<std::string> values_of_key(const std::string& name) {
  for (const ConfigKey& key : describe_config_keys()) {
    if (key.name == name) return key.values;
  }
  return {};
}

/// Each word behind what stands before the last comma.
Words listed(const std::string& begun, const std::vector<std::string>& words) {
  const size_t comma = begun.rfind(',');
  const std::string before = comma == std::string::npos ? "" : begun.substr(0, comma + 1);
  Words all;
  for (const std::string& word : words) all.push_back({before + word, ""});
  return all;
}

bool has_any(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

/// Completes the value of an option of this command, by what the help calls it.
Completion values_of(const CLI::App& command, const CLI::Option& option, const std::string& begun) {
  if (const auto choices = choices_of(option); !choices.empty()) return {plain(choices)};
  const std::string value = value_of(option);
  const bool files =
      has_any(value, {"FILE", "DIR", "FOLDER", "RUN", "OUT", "DATA", "SOURCE", ".cfg", ".yaml", ".weights"});
  if (value == value_of_set) return {assignments(command, begun)};
  if (value == "KEY,...") return {listed(begun, searched_keys())};
  if (value == "DEVICE") return {plain({"auto", "cpu", "cuda", "cuda:0"})};
  if (value == "P") return {plain(values_of_key("train.precision"))};
  if (value == "P,...") return {listed(begun, values_of_key("train.precision"))};
  if (value == "NAME" || value == "FILE|NAME") return {plain(named_weights()), files};
  if (value.starts_with("NAME|")) return {plain(named_models()), files};
  return {{}, files};
}

bool takes_value(const CLI::Option* option) {
  return option && !value_of(*option).empty();
}

/// The command that the words name, and the option whose value comes next, if one does.
struct Place {
  const CLI::App* command;
  const CLI::Option* option;
  const CLI::Option* more = nullptr;  ///< --set, whose value was the last word: another one may follow
};

Place place_after(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{&app, nullptr};
  for (const std::string& word : words) {
    if (word.starts_with('-')) {
      place.option = word.find('=') == std::string::npos ? option_named(*place.command, word) : nullptr;
      if (!takes_value(place.option)) place.option = nullptr;
      place.more = nullptr;
      continue;
    }
    const CLI::Option* const of_value = std::exchange(place.option, nullptr);
    const CLI::Option* const before = std::exchange(place.more, nullptr);
    if (of_value || (before && word.find('=') != std::string::npos)) {
      const CLI::Option* const taker = of_value ? of_value : before;
      if (value_of(*taker) == value_of_set) place.more = taker;
      continue;
    }
    for (const CLI::App* command : commands_of(*place.command)) {
      if (command->get_name() != word) continue;
      place.command = command;
      break;
    }
  }
  return place;
}

Completion completion_of(const CLI::App& app, const std::vector<std::string>& words) {
  const std::string& begun = words.back();
  const auto [command, option, more] = place_after(app, {words.begin(), words.end() - 1});
  const size_t equals = begun.find('=');
  if (const CLI::Option* of_word = option_named(*command, begun); equals != std::string::npos && of_word) {
    Completion values = values_of(*command, *of_word, begun.substr(equals + 1));
    for (auto& [word, about] : values.words) word = begun.substr(0, equals + 1) + word;
    return values;
  }
  if (begun.starts_with('-')) {
    Completion options;
    for (const CLI::Option* each : options_of(*command))
      options.words.push_back({name_of(*each), in_short(each->get_description())});
    return options;
  }
  if (option) return values_of(*command, *option, begun);
  Completion next;
  for (const CLI::App* each : commands_of(*command))
    next.words.push_back({each->get_name(), in_short(each->get_description())});
  if (!next.words.empty()) return next;
  for (const CLI::Option* positional : positionals_of(*command)) {
    const Completion values = values_of(*command, *positional, begun);
    next.words.insert(next.words.end(), values.words.begin(), values.words.end());
    next.files |= values.files;
  }
  if (more) {
    const Completion values = values_of(*command, *more, begun);
    next.words.insert(next.words.end(), values.words.begin(), values.words.end());
  }
  return next;
}

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> all = words;
  if (all.size() > 1 && all[0] == "help") all.erase(all.begin());
  if (all.empty()) all.emplace_back();
  Completion found = completion_of(app, all);
  std::erase_if(found.words, [&](const auto& one) { return !one.word.starts_with(all.back()); });
  return found;
}

}  // namespace brightnet::cli
