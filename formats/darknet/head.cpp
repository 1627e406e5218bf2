// One [yolo] section. The defaults are darknet's (parse_yolo), not ours.
#include <algorithm>

#include <fmt/format.h>

#include "formats/darknet/layers.h"

namespace brightnet {
namespace {

constexpr int most_classes = 100000;

/// Box losses that darknet has, by the same names.
constexpr IouKind box_losses_of_darknet[] = {IouKind::mse, IouKind::iou, IouKind::giou, IouKind::diou,
                                             IouKind::ciou};

bool flag(const CfgSection& section, std::string_view key) {
  return section.integer(key, 0, 0, 1) != 0;
}

float real(const CfgSection& section, std::string_view key, double otherwise, double low, double high) {
  return static_cast<float>(section.number(key, otherwise, low, high));
}

void read_anchors(const CfgSection& section, YoloHead& head) {
  const int number = section.integer("num", 1, 1, 10000);
  if (number > max_anchors) {
    section.refuse("num", "has num=" + std::to_string(number) + ", and brightnet's heads share at most " +
                              std::to_string(max_anchors) + " anchors");
  }
  const std::vector<double> sides = section.numbers("anchors", 0, 1e6);
  if (sides.size() < 2 * static_cast<size_t>(number)) {
    section.refuse("anchors", "has num=" + std::to_string(number) + " and " +
                                  std::to_string(sides.size() / 2) + " anchors");
  }
  head.anchor_count = number;
  for (int i = 0; i < number; ++i) {
    const auto side = [&](int k) { return static_cast<float>(sides[2 * i + k]); };
    head.anchors[i] = {side(0), side(1)};
    if (!(side(0) > 0) || !(side(1) > 0)) section.refuse("anchors", "has an anchor without area");
  }
  std::vector<int> mask = section.integers("mask", 0, number - 1);
  if (!section.has("mask")) {
    for (int i = 0; i < number; ++i) mask.push_back(i);
  }
  if (mask.empty() || mask.size() > max_head_anchors)
    section.refuse("mask", fmt::format("must name 1 to {} anchors", max_head_anchors));
  head.mask_count = static_cast<int>(mask.size());
  std::copy(mask.begin(), mask.end(), head.mask);
}

/// darknet's greedynms subtracts (d/c)^0.6 from the IoU as diounms does with beta_nms; only its default kind
/// is the plain IoU.
void read_suppression(const CfgSection& section, YoloAttributes& yolo) {
  const std::string kind = section.text("nms_kind", "default");
  const float beta = real(section, "beta_nms", 0.6, 1e-3, 100);
  yolo.nms = NmsKind::greedy;
  if (kind == "greedynms" || kind == "diounms") {
    yolo.nms = NmsKind::diou;
    yolo.nms_beta = kind == "greedynms" ? 0.6f : beta;
  } else if (kind != "default") {
    section.refuse("nms_kind", "has nms_kind=" + kind.substr(0, 40) + ", which brightnet does not support",
                   "It has default, greedynms and diounms.");
  }
}

void read_loss(const CfgSection& section, YoloHead& head, std::vector<ImportNote>& notes) {
  head.iou_kind = read_named(section, "iou_loss", IouKind::mse);
  if (!is_known_to_darknet(head.iou_kind))
    section.refuse("iou_loss",
                   "has iou_loss=" + std::string(enum_name(head.iou_kind)) + ", which darknet does not have");
  const double normalizer = section.number("iou_normalizer", 0.75, 0, 1e4);
  if (section.has("iou_normalizer") && normalizer == 0)
    section.refuse("iou_normalizer", "has iou_normalizer=0, which would remove the box loss");
  head.box_weight = imported_box_weight(head.iou_kind);
  notes.push_back(
      {section.where("iou_normalizer"),
       "iou_normalizer is a factor of darknet's own, inexact box gradient and means nothing here; the "
       "box_weight below is " +
           std::string(
               head.iou_kind == IouKind::mse
                   ? "the plain one, which was not measured"
                   : "one that trained better than 1 in short runs of yolov4-tiny (docs/migrate.md)")});
  const double all = section.number("delta_normalizer", 1, 0, 1e4);
  head.box_weight *= static_cast<float>(all);
  head.objectness_weight = static_cast<float>(section.number("obj_normalizer", 1, 0, 1e4) * all);
  head.class_weight = static_cast<float>(all);
  if (!section.has("counters_per_class") && section.number("cls_normalizer", 1, 0, 1e4) != 1) {
    notes.push_back({section.where("cls_normalizer"),
                     "cls_normalizer has no effect without counters_per_class, here as in darknet"});
  }
  head.label_smoothing = real(section, "label_smooth_eps", 0, 0, 0.5);
  head.objectness_smooth = flag(section, "objectness_smooth");
  if (head.objectness_smooth) {
    notes.push_back(
        {section.where("objectness_smooth"),
         "objectness_smooth=1 becomes the IoU as the target of assigned predictions, whose scores then "
         "say how well they fit; darknet's target is 1 there, and the IoU for unassigned predictions "
         "above ignore_thresh, which are ignored here"});
  }
  if (flag(section, "focal_loss")) {
    head.focal_gamma = 2;
    notes.push_back(
        {section.where("focal_loss"), "focal_loss=1 becomes focal_gamma: 2, without darknet's factor of ½"});
  }
  if (section.has("max_delta")) head.max_delta = real(section, "max_delta", 0, 0, 1e30);
}

/// darknet's weight of a class: the count of the most frequent class over its own, at most max_delta, times
/// cls_normalizer. A count of 0 is 1.
void read_class_counts(const CfgSection& section, YoloAttributes& yolo, int classes,
                       std::vector<ImportNote>& notes) {
  std::vector<double> counts = section.numbers("counters_per_class", 0, 1e12);
  if (counts.empty()) return;
  if (static_cast<int>(counts.size()) != classes) {
    section.refuse("counters_per_class",
                   "counts " + std::to_string(counts.size()) + " classes of " + std::to_string(classes));
  }
  for (double& count : counts) count = std::max(count, 1.0);
  const double most = *std::max_element(counts.begin(), counts.end());
  const double factor = section.number("cls_normalizer", 1, 0, 1e4);
  const double limit = yolo.head.max_delta > 0 ? yolo.head.max_delta : 1e6;
  for (const double count : counts)
    yolo.class_weights.push_back(static_cast<float>(factor * std::min(most / count, limit)));
  yolo.class_weights_where = section.where("counters_per_class");
  notes.push_back({yolo.class_weights_where,
                   "counters_per_class weights the class loss of an object, which is what rare classes lack; "
                   "darknet weights its box and objectness as well"});
}

}  // namespace

bool is_known_to_darknet(IouKind kind) {
  return std::ranges::find(box_losses_of_darknet, kind) != std::end(box_losses_of_darknet);
}

float imported_box_weight(IouKind kind) {
  return kind == IouKind::mse ? 1.0f : 2.0f;
}

YoloAttributes read_darknet_head(const CfgSection& section, int& classes, std::vector<ImportNote>& notes) {
  YoloAttributes yolo;
  YoloHead& head = yolo.head;
  classes = section.integer("classes", 20, 1, most_classes);
  read_anchors(section, head);
  head.scale_xy = real(section, "scale_x_y", 1, 1, 4);
  head.new_coords = flag(section, "new_coords");
  head.ignore_threshold = real(section, "ignore_thresh", 0.5, 0, 1);
  head.truth_threshold = real(section, "truth_thresh", 1, 0, 1);
  head.iou_threshold = real(section, "iou_thresh", 1, 0, 1);
  if (section.text("iou_thresh_kind", "iou") != "iou" && head.iou_threshold < 1)
    section.refuse("iou_thresh_kind",
                   "compares anchors by another measure than IoU, which brightnet does not support");
  read_loss(section, head, notes);
  read_class_counts(section, yolo, classes, notes);
  read_suppression(section, yolo);
  for (const char* key : {"map", "embedding_layer"}) {
    if (section.has(key))
      section.refuse(key, std::string("has ") + key + "=, which brightnet does not support");
  }
  // Keys that the recipe reads, and keys that affect neither training nor detection.
  section.pass_over({"jitter", "resize", "random", "max", "show_details", "track_history_size", "sim_thresh",
                     "dets_for_track", "dets_for_show", "track_ciou_norm"});
  return yolo;
}

}  // namespace brightnet
