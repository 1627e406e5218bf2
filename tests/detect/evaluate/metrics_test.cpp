#include "detect/evaluate/metrics.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/random.h"
#include "tests/paths.h"

namespace brightnet {
namespace {

struct EvaluatedImage {
  int64_t id = 0;
  std::vector<Annotation> truths;
  std::vector<ScoredBox> detections;
};

struct Fixture {
  nlohmann::json expected;
  std::vector<std::string> classes;
  std::vector<EvaluatedImage> images;
};

Fixture read_fixture() {
  std::ifstream file(testing::source_dir() / "tests/detect/fixtures/coco_metrics.json");
  const nlohmann::json json = nlohmann::json::parse(file);
  Fixture fixture{json["expected"], json["classes"], {}};
  for (const auto& image : json["images"]) {
    EvaluatedImage& out = fixture.images.emplace_back();
    out.id = image["id"];
    for (const auto& t : image["truths"]) {
      out.truths.push_back({t[0], t[1], t[2], t[3], t[4], t[5].get<int>() != 0, false, t[6]});
    }
    for (const auto& d : image["detections"]) out.detections.push_back({d[0], d[1], d[2], d[3], d[4], d[5]});
  }
  return fixture;
}

DetectionEvaluator evaluate(const std::vector<std::string>& classes, std::span<const EvaluatedImage> images) {
  DetectionEvaluator evaluator(classes);
  for (const EvaluatedImage& image : images) evaluator.add(image.id, image.detections, image.truths);
  return evaluator;
}

/// Everything in one list of numbers, to compare two results to the last bit.
std::vector<double> all_numbers(const Metrics& m) {
  std::vector<double> numbers{m.AP,
                              m.AP50,
                              m.AP75,
                              m.APs,
                              m.APm,
                              m.APl,
                              m.AR1,
                              m.AR10,
                              m.AR,
                              m.ARs,
                              m.ARm,
                              m.ARl,
                              double(m.images),
                              double(m.truths),
                              double(m.detections),
                              m.voc_AP50,
                              m.voc_AP50_11point};
  numbers.insert(numbers.end(), m.curve.begin(), m.curve.end());
  for (const ClassMetrics& c : m.per_class) {
    numbers.insert(numbers.end(), {c.AP, c.AP50, c.voc_AP50, double(c.truths), c.best.precision,
                                   c.best.recall, c.best.f1, c.best.score});
    numbers.insert(numbers.end(), c.curve.begin(), c.curve.end());
  }
  numbers.insert(numbers.end(), m.confusion.counts.begin(), m.confusion.counts.end());
  return numbers;
}

Annotation true_box(float x1, float y1, float x2, float y2, int class_id = 0) {
  return {x1, y1, x2, y2, class_id, false, false, (x2 - x1) * (y2 - y1)};
}

/// Truths and detections of them, with coordinates and scores coarse enough for ties of both.
std::vector<EvaluatedImage> random_images(int count, int classes, int objects, uint64_t seed) {
  std::vector<EvaluatedImage> images(count);
  for (int i = 0; i < count; ++i) {
    Random random(seed, Purpose::test, 0, i);
    images[i].id = i;
    const int truths = static_cast<int>(random.below(objects + 1));
    for (int t = 0; t < truths; ++t) {
      const float x = random.below(500), y = random.below(500);
      Annotation& a = images[i].truths.emplace_back(
          true_box(x, y, x + 8 + random.below(120), y + 8 + random.below(120), random.below(classes)));
      a.difficult = random.chance(0.15f);
      for (int copies = random.below(4); copies > 0; --copies) {
        const auto jitter = [&] { return static_cast<float>(random.below(21)) - 10; };
        images[i].detections.push_back({a.x1 + jitter(), a.y1 + jitter(), a.x2 + jitter(), a.y2 + jitter(),
                                        random.chance(0.9f) ? a.class_id : int(random.below(classes)),
                                        (1 + random.below(20)) / 20.0f});
      }
    }
  }
  return images;
}

/// VOC's AP by its definition: for every score in turn, the detections above it are counted anew.
struct VocReference {
  std::vector<std::pair<double, double>> points;  // recall, precision
  double exact = 0, eleven_point = 0;

