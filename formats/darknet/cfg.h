// darknet's .cfg as text: sections of key=value lines with their line numbers. formats/darknet/layers.h
// and recipe.h interpret the sections.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace brightnet {

/// One "key=value" line.
struct CfgSetting {
  std::string key, value;  ///< key and value without white space, as darknet reads them
  int line = 0;            ///< line number in the file, from 1
};

/// One "[kind]" and the settings under it. Reading a setting marks it as used, so that unused
/// settings can be reported to the user.
class CfgSection {
 public:
  CfgSection(std::string file, std::string kind, int line)
      : file_(std::move(file)), kind_(std::move(kind)), line_(line) {}

  const std::string& kind() const { return kind_; }  ///< "convolutional", without brackets
  int line() const { return line_; }
  /// "yolov4.cfg:123": the line of the section's header, or of a key if it is present.
  std::string where() const { return file_ + ':' + std::to_string(line_); }
  std::string where(std::string_view key) const;
  /// Throws InputError with "[convolutional] " before the sentence `what`.
  [[noreturn]] void refuse(std::string_view key, const std::string& what,
                           const std::string& remedy = "") const;

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The value, or `otherwise` when the key is absent. A number must be the whole text and be in [low, high],
  /// else InputError: darknet itself would ignore the rest of the text.
  int integer(std::string_view key, int otherwise, int low, int high) const;
  double number(std::string_view key, double otherwise, double low, double high) const;
  std::string text(std::string_view key, const std::string& otherwise) const;
  /// Comma-separated; a trailing comma is allowed, as in darknet. Empty when the key is absent.
  std::vector<double> numbers(std::string_view key, double low, double high) const;
  std::vector<int> integers(std::string_view key, int low, int high) const;

  /// Marks keys as used that have no effect here.
  void pass_over(std::initializer_list<std::string_view> keys) const;
  /// Refuses each of these keys whose value is not `value`: brightnet does not implement what they do.
  void require(std::initializer_list<std::string_view> keys, double value) const;
  /// Settings that were not read.
  std::vector<CfgSetting> not_understood() const;

  /// Settings of a key that was already there with another value: darknet takes the first.
  const std::vector<CfgSetting>& repeated() const { return repeated_; }
  /// Adds a setting.
  void add(CfgSetting setting);

 private:
  const CfgSetting* find(std::string_view key) const;
  double parse(const CfgSetting& setting, std::string_view text, double low, double high) const;

  std::string file_, kind_;
  int line_;
  std::vector<CfgSetting> settings_, repeated_;
  mutable std::set<std::string, std::less<>> understood_;
};

struct DarknetCfg {
  std::string file;                  ///< path of the .cfg, for messages
  CfgSection net;                    ///< the [net] (or [network]) section
  std::vector<CfgSection> sections;  ///< the layers, in darknet's numbering from 0
};

/// Bytes that a .cfg may have; darknet's own have at most 40 thousand.
constexpr size_t longest_darknet_cfg = 1 << 20;
[[noreturn]] void refuse_long_darknet_cfg(uint64_t bytes, const std::string& file);

/// Reads the text of a .cfg, which messages call `file`. Blank lines and comments (#, ;), also after a value,
/// are skipped. Throws InputError with file and line for a line that is not a setting, settings before the
/// first section, a first section other than [net], more than 1 MiB of text or 4096 sections.
DarknetCfg parse_darknet_cfg(std::string_view text, const std::string& file);

/// Whether a path has the extension of a darknet configuration.
bool is_darknet_cfg(const std::filesystem::path& file);

}  // namespace brightnet
