// Summing the gradient over ranks while the backward pass still computes it.
//
// The backward pass goes from the last layer to the first, and so the flat gradient array fills from its end.
// It is cut into buckets at the borders of layers; as soon as the pass has left a bucket behind, its sum over
// the ranks is started, and travels while the earlier layers are computed (Li et al. 2020, "PyTorch
// Distributed", §4.2). Cuts and order depend on the model and the bucket size alone, so the sums have the
// same bits whether they overlap with the computation or not.
#pragma once

#include <cstddef>
#include <vector>

#include "layers/parameters.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// A contiguous part [begin, end) of the flat gradient array, in floats.
struct GradientBucket {
  size_t begin = 0, end = 0;
  int first_layer = 0;  ///< when the backward pass has passed this one, the bucket is final
};

/// Cuts the array, last bucket first: each is the shortest run of whole layers of at least `bytes`.
std::vector<GradientBucket> cut_into_buckets(const ParameterLayout& layout, size_t bytes);

class GradientExchange {
 public:
  struct Options {
    size_t bucket_bytes = size_t{8} << 20;
    bool overlap = true;  ///< start buckets during the backward pass; else all behind it
    bool mean_statistics =
        true;  ///< running statistics become their mean; off where they are the same anyway
  };
  GradientExchange(Communicator& communicator, const Parameters& parameters, const Options& options);

  /// Behind the last forward pass of a step: the running statistics are final.
  void forward_done();
  /// In the last backward pass of a step: this layer's gradients, and those of later layers, are final.
  void layer_passed(int layer);
  /// Behind that pass: what comes now sees the gradient's sum over all ranks.
  void finish();

  const std::vector<GradientBucket>& buckets() const { return buckets_; }

 private:
  void start_next();

  Communicator& communicator_;
  const Parameters& parameters_;
  Options options_;
  std::vector<GradientBucket> buckets_;
  size_t next_ = 0;
};

}  // namespace brightnet
