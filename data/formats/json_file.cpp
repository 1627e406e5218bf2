#include "data/formats/json_file.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

/// What stands before a place in a text, on one line, for a file that may have no other line.
std::string text_before(const std::string& text, size_t at) {
  constexpr size_t enough = 60;
  const auto is_inside_character = [&](size_t i) { return (static_cast<uint8_t>(text[i]) & 0xC0) == 0x80; };
  size_t begin = at > enough ? at - enough : 0;
  while (begin < at && is_inside_character(begin)) ++begin;
  std::string before = begin > 0 ? "…" : "";
  for (const char c : text.substr(begin, at - begin)) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) before += c;
    if (space && !before.empty() && before.back() != ' ') before += ' ';
  }
  return before;
}

/// Throws InputError where the text is no JSON because it has NaN or Infinity at this place.
void refuse_no_number(const std::string& text, size_t at, const std::string& where) {
  for (std::string word : {"NaN", "Infinity"}) {
    if (text.compare(at, word.size(), word) != 0) continue;
    if (at > 0 && text[at - 1] == '-') word = text[--at] + word;
    throw InputError(
        fmt::format("a value is {}, which is no number of JSON: {}{}", word, text_before(text, at), word),
        where,
        "Python's json.dump writes it for a result that is no number: correct or remove what has it, "
        "and write the file again with allow_nan=False, which finds all of them.");
  }
}

}  // namespace

ParsedJson read_json(const fs::path& file, const ParsedJson::parser_callback_t& keep) {
  const std::string text = read_file(file, most_list_bytes);
  try {
    return ParsedJson::parse(text, keep);
  } catch (const ParsedJson::parse_error& e) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(e.byte, text.size()));
    const std::string where = at_line(file, 1 + static_cast<int>(std::count(text.begin(), end, '\n')));
    // It stopped at the first character that no number begins with.
    if (e.byte > 0 && e.byte <= text.size()) refuse_no_number(text, e.byte - 1, where);
    throw InputError("this is not valid JSON", where, "Check that the file is whole.");
  } catch (const ParsedJson::out_of_range& e) {  // it quotes a number beyond double's range
    const std::string message = e.what();
    const size_t begin = message.find('\'') + 1;
    const std::string number = message.substr(begin, message.rfind('\'') - begin);
    const auto at = text.begin() + static_cast<std::ptrdiff_t>(std::min(text.find(number), text.size()));
    throw InputError("the number " + number + " is too large",
                     at_line(file, 1 + static_cast<int>(std::count(text.begin(), at, '\n'))),
                     "Boxes and sizes are in pixels.");
  }
}

ParsedJson read_json(const fs::path& file, const std::set<std::string>& skip) {
  return read_json(file, [&](int, ParsedJson::parse_event_t event, ParsedJson& parsed) {
    return event != ParsedJson::parse_event_t::key || !skip.contains(parsed.get_ref<const std::string&>());
  });
}

std::optional<ParsedJson> read_label_json(const fs::path& file, const char* list, ProblemLog& log,
                                          const std::set<std::string>& skip) {
  constexpr auto malformed = DataProblem::Kind::malformed_label;
  const std::string where = file.string();
  ParsedJson document;
  try {
    document = read_json(file, skip);
  } catch (const InputError& e) {
    // Its message begins with the place, which the log names too.
    const std::string said = e.what();
    const size_t end = said.starts_with(where) ? said.find(": ", where.size()) : std::string::npos;
    if (end == std::string::npos) {
      log.add(malformed, where, said);
    } else {
      log.add(malformed, said.substr(0, end), said.substr(end + 2));
    }
    return std::nullopt;
  }
  if (json_member(document, list).is_array()) return document;
  log.add(malformed, where, fmt::format("this JSON has no '{}'", list), "Check the data's format.");
  return std::nullopt;
}

std::optional<double> json_number(const ParsedJson& object, const char* key) {
  const ParsedJson& member = json_member(object, key);
  return member.is_number() ? std::optional(member.get<double>()) : std::nullopt;
}

std::optional<int64_t> json_integer(const ParsedJson& object, const char* key) {
  const ParsedJson& member = json_member(object, key);
  return member.is_number_integer() ? std::optional(member.get<int64_t>()) : std::nullopt;
}

