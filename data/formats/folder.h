// The files of a split's folder: images, and files that a user may have mistaken for images.
#pragma once

#include <functional>
#include <string_view>

#include "data/formats/labels.h"

namespace brightnet {

struct FolderFiles {
  std::vector<std::filesystem::path> images;  ///< files with an image's extension; sorted by path
  std::vector<std::filesystem::path> others;  ///< all other files; sorted by path
};

/// The files of a folder and its subfolders. Links to folders are followed, except to folders above; each
/// real folder is visited once, by its own name if it is below `folder`, and a link to an image that is listed anyway is left
/// out, so that no file is listed twice. What is_output_folder() is left out, but for `folder` itself.
/// Throws InputError when a folder cannot be read.
FolderFiles files_below(const std::filesystem::path& folder);

/// Whether a folder is a run's, or has pictures that a command of brightnet wrote (core/written_list.h), or is the `runs`
/// around such ones. Their plots and drawn images are no data, though a data set in the current folder has them in its own.
bool is_output_folder(const std::filesystem::path& folder);

/// files_below().images
std::vector<std::filesystem::path> images_below(const std::filesystem::path& folder);

/// Whether a file has this extension, such as ".txt", in lower or upper case.
bool has_extension(const std::filesystem::path& file, std::string_view extension);

/// The folder's own files of which this is true, sorted.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                            const std::function<bool(const std::filesystem::path&)>& is);
/// Those with this extension, in lower or upper case.
std::vector<std::filesystem::path> files_with_extension(const std::filesystem::path& folder,
                                                        std::string_view extension);

/// True for the extensions of label files: .txt, .xml, .json.
bool is_label_name(const std::filesystem::path& file);

/// The path of a file without its extension, which images and their labels share.
std::string without_extension(std::filesystem::path file);

/// Reports files that have labels but not an image's extension (.gif, .heic, …), which would otherwise be
/// skipped silently. `labels_of` finds the labels of a file.
void report_unknown_endings(const FolderFiles& files,
                            const std::function<LabelFile(const std::filesystem::path&)>& labels_of,
                            ProblemLog& log);

}  // namespace brightnet
