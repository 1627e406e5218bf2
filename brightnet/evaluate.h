// The metrics of trained weights on a data set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/configuration.h"
#include "brightnet/device.h"
#include "brightnet/public.h"
#include "brightnet/ranks.h"
#include "brightnet/weights.h"

namespace brightnet {

/// The value of a metric that is undefined for lack of ground truth, as in pycocotools.
inline constexpr double undefined_score = -1;

/// Average precision and recall by the COCO protocol (cocodataset.org/#detection-eval), all in [0, 1] or undefined_score.
struct Scores {
  double AP = undefined_score;    ///< mean over classes and IoU 0.50:0.05:0.95
  double AP50 = undefined_score;  ///< AP at IoU 0.50
  double AP75 = undefined_score;  ///< AP at IoU 0.75
  double APs = undefined_score, APm = undefined_score,
         APl = undefined_score;  ///< AP of small, medium and large objects
  double AR = undefined_score;   ///< mean recall with 100 detections an image
  /// These hold at the one confidence where the mean F1 of the classes is best.
  double confidence = 0, precision = 0, recall = 0;
  double loss = undefined_score;  ///< the validation loss, where it was computed

  struct OfClass {
    std::string name = {};
    double AP = undefined_score, AP50 = undefined_score;
    int64_t truths = 0;  ///< ground-truth objects
  };
  std::vector<OfClass> per_class = {};
  int64_t images = 0, truths = 0, detections = 0;
};

struct EvaluationOptions {
  DeviceOptions device = {};
  std::string split = "val";
  /// Settings of a configuration: "evaluate.nms.iou=0.5", "loader.workers=4".
  std::vector<std::string> settings = {};
  int batch = 8;              ///< images that go through the network at once
  int height = 0, width = 0;  ///< of the network's input, in pixels; 0: as recorded in the weights
  /// Called with the number of images done and of all; returns false to stop. May be empty.
  std::function<bool(int64_t done, int64_t images)> progress = {};
};

/// Those of config_keys() that have an effect on an evaluation; others are refused among its settings.
BRIGHTNET_PUBLIC std::vector<std::string> evaluation_keys();

/// Evaluates weights on a split of a data set (`data` as in dataset.h), whose classes are matched with those of the weights
/// by name; it may lack some. Warns (log.h) of weights that were trained on tiles where no data.tiles is set. Throws
/// InputError where it has other classes, or the split is missing, or when `progress` stopped it; DeviceError when the
/// device cannot be used. Safe from several threads, each with a network of its own.
BRIGHTNET_PUBLIC Scores evaluate(const Weights& weights, const std::string& data,
                                 const EvaluationOptions& options = {});

/// The weights, the data and the manner of `brightnet eval`.
struct WeightsReportOptions {
  /// The configuration whose data and evaluation options are used; its .cfg may serve for darknet's weights too. Empty: the
  /// configuration of the run in whose folder the weights lie.
  Configuration run = {};
  WeightsFiles weights = {};
  std::string device = "auto";  ///< as DeviceOptions::device
  std::string split = "val";
  /// "640,0.2": objects are detected in tiles of this size that overlap by this fraction.
  std::string tiles = {};
  int batch = 8;              ///< images that go through the network at once
  int height = 0, width = 0;  ///< of the network's input, in pixels; 0: as recorded in the weights
  bool rect = false;          ///< rectangular batches, with the least padding
  bool augment = false;       ///< detects at several sizes and mirrored as well, and merges what is found
  bool no_plots = false;      ///< leaves out the plots, the worst images and the page
  /// The folder for the plots; empty: runs/eval/NAME-SPLIT, if they may be written there.
  std::filesystem::path plots = {};
};

/// The files that report_weights() may write for a split, where WeightsReportOptions::plots is this folder.
BRIGHTNET_PUBLIC std::vector<std::filesystem::path> files_of_plots(const std::filesystem::path& folder,
                                                                   const std::string& split);

/// Evaluates as evaluate() does, on all ranks, logs its progress and draws. The answer is empty on ranks other than the first.
BRIGHTNET_PUBLIC Answer report_weights(const WeightsReportOptions& options, Ranks& ranks);

}  // namespace brightnet
