// The files of a Pascal VOC data set: an XML file, and which XML belongs to which image.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <pugixml.hpp>

#include "data/formats/labels.h"

namespace brightnet {

/// One XML file with its text, to convert pugixml's offsets to line numbers.
class VocDocument {
 public:
  explicit VocDocument(const std::filesystem::path& file);

  std::string where(std::ptrdiff_t offset) const;
  std::string where(const pugi::xml_node& node) const { return where(node.offset_debug()); }

  /// The root element; logs a problem and returns a null node when this is not VOC's XML.
  pugi::xml_node annotation(ProblemLog& log) const;

 private:
  std::filesystem::path file_;
  std::string text_;
  std::vector<size_t> line_ends_;
  pugi::xml_document tree_;
  pugi::xml_parse_result result_;
};

std::string text_of(const pugi::xml_node& node);

/// The name of the file in <filename>, of which some tools write the whole path.
std::string filename_of(const pugi::xml_node& annotation);

/// One entry of a list: the name, or the image itself where a folder or an extension names it.
struct VocEntry {
  std::string name;
  std::filesystem::path image = {};   ///< empty: found by its name
  std::filesystem::path labels = {};  ///< an XML of another name; empty: found by the entry's name
  /// The path of an image in folders, from the root, and the same without its first folder.
  std::vector<std::string> paths = {};
  bool ambiguous = false;  ///< an image in another folder has the same name
};

/// The columns of a line of PaddleDetection's lists, "JPEGImages/a.jpg Annotations/a.xml"; the XML is empty for other lines,
/// and the image is the whole line.
struct VocLine {
  std::string image, labels;
};
VocLine columns_of(const std::string& line);

/// The entry of an image that a folder or its path names.
VocEntry entry_of_image(const std::filesystem::path& image, const std::filesystem::path& root);

/// Marks the entries whose name images in several folders have, among the entries' and `more`.
void mark_ambiguous(std::vector<VocEntry>& entries, const std::vector<std::filesystem::path>& more);

/// Where the XML of an image in images/ or JPEGImages/ may be, in annotations/ or Annotations/ beside that folder.
std::vector<std::filesystem::path> voc_parallel_labels(const std::filesystem::path& image);

/// Where the XML of an entry may be: beside its image; in Annotations or annotations of the root, in the same folders as the
/// image; in a parallel folder; or in those of the root by its name alone, unless that is ambiguous.
std::vector<std::filesystem::path> voc_label_places(const VocEntry& entry, const std::filesystem::path& root);

/// The first of these files that is there.
LabelFile voc_labels(const VocEntry& entry, const std::filesystem::path& root);

/// Reports the XML files of Annotations/ that images of another split take too, by their names alone: both are trained
/// on or scored with the same boxes, and one of them was labelled otherwise unless it is a copy.
void report_shared_labels(const std::vector<VocEntry>& entries, const std::vector<VocEntry>& others,
                          const std::filesystem::path& root, ProblemLog& log);

/// Gives images without an XML of their own name one that has no image of its own name and theirs in <filename>. Of a
/// split that is a folder (`all`), reports those with objects that are left.
void match_by_filename(std::vector<VocEntry>& entries, bool all, const DataOptions& options, Split split,
                       ProblemLog& log);

}  // namespace brightnet
