#include "train/report/page.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "core/text.h"
#include "data/image/jpeg.h"
#include "train/report/page_parts.h"

namespace brightnet {
namespace {

/// Classes whose curves, and whose row and column of the confusion matrix, are in a page.
constexpr size_t most_named_classes = 30;
/// Points of a curve; longer ones are thinned out.
constexpr size_t most_points = 1000;

constexpr const char* content_begin = "<script type=\"application/json\" id=\"content\">";

/// Six digits are more than a screen shows. What is not finite becomes null.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return *parse_number(fmt::format("{:.6g}", value));
}

Json numbers(const std::vector<double>& values, size_t step = 1) {
  Json list = Json::array();
  for (size_t i = 0; i < values.size(); i += step) list.push_back(number(values[i]));
  // The last point is the one that people look at.
  if (!values.empty() && (values.size() - 1) % step != 0) list.push_back(number(values.back()));
  return list;
}

std::string css(const cv::Scalar& color) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(color[0]), static_cast<int>(color[1]),
                     static_cast<int>(color[2]));
}

Json json_of(const PlotPanel& panel) {
  Json curves = Json::array();
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    const size_t step = std::max<size_t>(1, (curve.x.size() + most_points - 1) / most_points);
    const int best = best_of(curve, panel.better);
    curves.push_back({{"name", curve.name},
                      {"color", css(line_color(curve.color >= 0 ? static_cast<size_t>(curve.color) : i))},
                      {"x", numbers(curve.x, step)},
                      {"y", numbers(curve.y, step)}});
    if (best >= 0) curves.back()["best"] = {number(curve.x[best]), number(curve.y[best])};
  }
  return {{"title", panel.title},
          {"log", is_logarithmic(panel)},
          {"grew", numbers(panel.grew)},
          {"note", panel.note},
          {"curves", curves}};
}

std::string base64(const std::vector<uint8_t>& bytes) {
  static constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = (group << 8) | (k < count ? bytes[i + k] : 0u);
    for (size_t k = 0; k < 4; ++k) text += k <= count ? digits[(group >> (18 - 6 * k)) & 63] : '=';
  }
  return text;
}

std::vector<uint8_t> small_jpeg(const cv::Mat& rgb) {
  cv::Mat small = rgb;
  for (int quality = 85;; quality = std::max(60, quality - 10)) {
    std::vector<uint8_t> bytes = encode_jpeg(small, quality);
    if (bytes.size() <= Page::picture_bytes || small.cols < 64) return bytes;
    if (quality == 60) cv::resize(small, small, {}, 0.8, 0.8, cv::INTER_AREA);
  }
}

Json score_panel(const std::string& title, const std::string& x_name, Json curves, double x, double y,
                 const std::string& words) {
  return {{"title", title},     {"log", false},     {"x_name", x_name},
          {"unit", true},       {"curves", curves}, {"mark", {number(x), number(y)}},
          {"mark_words", words}};
}

