// JSON files of labels, whose members may be missing or of any type.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>

#include "data/formats/labels.h"

namespace brightnet {

using ParsedJson = nlohmann::json;  ///< JSON that was read; written JSON keeps its order (Json, core/json.h)

/// Throws InputError, with file and line, for what is not JSON. `keep`: which of the events become part of the document.
ParsedJson read_json(const std::filesystem::path& file, const ParsedJson::parser_callback_t& keep);

/// Reads a JSON file without the members named in `skip`.
ParsedJson read_json(const std::filesystem::path& file, const std::set<std::string>& skip = {});

/// An image's labels, an object with the array `list`. Null, and the log has why, where the file is broken or another.
std::optional<ParsedJson> read_label_json(const std::filesystem::path& file, const char* list,
                                          ProblemLog& log, const std::set<std::string>& skip = {});

/// Members of an object, if they are there and of this type.
std::optional<double> json_number(const ParsedJson& object, const char* key);
std::optional<int64_t> json_integer(const ParsedJson& object, const char* key);
std::string json_text(const ParsedJson& object, const char* key);

/// A member, or an empty one where it is missing or this is no object.
const ParsedJson& json_member(const ParsedJson& object, const char* key);

/// What data.train, data.val and data.test name in a format with one JSON file for each split.
constexpr const char* annotations_file = "the JSON file of the annotations";

/// A width and a height in pixels; empty where no image could have them.
cv::Size json_size(double width, double height);
cv::Size json_size(const ParsedJson& object, const char* width, const char* height);

/// The points of [[x, y], …] or [x, y, x, y, …]; empty where it is neither.
std::vector<cv::Point2d> json_points(const ParsedJson& list);

/// The first 64 KiB of a JSON file, by which formats are told apart, since the whole may be large; empty for others.
std::string json_head(const std::filesystem::path& file);

/// Whether a head has a key.
bool has_key(const std::string& head, std::string_view key);

/// Sets the splits to the file at `place`, or to the files of a folder that `is` accepts, and returns whether there is
/// one for train: in annotations/, train/ or the folder itself the one named after train, if any after one of `words`
/// too, or else the only one.
bool take_json(const std::filesystem::path& place,
               const std::function<bool(const std::filesystem::path&)>& is, DataOptions& options,
               const std::vector<std::string>& words = {});

/// The images of a file that may have several entries of one image: it is the first of them, with the boxes of all.
std::vector<LabelledImage> joined_entries(std::vector<LabelledImage> entries);

/// Labels that are read all at once.
class LabelsInMemory : public LabelSource {
 public:
  explicit LabelsInMemory(std::vector<LabelledImage> images, std::vector<std::string> classes = {})
      : images_(std::move(images)), classes_(std::move(classes)) {}
  std::vector<std::string> classes() const override { return classes_; }
  size_t size() const override { return images_.size(); }
  LabelledImage image(size_t index, ProblemLog&) const override { return images_[index]; }

 private:
  std::vector<LabelledImage> images_;
  std::vector<std::string> classes_;
};

}  // namespace brightnet
