// Weights of other programs, by what they are.
#pragma once

#include <filesystem>

namespace brightnet {

/// Throws InputError for a file that is neither brightnet's nor darknet's but another program's (PyTorch,
/// ONNX, Keras, NVIDIA TAO, TensorRT, …), or a folder: it is called what it is, with what to give instead.
void refuse_foreign_weights(const std::filesystem::path& file);

}  // namespace brightnet
