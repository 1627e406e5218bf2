// How the folder of a data set is laid out: which folders and files of it are splits, by their usual names.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/formats/read.h"

namespace brightnet {

/// The names that folders and files of a split have: "val", "valid", "validation", with a capital letter too, and "val2017".
const std::vector<std::string>& split_names(Split split);

/// Whether one of these names is in a text.
bool names_split(const std::string& text, Split split);

/// Whether `good` holds for one of the first images of a folder and its subfolders. Looks at few of them, so that
/// a large folder costs no time.
bool any_image(const std::filesystem::path& folder,
               const std::function<bool(const std::filesystem::path&)>& good = {});

/// Sets options.root to `root`, and train, val and test to the first of `place(name)`, for the names of a split,
/// that exists below it and is `good`. Returns whether there is one for train.
bool take_splits(const std::filesystem::path& root,
                 const std::function<std::string(const std::string& name)>& place,
                 const std::function<bool(const std::filesystem::path&)>& good, DataOptions& options);

/// The file of another split that goes with one of the train split: its last "train", in its name or that of its
/// folder, replaced by the other split's name. Empty when there is none.
std::filesystem::path of_other_split(const std::filesystem::path& train, Split split);

/// Sets options.root to `root`, train to the file, and val and test to the files that go with it.
void take_file(const std::filesystem::path& root, const std::filesystem::path& file, DataOptions& options);

/// The path below `root`, if it is there, as it would be written under data.train; otherwise the path itself.
std::string below_root(const std::filesystem::path& path, const std::filesystem::path& root);

/// The folder's own files that end in `ending`, sorted.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder, const std::string& ending);

}  // namespace brightnet
