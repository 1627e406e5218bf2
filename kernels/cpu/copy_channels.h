// Concatenation and splitting of channels on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// Channels [from_channel, from_channel + channels) of every pixel of `from` are written to (or, with
/// `accumulate`, added to) channels [to_channel, ...) of `to`; all other channels of `to` stay as they are.
/// n, h, w and the type (f32 or bf16) are equal; the memory does not overlap.
void copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel, int channels,
                   bool accumulate);

}  // namespace brightnet::cpu
