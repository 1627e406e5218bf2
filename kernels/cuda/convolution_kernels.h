// Kernels of ours around cuDNN's convolutions.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"
#include "kernels/math/activation.h"

namespace brightnet::cuda {

/// y = activation(y + bias), in place; bias is fp32, one a channel.
void bias_activation(const Tensor& y, const float* bias, Activation activation, cudaStream_t stream);

/// Reads y as batch-norm's forward pass does for its statistics where a convolution gives it no sums
/// (batch_norm_forward.cu): engines with sums may take that much longer. `workspace`:
/// Backend::channel_workspace().
void read_for_statistics(const Tensor& y, void* workspace, cudaStream_t stream);

/// Numbers between −scale and scale that look random, the same in every call, for all channels of the tensor's pixels.
void fill_random(const Tensor& tensor, float scale, cudaStream_t stream);

/// Backend::add() (add.cu).
void add(const Tensor& a, const Tensor& b, const Tensor& y, cudaStream_t stream);

/// Backend::cast() (cast.cu).
void cast(const Tensor& from, const Tensor& to, cudaStream_t stream);

/// Makes weights with `padded` inputs of those with `inputs`: the others are zero. Rows of inputs follow each
/// other.
void pad_inputs(const float* weights, int inputs, const Tensor& to, int padded, cudaStream_t stream);
/// Writes to dw, or adds to it, the gradient of the weights of the first `inputs` of `padded` inputs.
void add_padded_weight_gradient(const Tensor& part, int padded, float* dw, int inputs, bool accumulate,
                                cudaStream_t stream);

/// dw = or += part, a weight gradient in the compute type.
void add_weight_gradient(const Tensor& part, float* dw, bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
