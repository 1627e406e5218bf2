// All-reduces the gradient over ranks while the backward pass is still running.
//
// The backward pass runs from the last layer to the first, so the flat gradient array fills from its end. It
// is cut into buckets at layer boundaries; a bucket's all-reduce starts as soon as its layers are done, and
// overlaps with the backward pass of earlier layers (Li et al. 2020, "PyTorch Distributed", §4.2). Buckets
// and order depend only on the model and the bucket size, so overlap does not change the result's bits.
#pragma once

#include <cstddef>
#include <vector>

#include "layers/parameters.h"
#include "train/distributed/device_collectives.h"

namespace brightnet {

/// A contiguous part [begin, end) of the flat gradient array, in floats.
struct GradientBucket {
  size_t begin = 0, end = 0;
  /// The bucket is final when the backward pass of this layer is done.
  int first_layer = 0;
};

/// Cuts the array, last bucket first: each is the shortest run of whole layers of at least `bytes`.
std::vector<GradientBucket> cut_into_buckets(const ParameterLayout& layout, size_t bytes);

/// Values from `begin` to `end`.
struct FloatRange {
  size_t begin = 0, end = 0;
  bool operator==(const FloatRange&) const = default;
};

/// The running statistics of layers that train, as contiguous as they are in the layout. Those of frozen layers do not
/// change, and a mean over ranks would round them.
std::vector<FloatRange> trained_statistics(const ParameterLayout& layout);

class GradientExchange {
 public:
  struct Options {
    size_t bucket_bytes = size_t{8} << 20;
    /// Start buckets during the backward pass, or else all of them after it.
    bool overlap = true;
    /// Average the running statistics over the ranks. Off where all ranks have the same anyway.
    bool mean_statistics = true;
  };
  GradientExchange(DeviceCollectives& collectives, const Parameters& parameters, const Options& options);

  /// Tells after a step's last forward pass that the running statistics are final.
  void forward_done();
  /// Tells in a step's last backward pass that this layer's gradients, and those of later layers, are final.
  void layer_done(int layer);
  /// Ends the exchange after that pass: operations queued from now on see the gradient's sum over all ranks.
  void finish();

  const std::vector<GradientBucket>& buckets() const { return buckets_; }
  /// The layers, descending, for which layer_done() starts a bucket.
  std::vector<int> stops() const;

 private:
  void start_next();

  DeviceCollectives& collectives_;
  const Parameters& parameters_;
  Options options_;
  std::vector<GradientBucket> buckets_;
  std::vector<FloatRange> statistics_;  ///< of layers that are not frozen
  size_t next_ = 0;
};

}  // namespace brightnet
