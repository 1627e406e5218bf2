// A thread that wants a file decoded takes a lane: a stream, a state of nvJPEG, and a part of the device's memory, of which
// nvJPEG allocates. It waits, asleep, until the pixels are back in page-locked memory. No lane's stream waits for the
// training's, and none of the training's for a lane's: what is decoded goes the way of an image that the CPU has decoded.
#include "kernels/cuda/jpeg_decoder.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/host_memory.h"
#include "core/log.h"
#include "kernels/cuda/nvjpeg.h"

namespace brightnet::cuda {
namespace {

/// 32 bytes for each pixel of the largest image: three for its result; the coefficients of one in full colour take six.
constexpr size_t lane_bytes = size_t{64} << 20;
constexpr size_t result_bytes = 3 * static_cast<size_t>(JpegDecoder::most_pixels);

std::string described(NvjpegStatus status) {
  switch (status) {
    case NvjpegStatus::success: return "success";
    case NvjpegStatus::bad_jpeg: return "it is no valid JPEG to it";
    case NvjpegStatus::jpeg_not_supported: return "it does not support this kind of JPEG";
    case NvjpegStatus::allocator_failure: return "it got no memory";
    case NvjpegStatus::implementation_not_supported: return "it has no decoder for this kind of JPEG here";
    case NvjpegStatus::incomplete_bitstream: return "the file is incomplete to it";
  }
  return "its status is " + std::to_string(static_cast<int>(status));
}

/// Whether a status says something of the file, and not of the device.
bool is_of_file(NvjpegStatus status) {
  return status == NvjpegStatus::bad_jpeg || status == NvjpegStatus::jpeg_not_supported ||
         status == NvjpegStatus::implementation_not_supported || status == NvjpegStatus::incomplete_bitstream;
}

void check(NvjpegStatus status, const std::string& action, std::string_view file = {}) {
  if (status == NvjpegStatus::success) return;
  throw DeviceError("nvJPEG could not " + action + ": " + described(status), std::string(file),
                    "Set loader.decode to cpu.");
}

/// A block of memory that is given out in parts: the first gap that is wide enough.
class Arena {
 public:
  Arena(std::byte* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}

  /// nullptr where there is no such gap.
  void* allocate(size_t bytes) {
    constexpr size_t alignment = 256;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    size_t at = 0;
    for (const auto& [begin, end] : used_) {
      if (begin - at >= bytes) break;
      at = end;
    }
    if (bytes > bytes_ - at) {
      ran_out_ = true;
      wanted_ = at + bytes;
      return nullptr;
    }
    used_[at] = at + bytes;
    return memory_ + at;
  }
  void release(const void* memory) {
    used_.erase(static_cast<size_t>(static_cast<const std::byte*>(memory) - memory_));
  }
  /// Whether there was no room for a part since the last begin().
  void begin() { ran_out_ = false; }
  bool ran_out() const { return ran_out_; }
  /// "it wants 80.1 MiB of memory, and is given 58.0 MiB"
  std::string shortage() const {
    return "it wants " + format_bytes(wanted_) + " of memory, and is given " + format_bytes(bytes_);
  }
  void clear() {
    used_.clear();
    ran_out_ = false;
  }

