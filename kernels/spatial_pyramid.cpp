// A spatial pyramid of single pools: each writes a dense tensor in the workspace, which is then copied to its
// channels of the result.
#include "kernels/backend.h"

namespace brightnet {

size_t Backend::spatial_pyramid_workspace(const Shape& x, DType type) const {
  return x.count() * size_of(type);
}

void Backend::spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                                      std::span<const Tensor> argmax, void* workspace) {
  const Tensor pooled{workspace, x.shape, x.type};
  const int channels = x.shape.c;
  int at = 0;
  for (size_t i = 0; i < windows.size(); ++i, at += channels) {
    max_pool_forward({windows[i], 1, windows[i] - 1}, x, pooled, argmax[i]);
    copy_channels(pooled, 0, y, at, channels, false);
  }
  copy_channels(x, 0, y, at, channels, false);
}

void Backend::spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                       std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                       void* workspace) {
  const Tensor pooled{workspace, dx.shape, dx.type};
  const int channels = dx.shape.c;
  copy_channels(dy, channels * static_cast<int>(windows.size()), dx, 0, channels, accumulate);
  for (size_t i = 0; i < windows.size(); ++i) {
    copy_channels(dy, channels * static_cast<int>(i), pooled, 0, channels, false);
    max_pool_backward({windows[i], 1, windows[i] - 1}, pooled, argmax[i], dx, true);
  }
}

}  // namespace brightnet
