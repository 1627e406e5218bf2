// What tests know of the emulated nvJPEG.
#pragma once

#include <string_view>

namespace brightnet::emulation {

/// It refuses files that have this in a comment.
constexpr std::string_view refused_by_nvjpeg = "not for the emulated nvJPEG";

/// Its hardware fails on files that have this in a comment.
constexpr std::string_view fails_in_hardware = "the emulated hardware fails";
/// It fails, with and without the hardware, on files that have this in a comment.
constexpr std::string_view fails_in_nvjpeg = "the emulated nvJPEG fails";
/// Whether the GPU decodes baseline files in hardware.
inline bool jpeg_hardware = true;

}  // namespace brightnet::emulation