std::string json_text(const ParsedJson& object, const char* key) {
  const ParsedJson& member = json_member(object, key);
  return member.is_string() ? member.get<std::string>() : std::string();
}

const ParsedJson& json_member(const ParsedJson& object, const char* key) {
  static const ParsedJson none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

cv::Size json_size(double width, double height) {
  const auto side = [](double pixels) {
    return pixels >= 0 && pixels <= std::numeric_limits<int>::max() ? static_cast<int>(pixels) : 0;
  };
  return {side(width), side(height)};
}

cv::Size json_size(const ParsedJson& object, const char* width, const char* height) {
  return json_size(json_number(object, width).value_or(0), json_number(object, height).value_or(0));
}

std::vector<cv::Point2d> json_points(const ParsedJson& list) {
  std::vector<double> values;
  if (!list.is_array()) return {};
  for (const ParsedJson& item : list) {
    const bool pair = item.is_array() && item.size() == 2 && item[0].is_number() && item[1].is_number();
    if (pair) {
      values.push_back(item[0]);
      values.push_back(item[1]);
    } else if (item.is_number()) {
      values.push_back(item);
    } else {
      return {};
    }
  }
  std::vector<cv::Point2d> points;
  if (values.size() % 2 == 1) return {};
  for (size_t i = 0; i < values.size(); i += 2) points.emplace_back(values[i], values[i + 1]);
  return points;
}

std::string json_head(const fs::path& file) {
  if (!has_extension(file, ".json")) return "";
  std::ifstream in = open_regular(file);
  std::string text(1 << 16, ' ');
  in.read(text.data(), std::ssize(text));
  text.resize(in.gcount());
  return text;
}

bool has_key(const std::string& head, std::string_view key) {
  return head.find(fmt::format("\"{}\"", key)) != std::string::npos;
}

namespace {

/// The file of a folder's training images.
fs::path training_file(const fs::path& folder, const std::function<bool(const fs::path&)>& is,
                       std::vector<std::string> words) {
  words.emplace_back("train");
  words.emplace_back("");
  std::vector<std::string> folders = split_names(Split::train);
  folders.insert(folders.begin(), "annotations");
  folders.emplace_back(".");
  for (const std::string& below : folders) {
    std::vector<fs::path> files = files_with_extension(folder / below, ".json");
    std::erase_if(files, [&](const fs::path& file) { return !is(file); });
    for (const std::string& word : words) {
      for (const fs::path& file : files) {
        const std::string name = file.filename().string();
        if (name.starts_with(word) && names_split(name, Split::train)) return file.lexically_normal();
      }
    }
    const auto of_other_split = [](const fs::path& file) {
      const std::string name = file.filename().string();
      return names_split(name, Split::val) || names_split(name, Split::test);
    };
    if (files.size() == 1 && !of_other_split(files[0])) return files[0].lexically_normal();
  }
  return {};
}

}  // namespace

bool take_json(const fs::path& place, const std::function<bool(const fs::path&)>& is, DataOptions& options,
               const std::vector<std::string>& words) {
  const fs::path file = is_folder(place) ? training_file(place, is, words) : is(place) ? place : fs::path();
  if (file.empty()) return false;
  // The folder above annotations/, or above train/ where the images lie beside the file, as in Roboflow's exports.
  fs::path root = file.parent_path();
  const auto& names = split_names(Split::train);
  if (root.filename() == "annotations" ||
      std::find(names.begin(), names.end(), root.filename()) != names.end())
    root = root.parent_path();
  take_file(root, file, options);
  return true;
}

std::vector<LabelledImage> joined_entries(std::vector<LabelledImage> entries) {
  std::vector<LabelledImage> images;
  std::unordered_map<std::string, size_t> first;
  for (LabelledImage& entry : entries) {
    const auto [at, is_new] = first.try_emplace(entry.file.string(), images.size());
    if (is_new) {
      images.push_back(std::move(entry));
    } else {
      auto& boxes = images[at->second].boxes;
      boxes.insert(boxes.end(), entry.boxes.begin(), entry.boxes.end());
    }
  }
  return images;
}

}  // namespace brightnet
