// Convolutions by cuDNN 9, through cudnn-frontend's graph API.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/convolution.h"
#include "kernels/cuda/installation.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Makes the convolutions of a backend, which queue their work in the stream. The emulated backend of the
/// tests has another one.
using ConvolutionFactory = std::function<std::unique_ptr<Convolution>(const ConvolutionSpec&, cudaStream_t)>;

struct CudnnOptions {
  std::string gpu;            ///< the GPU's name, for the file of measured engines
  bool tensor_float = false;  ///< fp32 convolutions may round their factors to tf32
  EngineSelection selection = EngineSelection::fastest;
  double timing_seconds = most_timing_seconds;
};

/// Makes convolutions that are planned without a GPU: their memory depends on the spec alone, and their
/// engines are chosen when they are first run. Choosing waits for the device, so no stream may be capturing a
/// graph then.
ConvolutionFactory cudnn_convolutions(const CudnnOptions& options);

}  // namespace brightnet::cuda