  VocReference(const std::vector<EvaluatedImage>& images, int class_id) {
    struct Entry {
      double score;
      const EvaluatedImage* image;
      const ScoredBox* box;
    };
    std::vector<Entry> entries;
    double truths = 0;
    for (const EvaluatedImage& image : images) {
      for (const Annotation& t : image.truths) truths += t.class_id == class_id && !t.difficult;
      for (const ScoredBox& d : image.detections) {
        if (d.class_id == class_id) entries.push_back({d.score, &image, &d});
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.score > b.score; });
    std::vector<const Annotation*> found;
    double right = 0, wrong = 0;
    for (const Entry& entry : entries) {
      const Annotation* best = nullptr;
      double best_iou = -1;
      for (const Annotation& t : entry.image->truths) {
        const double iou = t.class_id == class_id ? reference_iou(*entry.box, t) : -1;
        if (iou > best_iou) {
          best = &t;
          best_iou = iou;
        }
      }
      if (best_iou >= 0.5 && best->difficult) continue;
      const bool first = best_iou >= 0.5 && std::find(found.begin(), found.end(), best) == found.end();
      if (first) found.push_back(best);
      (first ? right : wrong) += 1;
      points.emplace_back(right / truths, right / (right + wrong));
    }
    double previous = 0;
    for (const auto& [recall, precision] : points) {
      exact += (recall - previous) * best_precision_from(recall);
      previous = recall;
    }
    for (int i = 0; i <= 10; ++i) eleven_point += best_precision_from(0.1 * i - 1e-12) / 11;
  }

