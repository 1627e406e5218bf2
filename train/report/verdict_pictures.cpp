#include "train/report/verdict_pictures.h"

#include <algorithm>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "core/text.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"

namespace brightnet {
namespace {

constexpr int side = 456, spacing = 4, header = 30, margin = 12;
/// More boxes than these hide the image and each other, as those of a network that has just begun do.
constexpr size_t most_detections = 50;
const cv::Scalar paper(255, 255, 255), dark(45, 45, 45), quiet(110, 110, 110);

cv::Scalar verdict_color(Verdict verdict) {
  switch (verdict) {
    case Verdict::correct: return {30, 160, 90};
    case Verdict::wrong_class: return {240, 140, 0};
    case Verdict::duplicate: return {150, 90, 235};
    case Verdict::false_alarm: return {225, 30, 120};
    case Verdict::missed: return {230, 40, 30};
    case Verdict::not_counted: break;
  }
  return {140, 140, 140};
}

std::string name_of(int class_id, const std::vector<std::string>& names) {
  return shown_name(names[class_id], class_id);
}

cv::Mat fitted(const cv::Mat& image) {
  const double scale =
      std::min(static_cast<double>(side) / image.cols, static_cast<double>(side) / image.rows);
  cv::Mat scaled;
  cv::resize(image, scaled,
             cv::Size(std::clamp(static_cast<int>(std::lround(image.cols * scale)), 1, side),
                      std::clamp(static_cast<int>(std::lround(image.rows * scale)), 1, side)),
             0, 0, scale < 1 ? cv::INTER_AREA : cv::INTER_LINEAR);
  return scaled;
}

template <typename B>
cv::Rect2d scaled_box(const B& box, double scale) {
  return {box.x1 * scale, box.y1 * scale, (double{box.x2} - box.x1) * scale,
          (double{box.y2} - box.y1) * scale};
}

std::vector<DrawnBox> labels(const ImageRecord& record, const std::vector<std::string>& names, double scale) {
  std::vector<DrawnBox> drawn;
  for (const Annotation& truth : record.annotations) {
    const std::string words = name_of(truth.class_id, names) + (truth.crowd ? " (crowd)" : "");
    drawn.push_back({scaled_box(truth, scale), class_color(truth.class_id), words, truth.crowd});
  }
  return drawn;
}

std::string tag_of(const ScoredBox& box, Verdict verdict, int truth_class,
                   const std::vector<std::string>& names) {
  const std::string words = fmt::format("{} {:.2f}", name_of(box.class_id, names), box.score);
  switch (verdict) {
    case Verdict::wrong_class: return fmt::format("{}, labelled {}", words, name_of(truth_class, names));
    case Verdict::duplicate: return words + " again";
    case Verdict::false_alarm: return words + " false";
    default: return words;
  }
}

/// The places in `boxes` of those that have a verdict.
std::vector<size_t> judged_places(std::span<const ScoredBox> boxes, const ImageVerdicts& verdicts) {
  std::vector<size_t> places;
  for (size_t d = 0; d < boxes.size(); ++d) {
    if (boxes[d].class_id >= 0 && verdicts.detections[d] != Verdict::not_counted) places.push_back(d);
  }
  return places;
}

/// The given places that are drawn, in their order.
std::vector<size_t> surest(std::vector<size_t> places, std::span<const ScoredBox> boxes) {
  if (places.size() <= most_detections) return places;
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return boxes[a].score > boxes[b].score; });
  places.resize(most_detections);
  std::sort(places.begin(), places.end());
  return places;
}

/// Correct ones first, so that what is wrong lies on top and gets the best places for tags.
std::vector<DrawnBox> verdicts_drawn(const ImageRecord& record, std::span<const ScoredBox> boxes,
                                     const ImageVerdicts& verdicts, const std::vector<std::string>& names,
                                     double scale) {
  std::vector<DrawnBox> right, wrong;
  for (const size_t d : surest(judged_places(boxes, verdicts), boxes)) {
    const Verdict verdict = verdicts.detections[d];
    const int truth = verdicts.truth_of[d];
    const int truth_class = truth < 0 ? -1 : record.annotations[truth].class_id;
    const bool good = verdict == Verdict::correct;
    (good ? right : wrong)
        .push_back({scaled_box(boxes[d], scale), verdict_color(verdict),
                    tag_of(boxes[d], verdict, truth_class, names), false, !good});
  }
  for (size_t t = 0; t < record.annotations.size(); ++t) {
    if (verdicts.truths[t] != Verdict::missed) continue;
    const Annotation& truth = record.annotations[t];
    wrong.push_back({scaled_box(truth, scale), verdict_color(Verdict::missed),
                     "missed " + name_of(truth.class_id, names), true, true});
  }
  right.insert(right.end(), wrong.begin(), wrong.end());
  return right;
}

}  // namespace

