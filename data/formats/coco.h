// COCO: one JSON file with images, annotations and categories, and a folder of images.
//
// Category ids, which have gaps, become 0, 1, 2 … in the order of the ids, or the places of their names in
// data.classes. Crowds (iscrowd) and areas are kept for the evaluation. Segmentations are skipped while
// parsing, since they are nine tenths of the file, unless an annotation has nothing else: then its box is the
// one around its polygons.
#pragma once

#include "data/formats/labels.h"

namespace brightnet {

/// data.train or data.val is the JSON file. Images are looked for below data.root, its folders images,
/// train/val, and train2017 for an instances_train2017.json (also below images), and beside the JSON: the
/// first folder that holds one of the first hundred is the folder of all. Without data.classes the names come
/// from the train split's file for both splits.
std::unique_ptr<LabelSource> open_coco(const DataOptions& options, Split split, ProblemLog& log);

}  // namespace brightnet
