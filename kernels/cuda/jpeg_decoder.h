// JPEG decoding by nvJPEG.
#pragma once

#include <functional>
#include <memory>

#include "core/jpeg_decoder.h"

namespace brightnet::cuda {

/// A decoder's memory on the device: it comes from whoever counts it.
using DecoderMemory = std::unique_ptr<void, std::function<void(void*)>>;

size_t jpeg_decoder_bytes(int lanes);
/// Makes a decoder of this many files at a time: more threads wait for one another. `memory` has
/// jpeg_decoder_bytes(lanes), and nvJPEG gets no other. Throws a DeviceError where nvJPEG cannot be used.
std::unique_ptr<JpegDecoder> make_jpeg_decoder(int lanes, DecoderMemory memory);

}  // namespace brightnet::cuda
