// Draws one synthetic image: a textured background, clutter, shapes that may overlap, and camera effects
// (uneven light, blur, noise). All randomness comes from one Philox stream per image, so any image can be
// drawn alone.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "data/synth/shape.h"
#include "data/synth/synth.h"
#include "data/synth/texture.h"

namespace brightnet {
namespace {

constexpr float pi = std::numbers::pi_v<float>;
/// To find a place for an object, before an image with too few of them is given up.
constexpr int most_failures = 25;
constexpr float kept_visible = 0.5f;  // share of every shape's area

/// pixels := pixels·(1 − mask·opacity) + paint·mask·opacity.
void blend(cv::Mat pixels, const cv::Mat& paint, const cv::Mat& mask, float opacity) {
  for (int y = 0; y < pixels.rows; ++y) {
    auto* out = pixels.ptr<Colour>(y);
    const auto* in = paint.ptr<Colour>(y);
    const float* m = mask.ptr<float>(y);
    for (int x = 0; x < pixels.cols; ++x) out[x] = mixed(out[x], in[x], m[x] * opacity);
  }
}

/// A colour that differs from the ground, though sometimes only slightly.
Colour contrasting_colour(Random& random, const Colour& ground) {
  Colour best = any_colour(random);
  const float wanted = random.uniform(60, 160);
  for (int i = 0; i < 30 && cv::norm(best - ground) < wanted; ++i) {
    const Colour candidate = any_colour(random);
    if (cv::norm(candidate - ground) > cv::norm(best - ground)) best = candidate;
  }
  return best;
}

class Scene {
 public:
  Scene(const SynthOptions& options, Random& random)
      : options_(options), random_(random), bounds_({}, image_size(options)) {
    pixels_ =
        coloured(random, texture(random, bounds_.size()), any_colour(random), random.uniform(0.1f, 0.9f));
    owner_ = cv::Mat(bounds_.size(), CV_16S, cv::Scalar(-1));
  }

  /// Adds strokes and ragged blots, which resemble no class.
  void add_clutter() {
    const int strokes = random_.below(5);
    const auto unit = static_cast<float>(options_.size);
    for (int i = 0; i < strokes; ++i) {
      std::vector<cv::Point> line;
      cv::Point2f p = any_point();
      float heading = random_.uniform(0, 2 * pi);
      for (int step = 0; step < 24; ++step) {
        line.emplace_back(cvRound(p.x), cvRound(p.y));
        heading += random_.uniform(-0.35f, 0.35f);
        p += cv::Point2f(std::cos(heading), std::sin(heading)) * (unit / 24);
      }
      const Colour colour = any_colour(random_);
      const int width =
          1 + static_cast<int>(random_.below(std::max(2u, static_cast<uint32_t>(options_.size / 50))));
      cv::polylines(pixels_, line, false, cv::Scalar(colour[0], colour[1], colour[2]), width);
    }
    if (random_.chance(0.4f)) add_blot();
  }

  /// Adds one object where it does not hide another too much; false when no such place was found.
  bool add_object() {
    for (int attempt = 0; attempt < 40; ++attempt) {
      const int class_id = random_.below(options_.classes);
      auto contours = outline(class_id, random_);
      // Small shapes are as likely as large ones on a logarithmic scale, as in photographs.
      const float radius = any_radius();
      const cv::Point2f centre = any_point();
      const float stretch = std::exp(random_.uniform(-0.25f, 0.25f));
      place(contours, centre, radius, stretch, random_.uniform(0, 2 * pi));
      const cv::Rect2f whole = extent(contours[0]);
      const cv::Rect2f inside = whole & cv::Rect2f(bounds_);
      if (inside.area() < 0.8f * whole.area()) continue;
      const cv::Point low(static_cast<int>(inside.x), static_cast<int>(inside.y));
      const cv::Point high(static_cast<int>(std::ceil(inside.br().x)),
                           static_cast<int>(std::ceil(inside.br().y)));
      const cv::Rect frame = cv::Rect(low, high) & bounds_;
      const cv::Mat mask = coverage(contours, frame);
      if (!claim(frame, mask)) continue;
      paint(frame, mask, radius);
      annotations_.push_back(annotation(inside, class_id));
      return true;
    }
    return false;
  }

  /// Adds uneven light, blur and noise, and returns the image.
  SynthImage finish() {
    add_light();
    if (const float sigma = random_.uniform(-0.3f, 0.9f); sigma > 0.2f)
      cv::GaussianBlur(pixels_, pixels_, {}, sigma, sigma, cv::BORDER_REFLECT);
    add_noise(random_.uniform(1, 11));
    SynthImage image;
    pixels_.convertTo(image.pixels, CV_8U);
    image.annotations = std::move(annotations_);
    return image;
  }

