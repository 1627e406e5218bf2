// Precision changes for the better only where a detection is right, so a curve is kept as the precisions at
// the right detections alone: the k-th has recall k / truths. Everything reported is read off that list.
#include "train/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/error.h"

namespace brightnet {
namespace {

/// Precision at each right detection, best score first, and the number of objects to be found.
struct Curve {
  std::vector<double> precision;
  int64_t truths = 0;

  /// Makes each precision the best at its recall or a higher one.
  void make_envelope() {
    for (size_t k = precision.size(); k-- > 1;) precision[k - 1] = std::max(precision[k - 1], precision[k]);
  }
  /// Of the envelope: the precision at a recall of at least `recall`, 0 when that is never reached.
  double at_recall(double recall) const {
    auto k = static_cast<size_t>(std::max(0.0, std::floor(recall * static_cast<double>(truths)) - 1));
    while (k < precision.size() && static_cast<double>(k + 1) / static_cast<double>(truths) < recall) ++k;
    return k < precision.size() ? precision[k] : 0;
  }
  double recall() const { return static_cast<double>(precision.size()) / static_cast<double>(truths); }
};

/// `judge` says of a record whether it is right (1), wrong (-1) or not counted (0).
template <typename Judge>
Curve trace_curve(const std::vector<MatchRecord>& sorted, int64_t truths, Judge&& judge) {
  Curve curve;
  curve.truths = truths;
  int64_t counted = 0;
  for (const MatchRecord& record : sorted) {
    const int verdict = judge(record);
    counted += verdict != 0;
    if (verdict > 0) {
      curve.precision.push_back(static_cast<double>(curve.precision.size() + 1) /
                                static_cast<double>(counted));
    }
  }
  curve.make_envelope();
  return curve;
}

int coco_verdict(const MatchRecord& record, uint64_t bit, int max_detections = coco_max_detections) {
  if (record.rank >= max_detections || (record.ignored & bit)) return 0;
  return (record.right & bit) ? 1 : -1;
}

int voc_verdict(const MatchRecord& record) {
  return record.voc == MatchRecord::not_counted ? 0 : record.voc == MatchRecord::right_object ? 1 : -1;
}

PrecisionCurve sample(const Curve& curve) {
  PrecisionCurve sampled;
  for (size_t i = 0; i < sampled.size(); ++i) sampled[i] = curve.at_recall(static_cast<double>(i) * 0.01);
  return sampled;
}

double mean(const PrecisionCurve& curve) {
  double sum = 0;
  for (double precision : curve) sum += precision;
  return sum / static_cast<double>(curve.size());
}

/// The mean over what is defined; no_truths when nothing is.
class Mean {
 public:
  void add(double value) {
    if (value == no_truths) return;
    sum_ += value;
    ++count_;
  }
  double value() const { return count_ ? sum_ / static_cast<double>(count_) : no_truths; }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

/// What one class contributes to COCO's numbers.
struct ClassScores {
  std::array<double, coco_areas> AP, AR;  ///< over all thresholds
  double AP50 = no_truths, AP75 = no_truths, AR1 = no_truths, AR10 = no_truths;
  PrecisionCurve curve{};
};

/// Mean recall over the thresholds with at most `max_detections` an image.
double average_recall(const std::vector<MatchRecord>& records, int64_t truths, int max_detections) {
  int64_t right = 0;
  for (const MatchRecord& record : records) {
    for (int t = 0; t < coco_thresholds; ++t) {
      right += coco_verdict(record, coco_bit(area_all, t), max_detections) > 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(truths * coco_thresholds);
}

ClassScores score_class(const std::vector<MatchRecord>& sorted, const TruthCounts& truths) {
  ClassScores scores;
  for (int a = 0; a < coco_areas; ++a) {
    Mean precision, recall;
    for (int t = 0; truths.coco[a] > 0 && t < coco_thresholds; ++t) {
      const uint64_t bit = coco_bit(a, t);
      const Curve curve =
          trace_curve(sorted, truths.coco[a], [bit](const MatchRecord& r) { return coco_verdict(r, bit); });
      const PrecisionCurve sampled = sample(curve);
      precision.add(mean(sampled));
      recall.add(curve.recall());
      if (a == area_all && t == 0) {
        scores.curve = sampled;
        scores.AP50 = mean(sampled);
      }
      if (a == area_all && t == 5) scores.AP75 = mean(sampled);
    }
    scores.AP[a] = precision.value();
    scores.AR[a] = recall.value();
  }
  if (truths.coco[area_all] > 0) {
    scores.AR1 = average_recall(sorted, truths.coco[area_all], 1);
    scores.AR10 = average_recall(sorted, truths.coco[area_all], 10);
  }
  return scores;
}

/// Fills in precision, recall, F1 and score where F1 is best. A threshold cannot tell equal scores apart, so
/// only the last of a run of equal ones is looked at.
void find_best_f1(const std::vector<MatchRecord>& sorted, int64_t truths, ClassMetrics& metrics) {
  int64_t right = 0, counted = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int verdict = coco_verdict(sorted[i], coco_bit(area_all, 0));
    right += verdict > 0;
    counted += verdict != 0;
    if (right == 0 || (i + 1 < sorted.size() && sorted[i + 1].score == sorted[i].score)) continue;
    const double f1 = 2 * static_cast<double>(right) / static_cast<double>(counted + truths);
    if (f1 <= metrics.f1) continue;
    metrics.f1 = f1;
    metrics.precision = static_cast<double>(right) / static_cast<double>(counted);
    metrics.recall = static_cast<double>(right) / static_cast<double>(truths);
    metrics.score = sorted[i].score;
  }
}

struct VocScores {
  double exact = no_truths, eleven_point = no_truths;
};

VocScores score_voc(const std::vector<MatchRecord>& sorted, int64_t truths) {
  if (truths == 0) return {};
  const Curve curve = trace_curve(sorted, truths, voc_verdict);
  VocScores scores{0, 0};
  for (double precision : curve.precision) scores.exact += precision / static_cast<double>(truths);
  for (int i = 0; i <= 10; ++i) scores.eleven_point += curve.at_recall(i / 10.0) / 11;
  return scores;
}

/// Counts who was taken for whom in one image.
void count_confusions(std::span<const ScoredBox> detections, std::span<const Annotation> truths,
                      const EvaluatorOptions& options, int classes, std::vector<int64_t>& counts) {
  struct Pair {
    double iou;
    size_t detection, truth;
  };
  std::vector<Pair> pairs;
  std::vector<char> in_crowd(detections.size()), detection_done(detections.size()), truth_done(truths.size());
  for (size_t d = 0; d < detections.size(); ++d) {
    if (!(detections[d].score >= options.confusion_score)) {
      detection_done[d] = 1;
      continue;
    }
    for (size_t t = 0; t < truths.size(); ++t) {
      const double iou = overlap(detections[d], truths[t], true);
      if (iou < options.confusion_iou) continue;
      if (truths[t].crowd) {
        in_crowd[d] = 1;
      } else {
        pairs.push_back({iou, d, t});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.iou, a.detection, a.truth) < std::tie(a.iou, b.detection, b.truth);
  });
  const auto count = [&](int predicted, int truth) { ++counts[size_t(predicted) * (classes + 1) + truth]; };
  for (const Pair& pair : pairs) {
    if (detection_done[pair.detection] || truth_done[pair.truth]) continue;
    detection_done[pair.detection] = truth_done[pair.truth] = 1;
    count(detections[pair.detection].class_id, truths[pair.truth].class_id);
  }
  for (size_t d = 0; d < detections.size(); ++d) {
    if (!detection_done[d] && !in_crowd[d]) count(detections[d].class_id, classes);
  }
  for (size_t t = 0; t < truths.size(); ++t) {
    if (!truth_done[t] && !truths[t].crowd) count(classes, truths[t].class_id);
  }
}

template <typename T>
void put(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

/// Reads what put() wrote.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  void get(T* values, size_t count) {
    BRIGHTNET_CHECK(count <= bytes_.size() / sizeof(T), "evaluation records from another rank are cut short");
    if (count > 0) std::memcpy(values, bytes_.data(), count * sizeof(T));
    bytes_.remove_prefix(count * sizeof(T));
  }
  /// A vector whose length comes first.
  template <typename T>
  std::vector<T> get_vector() {
    uint64_t count = 0;
    get(&count, 1);
    BRIGHTNET_CHECK(count <= bytes_.size() / sizeof(T), "evaluation records from another rank are cut short");
    std::vector<T> values(count);
    get(values.data(), count);
    return values;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

template <typename T>
void put_vector(std::string& bytes, const std::vector<T>& values) {
  const uint64_t count = values.size();
  put(bytes, &count, 1);
  put(bytes, values.data(), values.size());
}

/// First in the bytes: evaluators that do not fit together are told apart by it.
struct Preamble {
  char magic[8] = {'b', 'n', 'e', 'v', 'a', 'l', '0', '1'};
  uint64_t classes = 0;
  float score = 0, iou = 0;
};

}  // namespace

DetectionEvaluator::DetectionEvaluator(std::vector<std::string> class_names, EvaluatorOptions options)
    : names_(std::move(class_names)),
      options_(options),
      classes_(names_.size()),
      confusion_((names_.size() + 1) * (names_.size() + 1)) {}

void DetectionEvaluator::add(int64_t image_id, std::span<const ScoredBox> detections,
                             std::span<const Annotation> truths) {
  BRIGHTNET_CHECK(images_.insert(image_id).second,
                  "image " + std::to_string(image_id) + " was evaluated twice");
  const int classes = static_cast<int>(names_.size());
  std::vector<ScoredBox> boxes(detections.begin(), detections.end());
  std::vector<Annotation> objects(truths.begin(), truths.end());
  for (const ScoredBox& box : boxes) {
    BRIGHTNET_CHECK(box.class_id >= 0 && box.class_id < classes, "a detection's class is out of range");
    BRIGHTNET_CHECK(!std::isnan(box.score), "a detection's score is not a number");
  }
  for (const Annotation& object : objects) {
    BRIGHTNET_CHECK(object.class_id >= 0 && object.class_id < classes, "a truth's class is out of range");
  }
  count_confusions(boxes, objects, options_, classes, confusion_);

  std::stable_sort(boxes.begin(), boxes.end(), [](const ScoredBox& a, const ScoredBox& b) {
    return std::tie(a.class_id, b.score) < std::tie(b.class_id, a.score);
  });
  std::stable_sort(objects.begin(), objects.end(),
                   [](const Annotation& a, const Annotation& b) { return a.class_id < b.class_id; });
  size_t box = 0, object = 0;
  while (box < boxes.size() || object < objects.size()) {
    const int c = std::min(box < boxes.size() ? boxes[box].class_id : classes,
                           object < objects.size() ? objects[object].class_id : classes);
    size_t box_end = box, object_end = object;
    while (box_end < boxes.size() && boxes[box_end].class_id == c) ++box_end;
    while (object_end < objects.size() && objects[object_end].class_id == c) ++object_end;
    match(image_id, std::span(boxes).subspan(box, box_end - box),
          std::span(objects).subspan(object, object_end - object), classes_[c].records, classes_[c].truths);
    box = box_end;
    object = object_end;
  }
}

std::string DetectionEvaluator::serialize() const {
  std::string bytes;
  Preamble preamble;
  preamble.classes = names_.size();
  preamble.score = options_.confusion_score;
  preamble.iou = options_.confusion_iou;
  put(bytes, &preamble, 1);
  put_vector(bytes, std::vector<int64_t>(images_.begin(), images_.end()));
  put_vector(bytes, confusion_);
  for (const ClassRecords& c : classes_) {
    put(bytes, &c.truths, 1);
    put_vector(bytes, c.records);
  }
  return bytes;
}

void DetectionEvaluator::merge(std::string_view serialized) {
  ByteReader reader(serialized);
  Preamble preamble, expected;
  expected.classes = names_.size();
  expected.score = options_.confusion_score;
  expected.iou = options_.confusion_iou;
  reader.get(&preamble, 1);
  BRIGHTNET_CHECK(std::memcmp(&preamble, &expected, sizeof(Preamble)) == 0,
                  "evaluation records of another data set or with other options");
  for (int64_t id : reader.get_vector<int64_t>()) {
    BRIGHTNET_CHECK(images_.insert(id).second, "image " + std::to_string(id) + " was evaluated twice");
  }
  const std::vector<int64_t> confusion = reader.get_vector<int64_t>();
  BRIGHTNET_CHECK(confusion.size() == confusion_.size(), "a confusion matrix of another size");
  for (size_t i = 0; i < confusion_.size(); ++i) confusion_[i] += confusion[i];
  for (ClassRecords& c : classes_) {
    TruthCounts truths;
    reader.get(&truths, 1);
    c.truths += truths;
    const std::vector<MatchRecord> records = reader.get_vector<MatchRecord>();
    c.records.insert(c.records.end(), records.begin(), records.end());
  }
  BRIGHTNET_CHECK(reader.at_end(), "evaluation records with something behind them");
}

Metrics DetectionEvaluator::finish() const {
  Metrics metrics;
  Mean AP50, AP75, AR1, AR10, voc, voc_11point;
  std::array<Mean, coco_areas> AP, AR;
  std::array<Mean, std::tuple_size_v<PrecisionCurve>> curve;
  for (size_t c = 0; c < names_.size(); ++c) {
    std::vector<MatchRecord> sorted = classes_[c].records;
    std::stable_sort(sorted.begin(), sorted.end(), [](const MatchRecord& a, const MatchRecord& b) {
      return std::tie(b.score, a.image) < std::tie(a.score, b.image);
    });
    const TruthCounts& truths = classes_[c].truths;
    const ClassScores scores = score_class(sorted, truths);
    const VocScores voc_scores = score_voc(sorted, truths.voc);

    ClassMetrics& out = metrics.per_class.emplace_back();
    out.name = names_[c];
    out.AP = scores.AP[area_all];
    out.AP50 = scores.AP50;
    out.voc_AP50 = voc_scores.exact;
    out.truths = truths.coco[area_all];
    out.curve = scores.curve;
    find_best_f1(sorted, out.truths, out);

    for (int a = 0; a < coco_areas; ++a) {
      AP[a].add(scores.AP[a]);
      AR[a].add(scores.AR[a]);
    }
    AP50.add(scores.AP50);
    AP75.add(scores.AP75);
    AR1.add(scores.AR1);
    AR10.add(scores.AR10);
    voc.add(voc_scores.exact);
    voc_11point.add(voc_scores.eleven_point);
    for (size_t i = 0; out.truths > 0 && i < curve.size(); ++i) curve[i].add(out.curve[i]);
    metrics.truths += out.truths;
    metrics.detections += static_cast<int64_t>(sorted.size());
  }
  metrics.AP = AP[area_all].value();
  metrics.AP50 = AP50.value();
  metrics.AP75 = AP75.value();
  metrics.APs = AP[area_small].value();
  metrics.APm = AP[area_medium].value();
  metrics.APl = AP[area_large].value();
  metrics.AR1 = AR1.value();
  metrics.AR10 = AR10.value();
  metrics.AR = AR[area_all].value();
  metrics.ARs = AR[area_small].value();
  metrics.ARm = AR[area_medium].value();
  metrics.ARl = AR[area_large].value();
  metrics.voc_AP50 = voc.value();
  metrics.voc_AP50_11point = voc_11point.value();
  if (metrics.truths > 0) {
    for (size_t i = 0; i < curve.size(); ++i) metrics.curve[i] = curve[i].value();
  }
  metrics.confusion = {static_cast<int>(names_.size()), confusion_};
  metrics.images = static_cast<int64_t>(images_.size());
  return metrics;
}

}  // namespace brightnet
