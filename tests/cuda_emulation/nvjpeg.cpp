// nvJPEG for the emulated GPU: libjpeg's pixels, written in the order of the stream. Like the real one it may take damaged files
// without a word, and it keeps what it has allocated for a larger file than the next.
#include "kernels/cuda/nvjpeg.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "data/image/jpeg.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/nvjpeg.h"
#include "tests/cuda_emulation/queue.h"
#include "tests/cuda_emulation/violation.h"

namespace brightnet::cuda {

struct NvjpegHandleData {
  NvjpegDeviceAllocator device;
};
struct NvjpegStateData {
  NvjpegHandleData* handle = nullptr;
  void* workspace = nullptr;
  size_t bytes = 0;
  std::optional<NvjpegOutput> output = {};  ///< of batches; none once one has failed
};

namespace {

constexpr NvjpegStatus execution_failed{6};

NvjpegStatus create(NvjpegBackend backend, NvjpegDeviceAllocator* device, NvjpegPinnedAllocator*, unsigned,
                    NvjpegHandle* handle) {
  constexpr NvjpegStatus architecture_mismatch{7};
  if (backend == NvjpegBackend::hardware && !emulation::jpeg_hardware) return architecture_mismatch;
  *handle = new NvjpegHandleData{*device};
  return NvjpegStatus::success;
}
NvjpegStatus destroy(NvjpegHandle handle) {
  delete handle;
  return NvjpegStatus::success;
}
NvjpegStatus create_state(NvjpegHandle handle, NvjpegState* state) {
  *state = new NvjpegStateData{handle};
  return NvjpegStatus::success;
}
NvjpegStatus destroy_state(NvjpegState state) {
  const NvjpegDeviceAllocator& device = state->handle->device;
  if (state->workspace) device.release(device.context, state->workspace, state->bytes, nullptr);
  delete state;
  return NvjpegStatus::success;
}

bool grow(NvjpegState state, size_t bytes, cudaStream_t stream) {
  const NvjpegDeviceAllocator& device = state->handle->device;
  if (bytes <= state->bytes) return true;
  void* larger = nullptr;
  if (device.allocate(device.context, &larger, bytes, stream) != 0) return false;
  if (state->workspace) device.release(device.context, state->workspace, state->bytes, stream);
  state->workspace = larger;
  state->bytes = bytes;
  return true;
}

NvjpegStatus decode(NvjpegHandle, NvjpegState state, const unsigned char* file, size_t bytes,
                    NvjpegOutput output, NvjpegImage* pixels, cudaStream_t stream) {
  const std::string_view text(reinterpret_cast<const char*>(file), bytes);
  if (text.find(emulation::refused_by_nvjpeg) != std::string_view::npos)
    return NvjpegStatus::jpeg_not_supported;
  if (text.find(emulation::fails_in_nvjpeg) != std::string_view::npos) return execution_failed;
  const int channels = output == NvjpegOutput::y ? 1 : 3;
  const cv::Mat image = decode_jpeg({file, bytes}, 1, {}, channels).image;
  if (image.empty()) return NvjpegStatus::bad_jpeg;
  constexpr size_t bytes_a_pixel = 28;
  if (!grow(state, bytes_a_pixel * image.total(), stream)) return NvjpegStatus::allocator_failure;
  emulation::queue_work(stream, [image, to = pixels->channel[0], pitch = pixels->pitch[0],
                                 workspace = state->workspace, room = state->bytes] {
    std::memset(workspace, 0, std::min<size_t>(room, 64));
    for (int y = 0; y < image.rows; ++y)
      std::memcpy(to + static_cast<size_t>(y) * pitch, image.ptr(y),
                  static_cast<size_t>(image.cols) * image.elemSize());
  });
  return NvjpegStatus::success;
}

NvjpegStatus begin_batches(NvjpegHandle, NvjpegState state, int files, int, NvjpegOutput output) {
  if (files != 1) return NvjpegStatus::jpeg_not_supported;
  state->output = output;
  return NvjpegStatus::success;
}

/// The hardware decodes no progressive files.
NvjpegStatus decode_batch(NvjpegHandle handle, NvjpegState state, const unsigned char* const* files,
                          const size_t* bytes, NvjpegImage* pixels, cudaStream_t stream) {
  if (!state->output)
    throw emulation::Violation("batches of nvJPEG that were not begun, or have failed since");
  const NvjpegOutput output = *std::exchange(state->output, std::nullopt);
  const std::string_view text(reinterpret_cast<const char*>(*files), *bytes);
  if (text.find("\xFF\xC2") != std::string_view::npos) return NvjpegStatus::jpeg_not_supported;
  if (text.find(emulation::fails_in_hardware) != std::string_view::npos) return execution_failed;
  const NvjpegStatus status = decode(handle, state, *files, *bytes, output, pixels, stream);
  if (status == NvjpegStatus::success) state->output = output;
  return status;
}

}  // namespace

const Nvjpeg& nvjpeg() {
  static const Nvjpeg functions{"",     create,        destroy,     create_state, destroy_state,
                                decode, begin_batches, decode_batch};
  return functions;
}

}  // namespace brightnet::cuda
