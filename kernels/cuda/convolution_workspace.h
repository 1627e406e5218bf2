// How much memory of the arena the engines of a convolution may use. These are functions of its shape and of what
// the arena has left, not of the engine chosen, so that planning needs no GPU and a plan does not change when
// another engine turns out to be faster.
#pragma once

#include <cstddef>

#include "kernels/convolution.h"

namespace brightnet::cuda {

/// Bytes with which every pass has several engines: 4 to 256 MiB.
size_t least_engine_bytes(const ConvolutionSpec& spec);
/// Bytes that nearly all engines are content with: a copy of both tensors and some partial sums of the weights'
/// gradient, up to 1 GiB, and up to 4.5 GiB in fp32. There the input gradient of yolov4's first convolutions has one
/// engine that needs less than such a copy (4.2 GiB at batch 64), and seven that need it (cuDNN 9.19, H200).
size_t most_engine_bytes(const ConvolutionSpec& spec);
/// Bytes of `room`, which is least_engine_bytes() or more, that the engines may use: most_engine_bytes(), or
/// else a power of two within the room (but not less than the least), so that convolutions of one shape, to
/// which the arena leaves different rooms, still share their engines.
size_t engine_bytes_within(const ConvolutionSpec& spec, size_t room);

}  // namespace brightnet::cuda
