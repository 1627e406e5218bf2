// Detects weights of other programs; the error names the format and what to use instead.
#pragma once

#include <filesystem>

namespace brightnet {

/// Throws InputError for a file that is neither brightnet's nor darknet's but another program's (PyTorch, ONNX, Keras,
/// NVIDIA TAO, TensorRT, …), or a folder: the error names the format and what to use instead.
void refuse_foreign_weights(const std::filesystem::path& file);

}  // namespace brightnet
