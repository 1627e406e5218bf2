#include "formats/darknet/cfg.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace brightnet {
namespace {

constexpr size_t most_sections = 4096;
constexpr size_t longest_list = 4096;

/// darknet strips white space everywhere in a line, not only at its ends; a comment may follow a value.
std::string stripped(std::string_view line) {
  std::string text;
  for (const char c : line) {
    if (c == '#' || c == ';') break;
    if (c != ' ' && c != '\t' && c != '\r') text += c;
  }
  return text;
}

std::string shortened(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= ' ' && c != 127 ? c : '?';
  return text.size() > 40 ? shown + "…" : shown;
}

std::string plain(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool is_net(const std::string& kind) {
  return kind == "net" || kind == "network";
}

}  // namespace

const CfgSetting* CfgSection::find(std::string_view key) const {
  for (const CfgSetting& setting : settings_) {
    if (setting.key != key) continue;
    understood_.insert(setting.key);
    return &setting;
  }
  return nullptr;
}

void CfgSection::add(CfgSetting setting) {
  for (const CfgSetting& earlier : settings_) {
    if (earlier.key != setting.key) continue;
    if (earlier.value != setting.value) repeated_.push_back(std::move(setting));
    return;
  }
  settings_.push_back(std::move(setting));
}

std::string CfgSection::where(std::string_view key) const {
  const CfgSetting* setting = find(key);
  return file_ + ':' + std::to_string(setting ? setting->line : line_);
}

void CfgSection::refuse(std::string_view key, const std::string& what, const std::string& remedy) const {
  throw InputError("[" + shortened(kind_) + "] " + what, where(key), remedy);
}

double CfgSection::parse(const CfgSetting& setting, std::string_view text, double low, double high) const {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    refuse(setting.key, "has " + setting.key + "=" + shortened(text) + ", which is not a number");
  }
  if (value < low || value > high) {
    refuse(setting.key, "has " + setting.key + "=" + shortened(text) + ", which is not between " +
                            plain(low) + " and " + plain(high));
  }
  return value;
}

double CfgSection::number(std::string_view key, double otherwise, double low, double high) const {
  const CfgSetting* setting = find(key);
  return setting ? parse(*setting, setting->value, low, high) : otherwise;
}

int CfgSection::integer(std::string_view key, int otherwise, int low, int high) const {
  const double value = number(key, otherwise, low, high);
  if (value != std::floor(value)) {
    refuse(key, "has " + std::string(key) + "=" + plain(value) + ", and a whole number is needed");
  }
  return static_cast<int>(value);
}

std::string CfgSection::text(std::string_view key, const std::string& otherwise) const {
  const CfgSetting* setting = find(key);
  return setting ? setting->value : otherwise;
}

std::vector<double> CfgSection::numbers(std::string_view key, double low, double high) const {
  std::vector<double> list;
  const CfgSetting* setting = find(key);
  if (!setting) return list;
  std::string_view rest = setting->value;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    list.push_back(parse(*setting, rest.substr(0, comma), low, high));
    if (list.size() > longest_list) refuse(key, "lists too many numbers under '" + setting->key + "'");
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return list;
}

std::vector<int> CfgSection::integers(std::string_view key, int low, int high) const {
  std::vector<int> list;
  for (const double value : numbers(key, low, high)) {
    if (value != std::floor(value))
      refuse(key, "lists " + plain(value) + " under '" + std::string(key) + "'");
    list.push_back(static_cast<int>(value));
  }
  return list;
}

void CfgSection::pass_over(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) find(key);
}

void CfgSection::require(std::initializer_list<std::string_view> keys, double value) const {
  for (const std::string_view key : keys) {
    const CfgSetting* setting = find(key);
    if (!setting || parse(*setting, setting->value, -1e30, 1e30) == value) continue;
    refuse(key,
           "has " + setting->key + "=" + shortened(setting->value) + ", which brightnet does not support",
           "Remove the line to go without it.");
  }
}

std::vector<CfgSetting> CfgSection::not_understood() const {
  std::vector<CfgSetting> rest;
  for (const CfgSetting& setting : settings_) {
    if (!understood_.contains(setting.key)) rest.push_back(setting);
  }
  return rest;
}

void refuse_long_darknet_cfg(uint64_t bytes, const std::string& file) {
  throw InputError("this has " + std::to_string(bytes) + " bytes, and a darknet configuration at most " +
                       std::to_string(longest_darknet_cfg),
                   file, "Is it another kind of file? Comments can be left out.");
}

DarknetCfg parse_darknet_cfg(std::string_view text, const std::string& file) {
  if (text.size() > longest_darknet_cfg) refuse_long_darknet_cfg(text.size(), file);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<CfgSection> sections;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string line = stripped(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string where = file + ':' + std::to_string(number);
    if (line.empty()) continue;
    if (line[0] == '[') {
      if (line.size() < 3 || !line.ends_with(']'))
        throw InputError("'" + shortened(line) + "' is not a section header, which is written [kind]", where);
      if (sections.size() > most_sections) throw InputError("there are too many sections", where);
      sections.emplace_back(file, line.substr(1, line.size() - 2), number);
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError("'" + shortened(line) + "' is neither [section] nor key=value", where);
    if (sections.empty()) throw InputError("there is a setting before the first section", where);
    sections.back().add({line.substr(0, equals), line.substr(equals + 1), number});
  }
  if (sections.empty()) throw InputError("there is no section in this darknet configuration", file);
  if (!is_net(sections[0].kind())) {
    throw InputError("the first section is [" + shortened(sections[0].kind()) + "] and must be [net]",
                     sections[0].where());
  }
  for (size_t i = 1; i < sections.size(); ++i) {
    if (is_net(sections[i].kind())) throw InputError("there is a second [net] section", sections[i].where());
  }
  CfgSection net = std::move(sections[0]);
  sections.erase(sections.begin());
  return {file, std::move(net), std::move(sections)};
}

bool is_darknet_cfg(const std::filesystem::path& file) {
  return file.extension() == ".cfg";
}

}  // namespace brightnet