 private:
  cv::Point2f any_point() {
    const float width = bounds_.width, height = bounds_.height;
    return cv::Point2f(random_.uniform(0, width), random_.uniform(0, height));
  }

  float any_radius() {
    const auto wanted = static_cast<float>(options_.object_size);
    if (wanted > 0) return 0.5f * wanted * std::exp(random_.uniform(std::log(0.7f), std::log(1.4f)));
    return options_.size * 0.5f * std::exp(random_.uniform(std::log(0.11f), std::log(0.5f)));
  }

  void add_blot() {
    const auto unit = static_cast<float>(options_.size);
    const cv::Point2f centre = any_point();
    const float radius = unit * random_.uniform(0.05f, 0.2f);
    const int lobes = 6 + static_cast<int>(random_.below(5));
    Contour ragged;
    for (int i = 0; i < 4 * lobes; ++i) {
      const float angle = pi * i / (2 * lobes);
      const float r = radius * random_.uniform(0.35f, 1.0f);
      ragged.emplace_back(centre.x + r * std::cos(angle), centre.y + r * std::sin(angle));
    }
    cv::Mat mask = coverage({ragged}, bounds_);
    cv::GaussianBlur(mask, mask, {}, 0.02 * unit, 0.02 * unit);
    blend(pixels_, cv::Mat(bounds_.size(), CV_32FC3, cv::Scalar(any_colour(random_))), mask,
          random_.uniform(0.3f, 0.8f));
  }

  /// Assigns the object its pixels, unless an earlier one would lose too many.
  bool claim(cv::Rect frame, const cv::Mat& mask) {
    std::vector<int> lost(area_.size(), 0);
    int area = 0;
    const cv::Mat below = owner_(frame);
    for (int y = 0; y < frame.height; ++y) {
      for (int x = 0; x < frame.width; ++x) {
        if (mask.at<float>(y, x) < 0.5f) continue;
        ++area;
        if (const int16_t other = below.at<int16_t>(y, x); other >= 0) ++lost[other];
      }
    }
    if (area < 12) return false;
    for (size_t i = 0; i < area_.size(); ++i) {
      if (static_cast<float>(visible_[i] - lost[i]) < kept_visible * area_[i]) return false;
    }
    for (size_t i = 0; i < area_.size(); ++i) visible_[i] -= lost[i];
    owner_(frame).setTo(static_cast<double>(area_.size()), mask >= 0.5);
    area_.push_back(area);
    visible_.push_back(area);
    return true;
  }

  void paint(cv::Rect frame, const cv::Mat& mask, float radius) {
    if (random_.chance(0.5f)) cast_shadow(frame, mask, radius);
    const cv::Scalar mean = cv::mean(pixels_(frame));
    const Colour ground(static_cast<float>(mean[0]), static_cast<float>(mean[1]),
                        static_cast<float>(mean[2]));
    const Colour base = contrasting_colour(random_, ground);
    cv::Mat fill;
    if (random_.chance(0.5f)) {
      fill = coloured(random_, texture(random_, frame.size()), base, random_.uniform(0, 0.45f));
    } else {
      fill = cv::Mat(frame.size(), CV_32FC3, cv::Scalar(base));
    }
    // Light falls on the shape from one side.
    const float angle = random_.uniform(0, 2 * pi), strength = random_.uniform(0, 0.3f);
    const float dx = std::cos(angle) * strength / radius, dy = std::sin(angle) * strength / radius;
    for (int y = 0; y < fill.rows; ++y) {
      for (int x = 0; x < fill.cols; ++x) {
        const float fx = x - 0.5f * fill.cols;
        const float fy = y - 0.5f * fill.rows;
        fill.at<Colour>(y, x) *= 1 + dx * fx + dy * fy;
      }
    }
    blend(pixels_(frame), fill, mask, random_.uniform(0.85f, 1.0f));
  }

  void cast_shadow(cv::Rect frame, const cv::Mat& mask, float radius) {
    const cv::Point offset(cvRound(radius * random_.uniform(-0.2f, 0.2f)),
                           cvRound(radius * random_.uniform(0, 0.2f)));
    const cv::Rect target = (frame + offset) & bounds_;
    if (target.empty()) return;
    const double sigma = std::max(1.0, 0.08 * radius);
    // Beyond the reach of the blur there is no shadow.
    const int reach = static_cast<int>(std::ceil(4 * sigma)) + 2;
    const cv::Rect around =
        cv::Rect(target.tl() - cv::Point(reach, reach), target.br() + cv::Point(reach, reach)) & bounds_;
    cv::Mat shadow = cv::Mat::zeros(around.size(), CV_32F);
    mask(target - offset - frame.tl()).copyTo(shadow(target - around.tl()));
    cv::GaussianBlur(shadow, shadow, {}, sigma, sigma);
    blend(pixels_(around), cv::Mat::zeros(around.size(), CV_32FC3), shadow, random_.uniform(0.2f, 0.5f));
  }

