#include "kernels/cuda/libraries.h"

#include <sstream>

namespace brightnet::cuda {

std::vector<std::string> library_folders() {
  std::vector<std::string> folders;
  std::istringstream list(BRIGHTNET_CUDA_LIBRARY_FOLDERS);
  for (std::string folder; std::getline(list, folder, ':');) folders.push_back(folder);
  if (const std::string packages = python_packages(); !packages.empty()) {
    for (const char* library : {"cudnn", "nccl", "cu13"})
      folders.push_back(packages + "/nvidia/" + library + "/lib");
  }
  return folders;
}

const SharedLibrary& cudnn_library() {
  static const SharedLibrary library("libcudnn.so.9", library_folders());
  return library;
}

const SharedLibrary& nccl_library() {
  static const SharedLibrary library("libnccl.so.2", library_folders());
  return library;
}

const SharedLibrary& nvjpeg_library() {
  static const SharedLibrary library("libnvjpeg.so.13", library_folders());
  return library;
}

}  // namespace brightnet::cuda
