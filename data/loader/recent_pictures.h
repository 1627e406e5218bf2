// The pictures whose tiles are being looked at, decoded once for all of their tiles. (private to data/loader/)
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include <opencv2/core.hpp>

namespace brightnet {

/// Thread-safe: of several threads that ask for one picture, one decodes it and the others wait.
class RecentPictures {
 public:
  /// Keeps the `latest` pictures that were asked for.
  explicit RecentPictures(int latest) : latest_(static_cast<size_t>(latest)) {}

  /// The picture of `file`; `decode` is called when it is not among the latest, and may throw.
  cv::Mat get(const std::filesystem::path& file, const std::function<cv::Mat()>& decode);

 private:
  struct Picture {
    std::filesystem::path file;
    std::mutex decoding;
    cv::Mat pixels;  // empty until decoded
  };

  const size_t latest_;
  std::mutex mutex_;  // guards the list; each picture has a mutex of its own
  std::list<std::shared_ptr<Picture>> pictures_;
};

}  // namespace brightnet
