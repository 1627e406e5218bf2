#include "detect/evaluate/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <tuple>

#include "core/error.h"

namespace brightnet {
namespace {

/// The mean over the classes for which a metric is defined; no_truths when there is none.
template <typename Value>
double mean_over(const std::vector<ClassScores>& scores, Value&& value_of) {
  double sum = 0;
  int count = 0;
  for (const ClassScores& s : scores) {
    const double value = value_of(s);
    if (value == no_truths) continue;
    sum += value;
    ++count;
  }
  return count > 0 ? sum / count : no_truths;
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

/// Header of the serialized records, by which merge() rejects those of a different evaluator.
struct Preamble {
  char magic[8] = {'b', 'n', 'e', 'v', 'a', 'l', '0', '2'};
  uint64_t classes = 0;
};

}  // namespace

DetectionEvaluator::DetectionEvaluator(std::vector<std::string> class_names)
    : names_(std::move(class_names)), classes_(names_.size()) {}

void DetectionEvaluator::add(int64_t image_id, std::span<const ScoredBox> detections,
                             std::span<const Annotation> truths) {
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
  BRIGHTNET_CHECK(images_.try_emplace(image_id, Image{boxes, objects}).second,
                  "image " + std::to_string(image_id) + " was evaluated twice");

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
  put(bytes, &preamble, 1);
  const uint64_t images = images_.size();
  put(bytes, &images, 1);
  for (const auto& [id, image] : images_) {
    put(bytes, &id, 1);
    put_vector(bytes, image.boxes);
    put_vector(bytes, image.truths);
  }
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
  reader.get(&preamble, 1);
  BRIGHTNET_CHECK(std::memcmp(&preamble, &expected, sizeof(Preamble)) == 0,
                  "evaluation records of another data set");
  uint64_t images = 0;
  for (reader.get(&images, 1); images > 0; --images) {
    int64_t id = 0;
    reader.get(&id, 1);
    Image image{reader.get_vector<ScoredBox>(), reader.get_vector<Annotation>()};
    BRIGHTNET_CHECK(images_.emplace(id, std::move(image)).second,
                    "image " + std::to_string(id) + " was evaluated twice");
  }
  for (ClassRecords& c : classes_) {
    TruthCounts truths;
    reader.get(&truths, 1);
    c.truths += truths;
    const std::vector<MatchRecord> records = reader.get_vector<MatchRecord>();
    c.records.insert(c.records.end(), records.begin(), records.end());
  }
  BRIGHTNET_CHECK(reader.at_end(), "evaluation records with trailing bytes");
}

void DetectionEvaluator::judge_images(Metrics& metrics) const {
  VerdictOptions how;
  if (metrics.best.f1 > 0) how.score = static_cast<float>(metrics.best.score);
  metrics.confusion = ConfusionMatrix(static_cast<int>(names_.size()), how);
  std::vector<JudgedImage>& worst = metrics.worst;
  const auto worse = [](const JudgedImage& a, const JudgedImage& b) {
    return std::tie(b.badness, a.id) < std::tie(a.badness, b.id);
  };
  for (const auto& [id, image] : images_) {
    metrics.confusion.add(image.boxes, image.truths);
    JudgedImage judged{id, judge(image.boxes, image.truths, how).badness(image.boxes), {}};
    std::copy_if(image.boxes.begin(), image.boxes.end(), std::back_inserter(judged.boxes),
                 [&](const ScoredBox& box) { return box.score >= how.score; });
    worst.insert(std::upper_bound(worst.begin(), worst.end(), judged, worse), std::move(judged));
    if (worst.size() > pictured_images) worst.pop_back();
  }
}

Metrics DetectionEvaluator::finish() const {
  Metrics metrics;
  std::vector<ClassScores> scores;
  std::vector<std::vector<MatchRecord>> all_sorted;
  std::vector<SortedClass> sorted_classes;
  for (size_t c = 0; c < names_.size(); ++c) {
    std::vector<MatchRecord>& sorted = all_sorted.emplace_back(classes_[c].records);
    std::stable_sort(sorted.begin(), sorted.end(), [](const MatchRecord& a, const MatchRecord& b) {
      return std::tie(b.score, a.image) < std::tie(a.score, b.image);
    });
    const ClassScores& own = scores.emplace_back(score_class(sorted, classes_[c].truths));
    const int64_t truths = classes_[c].truths.coco[area_all];
    metrics.per_class.push_back({names_[c], own.AP[area_all], own.AP50, own.voc_AP50, truths,
                                 best_f1(sorted, truths), own.curve, over_scores(sorted, truths)});
    sorted_classes.push_back({sorted, truths});
    metrics.truths += truths;
    metrics.detections += static_cast<int64_t>(sorted.size());
  }
  metrics.AP = mean_over(scores, [](const ClassScores& s) { return s.AP[area_all]; });
  metrics.AP50 = mean_over(scores, [](const ClassScores& s) { return s.AP50; });
  metrics.AP75 = mean_over(scores, [](const ClassScores& s) { return s.AP75; });
  metrics.APs = mean_over(scores, [](const ClassScores& s) { return s.AP[area_small]; });
  metrics.APm = mean_over(scores, [](const ClassScores& s) { return s.AP[area_medium]; });
  metrics.APl = mean_over(scores, [](const ClassScores& s) { return s.AP[area_large]; });
  metrics.AR1 = mean_over(scores, [](const ClassScores& s) { return s.AR1; });
  metrics.AR10 = mean_over(scores, [](const ClassScores& s) { return s.AR10; });
  metrics.AR = mean_over(scores, [](const ClassScores& s) { return s.AR[area_all]; });
  metrics.ARs = mean_over(scores, [](const ClassScores& s) { return s.AR[area_small]; });
  metrics.ARm = mean_over(scores, [](const ClassScores& s) { return s.AR[area_medium]; });
  metrics.ARl = mean_over(scores, [](const ClassScores& s) { return s.AR[area_large]; });
  metrics.voc_AP50 = mean_over(scores, [](const ClassScores& s) { return s.voc_AP50; });
  metrics.voc_AP50_11point = mean_over(scores, [](const ClassScores& s) { return s.voc_AP50_11point; });
  for (size_t i = 0; metrics.truths > 0 && i < metrics.curve.size(); ++i) {
    metrics.curve[i] =
        mean_over(scores, [i](const ClassScores& s) { return s.AP50 == no_truths ? no_truths : s.curve[i]; });
  }
  metrics.best = best_mean_f1(sorted_classes);
  judge_images(metrics);
  metrics.images = static_cast<int64_t>(images_.size());
  return metrics;
}

}  // namespace brightnet
