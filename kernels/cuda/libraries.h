// The libraries of CUDA that are loaded when a GPU is used, never when the program starts: so one program
// runs on machines with and without them.
#pragma once

#include <string>
#include <vector>

#include "core/shared_library.h"

namespace brightnet::cuda {

/// Where this build's cuDNN and NCCL lay; tried after the system's own search.
std::vector<std::string> library_folders();

/// libcudnn.so.9, loaded at the first call.
const SharedLibrary& cudnn_library();
/// libnccl.so.2, loaded at the first call.
const SharedLibrary& nccl_library();

}  // namespace brightnet::cuda
