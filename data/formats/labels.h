// What the readers of the formats share. A reader only says which images there are and what was written about
// each. Sizes, clipping and every other policy are applied to all formats alike (data/formats/policies.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "data/formats/read.h"

namespace brightnet {

/// One object as it was written, by its corners: in pixels, or in fractions of the image's sides where its
/// LabelledImage says so.
struct LabelledBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  bool crowd = false;
  bool difficult = false;
  bool empty = false;          ///< written with an end that does not lie after its start
  std::optional<double> area;  ///< COCO's
  std::string where;           ///< "file:line"
};

/// Where an image's labels are.
struct LabelFile {
  std::filesystem::path path;  ///< the first place where they are; the first of all when they are nowhere
  bool found = false;
  std::string unreadable;  ///< why what was found cannot be read; empty when it can
};

/// Looks at the places in their order; empty ones are passed over.
LabelFile find_label_file(const std::vector<std::filesystem::path>& places);

/// One image as it was written.
struct LabelledImage {
  std::filesystem::path file;
  std::optional<int64_t> id;
  std::string missing_labels;  ///< where its label file was looked for and not found; empty when it was
  cv::Size declared;           ///< the size that the labels claim for the image; empty when they claim none
  bool relative = false;       ///< the boxes are fractions of the image's sides
  std::vector<LabelledBox> boxes;
};

/// A folder of images and the folder beside it that has their labels.
using FolderPair = std::pair<std::string_view, std::string_view>;

/// images/a/b.jpg → labels/a/b.txt: of the path's folders, the last that is the first of a pair is replaced
/// by the second. Empty when there is none.
std::filesystem::path parallel_label(const std::filesystem::path& image, std::span<const FolderPair> pairs);

/// True when the image's labels can be read. Else `image` says that they are missing, or the log, that they
/// cannot be read.
bool has_labels(const LabelFile& labels, LabelledImage& image, ProblemLog& log);

/// The names of the classes and the one place where labels are checked against them.
class ClassNames {
 public:
  ClassNames() = default;
  /// Throws InputError for a name that is empty or there twice; `where` says whose list it is.
  ClassNames(std::vector<std::string> names, const std::string& where);
  const std::vector<std::string>& names() const { return names_; }
  /// The id of a name, or of a number written as an id. An unknown one is a problem, and nullopt.
  std::optional<int> find(const std::string& name, const std::string& where, ProblemLog& log) const;
  std::optional<int> check(double id, const std::string& where, ProblemLog& log) const;

 private:
  std::vector<std::string> names_;
};

/// Logs that no label of the data set names a class. Where the reading must stop at something, `met`, what
/// was met while looking for names, comes first: a broken file is a better answer than none.
void report_no_classes(const DataOptions& options, const ProblemLog& met, ProblemLog& log);

/// One split in one format.
class LabelSource {
 public:
  virtual ~LabelSource() = default;
  virtual const std::vector<std::string>& classes() const = 0;
  virtual size_t size() const = 0;
  /// Reads what is written about image `index`. May be called by several threads at once.
  virtual LabelledImage image(size_t index, ProblemLog& log) const = 0;
};

}  // namespace brightnet
