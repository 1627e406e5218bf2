#include "kernels/cuda/convolution_workspace.h"

#include <algorithm>
#include <bit>

#include "kernels/cuda/channel_sums.h"

namespace brightnet::cuda {
namespace {

constexpr size_t mebibyte = size_t{1} << 20;

/// Transposed copies of the tensors, and parts of the sums that are the weights' gradient.
size_t wanted_bytes(const ConvolutionSpec& spec) {
  const size_t tensors = (spec.input.count() + spec.output.count()) * size_of(spec.type);
  return spec.training ? tensors + 8 * spec.weight_count() * sizeof(float) : tensors;
}

}  // namespace

size_t least_engine_bytes(const ConvolutionSpec& spec) {
  // Batch-norm's statistics, which are timed in the place of an engine's, use it too.
  const size_t statistics = spec.statistics ? ChannelWorkspace::bytes(spec.output) : 0;
  return std::max(statistics, std::clamp(wanted_bytes(spec), 4 * mebibyte, 256 * mebibyte));
}

size_t most_engine_bytes(const ConvolutionSpec& spec) {
  const size_t most = spec.type == DType::f32 ? 4608 * mebibyte : 1024 * mebibyte;
  return std::max(least_engine_bytes(spec), std::min(wanted_bytes(spec), most));
}

size_t engine_bytes_within(const ConvolutionSpec& spec, size_t room) {
  const size_t most = most_engine_bytes(spec);
  return room >= most ? most : std::max(least_engine_bytes(spec), std::bit_floor(room));
}

}  // namespace brightnet::cuda
