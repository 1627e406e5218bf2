// Images of several splits in one, because a data set's layout is not known or lacks a split; splits in different layouts.
// (private to data/formats/)
#pragma once

#include <filesystem>
#include <string>

#include "data/formats/recognize.h"

namespace brightnet {

/// Throws InputError where an undivided data set has folders with names of several splits, which would be trained on together:
/// their scores would be those of images known by heart. `place` is what the user named.
void refuse_pooled_splits(const RecognizedData& data, const std::filesystem::path& place);

/// Takes labelled validation and test images of an undivided data set that lie beside its training images, in another layout
/// than these: val/images/2.jpg beside images/1.jpg.
void take_splits_beside(RecognizedData& data);

/// What the user should know of splits that are there and not used, or used in another; may be empty.
std::string remark_on_splits(const DataOptions& options);

}  // namespace brightnet
