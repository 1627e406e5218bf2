#include "detect/sources/video.h"

#include <algorithm>
#include <cstdint>
#include <mutex>

#include <fmt/format.h>
#include <opencv2/core/utils/logger.hpp>

#include "core/error.h"
#include "core/text.h"
#include "data/image/codecs.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// OpenCV's backends write whole addresses to standard error, and a stream's may have a password in it. While one of these
/// lives they write nothing; the last gives OpenCV's level back, unless it has been changed meanwhile.
class NoAddressInLogs {
 public:
  NoAddressInLogs() {
    const std::lock_guard lock(mutex_);
    if (count_++ == 0) before_ = cv::utils::logging::setLogLevel(silent);
  }
  ~NoAddressInLogs() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0 && cv::utils::logging::getLogLevel() == silent)
      cv::utils::logging::setLogLevel(before_);
  }
  NoAddressInLogs(const NoAddressInLogs&) = delete;
  NoAddressInLogs& operator=(const NoAddressInLogs&) = delete;

 private:
  static constexpr auto silent = cv::utils::logging::LOG_LEVEL_SILENT;
  static inline std::mutex mutex_;
  static inline int count_ = 0;
  static inline cv::utils::logging::LogLevel before_ = silent;
};

constexpr uint64_t header_bytes = 4 << 10;  // of a GIF's 13 bytes, and most JPEG's that a .mjpeg begins with

/// Nothing where it does not open.
template <typename What>
std::unique_ptr<cv::VideoCapture> opened(const What& what) {
  std::unique_ptr<cv::VideoCapture> capture = make_video_capture();
  try {
    if (capture->open(what, cv::CAP_ANY)) return capture;
  } catch (const cv::Exception&) {  // a backend's complaint
  }
  return nullptr;
}

/// Whether "cam:554" ends in a port, or "admin:12" in digits that begin a password.
bool ends_in_port(const std::string& authority) {
  const size_t colon = authority.rfind(':');
  return colon != std::string::npos && parse_integer<uint16_t>(authority.substr(colon + 1)).has_value();
}

bool is_rate(double frames_per_second) {
  return frames_per_second > 0 && frames_per_second <= 1000;
}

}  // namespace

std::string without_credentials(const std::string& address) {
  const size_t scheme = address.find("://");
  if (scheme == std::string::npos) return address;
  const size_t begin = scheme + 3;
  const std::string rest = address.substr(begin);
  // Passwords contain '@' and '/' too, as cameras' owners give them, so the last '@' counts; after a '/' only where there may
  // be a password before it, which a ':' begins. Rather too little is left of "a:b/live@2x" than a part of a password, and
  // of "a:12/b@c", whose host may be a or c, what is after the '@'.
  const std::string authority = rest.substr(0, rest.find('/'));
  const size_t last = rest.rfind('@'), host = authority.rfind('@');
  const bool password = last != std::string::npos && rest.find(':') < last;
  const bool in_path = last != std::string::npos && last > authority.size() && ends_in_port(authority) &&
                       rest.find_first_of("/.:", last) == std::string::npos;
  // No user's name is in brackets, as the address of IPv6 is.
  if (in_path && authority[0] != '[') return address.substr(0, begin) + "…" + rest.substr(last);
  const size_t at = password && !in_path ? last : host;
  return at == std::string::npos ? address : address.substr(0, begin) + rest.substr(at + 1);
}

VideoCapture::VideoCapture(std::unique_ptr<cv::VideoCapture> capture, const SourceOptions& options)
    : capture_(std::move(capture)), options_(options) {
  const double frames = capture_->get(cv::CAP_PROP_FRAME_COUNT);
  // A count by a rate that is none is none either, as of MPEG-4 in a transport stream.
  const bool is_countable = is_rate(capture_->get(cv::CAP_PROP_FPS));
  promised_ = is_countable && frames >= 1 && frames < 1e9 ? static_cast<int64_t>(frames) : -1;
}

