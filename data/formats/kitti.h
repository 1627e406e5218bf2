// KITTI's object labels, as NVIDIA's TAO reads them: for each image a .txt with one object a line,
//
//   type truncated occluded alpha x1 y1 x2 y2 height width length X Y Z rotation [score]
//
// of which the type, `occluded` and the box (pixels from 0, by corners) are used; a line needs these first
// eight.
//
// A label file is looked for in the folder beside the image's (the last image_2, image_3, images or image of
// the path replaced by label_2, label_3, labels or label) and then beside the image.
//
//   data.target_class_mapping   is TAO's: types become classes by it, in whatever case they are written; a
//   type
//                               that it does not name is dropped, and counted.
//   DontCare                    marks where objects were not labelled: no class, and no problem, unless it is
//                               mapped or listed.
//   occluded                    1 to 3 make the object difficult (data.include_difficult_in_training).
//   truncated                   is not looked at, as in TAO: what lies outside the image is clipped off.
#pragma once

#include "data/formats/labels.h"

namespace brightnet {

/// data.train or data.val is a folder of images (image_2, training/image_2, …) or a file that lists images,
/// one a line: paths, or bare names that are looked for below data.root in training/image_2, image_2 and
/// images. Without data.classes the classes are the mapping's values, or without a mapping all types in both
/// splits; sorted.
std::unique_ptr<LabelSource> open_kitti(const DataOptions& options, Split split, ProblemLog& log);

}  // namespace brightnet
