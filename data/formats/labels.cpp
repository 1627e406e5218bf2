#include "data/formats/labels.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "data/image/stored_file.h"

namespace brightnet {

namespace fs = std::filesystem;

namespace {

/// The label file at a place; none where nothing is.
std::optional<LabelFile> label_file_at(const fs::path& place) {
  LabelFile labels{.path = place, .found = true};
  if (!archive_of(place).empty())  // whose members can all be read
    return is_stored(place) ? std::optional(labels) : std::nullopt;
  std::error_code failed;
  const fs::file_status status = fs::status(place, failed);
  if (status.type() == fs::file_type::not_found) return std::nullopt;
  if (!fs::exists(status)) {
    labels.unreadable = failed.message();
  } else if (fs::is_directory(status)) {
    labels.unreadable = "it is a folder";
  } else if (!fs::is_regular_file(status)) {
    labels.unreadable = "it is a pipe or a device";
  } else if (fs::file_size(place, failed) > most_text_bytes) {
    labels.unreadable = fmt::format("it is larger than {} MiB", most_text_bytes >> 20);
  } else if (::access(place.c_str(), R_OK) != 0) {
    labels.unreadable = std::strerror(errno);
  }
  return labels;
}

/// a.txt → a.TXT
fs::path with_upper_extension(fs::path file) {
  std::string extension = file.extension().string();
  for (char& c : extension) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return file.replace_extension(extension);
}

}  // namespace

LabelFile find_label_file(const std::vector<fs::path>& places) {
  std::vector<fs::path> given;
  std::copy_if(places.begin(), places.end(), std::back_inserter(given),
               [](const fs::path& place) { return !place.empty(); });
  for (const fs::path& place : given) {
    if (const auto labels = label_file_at(place)) return *labels;
  }
  // Only images without a label in the usual case cost these.
  for (const fs::path& place : given) {
    const fs::path other = with_upper_extension(place);
    if (other == place) continue;
    if (const auto labels = label_file_at(other)) return *labels;
  }
  return {.path = given.empty() ? fs::path() : given.front()};
}

fs::path parallel_label(const fs::path& image, std::span<const FolderPair> pairs) {
  const std::vector<fs::path> parts(image.begin(), image.end());
  for (size_t i = parts.empty() ? 0 : parts.size() - 1; i-- > 0;) {
    const auto pair = std::find_if(pairs.begin(), pairs.end(),
                                   [&](const FolderPair& folders) { return parts[i] == folders.first; });
    if (pair == pairs.end()) continue;
    fs::path label;
    for (size_t k = 0; k < parts.size(); ++k) label /= k == i ? fs::path(pair->second) : parts[k];
    return label.replace_extension(".txt");
  }
  return {};
}

bool has_labels(const LabelFile& labels, LabelledImage& image, ProblemLog& log) {
  if (!labels.found) {
    image.missing_labels = labels.path.string();
  } else if (!labels.unreadable.empty()) {
    log.add(DataProblem::Kind::unreadable_labels, labels.path.string(), labels.unreadable,
            "Check the file and the permissions of its folders.");
  }
  return labels.found && labels.unreadable.empty();
}

namespace {

/// The outline of a polygon without a point that repeats the first. Fractions of an image's sides do as well
/// as pixels: a rectangle at an angle is a parallelogram in them.
Outline outline_of(std::span<const cv::Point2d> points, const LabelledBox& box) {
  constexpr double rounding = 1e-3;  // as a fraction of the box's sides
  if (points.size() != 4) return Outline::polygon;
  const double x = rounding * (box.x2 - box.x1), y = rounding * (box.y2 - box.y1);
  const auto on_corner = [&](const cv::Point2d& p) {
    return std::min(p.x - box.x1, box.x2 - p.x) <= x && std::min(p.y - box.y1, box.y2 - p.y) <= y;
  };
  if (std::all_of(points.begin(), points.end(), on_corner)) return Outline::box;
  const cv::Point2d gap = points[0] + points[2] - points[1] - points[3];
  return std::abs(gap.x) <= 4 * x && std::abs(gap.y) <= 4 * y ? Outline::rotated_box : Outline::polygon;
}

}  // namespace

void LabelledBox::set_corners(double left, double top, double right, double bottom) {
  x1 = left;
  y1 = top;
  x2 = right;
  y2 = bottom;
  empty = !(x2 > x1 && y2 > y1);
}

void LabelledBox::enclose(std::span<const cv::Point2d> points) {
  x1 = y1 = std::numeric_limits<double>::infinity();
  x2 = y2 = -x1;
  for (const cv::Point2d& point : points) {
    x1 = std::min(x1, point.x);
    x2 = std::max(x2, point.x);
    y1 = std::min(y1, point.y);
    y2 = std::max(y2, point.y);
  }
  const bool closed = points.size() > 1 && points.front() == points.back();
  outline = outline_of(points.first(points.size() - closed), *this);
  empty = !(x2 > x1 && y2 > y1);
}

void LabelledBox::rotate(double degrees) {
  constexpr double degree = CV_PI / 180;
  if (empty || degrees == 0 || !std::isfinite(degrees)) return;
  const double sine = std::sin(degrees * degree), cosine = std::cos(degrees * degree);
  const cv::Point2d centre((x1 + x2) / 2, (y1 + y2) / 2);
  std::array corners{cv::Point2d(x1, y1), cv::Point2d(x2, y1), cv::Point2d(x2, y2), cv::Point2d(x1, y2)};
  for (cv::Point2d& corner : corners) {
    const cv::Point2d from = corner - centre;
    corner = centre + cv::Point2d(cosine * from.x - sine * from.y, sine * from.x + cosine * from.y);
  }
  enclose(corners);
}

ClassNames::ClassNames(std::vector<std::string> names, const std::string& where) : names_(std::move(names)) {
  std::set<std::string> seen;
  for (const auto& name : names_) {
    if (name.empty()) throw InputError("a class has an empty name", where);
    if (!seen.insert(name).second) throw InputError("class '" + name + "' is listed twice", where);
  }
}

const std::string* ClassNames::find(double id, const std::string& where, ProblemLog& log) const {
  if (id >= 0 && id < static_cast<double>(names_.size()) && id == std::floor(id)) return &names_[id];
  const size_t last = names_.size() - 1;
  const size_t nearest = id < 0 ? 0 : id > static_cast<double>(last) ? last : static_cast<size_t>(id);
  log.add(DataProblem::Kind::unknown_class, where,
          fmt::format("class id {:.7g} is out of range: ", id) +
              (last == 0 ? "there is 1 class, 0"
                         : fmt::format("there are {} classes, 0 to {}", names_.size(), last)),
          "Ids count from 0; the nearest known class is " + std::to_string(nearest) + ", '" +
              names_[nearest] + "'. Correct the label or add the missing names to data.classes.");
  return nullptr;
}

LabelledImage LabelsBesideImages::image(size_t index, ProblemLog& log) const {
  LabelledImage image;
  image.file = images_[index];
  const LabelFile labels = find_(image.file);
  if (has_labels(labels, image, log)) read_(labels.path, image, log);
  return image;
}

void report_no_classes(const DataOptions& options, const ProblemLog& met, ProblemLog& log) {
  if (!log.lenient()) {
    for (const DataProblem& problem : met.problems()) log.add(problem.kind, problem.where, problem.detail);
  }
  log.add(DataProblem::Kind::no_classes, options.root,
          "no object is labelled in this data set, so there are no classes",
          "Check data.root, data.train and data.val.");
}

}  // namespace brightnet
