// The outputs of `detect`: messages, JSON, labels, crops, and images and videos with boxes. None of them replaces
// another kind of file (brightnet/answer.h, written_files.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/drawing/draw.h"
#include "detect/detect.h"
#include "detect/outputs/coco_ids.h"

namespace brightnet {

/// Writes detections, image by image in order. Throws InputError when it cannot.
class DetectionOutput {
 public:
  virtual ~DetectionOutput() = default;
  /// Throws InputError when the output of this image or video would replace a file that `detect` did not
  /// write, or when it cannot have one because the file of --coco-ids has no id for it. Uses only the frame's names; called
  /// before the work begins.
  virtual void check(const Frame&) {}
  virtual void add(const FoundObjects& found) = 0;
  /// Called after the last image, also after an interruption.
  virtual void finish() {}
  /// Removes what an earlier run wrote of the images and videos that were added, and this one did not. Called after
  /// finish(), unless the run was interrupted.
  virtual void remove_earlier() {}
};

// The answers in JSON (layouts: detect/detections_json.h). Records are streamed, so that a long run
// needs no memory, and the file is created atomically at the end; "-" is standard output.
std::unique_ptr<DetectionOutput> json_output(const std::string& file, std::vector<std::string> class_names);
std::unique_ptr<DetectionOutput> coco_json_output(const std::string& file, CocoIds ids);
std::unique_ptr<DetectionOutput> darknet_json_output(const std::string& file,
                                                     std::vector<std::string> class_names);

/// A message an image, "photo.jpg: 3 RBC, 1 WBC, 31 ms", of the time in the network and NMS; with the scores of each class
/// on request.
std::unique_ptr<DetectionOutput> line_output(std::vector<std::string> class_names, bool with_scores);

/// One file an image, FOLDER/NAME.txt, in YOLO's layout: a line "class x y width height" an object, centre
/// and size as fractions of the image, followed by the score if requested. An image without objects has an
/// empty file.
std::unique_ptr<DetectionOutput> text_label_output(const std::filesystem::path& folder, bool with_scores);

/// A crop of each object: FOLDER/CLASS/NAME_k.jpg, k from 1 by descending score.
std::unique_ptr<DetectionOutput> crop_output(const std::filesystem::path& folder,
                                             std::vector<std::string> class_names);

/// Images with the boxes drawn: FOLDER/NAME.jpg, or of the image's own kind where that can be written. A
/// video, camera or stream becomes a video, FOLDER/NAME.mp4.
std::unique_ptr<DetectionOutput> picture_output(const std::filesystem::path& folder,
                                                std::vector<std::string> class_names,
                                                const BoxStyle& style = {});

}  // namespace brightnet