VideoCapture VideoCapture::of_file(const fs::path& file, const SourceOptions& options) {
  // OpenCV takes what is no file for a pipeline of GStreamer's, which may write files, and a list may name anything.
  std::error_code failed;
  const bool is_file = fs::is_regular_file(file, failed);
  // A GIF is an image as well: a few bytes of it may announce more pixels than there is memory for.
  if (is_file) check_pixels(file, read_stored(file, 0, header_bytes), options.max_pixels);
  std::unique_ptr<cv::VideoCapture> capture = is_file ? opened(fs::absolute(file).string()) : nullptr;
  if (!capture) {
    throw InputError(
        "this video cannot be opened", file.string(),
        "Check that it plays (`ffprobe FILE`); damaged files and codecs that OpenCV's videoio lacks "
        "can be converted with `ffmpeg -i FILE out.mp4`.");
  }
  return {std::move(capture), options};
}

VideoCapture VideoCapture::of_address(const std::string& address, const SourceOptions& options) {
  const NoAddressInLogs quiet;
  std::unique_ptr<cv::VideoCapture> capture = opened(address);
  if (!capture) {
    throw InputError("this stream cannot be opened", without_credentials(address),
                     "Check the address, and that the machine that sends it answers (`ffprobe ADDRESS`).");
  }
  return {std::move(capture), options};
}

VideoCapture VideoCapture::of_camera(int device, const SourceOptions& options) {
  const std::string node = "/dev/video" + std::to_string(device);
  std::error_code failed;
#ifdef __linux__
  if (!fs::exists(node, failed)) {
    throw InputError(
        fmt::format("there is no camera {}", device), node,
        "`ls /dev/video*` lists the cameras. A file with this name is given with its folder: ./" +
            std::to_string(device));
  }
#endif
  std::unique_ptr<cv::VideoCapture> capture = opened(device);
  if (!capture) {
    throw InputError(
        fmt::format("camera {} cannot be used", device), node,
        "Check that no other program has it and that you may read it (the group `video`, as a rule).");
  }
  return {std::move(capture), options};
}

int64_t VideoCapture::count() const {
  if (promised_ < 0) return options_.frames > 0 ? options_.frames : -1;
  const int64_t frames = (promised_ + options_.every - 1) / options_.every;
  return options_.frames > 0 ? std::min(frames, options_.frames) : frames;
}

double VideoCapture::frames_per_second() const {
  constexpr double usual = 25;
  const double rate = capture_->get(cv::CAP_PROP_FPS);
  return (is_rate(rate) ? rate : usual) / options_.every;
}

std::optional<int64_t> VideoCapture::read(cv::Mat& bgr) {
  if (options_.frames > 0 && given_ == options_.frames) return std::nullopt;
  try {
    for (int skipped = 0; given_ > 0 && skipped + 1 < options_.every; ++skipped) {
      if (!capture_->grab()) {
        broke_off_ = true;
        return std::nullopt;
      }
      ++at_;
    }
    // A backend may reuse the memory of its frames.
    cv::Mat lent;
    if (!capture_->read(lent) || lent.empty()) {
      broke_off_ = true;
      return std::nullopt;
    }
    bgr = lent.clone();
  } catch (const cv::Exception&) {
    broke_off_ = true;
    return std::nullopt;
  }
  ++given_;
  return at_++;
}

std::string VideoCapture::shortfall() const {
  // In some containers the header only has an estimate.
  const int64_t allowance = std::max<int64_t>(2, promised_ / 50);
  if (!broke_off_ || promised_ < 0 || at_ >= promised_ - allowance) return "";
  return fmt::format("ends after {} of {} frames", at_, promised_);
}

std::string VideoCapture::unannounced_end() const {
  return broke_off_ && promised_ < 0 ? fmt::format("gave no more frames after {}", at_) : "";
}

}  // namespace brightnet
