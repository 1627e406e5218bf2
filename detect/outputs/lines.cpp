#include <map>

#include <fmt/format.h>

#include "core/log.h"
#include "detect/outputs/output.h"

namespace brightnet {
namespace {

class LineOutput : public DetectionOutput {
 public:
  LineOutput(std::vector<std::string> class_names, bool with_scores)
      : class_names_(std::move(class_names)), with_scores_(with_scores) {}

  void add(const FoundObjects& found) override {
    const double ms = 1e3 * found.seconds;
    const std::string frame = found.frame.clip ? fmt::format(" frame {}", found.frame.number) : "";
    log::result("{}{}: {}, {:.{}f} ms", found.frame.file, frame, objects(found.boxes), ms, ms < 10 ? 1 : 0);
  }

 private:
  /// The objects in words, in the order of the classes; if wanted with the scores of each, best first.
  std::string objects(const std::vector<ScoredBox>& boxes) const {
    std::map<int, std::vector<float>> scores_of;
    for (const ScoredBox& box : boxes) scores_of[box.class_id].push_back(box.score);
    std::string text;
    for (const auto& [class_id, scores] : scores_of) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", scores.size(), class_names_[class_id]);
      for (size_t i = 0; with_scores_ && i < scores.size(); ++i)
        text += fmt::format("{}{:.2f}{}", i == 0 ? " (" : " ", scores[i], i + 1 == scores.size() ? ")" : "");
    }
    return text.empty() ? "no objects" : text;
  }

  std::vector<std::string> class_names_;
  bool with_scores_;
};

}  // namespace

std::unique_ptr<DetectionOutput> line_output(std::vector<std::string> class_names, bool with_scores) {
  return std::make_unique<LineOutput>(std::move(class_names), with_scores);
}

}  // namespace brightnet