  static double reference_iou(const ScoredBox& a, const Annotation& b) {
    const double w = std::max(0.0, std::min<double>(a.x2, b.x2) - std::max<double>(a.x1, b.x1));
    const double h = std::max(0.0, std::min<double>(a.y2, b.y2) - std::max<double>(a.y1, b.y1));
    const double sum =
        (double(a.x2) - a.x1) * (double(a.y2) - a.y1) + (double(b.x2) - b.x1) * (double(b.y2) - b.y1);
    return w * h / (sum - w * h);
  }
  double best_precision_from(double recall) const {
    double best = 0;
    for (const auto& [r, p] : points) {
      if (r >= recall) best = std::max(best, p);
    }
    return best;
  }
};

TEST(Metrics, EqualPycocotoolsOnAHardFixture) {
  const Fixture fixture = read_fixture();
  const Metrics m = evaluate(fixture.classes, fixture.images).finish();
  const std::pair<const char*, double> totals[] = {
      {"AP", m.AP},   {"AP50", m.AP50}, {"AP75", m.AP75}, {"APs", m.APs}, {"APm", m.APm}, {"APl", m.APl},
      {"AR1", m.AR1}, {"AR10", m.AR10}, {"AR", m.AR},     {"ARs", m.ARs}, {"ARm", m.ARm}, {"ARl", m.ARl}};
  for (const auto& [name, value] : totals)
    EXPECT_NEAR(value, fixture.expected[name].get<double>(), 1e-9) << name;
  int64_t truths = 0, detections = 0;
  for (const EvaluatedImage& image : fixture.images) {
    for (const Annotation& object : image.truths) truths += !object.crowd;
    detections += std::ssize(image.detections);
  }
  EXPECT_EQ(m.truths, truths);
  EXPECT_EQ(m.detections, detections);
  EXPECT_EQ(m.images, std::ssize(fixture.images));
  for (size_t i = 0; i < m.curve.size(); ++i) {
    double sum = 0, classes = 0;
    for (const ClassMetrics& c : m.per_class) {
      if (c.truths > 0) sum += c.curve[i], ++classes;
    }
    EXPECT_NEAR(m.curve[i], sum / classes, 1e-12) << i;
  }
  ASSERT_EQ(m.per_class.size(), fixture.classes.size());
  for (size_t c = 0; c < fixture.classes.size(); ++c) {
    const nlohmann::json& expected = fixture.expected["per_class"][c];
    EXPECT_NEAR(m.per_class[c].AP, expected["AP"].get<double>(), 1e-9) << fixture.classes[c];
    EXPECT_NEAR(m.per_class[c].AP50, expected["AP50"].get<double>(), 1e-9) << fixture.classes[c];
    for (size_t i = 0; m.per_class[c].truths > 0 && i < m.per_class[c].curve.size(); ++i) {
      EXPECT_NEAR(m.per_class[c].curve[i], expected["curve"][i].get<double>(), 1e-8) << fixture.classes[c];
    }
  }
}

TEST(Metrics, AreTheSameForAnySplitAndOrder) {
  const Fixture fixture = read_fixture();
  const std::vector<double> whole = all_numbers(evaluate(fixture.classes, fixture.images).finish());
  for (size_t ranks : {2, 7}) {
    DetectionEvaluator first(fixture.classes);
    for (size_t rank = ranks; rank-- > 0;) {
      DetectionEvaluator part(fixture.classes);
      for (size_t i = fixture.images.size(); i-- > 0;) {
        const EvaluatedImage& image = fixture.images[i];
        if (i % ranks == rank) part.add(image.id, image.detections, image.truths);
      }
      first.merge(part.serialize());
    }
    EXPECT_EQ(all_numbers(first.finish()), whole) << ranks << " ranks";
  }
}

TEST(Metrics, VocEqualsABruteForceReference) {
  const std::vector<EvaluatedImage> images = random_images(80, 3, 8, 11);
  const Metrics m = evaluate({"a", "b", "c"}, images).finish();
  double exact = 0, eleven_point = 0;
  for (int c = 0; c < 3; ++c) {
    const VocReference reference(images, c);
    EXPECT_GT(reference.exact, 0.1);
    EXPECT_LT(reference.exact, 0.9);
    EXPECT_NEAR(m.per_class[c].voc_AP50, reference.exact, 1e-12);
    exact += reference.exact / 3;
    eleven_point += reference.eleven_point / 3;
  }
  EXPECT_NEAR(m.voc_AP50, exact, 1e-12);
  EXPECT_NEAR(m.voc_AP50_11point, eleven_point, 1e-12);
}

TEST(Metrics, PerfectDetectionsScoreOneAndNoneScoreZero) {
  const std::vector<Annotation> truths{true_box(0, 0, 20, 20), true_box(30, 30, 200, 200, 1)};
  const std::vector<ScoredBox> detections{{0, 0, 20, 20, 0, 0.9f}, {30, 30, 200, 200, 1, 0.8f}};
  DetectionEvaluator perfect({"a", "b"}), empty({"a", "b"});
  perfect.add(1, detections, truths);
  empty.add(1, {}, truths);
  const Metrics p = perfect.finish(), e = empty.finish();
  EXPECT_DOUBLE_EQ(p.AP, 1);
  EXPECT_DOUBLE_EQ(p.AR1, 1);
  EXPECT_DOUBLE_EQ(p.voc_AP50, 1);
  EXPECT_DOUBLE_EQ(p.APs, 1);
  EXPECT_DOUBLE_EQ(p.APm, no_truths);
  EXPECT_DOUBLE_EQ(e.AP, 0);
  EXPECT_DOUBLE_EQ(e.AR, 0);
  EXPECT_DOUBLE_EQ(e.voc_AP50, 0);
}

TEST(Metrics, WithoutTruthsAreMinusOne) {
  DetectionEvaluator evaluator({"a"});
  evaluator.add(1, std::vector<ScoredBox>{{0, 0, 20, 20, 0, 0.9f}}, {});
  const Metrics m = evaluator.finish();
  for (double value : {m.AP, m.AP50, m.AP75, m.APs, m.AR, m.AR1, m.voc_AP50, m.voc_AP50_11point}) {
    EXPECT_DOUBLE_EQ(value, no_truths);
  }
  EXPECT_EQ(m.images, 1);
  EXPECT_EQ(m.detections, 1);
}

TEST(Metrics, DifficultCountsForCocoAndNotForVoc) {
  std::vector<Annotation> truths{true_box(0, 0, 20, 20), true_box(100, 0, 120, 20)};
  truths[1].difficult = true;
  DetectionEvaluator missed({"a"}), found({"a"});
  missed.add(1, std::vector<ScoredBox>{{0, 0, 20, 20, 0, 0.9f}}, truths);
  found.add(1, std::vector<ScoredBox>{{0, 0, 20, 20, 0, 0.5f}, {100, 0, 120, 20, 0, 0.9f}}, truths);
  EXPECT_NEAR(missed.finish().AP50, 51.0 / 101, 1e-12);
  EXPECT_DOUBLE_EQ(missed.finish().voc_AP50, 1);
  EXPECT_DOUBLE_EQ(found.finish().voc_AP50, 1);
}

TEST(Metrics, ACrowdIsNoObjectThatMustBeFound) {
  std::vector<Annotation> truths{true_box(0, 0, 20, 20), true_box(100, 0, 300, 200)};
  truths[1].crowd = true;
  const ScoredBox object{0, 0, 20, 20, 0, 0.5f}, of_crowd{100, 0, 300, 200, 0, 0.9f};
  for (const auto& detections : {std::vector{object}, std::vector{of_crowd, object}}) {
    DetectionEvaluator evaluator({"a"});
    evaluator.add(1, detections, truths);
    const Metrics metrics = evaluator.finish();
    EXPECT_EQ(metrics.truths, 1);
    EXPECT_DOUBLE_EQ(metrics.AP50, 1);
    EXPECT_DOUBLE_EQ(metrics.voc_AP50, 1);
    EXPECT_DOUBLE_EQ(metrics.voc_AP50_11point, 1);
  }
}

TEST(Metrics, VocGivesADetectionBetweenTwinsToTheFirst) {
  const std::vector<Annotation> truths{true_box(0, 0, 40, 40), true_box(4, 0, 44, 40)};
  const auto second_at = [&](float x) {
    DetectionEvaluator evaluator({"a"});
    evaluator.add(1, std::vector<ScoredBox>{{2, 0, 42, 40, 0, 0.9f}, {x, 0, x + 40, 40, 0, 0.8f}}, truths);
    return evaluator.finish().voc_AP50;
  };
  EXPECT_DOUBLE_EQ(second_at(0), 0.5);
  EXPECT_DOUBLE_EQ(second_at(4), 1);
}

TEST(Metrics, BestF1IsWhereAThresholdCanReachIt) {
  // By hand, 4 truths. Scores 0.9: right; 0.8: one right and one wrong, which no threshold parts; 0.1: wrong.
  const std::vector<Annotation> truths{true_box(0, 0, 10, 10), true_box(20, 0, 30, 10),
                                       true_box(40, 0, 50, 10), true_box(60, 0, 70, 10)};
  DetectionEvaluator evaluator({"a"});
  evaluator.add(1,
                std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f},
                                       {20, 0, 30, 10, 0, 0.8f},
                                       {80, 0, 90, 10, 0, 0.8f},
                                       {90, 0, 99, 10, 0, 0.1f}},
                truths);
  const ClassMetrics c = evaluator.finish().per_class[0];
  EXPECT_FLOAT_EQ(c.best.score, 0.8f);
  EXPECT_DOUBLE_EQ(c.best.precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(c.best.recall, 0.5);
  EXPECT_DOUBLE_EQ(c.best.f1, 4.0 / 7);
}

TEST(Metrics, ABoxThatIsNotANumberIsWrongAndDoesNoHarm) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  DetectionEvaluator evaluator({"a"});
  evaluator.add(1,
                std::vector<ScoredBox>{{nan, 0, 20, 20, 0, 0.9f},
                                       {0, 0, 20, nan, 0, 0.9f},
                                       {-inf, -inf, inf, inf, 0, 0.9f},
                                       {0, 0, 20, 20, 0, 0.5f}},
                std::vector<Annotation>{true_box(0, 0, 20, 20)});
  const Metrics m = evaluator.finish();
  EXPECT_NEAR(m.AP50, 1.0 / 3,
              1e-12);  // COCO does not count what is larger than 1e10 pixels² and right nowhere
  EXPECT_DOUBLE_EQ(m.voc_AP50, 0.25);
  EXPECT_EQ(m.confusion.counts, (std::vector<int64_t>{1, 3, 0, 0}));
}

