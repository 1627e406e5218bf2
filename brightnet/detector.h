// Detects objects in images.
//
//   const brightnet::Detector detector(brightnet::Weights::open("best.safetensors"));
//   for (const brightnet::DetectedObject& object : detector.detect({pixels, height, width})) …
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "brightnet/device.h"
#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

/// An image in the caller's memory: 8-bit pixels, interleaved, row by row from the top. It is looked at where it is, and
/// only during the call.
struct Image {
  const uint8_t* pixels = nullptr;
  int height = 0, width = 0;
  size_t stride = 0;  ///< bytes from one row to the next; 0: width × channels
  int channels = 3;   ///< 3: RGB; 1: grey
  bool bgr = false;   ///< three channels in the order of OpenCV
};

/// A box in pixels of the image, by its corners, inside the image.
struct DetectedObject {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;  ///< an index into Weights::classes()
  float score = 0;   ///< objectness × class probability, in (0, 1]
};

struct DetectorOptions {
  DeviceOptions device = {};
  float confidence = 0.25f;  ///< objects of a lower score are left out
  float nms = -1;  ///< IoU above which one of two boxes is suppressed; negative: the model's own, or 0.45
  int max_objects = 0;        ///< most objects in an image; 0: no limit
  int height = 0, width = 0;  ///< of the network's input, in pixels; 0: as recorded in the weights
  int batch = 1;              ///< images that go through the network at once
  std::vector<std::string> classes = {};  ///< names or numbers of the classes to detect; empty: all
};

/// A network on a device. A process may have several, on the same device or on others.
///
/// detect() may be called from several threads at a time: the calls are queued, one after the other uses the network. For
/// threads that compute side by side give each a Detector of its own; they share the memory of the Weights on the host.
///
/// One that was moved from can be assigned to and destroyed, and nothing else.
class BRIGHTNET_PUBLIC Detector {
 public:
  /// Puts the weights on the device and allocates everything that detect() needs there. Throws InputError for options that
  /// cannot be used and when the network needs more memory than there is, DeviceError when the device cannot be used. Warns
  /// (log.h) of weights that were trained on tiles: images are looked at as a whole.
  explicit Detector(const Weights& weights, const DetectorOptions& options = {});
  ~Detector();
  Detector(Detector&&) noexcept;
  Detector& operator=(Detector&&) noexcept;

  /// The objects in an image, best first. Throws InputError for an image without pixels or of other channels.
  std::vector<DetectedObject> detect(const Image& image) const;
  /// Returns the objects of each image, in their order; images of different sizes may stand side by side.
  std::vector<std::vector<DetectedObject>> detect(std::span<const Image> images) const;

  const Weights& weights() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace brightnet
