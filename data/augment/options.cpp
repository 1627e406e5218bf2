#include "data/augment/options.h"

#include <fmt/format.h>

namespace brightnet {
namespace {

ValueRange read_range(const YamlValue& value, const char* key, ValueRange limits) {
  const auto refuse = [&](const std::string& what) -> InputError {
    return InputError(fmt::format("'{}' {}", key, what), value.where(),
                      fmt::format("Write [low, high], or one number for both, within {:g} and {:g}.",
                                  limits.low, limits.high));
  };
  std::vector<float> ends;
  const YAML::Node& node = value.node;
  if (node.IsScalar()) {
    ends.assign(2, yaml_as<float>(value, key, "a number or a list of two"));
  } else if (node.IsSequence() && node.size() == 2) {
    for (const auto& end : node) ends.push_back(yaml_as<float>({end, value.file}, key, "a list of numbers"));
  } else {
    throw refuse("must have two values, the lowest and the highest");
  }
  for (const float end : ends) {
    if (!(end >= limits.low && end <= limits.high)) throw refuse(fmt::format("has the value {:g}", end));
  }
  if (ends[0] > ends[1]) throw refuse("has a lowest value above its highest");
  return {ends[0], ends[1]};
}

void visit_range(Fields& f, const char* key, ValueRange& range, ValueRange limits, const char* doc) {
  f.custom(
      key, [&range, key, limits](const YamlValue& value) { range = read_range(value, key, limits); },
      [&range] {
        YAML::Node list(YAML::NodeType::Sequence);
        list.SetStyle(YAML::EmitterStyle::Flow);
        for (const float end : {range.low, range.high}) list.push_back(fmt::format("{}", end));
        return list;
      },
      doc);
}

}  // namespace

void AugmentOptions::fields(Fields& f) {
  f("mosaic", mosaic, "probability that a sample is composed of four images").within(0, 1);
  f("mixup", mixup, "probability that a second sample is blended in").within(0, 1);
  f("flip", flip, "probability of a horizontal flip, per image").within(0, 1);
  f("jitter", jitter, "each side of the crop moves by up to this fraction").within(0, 0.45);
  f("resize", resize, "zoom in or out by up to this factor, on top of jitter").within(1, 4);
  f("hue", hue, "hue shift of up to ± this fraction of the colour circle").within(0, 0.5);
  f("saturation", saturation, "saturation is multiplied or divided by up to this factor").within(1, 10);
  f("exposure", exposure, "brightness is multiplied or divided by up to this factor").within(1, 10);
  f("letterbox", letterbox, "keep the aspect ratio (grey borders) instead of stretching");
  f("min_visible", min_visible, "a box is dropped when less than this fraction of it remains visible")
      .within(0, 1);
  f("mosaic_off", mosaic_off,
    "last fraction of the run on single, whole images: nothing mixed, cropped or scaled")
      .within(0, 1);
  f("vertical_flip", vertical_flip, "probability of a vertical flip, per image").within(0, 1);
  f("quarter_turns", quarter_turns, "probability of a turn by 90, 180 or 270 degrees, per image")
      .within(0, 1);
  f("rotate", rotate, "rotation by up to ± this many degrees, per image").within(0, 180);
  f("scale", scale, "size is multiplied by a factor in 1 ± this, per image").within(0, 0.9);
  f("translate", translate, "shift by up to ± this fraction of the input, per image").within(0, 0.9);
  f("shear", shear, "shear by up to ± this many degrees along each axis, per image").within(0, 30);
  f("perspective", perspective, "perspective distortion of up to ± this along each axis, per image")
      .within(0, 0.001f);  // the float, which is above the double
  f("warped_boxes", warped_boxes, "what gives the box of an object that was turned or distorted");
  f("blur", blur, "probability of a Gaussian blur, per image").within(0, 1);
  visit_range(f, "blur_sigma", blur_sigma, {0.1f, 20}, "its standard deviation, pixels of the input");
  f("blur_background", blur_background, "probability of a blur of all but the objects, per image")
      .within(0, 1);
  visit_range(f, "blur_background_sigma", blur_background_sigma, {0.1f, 20}, "its standard deviation");
  f("noise", noise, "probability of Gaussian noise, per image").within(0, 1);
  visit_range(f, "noise_sigma", noise_sigma, {0, 127}, "its standard deviation, of 255");
  f("grey", grey, "probability of the conversion to grey, per image").within(0, 1);
  f("cutout", cutout, "probability that grey rectangles cover parts of a sample").within(0, 1);
  f("cutout_count", cutout_count, "largest number of them").within(1, 100);
  visit_range(f, "cutout_size", cutout_size, {0.01f, 1}, "their sides, fractions of the input");
  f("cutout_covered", cutout_covered,
    "a box is dropped when more than this fraction of it is covered; lower it where half-hidden objects are not labelled")
      .within(0, 1);
  f("cutmix", cutmix, "probability that a rectangle of another sample is pasted in").within(0, 1);
  visit_range(f, "cutmix_size", cutmix_size, {0.01f, 1}, "its sides, fractions of the input");
  f("copy_paste", copy_paste, "probability that objects of other images are pasted in").within(0, 1);
  f("copy_paste_count", copy_paste_count, "largest number of them").within(1, 100);
  f("copy_paste_overlap", copy_paste_overlap,
    "their largest overlap with other boxes, as a fraction of the smaller box; raise it where objects hide each other")
      .within(0, 1);
}

}  // namespace brightnet