 private:
  std::byte* const memory_;
  const size_t bytes_;
  std::map<size_t, size_t> used_;  // where parts begin and end
  bool ran_out_ = false;
  size_t wanted_ = 0;  // bytes up to the end of the part that found no room
};

class Lane {
 public:
  explicit Lane(std::byte* memory)
      : result_(memory), arena_(memory + result_bytes, lane_bytes - result_bytes), pixels_(result_bytes) {
    open();
  }
  ~Lane() {
    cudaStreamSynchronize(stream_);  // errors are ignored: this also runs during stack unwinding
    close();
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  /// Whether the card has NVIDIA's JPEG decoder in hardware.
  bool has_hardware() const { return hardware_; }
  /// Why nvJPEG does not take the file; empty where it did.
  std::string decode(std::span<const uint8_t> file, const JpegPart& part, uint8_t* pixels) {
    // Which of the two decodes a file depends on the file alone.
    NvjpegStatus status =
        hardware_ ? attempt(&Lane::queue_in_hardware, file, part) : NvjpegStatus::jpeg_not_supported;
    if (status != NvjpegStatus::success) {
      if (!is_of_file(status)) warn_of_hardware(status);
      status = attempt(&Lane::queue_in_software, file, part);
    }
    if (status != NvjpegStatus::success) {
      const std::string shortage = arena_.ran_out() ? arena_.shortage() : "";
      // Before anything else is asked of a device that has failed, which may fail at that too.
      if (shortage.empty() && !is_of_file(status)) check(status, "decode the file", part.name);
      renew();
      return shortage.empty() ? described(status) : shortage;
    }
    take(part, pixels);
    return "";
  }

 private:
  // Called by nvJPEG, in the thread that has the lane.
  static int allocate_device(void* lane, void** memory, size_t bytes, cudaStream_t) {
    *memory = static_cast<Lane*>(lane)->arena_.allocate(bytes);
    return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
  }
  static int release_device(void* lane, void* memory, size_t, cudaStream_t) {
    static_cast<Lane*>(lane)->arena_.release(memory);
    return cudaSuccess;
  }
  static int allocate_pinned(void*, void** memory, size_t bytes, cudaStream_t) {
    return cudaMallocHost(memory, bytes);
  }
  static int release_pinned(void*, void* memory, size_t, cudaStream_t) { return cudaFreeHost(memory); }

  void warn_of_hardware(NvjpegStatus status) const {
    static std::once_flag said;
    std::call_once(said, [&] {
      log::warn(
          "The card's JPEG decoder fails on a file that nvJPEG then decodes without it, which is slower: {}. This is "
          "reported once.",
          arena_.ran_out() ? arena_.shortage() : described(status));
    });
  }

  void open() {
    NvjpegDeviceAllocator device{allocate_device, release_device, this};
    NvjpegPinnedAllocator pinned{allocate_pinned, release_pinned, this};
    const auto create = [&](NvjpegBackend backend) {
      return nvjpeg().create(backend, &device, &pinned, nvjpeg_one_batch | nvjpeg_interpolates_chroma,
                             &handle_);
    };
    // An error on a card without it.
    hardware_ = create(NvjpegBackend::hardware) == NvjpegStatus::success;
    NvjpegStatus status = hardware_ ? NvjpegStatus::success : create(NvjpegBackend::standard);
    if (status == NvjpegStatus::success) status = nvjpeg().create_state(handle_, &state_);
    if (status == NvjpegStatus::success) status = nvjpeg().create_state(handle_, &batches_);
    if (status != NvjpegStatus::success) close();
    check(status, "be started");
  }
  void close() noexcept {
    for (NvjpegState* state : {&state_, &batches_}) {
      if (*state) nvjpeg().destroy_state(*state);
      *state = nullptr;
    }
    if (handle_) nvjpeg().destroy(handle_);
    handle_ = nullptr;
    batch_output_.reset();
  }
  void renew() {
    stream_.synchronize();
    close();
    arena_.clear();
    open();
  }

  using Queue = NvjpegStatus (Lane::*)(std::span<const uint8_t> file, NvjpegOutput, NvjpegImage&);

  NvjpegStatus attempt(Queue queue, std::span<const uint8_t> file, const JpegPart& part) {
    NvjpegImage image{};
    image.channel[0] = reinterpret_cast<unsigned char*>(result_);
    image.pitch[0] = part.width * static_cast<size_t>(part.channels);
    const NvjpegOutput output = part.channels == 1 ? NvjpegOutput::y : NvjpegOutput::rgb_interleaved;
    arena_.begin();
    const NvjpegStatus status = (this->*queue)(file, output, image);
    if (status == NvjpegStatus::success || !arena_.ran_out()) return status;
    // Drops what earlier files have left allocated: whether an empty arena is enough depends on the file alone.
    renew();
    return (this->*queue)(file, output, image);
  }

  // A batch has one file, as several threads decode at a time.
  NvjpegStatus queue_in_hardware(std::span<const uint8_t> file, NvjpegOutput output, NvjpegImage& image) {
    if (batch_output_ != output) {
      const NvjpegStatus status = nvjpeg().begin_batches(handle_, batches_, 1, 1, output);
      if (status != NvjpegStatus::success) return status;
      batch_output_ = output;
    }
    const unsigned char* const data = file.data();
    const size_t bytes = file.size();
    const NvjpegStatus status = nvjpeg().decode_batch(handle_, batches_, &data, &bytes, &image, stream_);
    if (status != NvjpegStatus::success) batch_output_.reset();  // a batch that failed has to begin anew
    return status;
  }
  NvjpegStatus queue_in_software(std::span<const uint8_t> file, NvjpegOutput output, NvjpegImage& image) {
    return nvjpeg().decode(handle_, state_, file.data(), file.size(), output, &image, stream_);
  }

  void take(const JpegPart& part, uint8_t* pixels) {
    const size_t channels = part.channels, row_bytes = channels * part.width,
                 part_bytes = channels * part.part_width;
    const auto rows = static_cast<size_t>(part.part_height);
    copy_async(pixels_.data(), result_ + part.top * row_bytes, rows * row_bytes, stream_);
    done_.record(stream_);
    done_.synchronize();
    const uint8_t* from = pixels_.as<uint8_t>() + channels * part.left;
    for (size_t row = 0; row < rows; ++row, from += row_bytes, pixels += part_bytes)
      std::memcpy(pixels, from, part_bytes);
  }

  std::byte* const result_;
  Arena arena_;
  PinnedMemory pixels_;
  Stream stream_{Stream::Priority::high};
  Event done_{Event::Kind::slept_for};
  NvjpegHandle handle_ = nullptr;
  NvjpegState state_ = nullptr, batches_ = nullptr;
  bool hardware_ = false;
  std::optional<NvjpegOutput> batch_output_;  // the output that batches_ was begun for
};

class NvjpegDecoder : public JpegDecoder {
 public:
  NvjpegDecoder(int lanes, DecoderMemory memory) : memory_(std::move(memory)) {
    BRIGHTNET_CHECK(lanes > 0, "a decoder needs a lane");
    if (!nvjpeg().problem.empty()) throw DeviceError("nvJPEG cannot be used: " + nvjpeg().problem);
    gpu_ = cuda::current_gpu();
    for (int lane = 0; lane < lanes; ++lane) {
      auto* const part = static_cast<std::byte*>(memory_.get()) + lane * lane_bytes;
      lanes_.push_back(std::make_unique<Lane>(part));
      free_.push_back(lanes_.back().get());
    }
    log::info("nvJPEG decodes up to {} JPEG files at a time, {}", lanes,
              lanes_[0]->has_hardware() ? "baseline ones by the card's own JPEG decoder"
                                        : "without hardware for it");
  }

