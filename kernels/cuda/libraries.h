// CUDA libraries that are loaded when a GPU is used, so that the program also runs on machines without them.
#pragma once

#include <string>
#include <vector>

#include "core/shared_library.h"

namespace brightnet::cuda {

/// Folders of the cuDNN, NCCL and CUDA that this build used, and of NVIDIA's wheels beside it ('brightnet[cuda]'); searched
/// after the system's.
std::vector<std::string> library_folders();

/// libcudnn.so.9, loaded at the first call.
const SharedLibrary& cudnn_library();
/// libnccl.so.2, loaded at the first call.
const SharedLibrary& nccl_library();
/// libnvjpeg.so.13, loaded at the first call.
const SharedLibrary& nvjpeg_library();

}  // namespace brightnet::cuda
