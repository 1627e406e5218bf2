#include "detect/sources/source.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <glob.h>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/text.h"
#include "core/unique_names.h"
#include "data/image/read_image.h"
#include "detect/sources/video.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Names for the files of a source: the second "dog" becomes "dog_3" beside a file "dog_2", which keeps its own. Nor is an
/// image called like a frame of a video: "clip" becomes "clip_2" beside an image "clip_000012".
class SourceNames {
 public:
  explicit SourceNames(const std::vector<fs::path>& files) {
    for (const fs::path& file : files) {
      stems_.insert(file.stem().string());
      if (!is_video_name(file)) images_.insert(file.stem().string());
    }
  }

  std::string of(const fs::path& file) {
    const std::string wanted = file.stem().string();
    const bool is_clip = is_video_name(file);
    return names_.of(wanted, [&](const std::string& name) {
      const bool is_anothers = name != wanted && stems_.contains(name);
      return !is_anothers && !(is_clip && names_an_image(name));
    });
  }

 private:
  /// Whether an image is called like a frame of a clip of this name (name_of_frame()).
  bool names_an_image(const std::string& clip) const {
    const std::string begin = clip + '_';
    for (auto image = images_.lower_bound(begin); image != images_.end() && image->starts_with(begin);
         ++image) {
      const std::string number = image->substr(begin.size());
      if (number.size() >= 6 && number.find_first_not_of("0123456789") == std::string::npos) return true;
    }
    return false;
  }

  UniqueNames names_;
  std::set<std::string> images_;  // stems of the images
  std::set<std::string> stems_;   // stems of all files
};

std::string name_of_frame(const Clip& clip, int64_t number) {
  return fmt::format("{}_{:06}", clip.name, number);
}

/// The frames of one video, camera or stream.
class ClipSource {
 public:
  ClipSource(VideoCapture capture, std::string file, std::string name, bool is_live = false)
      : capture_(std::move(capture)),
        file_(std::move(file)),
        is_live_(is_live),
        clip_(std::make_shared<Clip>(Clip{std::move(name), capture_.frames_per_second()})) {}

  bool next(Frame& frame) {
    const auto number = capture_.read(frame.image);
    if (!number) {
      if (!std::exchange(has_ended_, true)) say_how_it_ended();
      return false;
    }
    is_empty_ = false;
    frame.file = file_;
    frame.name = name_of_frame(*clip_, *number);
    frame.clip = clip_;
    frame.number = *number;
    return true;
  }
  int64_t count() const { return capture_.count(); }
  /// Whether it has handed out no frame so far.
  bool is_empty() const { return is_empty_; }

 private:
  void say_how_it_ended() const {
    const std::string shortfall = capture_.shortfall(), unannounced = capture_.unannounced_end();
    // A file without a single frame is skipped instead.
    if (!shortfall.empty() && (is_live_ || !is_empty_))
      log::warn("{} {}; the file may be damaged.", file_, shortfall);
    if (is_live_ && !unannounced.empty()) {
      log::warn("{} {}: it was switched off, or the connection to it is lost.", file_, unannounced);
    }
  }

  VideoCapture capture_;
  std::string file_;
  bool is_live_, has_ended_ = false, is_empty_ = true;
  std::shared_ptr<const Clip> clip_;
};

/// Files, each an image or a video.
class FileSource : public Source {
 public:
  FileSource(std::vector<fs::path> files, const SourceOptions& options)
      : Source(options.max_pixels), files_(std::move(files)), options_(options) {
    SourceNames unique(files_);
    names_.resize(files_.size());
    // "dog.heic" that is not read here leaves its name to "dog.jpg".
    for (const bool is_read : {true, false}) {
      for (size_t i = 0; i < files_.size(); ++i) {
        if ((is_image_name(files_[i]) || is_video_name(files_[i])) == is_read)
          names_[i] = unique.of(files_[i]);
      }
    }
    // A video by itself is opened at once: when it cannot be, there is nothing to do.
    if (files_.size() == 1 && is_video_name(files_[0])) open(at_++);
    count_ = clip_ ? clip_->count() : static_cast<int64_t>(files_.size());
    if (!clip_ && std::any_of(files_.begin(), files_.end(), is_video_name)) count_ = -1;
  }

  bool next(Frame& frame) override {
    frame = {};
    for (;;) {
      if (clip_ && clip_->next(frame)) return true;
      const bool nothing = clip_ && clip_->is_empty();
      clip_.reset();
      if (nothing) {
        frame.file = files_[at_ - 1].string();
        frame.failure = "no frame of this video can be decoded";
        return true;
      }
      if (at_ == files_.size()) return false;
      const size_t file = at_++;
      frame.file = files_[file].string();
      if (!is_video_name(files_[file])) {
        frame.name = names_[file];
        return true;
      }
      try {
        open(file);
      } catch (const ImageError& e) {
        frame.failure = e.detail();
        return true;
      } catch (const InputError&) {
        frame.failure = "this video cannot be opened";
        return true;
      }
    }
  }

  int64_t count() const override { return count_; }
  const std::vector<fs::path>& files() const override { return files_; }
  const std::vector<std::string>& names() const override { return names_; }

 private:
  void open(size_t file) {
    clip_.emplace(VideoCapture::of_file(files_[file], options_), files_[file].string(), names_[file]);
  }

