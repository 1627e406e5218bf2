// TensorBoard event files: scalars, texts and images, without TensorFlow.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <opencv2/core.hpp>

namespace brightnet {

/// Writes events.out.tfevents.TIME.HOST.PID.N into `folder` (created if missing). TensorBoard shows all such
/// files of a folder as one run. Events that cannot be written are kept, pictures excepted, and written with
/// the next ones.
class TensorBoardWriter {
 public:
  /// `first_step`: the first step of which the run writes events here. TensorBoard shows older files' events of smaller
  /// steps alone; 0: all of them.
  explicit TensorBoardWriter(const std::filesystem::path& folder, int64_t first_step = 0);

  void scalar(const std::string& tag, float value, int64_t step);
  /// Markdown.
  void text(const std::string& tag, const std::string& markdown, int64_t step);
  /// 8-bit RGB, stored as JPEG, at most picture_side pixels wide and high. Returns its bytes.
  size_t image(const std::string& tag, const cv::Mat& rgb, int64_t step);
  static constexpr int picture_side = 1024;
  /// Writes the events so far. Throws InputError when that fails; none of them is then in the file.
  void flush();

  const std::filesystem::path& file() const { return file_; }

 private:
  void add_event(const std::string& payload, int64_t step);

  std::filesystem::path file_;
  std::string unwritten_;
  bool failing_ = false;
};

}  // namespace brightnet