std::string verdict_words(const ImageVerdicts& verdicts) {
  const auto count = [](const std::vector<Verdict>& list, Verdict verdict) {
    return static_cast<size_t>(std::count(list.begin(), list.end(), verdict));
  };
  std::string words;
  const auto add = [&](size_t number, const char* one, const char* many) {
    if (number > 0) words += (words.empty() ? "" : ", ") + counted(number, one, many);
  };
  add(count(verdicts.truths, Verdict::missed), "missed", "missed");
  add(count(verdicts.truths, Verdict::wrong_class), "wrong class", "of a wrong class");
  add(count(verdicts.detections, Verdict::false_alarm), "false alarm", "false alarms");
  add(count(verdicts.detections, Verdict::duplicate), "duplicate", "duplicates");
  return words.empty() ? "all correct" : words;
}

cv::Mat picture_verdicts(const cv::Mat& image, const ImageRecord& record, std::span<const ScoredBox> boxes,
                         const VerdictOptions& options, const std::vector<std::string>& names) {
  const ImageVerdicts verdicts = judge(boxes, record.annotations, options);
  cv::Mat left = fitted(image), right = left.clone();
  const double scale = static_cast<double>(left.cols) / image.cols;
  draw_boxes(left, labels(record, names, scale));
  draw_boxes(right, verdicts_drawn(record, boxes, verdicts, names, scale));
  cv::Mat picture(header + left.rows, 2 * side + spacing, CV_8UC3, paper);
  left.copyTo(picture(cv::Rect((side - left.cols) / 2, header, left.cols, left.rows)));
  right.copyTo(picture(cv::Rect(side + spacing + (side - right.cols) / 2, header, right.cols, right.rows)));
  std::string words = verdict_words(verdicts);
  const bool good = words == "all correct";
  if (judged_places(boxes, verdicts).size() > most_detections)
    words += fmt::format("; the {} surest boxes are drawn", most_detections);
  const double right_width = text_width(words, 9.5, true);
  draw_text(picture, shortened(record.file.filename().string(), picture.cols - right_width - 40, 9.5),
            {2, header / 2.0}, 9.5, dark);
  draw_text(picture, words, {picture.cols - right_width - 2, header / 2.0}, 9.5,
            verdict_color(good ? Verdict::correct : Verdict::missed), true);
  return picture;
}

cv::Mat verdict_sheet(const std::vector<cv::Mat>& pictures, const VerdictOptions& options) {
  constexpr int columns = 2, legend = 52, between = 18;
  const int width = 2 * side + spacing;
  std::vector<int> heights;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (i % columns == 0) heights.push_back(0);
    heights.back() = std::max(heights.back(), pictures[i].rows);
  }
  int total = legend + margin;
  for (const int height : heights) total += height + between;
  const int across = pictures.size() > 1 ? columns : 1;
  cv::Mat sheet(total, across * width + (across - 1) * between + 2 * margin, CV_8UC3, paper);
  int y = legend;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const int x = margin + static_cast<int>(i % columns) * (width + between);
    pictures[i].copyTo(sheet(cv::Rect(x, y, pictures[i].cols, pictures[i].rows)));
    if (i % columns == columns - 1) y += heights[i / columns] + between;
  }
  draw_text(
      sheet,
      fmt::format("left: the labels; right: detections of confidence ≥ {:.3f}, judged at IoU ≥ {:.2f}; the "
                  "worst images come first",
                  options.score, options.iou),
      {static_cast<double>(margin), 17}, 9.5, dark);
  double x = margin;
  for (const auto& [verdict, words] :
       {std::pair(Verdict::correct, "correct"), std::pair(Verdict::missed, "missed object"),
        std::pair(Verdict::wrong_class, "wrong class"), std::pair(Verdict::false_alarm, "false alarm"),
        std::pair(Verdict::duplicate, "duplicate of a detection")}) {
    const cv::Rect mark(static_cast<int>(x), 33, 16, 10);
    draw_boxes(sheet,
               std::vector<DrawnBox>{{mark, verdict_color(verdict), "", verdict == Verdict::missed, true}});
    draw_text(sheet, words, {x + 24, 38}, 9, quiet);
    x += 24 + text_width(words, 9) + 26;
  }
  return sheet;
}

}  // namespace brightnet