  Annotation annotation(const cv::Rect2f& box, int class_id) const {
    Annotation result;
    result.x1 = box.x;
    result.y1 = box.y;
    result.x2 = box.br().x;
    result.y2 = box.br().y;
    result.class_id = class_id;
    result.area = box.area();
    return result;
  }

  void add_light() {
    const float angle = random_.uniform(0, 2 * pi);
    const float strength = random_.uniform(0, 0.5f), level = random_.uniform(0.75f, 1.15f);
    const float dx = std::cos(angle) * strength, dy = std::sin(angle) * strength;
    for (int y = 0; y < pixels_.rows; ++y) {
      for (int x = 0; x < pixels_.cols; ++x) {
        const float fx = (x + 0.5f) / pixels_.cols - 0.5f;
        const float fy = (y + 0.5f) / pixels_.rows - 0.5f;
        pixels_.at<Colour>(y, x) *= level * (1 + dx * fx + dy * fy);
      }
    }
  }

  void add_noise(float sigma) {
    // The sum of the four bytes of one draw is close enough to a normal variable.
    const float scale = sigma / 147.8f;
    for (int y = 0; y < pixels_.rows; ++y) {
      float* row = pixels_.ptr<float>(y);
      for (int i = 0; i < 3 * pixels_.cols; ++i) {
        const uint32_t bits = random_();
        const uint32_t sum = (bits & 255) + ((bits >> 8) & 255) + ((bits >> 16) & 255) + (bits >> 24);
        row[i] += scale * (sum - 510.0f);
      }
    }
  }

  const SynthOptions& options_;
  Random& random_;
  cv::Rect bounds_;
  cv::Mat pixels_;                   // CV_32FC3, RGB
  cv::Mat owner_;                    // CV_16S, the object on top of each pixel, -1 for none
  std::vector<int> area_, visible_;  // pixels of each object inside the image, and those not hidden
  std::vector<Annotation> annotations_;
};

}  // namespace

const std::vector<std::string>& synth_class_names() {
  static const std::vector<std::string> names{"circle", "square", "triangle", "star", "cross", "ring"};
  return names;
}

cv::Size image_size(const SynthOptions& options) {
  return {options.size, options.height > 0 ? options.height : options.size};
}

void check(const SynthOptions& options) {
  const auto& [seed, train_images, val_images, size, height, object_size, classes, min_objects, max_objects] =
      options;
  const auto require = [](bool holds, const std::string& rule) {
    if (!holds) throw InputError("the synthetic data set cannot be made: " + rule);
  };
  require(train_images >= 1 && train_images <= 1000000 && val_images >= 1 && val_images <= 1000000,
          "each split needs from 1 to 1000000 images");
  const int known = static_cast<int>(synth_class_names().size());
  require(size >= 32 && size <= 4096, "the size must be from 32 to 4096 pixels");
  require(classes >= 1 && classes <= known,
          "the number of classes must be from 1 to " + std::to_string(known));
  require(height == 0 || (height >= 32 && height <= 4096), "the height must be from 32 to 4096 pixels");
  require(
      object_size == 0 || (object_size >= 8 && 2 * object_size <= std::min(size, image_size(options).height)),
      "the objects' size must be from 8 pixels to half of the image's smaller side");
  require(min_objects >= 0 && min_objects <= max_objects && max_objects <= 1000,
          "the number of objects must be a range within 0 to 1000");
}

SynthImage draw_synthetic_image(const SynthOptions& options, Split split, int index) {
  check(options);
  Random random(options.seed, Purpose::synth, split == Split::train ? 0 : 1, static_cast<uint64_t>(index));
  Scene scene(options, random);
  scene.add_clutter();
  const int span = options.max_objects - options.min_objects + 1;
  const int objects = options.min_objects + static_cast<int>(random.below(span));
  int drawn = 0;
  for (int failures = 0; drawn < objects && (failures == 0 || drawn < options.min_objects);) {
    if (scene.add_object()) {
      ++drawn;
    } else if (++failures == most_failures) {
      break;
    }
  }
  if (drawn < options.min_objects) {
    throw InputError(
        fmt::format("the synthetic data set cannot be made: an image has room for {} and no more",
                    counted(drawn, "object", "objects")),
        "--min-objects",
        "Lower it or the objects' size (--object-size), or make the images larger (--size).");
  }
  return scene.finish();
}

}  // namespace brightnet
