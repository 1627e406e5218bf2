#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/output_files.h"
#include "core/text.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "data/image/codecs.h"
#include "detect/outputs/added_names.h"
#include "detect/outputs/output.h"
#include "detect/outputs/written_files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The name as one component of a path.
std::string as_folder(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name == "." || name == ".." ? name + '_' : name;
}

class CropOutput : public DetectionOutput {
 public:
  CropOutput(const fs::path& folder, std::vector<std::string> class_names)
      : folder_(folder), files_(folder, "--out"), class_names_(std::move(class_names)) {}

  void add(const FoundObjects& found) override {
    const cv::Mat& image = found.frame.image;
    added_.add(found.frame);
    int k = 0;
    for (const ScoredBox& box : found.boxes) {
      const cv::Point begin(static_cast<int>(std::floor(box.x1)), static_cast<int>(std::floor(box.y1)));
      const cv::Point end(static_cast<int>(std::ceil(box.x2)), static_cast<int>(std::ceil(box.y2)));
      const cv::Rect inside = cv::Rect(begin, end) & cv::Rect(0, 0, image.cols, image.rows);
      ++k;
      if (inside.empty()) continue;
      const std::string name = as_folder(class_names_[box.class_id]);
      prepare_folder(folder_ / name, "--out");
      const std::string file = fmt::format("{}/{}_{}.jpg", name, found.frame.name, k);
      files_.write(file, [&](const fs::path& place) { write_image_unflushed(place, image(inside)); });
    }
  }

  /// Crops of objects that this run does not find, or finds as another class.
  void remove_earlier() override {
    files_.remove_the_rest([this](const fs::path& name) {
      const auto owner = before_number(name.stem().string(), 1);
      return name.has_parent_path() && name.extension() == ".jpg" && owner &&
             (added_.has_image(*owner) || added_.has_frame(*owner));
    });
  }

 private:
  fs::path folder_;
  WrittenFiles files_;
  AddedNames added_;
  std::vector<std::string> class_names_;
};

/// Whether OpenCV has an encoder for MPEG-4, which it tells by beginning a file alone.
bool writes_mpeg4() {
  try {
    const ScratchFolder folder;
    return make_video_writer()->open((folder / "a.mp4").string(), codec_code("mp4v"), 25, cv::Size(64, 64));
  } catch (const InputError&) {
    return true;  // as most can; an error comes when a video is written
  }
}

class PictureOutput : public DetectionOutput {
 public:
  PictureOutput(const fs::path& folder, std::vector<std::string> class_names, const BoxStyle& style)
      : files_(folder, "--out"), class_names_(std::move(class_names)), style_(style) {
    if (const std::string problem = typeface_problem(class_names_); !problem.empty())
      log::warn("{}", problem);
  }

  void check(const Frame& frame) override {
    files_.place(is_video_name(frame.file) ? frame.name + video_ending : picture_name(frame));
    if (!is_video_name(frame.file)) return;
    try {
      files_.place(frame.name + other_video_ending);
    } catch (const InputError&) {
      if (!writes_mpeg4()) throw;
    }
  }

  void add(const FoundObjects& found) override {
    cv::Mat picture = found.frame.image.clone();
    draw_detections(picture, found.boxes, class_names_, style_);
    if (found.frame.clip != clip_) {
      finish();
      clip_ = found.frame.clip;
      if (clip_) open_video(picture.size());
    }
    if (clip_) {
      add_to_video(picture);
    } else {
      files_.write(picture_name(found.frame),
                   [&](const fs::path& file) { write_image_unflushed(file, picture); });
    }
  }

  void finish() override {
    video_.reset();  // writes the index at the file's end
    if (clip_) files_.note(video_name_);
    clip_.reset();
  }

 private:
  static constexpr const char* video_ending = ".mp4";
  static constexpr const char* other_video_ending = ".avi";  // where OpenCV cannot write MPEG-4

  /// The picture's name, with the image's own ending where pictures of that kind can be written.
  static std::string picture_name(const Frame& frame) {
    const std::string ending = lower_case(fs::path(frame.file).extension().string());
    const bool writable = ending == ".jpg" || ending == ".jpeg" || ending == ".png" || ending == ".bmp";
    return frame.name + (writable ? ending : ".jpg");
  }

  /// MPEG-4, which every player knows; Motion JPEG where OpenCV was built without an encoder for it.
  void open_video(cv::Size size) {
    size_ = size;
    video_ = make_video_writer();
    fs::path file = begin_video(video_ending);
    if (video_->open(file.string(), codec_code("mp4v"), clip_->frames_per_second, size)) return;
    file = begin_video(other_video_ending);
    if (video_->open(file.string(), codec_code("MJPG"), clip_->frames_per_second, size)) {
      log::warn("OpenCV cannot write MPEG-4 here; {} is Motion JPEG.", file.string());
      return;
    }
    throw InputError("this video cannot be written", file.string(), "Check the folder, or use --no-save.");
  }

  fs::path begin_video(const std::string& ending) {
    video_name_ = clip_->name + ending;
    const fs::path file = files_.place(video_name_);
    files_.begin(video_name_);
    return file;
  }

  void add_to_video(cv::Mat& picture) {
    // A stream may change its size; a file cannot.
    if (picture.size() != size_) cv::resize(picture, picture, size_, 0, 0, cv::INTER_AREA);
    cv::cvtColor(picture, picture, cv::COLOR_RGB2BGR);
    video_->write(picture);
  }

  WrittenFiles files_;
  std::vector<std::string> class_names_;
  BoxStyle style_;
  std::shared_ptr<const Clip> clip_;
  std::string video_name_;
  std::unique_ptr<cv::VideoWriter> video_;
  cv::Size size_;
};

}  // namespace

std::unique_ptr<DetectionOutput> crop_output(const fs::path& folder, std::vector<std::string> class_names) {
  return std::make_unique<CropOutput>(folder, std::move(class_names));
}

std::unique_ptr<DetectionOutput> picture_output(const fs::path& folder, std::vector<std::string> class_names,
                                                const BoxStyle& style) {
  return std::make_unique<PictureOutput>(folder, std::move(class_names), style);
}

}  // namespace brightnet
