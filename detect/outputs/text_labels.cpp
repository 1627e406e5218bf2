#include <fmt/format.h>

#include "core/files.h"
#include "detect/outputs/added_names.h"
#include "detect/outputs/output.h"
#include "detect/outputs/written_files.h"

namespace brightnet {
namespace {

class TextLabelOutput : public DetectionOutput {
 public:
  TextLabelOutput(const std::filesystem::path& folder, bool with_scores)
      : files_(folder, "--txt"), with_scores_(with_scores) {}

  void check(const Frame& frame) override {
    if (!is_video_name(frame.file)) files_.place(file_name(frame));
  }

  void add(const FoundObjects& found) override {
    const double width = found.frame.image.cols, height = found.frame.image.rows;
    std::string text;
    for (const ScoredBox& box : found.boxes) {
      text += fmt::format("{} {:.6f} {:.6f} {:.6f} {:.6f}", box.class_id, (box.x1 + box.x2) / (2 * width),
                          (box.y1 + box.y2) / (2 * height), (box.x2 - box.x1) / width,
                          (box.y2 - box.y1) / height);
      if (with_scores_) text += fmt::format(" {:.6f}", box.score);
      text += '\n';
    }
    added_.add(found.frame);
    files_.write(file_name(found.frame),
                 [&](const std::filesystem::path& file) { write_unflushed(file, text); });
  }

  /// Labels of frames that this run leaves out.
  void remove_earlier() override {
    files_.remove_the_rest([this](const std::filesystem::path& name) {
      return !name.has_parent_path() && name.extension() == ".txt" && added_.has_frame(name.stem().string());
    });
  }

 private:
  static std::string file_name(const Frame& frame) { return frame.name + ".txt"; }

  WrittenFiles files_;
  AddedNames added_;
  bool with_scores_;
};

}  // namespace

std::unique_ptr<DetectionOutput> text_label_output(const std::filesystem::path& folder, bool with_scores) {
  return std::make_unique<TextLabelOutput>(folder, with_scores);
}

}  // namespace brightnet