TEST(Metrics, EvaluatingAnImageTwiceIsCaught) {
  DetectionEvaluator evaluator({"a"}), other({"a"}), stranger({"a", "b"});
  evaluator.add(7, {}, {});
  other.add(7, {}, {});
  EXPECT_THROW(evaluator.add(7, {}, {}), std::logic_error);
  EXPECT_THROW(evaluator.merge(other.serialize()), std::logic_error);
  EXPECT_THROW(evaluator.merge(stranger.serialize()), std::logic_error);
  const std::string bytes = other.serialize();
  EXPECT_THROW(DetectionEvaluator({"a"}).merge(bytes.substr(0, bytes.size() - 3)), std::logic_error);
}

// Against a plain search: for each multiple of 0.001, precision, recall and F1 of each class are computed anew.
TEST(Metrics, OperateWhereTheMeanF1OfAllClassesIsBest) {
  const Fixture fixture = read_fixture();
  const Metrics metrics = evaluate(fixture.classes, fixture.images).finish();
  OperatingPoint best;
  for (int thousandths = 0; thousandths <= 1000; ++thousandths) {
    const auto score = static_cast<float>(thousandths / 1000.0);
    OperatingPoint mean;
    int classes = 0;
    for (int c = 0; c < static_cast<int>(fixture.classes.size()); ++c) {
      std::vector<MatchRecord> records;
      TruthCounts counts;
      for (const EvaluatedImage& image : fixture.images) {
        std::vector<ScoredBox> sure;
        std::vector<Annotation> objects;
        for (const ScoredBox& box : image.detections) {
          if (box.class_id == c && box.score >= score) sure.push_back(box);
        }
        for (const Annotation& object : image.truths) {
          if (object.class_id == c) objects.push_back(object);
        }
        std::stable_sort(sure.begin(), sure.end(),
                         [](const auto& a, const auto& b) { return a.score > b.score; });
        match(image.id, sure, objects, records, counts);
      }
      const auto truths = static_cast<double>(counts.coco[area_all]);
      const uint64_t bit = coco_bit(area_all, 0);
      double right = 0, counted = 0;
      for (const MatchRecord& record : records) {
        if (record.rank >= coco_max_detections || (record.ignored & bit)) continue;
        ++counted;
        right += (record.right & bit) != 0;
      }
      if (truths == 0) continue;
      ++classes;
      mean.precision += counted > 0 ? right / counted : 0;
      mean.recall += right / truths;
      mean.f1 += right > 0 ? 2 * right / (counted + truths) : 0;
    }
    for (double* value : {&mean.precision, &mean.recall, &mean.f1}) *value /= classes;
    mean.score = score;
    if (mean.f1 > best.f1 + 1e-12 || (mean.f1 > best.f1 - 1e-12 && score > best.score)) best = mean;
  }
  EXPECT_GT(best.f1, 0.1);
  EXPECT_NEAR(metrics.best.f1, best.f1, 1e-12);
  EXPECT_NEAR(metrics.best.precision, best.precision, 1e-12);
  EXPECT_NEAR(metrics.best.recall, best.recall, 1e-12);
  EXPECT_EQ(metrics.best.score, best.score);
}

// One of one with two truths, or two of four: 2 · 1 / (1 + 2) = 2 · 2 / (4 + 2).
TEST(Metrics, OfEqualF1TheHigherScoreIsBest) {
  DetectionEvaluator evaluator({"a"});
  evaluator.add(1,
                std::vector<ScoredBox>{{0, 0, 10, 10, 0, 0.9f},
                                       {60, 0, 70, 10, 0, 0.8f},
                                       {80, 0, 90, 10, 0, 0.7f},
                                       {20, 0, 30, 10, 0, 0.6f}},
                std::vector<Annotation>{true_box(0, 0, 10, 10), true_box(20, 0, 30, 10)});
  const Metrics metrics = evaluator.finish();
  EXPECT_FLOAT_EQ(metrics.per_class[0].best.score, 0.9f);
  EXPECT_DOUBLE_EQ(metrics.per_class[0].best.precision, 1);
  EXPECT_NEAR(metrics.best.score, 0.9, 1e-6);
}

}  // namespace
}  // namespace brightnet
