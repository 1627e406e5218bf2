// The one loop of inference: frames of a source (detect/sources/) become batches of inputs (detect/input_loader.h), go
// through the network, and come out as objects, after NMS and the merging of tiles. Evaluation and detection, of whole
// images or of tiles, are this loop with other sources and sinks.
#pragma once

#include <functional>
#include <stop_token>
#include <vector>

#include "core/box.h"
#include "data/image/placement.h"
#include "data/tiles/tiles.h"
#include "detect/inference_engine.h"
#include "detect/input_loader.h"
#include "detect/nms.h"
#include "detect/sources/frame_source.h"

namespace brightnet {

/// A way to look at an image once more (detect/views.h).
struct InferenceView {
  InputSize size;
  bool mirrored = false;
};

/// Options of inference in `eval`, `detect` and the evaluations during training.
struct PipelineOptions {
  NmsOptions nms = {};
  /// Threads that decode and prepare images ahead of the network; 0: the calling one, when the network needs them.
  int workers = 1;
  /// Rectangular batches (detect/rect_batches.h), for which images must be letterboxed. Otherwise every batch has the
  /// size of the fit.
  bool rect = false;
  bool mirrored = false;  ///< show the network mirrored images; objects lie as in the images
  /// The views of an evaluation, which merges what is found in each; empty: the images alone.
  std::vector<InferenceView> views = {};
  TileOptions tiles = {};          ///< with a size above 0: detect in tiles and merge (detect/merge_tiles.h)
  std::vector<bool> classes = {};  ///< flag of each class id: whether it is wanted; empty: all
};

/// The objects that the network found in a frame.
struct FoundObjects {
  Frame frame;                   ///< a frame with a `failure` has no objects
  std::vector<ScoredBox> boxes;  ///< boxes in pixels of the frame, clipped to it, best first
  /// The boxes before they are clipped, including those outside the frame, as in darknet. For a frame in tiles the same as
  /// `boxes`.
  std::vector<ScoredBox> uncut;
  YoloLoss loss;       ///< computed when there is a TruthsOf; the sum over tiles
  double seconds = 0;  ///< time in the network and NMS: its share of its batch, or the sum of its tiles'
};

/// Called with each frame, in the order of the source. It may move the result out. Return false to stop.
using ObjectSink = std::function<bool(FoundObjects& found)>;

/// Appends the ground truth of a part of a frame, relative to an input of this fit.
using TruthsOf = std::function<void(const Frame& frame, const ImageTile& part, const InputFit& fit,
                                    std::vector<Truth>& truths)>;

/// Seconds by stage, summed over the images. Several threads decode and prepare, so their sum may exceed the
/// wall-clock time.
struct StageTimes {
  double decode = 0, prepare = 0, network = 0, nms = 0, output = 0;
  double clock = 0;  ///< wall-clock time of the runs, including decoding and output
  /// "120.3 images/s; ms an image: decode 1.9, prepare 0.6, network 5.2, NMS 0.1, output 0.9 (2 threads
  /// decode and prepare)".
  std::string text(int64_t images, int workers) const;
};

/// Several pipelines may run at the same time if each has a network of its own.
class Pipeline {
 public:
  /// `fit` has the size of the engine's input. With `truths`, the losses are computed, which the engine must
  /// be able to. The engine must outlive the pipeline.
  Pipeline(InferenceEngine& engine, const InputFit& fit, PipelineOptions options, TruthsOf truths = {});

  /// Finds the objects in every frame of the source. Returns false when the sink stopped it, or `stop`, which is looked at
  /// after each batch: a frame whose tiles are not all done is dropped. Throws what the source and the sink throw.
  bool run(FrameSource& source, const ObjectSink& sink, const std::stop_token& stop = {});

  /// The times of all runs so far.
  const StageTimes& times() const { return times_; }

 private:
  void infer(const InputLoader::Batch& batch);
  void find_objects(const InputLoader::Batch& batch);
  bool deliver(const InputLoader::Batch& batch, const ObjectSink& sink);
  bool finish(Frame frame, const ObjectSink& sink);
  void take(double& stage);

  InferenceEngine& engine_;
  const InputFit fit_;
  const PipelineOptions options_;
  const TruthsOf truths_;
  StageTimes times_;
  double now_ = 0;
  // What was found in each input of the current batch.
  std::vector<std::vector<Detection>> candidates_;
  std::vector<YoloLoss> losses_;
  std::vector<std::vector<ScoredBox>> objects_;
  // What was found in the current frame's tiles so far, and how many they are.
  FoundObjects found_;
  int tiles_ = 0;
  double seconds_an_input_ = 0;  ///< seconds of the current batch for each of its inputs
};

}  // namespace brightnet
