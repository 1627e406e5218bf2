// A self-contained HTML page: report.html of a run, and that of `brightnet compare`. Its content is data in
// the page, which its own script draws; it loads nothing from anywhere. Texts may have any content.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>

#include "core/json.h"
#include "detect/evaluate/metrics.h"
#include "train/report/plots.h"

namespace brightnet {

class Page {
 public:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Page(const std::string& title, const std::string& subtitle);

  /// Large numbers with their names.
  void tiles(const Pairs& name_and_value);
  void sentences(const std::string& title, const std::vector<std::string>& sentences);
  /// Curves that show their values under the pointer. `marked` is an x that is marked in all panels; 0: none.
  void panels(const std::string& title, const std::vector<PlotPanel>& panels, const std::string& x_name,
              double marked = 0);
  /// Precision and recall, and both and F1 over the confidence threshold.
  void score_curves(const Metrics& metrics);
  static constexpr const char* score_title = "Precision, recall and confidence (IoU 0.5)";
  static constexpr const char* confusion_title = "Confusion matrix";
  void confusion(const Metrics& metrics);
  /// The first cell of a row is its name.
  void table(const std::string& title, const std::vector<std::string>& head,
             const std::vector<std::vector<std::string>>& rows);
  void facts(const std::string& title, const Pairs& facts);
  /// Text as it is, folded up until it is asked for.
  void text(const std::string& title, const std::string& text);
  /// An RGB picture, embedded as JPEG and scaled down until it has at most `picture_bytes`.
  void picture(const std::string& title, const std::string& note, const cv::Mat& rgb);
  /// A section of another page, as section() gives it; null adds none.
  void add(const Json& section);
  /// The section of this title; null when there is none.
  Json section(const std::string& title) const;

  /// The content of a page that html() made, so that a resumed run can go on with it; an empty page where the
  /// file is none.
  static Page read(const std::string& html);
  static constexpr size_t picture_bytes = 450'000;

  std::string html() const;

 private:
  Json& begin(const char* kind, const std::string& title);

  Json content_;
};

}  // namespace brightnet
