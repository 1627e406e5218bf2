// What becomes of the objects that `detect` finds: answers for programs, labels, and pictures for people.
// None of it replaces a file that is something else (answer_file.h, written_files.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "train/detect/detect.h"
#include "train/detect/outputs/coco_ids.h"

namespace brightnet {

/// Takes what is found, image by image in order. Throws InputError when it cannot be written.
class DetectionOutput {
 public:
  virtual ~DetectionOutput() = default;
  /// Throws InputError when what this image or video becomes would replace a file that `detect` did not
  /// write; only its names are looked at. Asked before there is anything to add.
  virtual void check(const Frame&) {}
  virtual void add(const FoundObjects& found) = 0;
  /// After the last image, also when that was sooner than planned.
  virtual void finish() {}
};

// The answers in JSON (layouts: train/detect/detections_json.h). They are written as they come, so that a day
// at a camera needs no memory, and the file appears whole when finished; "-" is standard output.
std::unique_ptr<DetectionOutput> json_output(const std::string& file, std::vector<std::string> class_names);
std::unique_ptr<DetectionOutput> coco_json_output(const std::string& file, CocoIds ids);
std::unique_ptr<DetectionOutput> darknet_json_output(const std::string& file,
                                                     std::vector<std::string> class_names);

/// One file an image, FOLDER/NAME.txt, in YOLO's layout: a line "class x y width height" an object, centre
/// and size as fractions of the image, with the score behind them if asked. An image without objects has an
/// empty file.
std::unique_ptr<DetectionOutput> text_label_output(const std::filesystem::path& folder, bool with_scores);

/// Every object by itself: FOLDER/CLASS/NAME_k.jpg, k from 1 by falling score.
std::unique_ptr<DetectionOutput> crop_output(const std::filesystem::path& folder,
                                             std::vector<std::string> class_names);

/// Images with the boxes drawn: FOLDER/NAME.jpg, or of the image's own kind where that can be written. A
/// video, camera or stream becomes a video, FOLDER/NAME.mp4.
std::unique_ptr<DetectionOutput> picture_output(const std::filesystem::path& folder,
                                                std::vector<std::string> class_names);

/// Makes the folder if need be (an empty path is the current one). Throws InputError when it cannot be made
/// or written to.
void prepare_folder(const std::filesystem::path& folder, const std::string& option);

}  // namespace brightnet