  std::vector<fs::path> files_;
  std::vector<std::string> names_;
  SourceOptions options_;
  int64_t count_ = -1;
  size_t at_ = 0;
  std::optional<ClipSource> clip_;
};

/// A camera or a stream.
class LiveSource : public Source {
 public:
  LiveSource(VideoCapture capture, const std::string& file, const std::string& name)
      : clip_(std::move(capture), file, name, true) {}

  bool next(Frame& frame) override {
    frame = {};
    return clip_.next(frame);
  }
  int64_t count() const override { return clip_.count(); }
  bool live() const override { return true; }
  const std::vector<fs::path>& files() const override { return files_; }
  const std::vector<std::string>& names() const override { return names_; }

 private:
  ClipSource clip_;
  std::vector<fs::path> files_;
  std::vector<std::string> names_;
};

/// By its name; also an image of a kind that this OpenCV does not read, so that it is reported, with how to convert it.
bool is_picture_name(const fs::path& file) {
  return is_image_name(file) || is_video_name(file) || (!is_clutter(file) && !image_conversion(file).empty());
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& file = entry->path();
    if (!entry->is_directory(error) && is_picture_name(file)) files.push_back(file);
  }
  if (error) {
    throw InputError("this folder cannot be read: " + error.message(), folder.string(),
                     "Check the path and its permissions.");
  }
  if (files.empty()) {
    throw InputError("this folder has no images", folder.string(),
                     "Its subfolders are not looked into: name one of them, or give a pattern such as '" +
                         (folder / "*" / "*.jpg").string() + "'.");
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_address(const std::string& text) {
  return text.find("://") != std::string::npos;
}

std::vector<fs::path> files_of_list(const fs::path& list) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const TextLine& line : read_lines(list, most_list_bytes)) {
    files.push_back(find_below(line.text, {".", list.parent_path()}));
    if (!is_address(line.text) || fs::exists(files.back(), error)) continue;
    throw InputError(
        "a list names images and videos, and this is a stream's address: " + without_credentials(line.text),
        fmt::format("{}:{}", list.string(), line.number),
        "Give it as --source itself; each stream is a command of its own.");
  }
  if (files.empty())
    throw InputError("this list is empty", list.string(), "It names images or videos, one a line.");
  return files;
}

std::vector<fs::path> files_of_pattern(const std::string& pattern) {
  glob_t matches{};
  const int failed = ::glob(pattern.c_str(), GLOB_MARK, nullptr, &matches);
  std::vector<fs::path> files;
  for (size_t i = 0; i < matches.gl_pathc; ++i) {
    const std::string file = matches.gl_pathv[i];
    if (!file.ends_with('/') && is_picture_name(file)) files.emplace_back(file);
  }
  ::globfree(&matches);
  if (!files.empty()) return files;
  throw InputError(failed == GLOB_NOMATCH ? "no file fits this pattern"
                                          : "none of the files that fit this pattern is an image or a video",
                   pattern, "Put the pattern in quotes, so that the shell leaves it alone.");
}

std::optional<int> camera_number(const std::string& text) {
  const auto number = parse_integer<int>(text);
  return number >= 0 ? number : std::nullopt;
}

std::string file_name_of(const std::string& address) {
  std::string name;
  for (const char c : address.substr(address.find("://") + 3)) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.';
    if (plain || (!name.empty() && name.back() != '_')) name += plain ? c : '_';
  }
  return name.empty() || name[0] == '.' ? "stream" : name;
}

}  // namespace

bool is_video_name(const fs::path& file) {
  const std::string extension = lower_case(file.extension().string());
  static constexpr std::array<std::string_view, 17> known{".mp4", ".avi",  ".mkv", ".mov",  ".webm", ".m4v",
                                                          ".mpg", ".mpeg", ".wmv", ".flv",  ".ts",   ".3gp",
                                                          ".ogv", ".asf",  ".gif", ".mjpg", ".mjpeg"};
  return std::find(known.begin(), known.end(), extension) != known.end();
}

bool is_live_source(const std::string& text) {
  std::error_code error;
  return !fs::exists(text, error) && (camera_number(text) || is_address(text));
}

std::unique_ptr<Source> open_source(const std::string& text, const SourceOptions& options) {
  std::error_code error;
  const fs::path path(text);
  if (fs::is_directory(path, error)) return std::make_unique<FileSource>(files_in(path), options);
  if (fs::exists(path, error)) {
    const bool list = lower_case(path.extension().string()) == ".txt";
    return std::make_unique<FileSource>(list ? files_of_list(path) : std::vector{path}, options);
  }
  if (const auto device = camera_number(text)) {
    return std::make_unique<LiveSource>(VideoCapture::of_camera(*device, options),
                                        fmt::format("camera {}", *device), fmt::format("camera{}", *device));
  }
  if (is_address(text)) {
    const std::string address = without_credentials(text);
    return std::make_unique<LiveSource>(VideoCapture::of_address(text, options), address,
                                        file_name_of(address));
  }
  if (text.find_first_of("*?[") != std::string::npos)
    return std::make_unique<FileSource>(files_of_pattern(text), options);
  throw InputError(
      "there is no such file or folder", text,
      "Give an image, a video, a folder, a pattern in quotes, a list of images (.txt), a camera's "
      "number or a stream's address.");
}

}  // namespace brightnet
