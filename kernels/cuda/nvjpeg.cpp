#include "kernels/cuda/nvjpeg.h"

#include "kernels/cuda/libraries.h"

namespace brightnet::cuda {
namespace {

Nvjpeg load() {
  const SharedLibrary& library = nvjpeg_library();
  Nvjpeg functions;
  if (!library.loaded()) {
    functions.problem = library.problem();
    return functions;
  }
  const auto find = [&](auto*& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.symbol(name));
    if (!function) functions.problem = library.path() + " has no " + name;
  };
  find(functions.create, "nvjpegCreateExV2");
  find(functions.destroy, "nvjpegDestroy");
  find(functions.create_state, "nvjpegJpegStateCreate");
  find(functions.destroy_state, "nvjpegJpegStateDestroy");
  find(functions.decode, "nvjpegDecode");
  find(functions.begin_batches, "nvjpegDecodeBatchedInitialize");
  find(functions.decode_batch, "nvjpegDecodeBatched");
  return functions;
}

}  // namespace

const Nvjpeg& nvjpeg() {
  static const Nvjpeg functions = load();
  return functions;
}

}  // namespace brightnet::cuda
