// Batch-norm with running statistics, folded into the weights: reads and writes each weight once.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/vector.h"

namespace brightnet::cuda {
namespace {

constexpr int fold_threads = 256;

/// A block folds one output channel.
__global__ void __launch_bounds__(fold_threads) fold_kernel(BatchNormFold op) {
  const size_t channel = blockIdx.x;
  const float factor = op.scale[channel] / sqrtf(op.running_variance[channel] + op.epsilon);
  if (threadIdx.x == 0) op.folded_bias[channel] = op.shift[channel] - op.running_mean[channel] * factor;
  const float* from = op.weight + channel * op.weights_per_channel;
  float* to = op.folded_weight + channel * op.weights_per_channel;
  for (size_t i = threadIdx.x; i < op.weights_per_channel; i += fold_threads) to[i] = from[i] * factor;
}

}  // namespace

void CudaBackend::fold_batch_norm(const BatchNormFold& op) {
  const size_t weights = op.channels * op.weights_per_channel * sizeof(float);
  const Traffic traffic{weights + 4 * op.channels * sizeof(float), weights + op.channels * sizeof(float)};
  launch(fold_kernel, Grid(op.channels).moving(traffic), fold_threads, 0, stream(), op);
}

}  // namespace brightnet::cuda
