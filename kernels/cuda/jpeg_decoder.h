// JPEG decoding by nvJPEG.
#pragma once

#include <functional>
#include <memory>

#include "core/jpeg_decoder.h"

namespace brightnet::cuda {

/// The device's memory of a decoder: it comes from whoever counts it.
using DecoderMemory = std::unique_ptr<void, std::function<void(void*)>>;

size_t jpeg_decoder_bytes(int lanes);
/// Decodes this many files at a time: more threads wait for one another. `memory` has jpeg_decoder_bytes(lanes), and nvJPEG
/// gets no other. Throws a DeviceError where nvJPEG cannot be used.
std::unique_ptr<JpegDecoder> make_jpeg_decoder(int lanes, DecoderMemory memory);

}  // namespace brightnet::cuda
