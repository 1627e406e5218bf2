// Loads the images of a validation split, each once, in order, without augmentation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "data/image/placement.h"

namespace brightnet {

/// `order` lists the images of this rank; they are stretched or letterboxed to the input. `sizes`, if given, are those
/// of each batch (data/loader/rect_batches.h), at most fit.size.
class EvaluationLoader {
 public:
  EvaluationLoader(const Dataset& dataset, std::vector<int> order, int batch, const InputFit& fit,
                   int workers, std::vector<InputSize> sizes = {});
  ~EvaluationLoader();

  struct Images {
    const uint8_t* pixels = nullptr;  ///< count × height × width × channels, if antialiased
    const float* values = nullptr;    ///< the same in [0, 1], if resized as darknet does
    InputSize size;                   ///< the input size of this batch
    int count = 0;
    std::vector<int> indices;  ///< indices into Dataset::images
  };
  /// The next images, or nullptr after the last. They are valid until the next call.
  const Images* next();

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace brightnet
