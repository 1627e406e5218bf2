// Pascal VOC: Annotations/NAME.xml and JPEGImages/NAME.jpg below the root, and lists of NAMEs.
//
// VOC counts pixels from 1 and includes both ends, so pixels xmin … xmax cover [xmin − 1, xmax] of the image
// (VOC2012 development kit; Detectron2 reads it so too). An object whose end does not lie after its start, as
// written, is a zero-area box.
#pragma once

#include "data/formats/labels.h"

namespace brightnet {

/// data.train or data.val is a list of names, as it stands or below ImageSets/Main (a second column, the flag
/// of VOC's lists by class, is ignored), or a folder of images with the XML files beside them or in
/// Annotations. Without data.classes the classes are all names in both splits, sorted.
std::unique_ptr<LabelSource> open_voc(const DataOptions& options, Split split, ProblemLog& log);

}  // namespace brightnet