/// The text for a script element, which only its own end tag may end.
std::string in_script(const Json& json) {
  std::string text = to_line(json), safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace

Page::Page(const std::string& title, const std::string& subtitle)
    : content_{{"title", title}, {"subtitle", subtitle}, {"sections", Json::array()}} {}

Json& Page::begin(const char* kind, const std::string& title) {
  content_["sections"].push_back({{"kind", kind}, {"title", title}});
  return content_["sections"].back();
}

void Page::tiles(const Pairs& name_and_value) {
  Json& section = begin("tiles", "");
  for (const auto& [name, value] : name_and_value) section["items"].push_back({name, value});
}

void Page::sentences(const std::string& title, const std::vector<std::string>& sentences) {
  if (!sentences.empty()) begin("sentences", title)["items"] = sentences;
}

void Page::panels(const std::string& title, const std::vector<PlotPanel>& panels, const std::string& x_name,
                  double marked) {
  if (panels.empty()) return;
  Json& section = begin("panels", title);
  section["x_name"] = x_name;
  if (marked > 0) section["marked"] = number(marked);
  for (const PlotPanel& panel : panels) section["panels"].push_back(json_of(panel));
}

void Page::score_curves(const Metrics& metrics) {
  std::vector<const ClassMetrics*> known;
  for (const ClassMetrics& c : metrics.per_class) {
    if (c.truths > 0) known.push_back(&c);
  }
  const OperatingPoint best = metrics.best;
  if (known.empty() || best.f1 == 0) return;
  const bool named = known.size() <= most_named_classes;
  std::vector<double> recalls, scores;
  for (int i = 0; i <= 100; ++i) recalls.push_back(i / 100.0);
  for (int i = 0; i < ScoreCurves::points; ++i) scores.push_back(ScoreCurves::score(i));
  Json curves[4] = {Json::array(), Json::array(), Json::array(), Json::array()};
  std::vector<double> mean[4];
  const auto add_class = [&](int plot, const ClassMetrics& c, size_t i, const std::vector<double>& x,
                             const std::vector<double>& y) {
    mean[plot].resize(y.size());
    for (size_t k = 0; k < y.size(); ++k) mean[plot][k] += y[k] / known.size();
    if (named && known.size() > 1)
      curves[plot].push_back(
          {{"name", c.name}, {"color", css(line_color(i))}, {"x", numbers(x)}, {"y", numbers(y)}});
  };
  for (size_t i = 0; i < known.size(); ++i) {
    const ClassMetrics& c = *known[i];
    std::vector<double> f1;
    for (int k = 0; k < ScoreCurves::points; ++k) f1.push_back(c.by_score.f1(k));
    add_class(0, c, i, recalls, {c.curve.begin(), c.curve.end()});
    add_class(1, c, i, scores, f1);
    add_class(2, c, i, scores, {c.by_score.precision.begin(), c.by_score.precision.end()});
    add_class(3, c, i, scores, {c.by_score.recall.begin(), c.by_score.recall.end()});
  }
  for (int plot = 0; plot < 4; ++plot) {
    curves[plot].push_back({{"name", known.size() == 1 ? known[0]->name : "mean of the classes"},
                            {"color", "var(--ink)"},
                            {"wide", true},
                            {"x", numbers(plot == 0 ? recalls : scores)},
                            {"y", numbers(mean[plot])}});
  }
  const std::string words = fmt::format("best F1 {:.2f} at confidence {:.3f}", best.f1, best.score);
  Json& section = begin("panels", score_title);
  section["x_name"] = "confidence threshold";
  section["panels"] = {
      score_panel("precision over recall", "recall", curves[0], best.recall, best.precision, words),
      score_panel("F1", "confidence threshold", curves[1], best.score, best.f1, words),
      score_panel("precision", "confidence threshold", curves[2], best.score, best.precision, words),
      score_panel("recall", "confidence threshold", curves[3], best.score, best.recall, words)};
}

void Page::confusion(const Metrics& metrics) {
  const ConfusionMatrix& matrix = metrics.confusion;
  if (matrix.classes == 0 || matrix.counts.empty() ||
      static_cast<size_t>(matrix.classes) > most_named_classes)
    return;
  Json& section = begin("confusion", confusion_title);
  section["note"] = fmt::format(
      "Detections of confidence ≥ {:.3f}, matched with objects at IoU ≥ {:.2f}. Rows: detected as; columns: labelled "
      "as. The row below counts missed objects, the column at the right false alarms.",
      matrix.thresholds.score, matrix.thresholds.iou);
  for (const ClassMetrics& c : metrics.per_class) section["names"].push_back(c.name);
  for (int predicted = 0; predicted <= matrix.classes; ++predicted) {
    Json row = Json::array();
    for (int truth = 0; truth <= matrix.classes; ++truth) row.push_back(matrix.at(predicted, truth));
    section["rows"].push_back(row);
  }
}

void Page::table(const std::string& title, const std::vector<std::string>& head,
                 const std::vector<std::vector<std::string>>& rows) {
  Json& section = begin("table", title);
  section["head"] = head;
  section["rows"] = rows;
}

void Page::facts(const std::string& title, const Pairs& facts) {
  if (facts.empty()) return;
  Json& section = begin("facts", title);
  for (const auto& [name, value] : facts) section["items"].push_back({name, value});
}

void Page::text(const std::string& title, const std::string& text) {
  if (!text.empty()) begin("text", title)["text"] = text;
}

void Page::picture(const std::string& title, const std::string& note, const cv::Mat& rgb) {
  Json& section = begin("picture", title);
  section["note"] = note;
  section["source"] = "data:image/jpeg;base64," + base64(small_jpeg(rgb));
}

void Page::add(const Json& section) {
  if (!section.is_null()) content_["sections"].push_back(section);
}

Json Page::section(const std::string& title) const {
  for (const Json& section : content_["sections"]) {
    if (section["title"] == title) return section;
  }
  return nullptr;
}

Page Page::read(const std::string& html) {
  Page page("", "");
  const size_t begin = html.find(content_begin);
  const size_t end = begin == std::string::npos ? begin : html.find("</script>", begin);
  if (end == std::string::npos) return page;
  const size_t from = begin + std::strlen(content_begin);
  const Json content = Json::parse(html.substr(from, end - from), nullptr, false);
  if (!content.is_object() || !content.contains("sections") || !content["sections"].is_array()) return page;
  for (const Json& section : content["sections"]) {
    if (section.is_object() && section.contains("title") && section.contains("kind")) page.add(section);
  }
  return page;
}

std::string Page::html() const {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<main id=\"page\"><noscript>This page draws its curves and tables with JavaScript.</noscript></main>\n"
      "{}{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      escaped(content_["title"].get<std::string>()), page_style, content_begin, in_script(content_),
      page_script);
}

}  // namespace brightnet
