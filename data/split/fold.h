// Cross-validation: one fold of a data set's training and validation images.
#pragma once

#include <vector>

#include "data/formats/read.h"

namespace brightnet {

/// Several splits joined into one data set.
struct JoinedSplits {
  /// What a further split says of an image.
  struct Addition {
    size_t image;  ///< its index
    Split split;
    ImageRecord record;  ///< as this split has it, under the file's first path
  };
  Dataset dataset;
  std::vector<Split> from;          ///< the split that each image comes from
  std::vector<Addition> additions;  ///< those with boxes that the splits before it do not have
};

/// Reads the splits one after the other. An image file that several of them list is in the result once, with the boxes of
/// all, or, of formats whose lists leave the labels where they are, with those of the first; where these differ it is
/// reported. No object is left out for being difficult. Throws what read_dataset() throws, and InputError when the splits
/// have different classes.
JoinedSplits read_splits(const DataOptions& options, const std::vector<Split>& splits);

struct FoldData {
  Dataset training, validation;  ///< all problems are in the training data set's list
};

/// Divides train ∪ val by divide() into parts of the same size, in the same way for any fold: the part that
/// options.fold names is the validation data, the others are trained on. Throws InputError when a part would be empty. Of
/// validation_fold, which few images have without being asked, only the first part counts; where a tenth is less than one
/// group of images that look alike, or has no objects though others have, it is the smallest group (with objects).
FoldData read_fold(const DataOptions& options);

}  // namespace brightnet
