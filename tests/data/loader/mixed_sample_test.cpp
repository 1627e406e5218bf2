// What a sample is put together from, pixel by pixel, and the random stream that decides about each part of it.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "data/augment/boxes.h"
#include "data/augment/cover.h"
#include "data/augment/crop.h"
#include "data/augment/geometry.h"
#include "data/augment/mosaic.h"
#include "data/loader/sample.h"
#include "tests/data/drawn_dataset.h"
#include "tests/data/pictures.h"

namespace brightnet {
namespace {

const InputSize flat_input(96, 160);
constexpr uint64_t room_for_all = 1 << 30;

/// Pictures with grain, each with one object of a class of its own, which covers this part of it.
Dataset numbered_pictures(const std::filesystem::path& folder, int count, const cv::Rect2f& part) {
  Dataset dataset;
  for (int i = 0; i < count; ++i) {
    ImageRecord& record = dataset.images.emplace_back();
    record.file = folder / (std::to_string(i) + ".png");
    record.width = 120 + 10 * i;
    record.height = 110 - 5 * i;
    cv::imwrite(record.file.string(), picture(static_cast<uint64_t>(i), record.width, record.height));
    const auto w = static_cast<float>(record.width), h = static_cast<float>(record.height);
    Annotation object;
    object.x1 = part.x * w, object.x2 = part.br().x * w;
    object.y1 = part.y * h, object.y2 = part.br().y * h;
    object.class_id = i;
    record.annotations = {object};
    dataset.classes.push_back(std::to_string(i));
  }
  return dataset;
}

const cv::Rect2f edge_to_edge(0, 0, 1, 1), in_the_middle(0.3f, 0.25f, 0.3f, 0.45f);

/// Options that leave an image as it is.
AugmentOptions unchanging() {
  AugmentOptions options;
  options.mosaic = options.flip = options.jitter = options.hue = options.min_visible = 0;
  options.saturation = options.exposure = 1;
  return options;
}

cv::Mat as_rgb(const cv::Mat& bgr) {
  cv::Mat rgb;
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return rgb;
}

struct MixedSample {
  cv::Mat rgb = cv::Mat(flat_input.height, flat_input.width, CV_8UC3);
  std::vector<Truth> truths;
};

MixedSample put_together(const Dataset& dataset, const AugmentOptions& options, uint64_t position,
                         int image) {
  ImageCache cache(dataset, room_for_all, {});
  SampleMaker maker(dataset, options, cache);
  MixedSample sample;
  maker.make({5, 0, position, image, false}, flat_input, sample.rgb.data, sample.truths);
  return sample;
}

Random stream_of(Purpose purpose, uint64_t position) {
  return {5, purpose, 0, position};
}

/// The corners of a box in pixels, rounded in these ways.
cv::Rect whole_pixels_of(const Box& box, float (*low)(float), float (*high)(float)) {
  const auto w = static_cast<float>(flat_input.width), h = static_cast<float>(flat_input.height);
  return {cv::Point(static_cast<int>(low((box.x - box.w / 2) * w)),
                    static_cast<int>(low((box.y - box.h / 2) * h))),
          cv::Point(static_cast<int>(high((box.x + box.w / 2) * w)),
                    static_cast<int>(high((box.y + box.h / 2) * h)))};
}

float next_but_one(float place) {
  return std::ceil(place) + 1;
}
float last_but_one(float place) {
  return std::floor(place) - 1;
}

cv::Rect nearest_pixels_of(const Box& box) {
  const auto nearest = [](float place) { return std::round(place); };
  return whole_pixels_of(box, nearest, nearest);
}

void expect_same_truths(const std::vector<Truth>& actual, const std::vector<Truth>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].class_id, expected[i].class_id);
    EXPECT_NEAR(actual[i].box.x, expected[i].box.x, 1e-5);
    EXPECT_NEAR(actual[i].box.y, expected[i].box.y, 1e-5);
    EXPECT_NEAR(actual[i].box.w, expected[i].box.w, 1e-5);
    EXPECT_NEAR(actual[i].box.h, expected[i].box.h, 1e-5);
  }
}

TEST(MixedSample, ALetterboxIsFilledOnBothSidesOfThePicture) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, edge_to_edge);
  AugmentOptions options = unchanging();
  options.letterbox = true;
  const auto filled = [](const cv::Mat& part) {
    return cv::countNonZero(part.clone().reshape(1) != fill_value) == 0;
  };
  EXPECT_EQ(fill_value, 114) << "as docs/augmentation.md says";
  // 120 × 110 pixels are 104.7 × 96 in the middle of 160 × 96; 160 × 90 leave three rows above and below.
  const MixedSample narrow = put_together(dataset, options, 0, 0), low = put_together(dataset, options, 0, 4);
  EXPECT_TRUE(filled(narrow.rgb.colRange(0, 27)));
  EXPECT_TRUE(filled(narrow.rgb.colRange(133, 160)));
  EXPECT_FALSE(filled(narrow.rgb.colRange(28, 29)) || filled(narrow.rgb.colRange(131, 132)));
  EXPECT_TRUE(filled(low.rgb.rowRange(0, 3)));
  EXPECT_TRUE(filled(low.rgb.rowRange(93, 96)));
  EXPECT_FALSE(filled(low.rgb.rowRange(3, 4)) || filled(low.rgb.rowRange(92, 93)));
  const cv::Mat stored = as_rgb(cv::imread(dataset.images[4].file.string())), shown = low.rgb.rowRange(3, 93);
  EXPECT_LE(cv::norm(shown, stored, cv::NORM_INF), 1) << "of its own size";
}

