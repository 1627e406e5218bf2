// Data sets: what their labels say, and the batches that a network is trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "brightnet/public.h"

namespace brightnet {

/// One labelled object: its box in pixels of the image as it is shown (EXIF rotation applied), by corners.
struct LabeledBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  bool crowd = false;      ///< COCO's iscrowd: not trained on
  bool difficult = false;  ///< VOC's mark
};

struct LabeledImage {
  std::filesystem::path file = {};
  int height = 0, width = 0;  ///< in pixels, as it is shown
  std::vector<LabeledBox> boxes = {};
};

/// A split of a data set.
struct LabeledImages {
  std::vector<std::string> classes = {};  ///< names; the index is the class id
  std::vector<LabeledImage> images = {};
  std::vector<std::string> problems = {};  ///< a sentence for each label that was corrected or left out
};

/// The words for a split: "train", "val", "test".
BRIGHTNET_PUBLIC std::vector<std::string> split_names();

/// Reads the labels of a split (split_names()). `data` is what `--data` takes: an Ultralytics data.yaml, darknet's
/// obj.data, a COCO JSON, a VOC folder, a folder of images and labels, or a run's configuration. Throws InputError when it
/// is none of these, or has no such split.
BRIGHTNET_PUBLIC LabeledImages read_images(const std::string& data, const std::string& split);

struct TrainingBatchOptions {
  std::string data = {};  ///< a data set, as read_images() takes it
  /// Settings of a configuration: "augment.mosaic=0", "train.seed=3", "loader.workers=4". Of data:, augment:, input: and
  /// loader: (but what a device does), and train.seed; others have no effect and are an error.
  std::vector<std::string> settings = {};
  int batch = 16;                 ///< images in a batch
  int height = 416, width = 416;  ///< of the network's input, in pixels
  uint64_t epochs = 1;
};

/// A batch as a network sees it. It refers to memory of TrainingBatches.
struct TrainingBatch {
  /// count × height × width × channels, 8-bit, RGB or grey.
  const uint8_t* pixels = nullptr;
  int count = 0, height = 0, width = 0, channels = 0;
  /// An object of an image: centre and size as fractions of the input.
  struct Truth {
    int image = 0, class_id = 0;
    float x = 0, y = 0, w = 0, h = 0;
  };
  std::vector<Truth> truths = {};
  uint64_t epoch = 0, step = 0;  ///< counted from 0, the step within its epoch
};

/// The batches of a training, augmented, in the order and with the random numbers that `brightnet train` has with the same
/// seed: the sequence does not depend on the number of threads. What `train` chooses by itself is not chosen here: all have
/// one size, and without augment.mosaic_off the last tenth of the epochs has no mosaics. Threads prepare them ahead. Not for
/// use by several threads.
///
/// One that was moved from can be assigned to and destroyed, and nothing else.
/// Faster after limit_image_threads() (threads.h).
class BRIGHTNET_PUBLIC TrainingBatches {
 public:
  /// Throws InputError for data or settings that cannot be used.
  explicit TrainingBatches(const TrainingBatchOptions& options);
  ~TrainingBatches();
  TrainingBatches(TrainingBatches&&) noexcept;
  TrainingBatches& operator=(TrainingBatches&&) noexcept;

  /// The next batch, or nullptr after the last. It is valid until the next call. Throws InputError for an image that
  /// vanished or broke since the data set was read.
  const TrainingBatch* next();
  /// The pixels of the batch that next() gave, for as long as the pointer or a copy of it lives, which may be longer than
  /// this object; they may be written. Later batches get other memory. Throws InputError where it was called
  /// for this batch already, or there is none.
  std::shared_ptr<uint8_t> keep_pixels();

  const std::vector<std::string>& classes() const;
  uint64_t steps_per_epoch() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace brightnet
