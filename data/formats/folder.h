// What lies in a split's folder: the images that are read, and what a user may have taken for one.
#pragma once

#include <functional>

#include "data/formats/labels.h"

namespace brightnet {

struct FolderFiles {
  std::vector<std::filesystem::path> images;  ///< by their endings; sorted by path
  std::vector<std::filesystem::path> others;  ///< all other files; sorted by path
};

/// The files of a folder and of the folders below it. Links to folders are followed; a real folder is visited
/// once, by its own name where it has one here, and a link to a folder above is not followed: so links
/// neither loop nor show a file twice. Throws InputError when a folder cannot be read.
FolderFiles files_below(const std::filesystem::path& folder);

/// files_below().images
std::vector<std::filesystem::path> images_below(const std::filesystem::path& folder);

/// True for the endings of files that hold labels: .txt, .xml, .json.
bool is_label_name(const std::filesystem::path& file);

/// Reports the files that have labels and not an image's ending (.gif, .heic, …), which would else be left
/// out without a word. `labels_of` finds the labels of a file.
void report_unknown_endings(const FolderFiles& files,
                            const std::function<LabelFile(const std::filesystem::path&)>& labels_of,
                            ProblemLog& log);

}  // namespace brightnet
