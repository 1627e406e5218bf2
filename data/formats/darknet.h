// darknet's data set: an obj.data of "key = value" lines (classes, train, valid, names) that points at list
// files of images and at a file of class names. The labels are YOLO's text files; where darknet replaces the
// folder "images" or "JPEGImages" by "labels" and finds nothing, the file beside the image is taken, as
// darknet does for folders of other names.
#pragma once

#include "data/formats/labels.h"

namespace brightnet {

/// data.train is an obj.data file (data.val may then be empty: its `valid` is read) or a list file, for which
/// the names come from data.classes. Paths inside start at data.root, at the file's own folder, or at the
/// current folder, as darknet's do: the first that exists.
std::unique_ptr<LabelSource> open_darknet(const DataOptions& options, Split split, ProblemLog& log);

}  // namespace brightnet
