// How the folder of a data set is laid out: which folders and files of it are splits, by their usual names.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/formats/read.h"

namespace brightnet {

/// The names that folders and files of a split have: "val", "valid", "validation", with a capital letter or in capitals
/// too, "val2017" and "val2014"; of train, "trainval" is the last.
const std::vector<std::string>& split_names(Split split);

/// Whether one of the words in a name is one of these: "instances_val2017" is of val, "interval" of none.
bool has_word_of(const std::string& name, Split split);

/// Whether one of these names is in a text.
bool names_split(const std::string& text, Split split);

/// Whether `good` holds for one of the first images of a folder and its subfolders. Looks at few of them, so that
/// a large folder costs no time.
bool any_image(const std::filesystem::path& folder,
               const std::function<bool(const std::filesystem::path&)>& good = {});

/// The files in which the labels of an image may be, the first that is there counts.
using LabelPlaces = std::function<std::vector<std::filesystem::path>(const std::filesystem::path& image)>;

/// Whether any image of a folder and its subfolders, however many there are, has labels. `is` holds for the files that are
/// labels; by default all are.
bool any_labelled(const std::filesystem::path& folder, const LabelPlaces& places,
                  const std::function<bool(const std::filesystem::path& labels)>& is = {});

/// How a format tells that a place has the images of a split.
struct SplitTests {
  using Test = std::function<bool(const std::filesystem::path& place)>;
  Test train;     ///< decides whether the place of training images is one of this format
  Test labelled;  ///< whether any of the images has labels
  Test images = [](const std::filesystem::path& place) { return any_image(place); };
  bool several = false;  ///< a train split alone does not count

  /// For places of a format that is known by other images: any training images do, beside those of another split.
  SplitTests of_known_format() const;
};

/// Sets options.root to `root`, and train, val and test to the first place for a name of the split that is there, in the
/// first of these layouts ("images/*": the folder of this name in images/) that has one for train. Validation images need
/// no labels: they are missed where they are read. Test images without labels are of no use. Returns whether there is a
/// place for train.
bool take_splits(const std::filesystem::path& root, const std::vector<std::string>& layouts,
                 const SplitTests& tests, DataOptions& options);

/// The folders in which a split's images may lie when one file has the labels of all of them, the likeliest first: below
/// data.root (and before it the file's own folder, or the one above annotations/, where that is elsewhere) the folder that
/// is named as the file ends ("instances_train2017.json") or as the split, images/, and what lies beside the file.
std::vector<std::filesystem::path> image_folders(const std::filesystem::path& labels,
                                                 const std::filesystem::path& root, Split split);

/// The file of another split that goes with one of the train split: its last "train", in its name or that of its
/// folder, replaced by the other split's name. Empty when there is none.
std::filesystem::path of_other_split(const std::filesystem::path& train, Split split);

/// Sets options.root to `root`, train to the file, and val and test to the files that go with it.
void take_file(const std::filesystem::path& root, const std::filesystem::path& file, DataOptions& options);

/// Sets options.root to `folder`, and train, val and test to those of its archives that are called after them
/// ("train-000000.tar", "val.tar"; not "valley.tar"). Where none has the name of train, train is all that are of no other split.
void take_archives(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& archives,
                   DataOptions& options);

/// The path below `root`, if it is there, as it would be written under data.train; otherwise the path itself.
std::string below_root(const std::filesystem::path& path, const std::filesystem::path& root);

}  // namespace brightnet