TEST(MixedSample, CutmixShowsTheOtherPictureInItsRectangleAlone) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, edge_to_edge);
  AugmentOptions options = unchanging();
  options.cutmix = 1;
  for (uint64_t i = 0; i < 8; ++i) {
    const MixedSample shown = put_together(dataset, options, i, 0);
    ASSERT_EQ(shown.truths.size(), 2u);
    Random cut = stream_of(Purpose::cutmix, i);
    ASSERT_TRUE(cut.chance(1));
    const cv::Rect part = draw_rectangle(cut, options.cutmix_size, flat_input);
    EXPECT_EQ(nearest_pixels_of(shown.truths[1].box), part);
    cv::Mat expected = put_together(dataset, unchanging(), i, 0).rgb;
    put_together(dataset, unchanging(), i, shown.truths[1].class_id).rgb(part).copyTo(expected(part));
    EXPECT_EQ(cv::norm(shown.rgb, expected, cv::NORM_INF), 0) << i;
  }
}

TEST(MixedSample, CutmixDropsWhatItsRectangleShowsTooLittleOf) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, edge_to_edge);
  AugmentOptions options = unchanging();
  options.cutmix = 1;
  options.min_visible = 0.4f;  // the rectangle has at most 0.36 of the input
  for (uint64_t i = 0; i < 8; ++i) {
    const MixedSample shown = put_together(dataset, options, i, 3);
    ASSERT_EQ(shown.truths.size(), 1u);
    EXPECT_EQ(shown.truths[0].class_id, 3) << "of which 0.64 are left at least";
  }
}

TEST(MixedSample, ABlurOfTheBackgroundSparesTheObjectsOfEveryQuadrant) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, in_the_middle);
  AugmentOptions options = unchanging();
  options.mosaic = 1;
  int objects = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    const MixedSample sharp = put_together(dataset, options, i, 1);
    AugmentOptions blurring = options;
    blurring.blur_background = 1;
    blurring.blur_background_sigma = {3, 3};
    const MixedSample blurred = put_together(dataset, blurring, i, 1);
    expect_same_truths(blurred.truths, sharp.truths);
    cv::Mat outside(sharp.rgb.size(), CV_8U, cv::Scalar(255)), difference, same;
    cv::absdiff(blurred.rgb, sharp.rgb, difference);
    cv::inRange(difference, cv::Scalar::all(0), cv::Scalar::all(0), same);
    for (const Truth& truth : sharp.truths) {
      const cv::Rect around = whole_pixels_of(truth.box, last_but_one, next_but_one);
      outside(around & cv::Rect({}, outside.size())) = 0;
      if (around.width < 12 || around.height < 12) continue;
      const cv::Rect inner = whole_pixels_of(truth.box, next_but_one, last_but_one);
      EXPECT_EQ(cv::countNonZero(same(inner)), inner.area()) << inner << " of " << i;
      ++objects;
    }
    EXPECT_GT(cv::countNonZero(outside & ~same), 0.8 * cv::countNonZero(outside)) << i;
  }
  EXPECT_GT(objects, 8);
}

TEST(MixedSample, TheOthersOfAMosaicAndOfAMixupAreOfTheWholeDataSet) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, edge_to_edge);
  const std::set<int> every{0, 1, 2, 3, 4};
  AugmentOptions mosaics = unchanging(), mixups = unchanging();
  mosaics.mosaic = mixups.mixup = 1;
  for (const AugmentOptions& options : {mosaics, mixups}) {
    std::set<int> others;
    for (uint64_t i = 0; i < 60; ++i) {
      const MixedSample sample = put_together(dataset, options, i, 2);
      ASSERT_EQ(sample.truths.size(), options.mosaic > 0 ? 4u : 2u);
      EXPECT_EQ(sample.truths[0].class_id, 2) << "the sample's own picture is in it";
      for (size_t k = 1; k < sample.truths.size(); ++k) others.insert(sample.truths[k].class_id);
    }
    EXPECT_EQ(others, every);
  }
}

