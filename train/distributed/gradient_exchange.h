// All-reduces the gradient over ranks while the backward pass is still running.
//
// The backward pass goes from the last layer to the first, and so the flat gradient array fills from its end.
// It is cut into buckets at the borders of layers; as soon as a bucket's layers are done, its sum over the
// ranks is started, and travels while the earlier layers are computed (Li et al. 2020, "PyTorch Distributed",
// §4.2). Cuts and order depend on the model and the bucket size alone, so the sums have the same bits whether
// they overlap with the computation or not.
#pragma once

#include <cstddef>
#include <vector>

#include "layers/parameters.h"
#include "train/distributed/device_collectives.h"

namespace brightnet {

/// A contiguous part [begin, end) of the flat gradient array, in floats.
struct GradientBucket {
  size_t begin = 0, end = 0;
  /// The bucket is final when the backward pass is done with this layer.
  int first_layer = 0;
};

/// Cuts the array, last bucket first: each is the shortest run of whole layers of at least `bytes`.
std::vector<GradientBucket> cut_into_buckets(const ParameterLayout& layout, size_t bytes);

class GradientExchange {
 public:
  struct Options {
    size_t bucket_bytes = size_t{8} << 20;
    /// Start buckets during the backward pass; else all of them after it.
    bool overlap = true;
    /// Running statistics become their mean over the ranks. Off where all ranks have the same anyway.
    bool mean_statistics = true;
  };
  GradientExchange(DeviceCollectives& collectives, const Parameters& parameters, const Options& options);

  /// After a step's last forward pass: the running statistics are final.
  void forward_done();
  /// In a step's last backward pass: this layer's gradients, and those of later layers, are final.
  void layer_done(int layer);
  /// After that pass: the operations that are queued from now on see the gradient's sum over all ranks.
  void finish();

  const std::vector<GradientBucket>& buckets() const { return buckets_; }

 private:
  void start_next();

  DeviceCollectives& collectives_;
  const Parameters& parameters_;
  Options options_;
  std::vector<GradientBucket> buckets_;
  size_t next_ = 0;
};

}  // namespace brightnet
