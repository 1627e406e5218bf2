// A pixel's channels are one contiguous run in both tensors, so this is a strided copy of runs; runs of whole
// pixels on both sides merge into one.
#include <cstring>
#include <type_traits>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

/// Runs are short (a call of memcpy costs as much as copying 256 bytes) and most often whole cache lines.
template <typename T>
void copy_run(const T* from, T* to, size_t count) {
  constexpr size_t line = 64 / sizeof(T);
  size_t i = 0;
  for (; i + line <= count; i += line) std::memcpy(to + i, from + i, 64);
  if (i < count) std::memcpy(to + i, from + i, (count - i) * sizeof(T));
}

/// `count` runs of `length` elements, the next one `from_step` and `to_step` elements further.
template <typename T>
void copy_runs(const T* from, size_t from_step, T* to, size_t to_step, size_t length, size_t count,
               bool accumulate) {
  for (size_t run = 0; run < count; ++run, from += from_step, to += to_step) {
    if constexpr (!std::is_same_v<T, uint8_t>) {
      if (accumulate) add_run(from, to, length);
    }
    if (!accumulate) {
      copy_run(from, to, length);
    }
  }
}

}  // namespace

void CpuBackend::copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                               int channels, bool accumulate) {
  const Shape &f = from.shape, &t = to.shape;
  BRIGHTNET_CHECK(!accumulate || from.type != DType::u8, "8-bit channels are copied, not added");
  BRIGHTNET_CHECK(f.n == t.n && f.h == t.h && f.w == t.w && from.type == to.type,
                  "channels copied between unlike tensors: " + to_string(f) + " and " + to_string(t));
  BRIGHTNET_CHECK(channels > 0 && from_channel >= 0 && from_channel + channels <= f.c && to_channel >= 0 &&
                      to_channel + channels <= t.c,
                  "channels copied beyond a tensor's last one");
  with_stored_type(from.type, [&]<typename T>() {
    const T* source = from.as<T>() + from_channel;
    T* target = to.as<T>() + to_channel;
    const size_t length = channels, from_step = from.pixel_stride(), to_step = to.pixel_stride();
    const size_t traffic = (accumulate ? 3 : 2) * sizeof(T);
    if (length == from_step && length == to_step) {
      parallel_elements(from.count(), traffic, [&](size_t begin, size_t end) {
        copy_runs(source + begin, 0, target + begin, 0, end - begin, 1, accumulate);
      });
      return;
    }
    parallel_items(f.pixels(), length * traffic, [&](size_t begin, size_t end) {
      copy_runs(source + begin * from_step, from_step, target + begin * to_step, to_step, length, end - begin,
                accumulate);
    });
  });
}

}  // namespace brightnet::cpu