TEST(MixedSample, CropsTurnsAndMosaicsAreDrawnFromTheirOwnStreams) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, in_the_middle);
  AugmentOptions crops = unchanging(), shifts = unchanging(), mosaics = unchanging();
  crops.jitter = 0.2f;
  crops.flip = 0.5f;
  shifts.translate = 0.2f;
  mosaics.mosaic = 1;
  const Dataset whole = numbered_pictures(test_folder(), 5, edge_to_edge);
  for (uint64_t i = 0; i < 8; ++i) {
    const ImageRecord& record = dataset.images[3];
    Random changes = stream_of(Purpose::augment, i);
    std::vector<Truth> cropped;
    place_boxes(record.annotations,
                place_crop(draw_image(changes, crops), record.width, record.height, flat_input, false),
                flat_input, cropped);
    expect_same_truths(put_together(dataset, crops, i, 3).truths, cropped);

    Random turns = stream_of(Purpose::geometry, i);
    const GeometryDraw draw = draw_geometry(turns, shifts);
    std::vector<Truth> shifted = put_together(dataset, unchanging(), i, 3).truths;
    ASSERT_EQ(shifted.size(), 1u);
    shifted[0].box.x += draw.translate_x;
    shifted[0].box.y += draw.translate_y;
    expect_same_truths(put_together(dataset, shifts, i, 3).truths, shifted);

    Random choices = stream_of(Purpose::mosaic, i);
    ASSERT_TRUE(choices.chance(1));
    const cv::Point centre = draw_mosaic_centre(choices, flat_input);
    const std::vector<Truth> truths = put_together(whole, mosaics, i, 3).truths;
    ASSERT_EQ(truths.size(), 4u);
    EXPECT_EQ(nearest_pixels_of(truths[0].box), cv::Rect({}, centre));
  }
}

TEST(MixedSample, CoversPastedObjectsAndGreyAreDrawnFromTheirOwnStreams) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, in_the_middle);
  AugmentOptions covers = unchanging(), pastes = unchanging(), greys = unchanging();
  covers.cutout = pastes.copy_paste = 1;
  greys.grey = 0.5f;
  for (uint64_t i = 0; i < 8; ++i) {
    const MixedSample own = put_together(dataset, unchanging(), i, 3);
    Random cutout = stream_of(Purpose::cutout, i);
    cv::Mat covered = own.rgb.clone();
    for (const cv::Rect& cover : draw_cutout(cutout, covers, flat_input))
      covered(cover).setTo(cv::Scalar::all(fill_value));
    EXPECT_EQ(cv::norm(put_together(dataset, covers, i, 3).rgb, covered, cv::NORM_INF), 0);

    Random paste = stream_of(Purpose::paste, i);
    std::vector<PlacedImage> images;
    std::vector<Truth> truths = own.truths;
    const ObjectPaster paster(dataset, pastes);
    paster(paste, {}, flat_input, images, truths);
    expect_same_truths(put_together(dataset, pastes, i, 3).truths, truths);

    Random pixels = stream_of(Purpose::pixels, i);
    cv::Mat planes[3];
    cv::split(put_together(dataset, greys, i, 3).rgb, planes);
    const bool is_grey = cv::norm(planes[0], planes[2], cv::NORM_INF) == 0;
    EXPECT_EQ(is_grey, draw_pixels(pixels, greys).grey) << i;
  }
}

TEST(MixedSample, UnderCutmixAnObjectStaysAsLongAsMinVisibleOfItDoes) {
  const Dataset dataset = numbered_pictures(test_folder(), 5, in_the_middle);
  const uint32_t others[] = {0, 1, 2, 4};
  AugmentOptions options = unchanging();
  options.cutmix = 1;
  options.cutmix_size = {0.3f, 0.9f};
  options.min_visible = 0.3f;
  options.cutout_covered = 0.1f;  // the rule of cutout is another
  const cv::Rect2f own(0.3f * 160, 0.25f * 96, 0.3f * 160, 0.45f * 96);
  ImageCache cache(dataset, room_for_all, {});
  SampleMaker maker(dataset, options, cache);
  int kept = 0, dropped = 0;
  for (uint64_t i = 0; i < 60; ++i) {
    MixedSample sample;
    maker.make({5, 0, i, 3, false, others}, flat_input, sample.rgb.data, sample.truths);
    Random cut = stream_of(Purpose::cutmix, i);
    ASSERT_TRUE(cut.chance(1));
    const cv::Rect2f part = draw_rectangle(cut, options.cutmix_size, flat_input);
    const float covered = (part & own).area() / own.area();
    if (std::abs(covered - 0.7f) < 0.01f) continue;
    const bool is_there = std::any_of(sample.truths.begin(), sample.truths.end(),
                                      [](const Truth& truth) { return truth.class_id == 3; });
    EXPECT_EQ(is_there, covered < 0.7f) << covered << " of it are covered";
    kept += covered > 0.2f && covered < 0.7f;
    dropped += covered > 0.7f;
  }
  EXPECT_GT(kept, 0);
  EXPECT_GT(dropped, 0);
}

}  // namespace
}  // namespace brightnet
