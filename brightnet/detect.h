// Detects objects in files, videos, cameras and streams, as `brightnet detect` does. For images in memory: detector.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

struct DetectionOptions {
  WeightsFiles weights = {};
  std::string data = {};  ///< a data set whose class names darknet's weights get; may be empty
  /// An image, a video, a folder, a pattern, a list (.txt), a camera's number, or a stream's address.
  std::string source = {};
  int frames = 0;                     ///< most frames of a video, camera or stream; 0: all
  int every = 1;                      ///< takes only every Nth frame
  uint64_t max_pixels = 200'000'000;  ///< largest image file that is decoded; a larger one is skipped
  std::string device = "auto";        ///< as DeviceOptions::device
  std::string precision = {};         ///< empty: fp32
  int batch = 0, workers = 0;         ///< images at once, and threads that read them; 0: the usual
  int height = 0, width = 0;          ///< of the network's input, in pixels; 0: as recorded in the weights
  std::string resize = {};            ///< one of resize_names(); empty: as recorded in the weights
  std::string letterbox = {};         ///< "on", "off"; empty: as recorded in the weights
  bool rect = false;                  ///< rectangular batches, with the least padding
  std::string tiles = {};             ///< "640,0.2": in tiles of this size that overlap by this fraction

  float confidence = 0.25f, nms = 0.45f;  ///< least score; IoU above which one of two boxes is suppressed
  bool class_agnostic = false;            ///< a box is also suppressed by one of another class
  int max_objects = 0;                    ///< most objects in an image; 0: no limit
  std::vector<std::string> classes = {};  ///< names or numbers of the classes to detect; empty: all

  // What is written; "" is nothing. Of existing files only those are replaced that an earlier call wrote.
  std::filesystem::path out = {};  ///< folder of images and videos with boxes; also the default, runs/detect
  bool save_crops = false;         ///< a crop of each object, below `out`
  bool no_save = false;            ///< writes no images and videos with boxes
  int line_width = 0;              ///< width of the lines of boxes, in pixels; 0: by the size of the image
  bool hide_labels = false;        ///< draws boxes without names and scores
  bool show = false;               ///< shows the images in a window as well
  bool scores = false;    ///< adds the scores to the messages: "photo.jpg: 3 RBC (0.97 0.91 0.64), 31 ms"
  std::string json = {};  ///< a file for docs/json.md's JSON; "-": standard output
  std::string coco_json = {};      ///< a file for results as COCO has them
  std::string coco_ids = {};       ///< annotations from which the ids in them are taken
  std::string darknet_json = {};   ///< a file for results as darknet's result.json has them
  std::filesystem::path txt = {};  ///< folder of labels as YOLO has them
  bool save_conf = false;          ///< ends each line of these labels with the score
};

/// The words for DetectionOptions::resize.
BRIGHTNET_PUBLIC std::vector<std::string> resize_names();

/// Images that cannot be read are skipped. Progress and results are logged (log.h). `can_be_stopped` is called before the
/// first image; before that, a stop ends it with nothing to write. Returns false when the token stopped it, after what was
/// found so far has been written. Throws InputError for options out of their ranges or without effect, for a source without
/// images, and for outputs that would replace inputs, labels or another's files; DeviceError when the device cannot be used.
BRIGHTNET_PUBLIC bool detect_files(const DetectionOptions& options,
                                   const std::function<std::stop_token()>& can_be_stopped = {});

}  // namespace brightnet