  bool decode(std::span<const uint8_t> file, const JpegPart& part, uint8_t* pixels) override {
    BRIGHTNET_CHECK(int64_t{part.width} * part.height <= most_pixels, "an image is too large to be decoded");
    cuda::check(cudaSetDevice(gpu_), "choose the GPU");  // the current GPU is per thread
    const std::unique_ptr<Lane, std::function<void(Lane*)>> lane(take_lane(),
                                                                 [this](Lane* used) { give(used); });
    const std::string refusal = lane->decode(file, part, pixels);
    if (!refusal.empty() && !said_.exchange(true)) {
      log::warn(
          "nvJPEG does not decode an image of {} × {} pixels: {}. The CPU decodes it, and whatever else nvJPEG does not; "
          "this is reported once.",
          part.width, part.height, refusal);
    }
    return refusal.empty();
  }

 private:
  Lane* take_lane() {
    std::unique_lock lock(mutex_);
    lane_there_.wait(lock, [this] { return !free_.empty(); });
    Lane* const lane = free_.back();
    free_.pop_back();
    return lane;
  }
  void give(Lane* lane) {
    {
      const std::lock_guard lock(mutex_);
      free_.push_back(lane);
    }
    lane_there_.notify_one();
  }

  const DecoderMemory memory_;
  int gpu_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;  // guards free_
  std::condition_variable lane_there_;
  std::vector<Lane*> free_;
  std::atomic<bool> said_ = false;
};

}  // namespace

size_t jpeg_decoder_bytes(int lanes) {
  return lanes * lane_bytes;
}

std::unique_ptr<JpegDecoder> make_jpeg_decoder(int lanes, DecoderMemory memory) {
  return std::make_unique<NvjpegDecoder>(lanes, std::move(memory));
}

}  // namespace brightnet::cuda
