#include "data/loader/recent_pictures.h"

#include <algorithm>

namespace brightnet {

cv::Mat RecentPictures::get(const std::filesystem::path& file, const std::function<cv::Mat()>& decode) {
  std::shared_ptr<Picture> picture;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(pictures_.begin(), pictures_.end(),
                                    [&](const auto& kept) { return kept->file == file; });
    if (found != pictures_.end()) {
      pictures_.splice(pictures_.begin(), pictures_, found);
    } else {
      pictures_.push_front(std::make_shared<Picture>());
      pictures_.front()->file = file;
      if (pictures_.size() > latest_) pictures_.pop_back();
    }
    picture = pictures_.front();
  }
  const std::lock_guard lock(picture->decoding);
  if (picture->pixels.empty()) picture->pixels = decode();
  return picture->pixels;
}

}  // namespace brightnet
