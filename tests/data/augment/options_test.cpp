#include "data/augment/options.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

AugmentOptions parse(const std::string& text) {
  AugmentOptions options;
  read_config(YamlDocument::parse(text, "a.yaml").root(), options);
  return options;
}

TEST(AugmentOptions, ReadsItsKeysAndKeepsTheDefaultsOfTheRest) {
  const AugmentOptions options = parse("mosaic: 0.5\nhue: 0.02\nletterbox: true\nresize: 1.5");
  EXPECT_FLOAT_EQ(options.mosaic, 0.5f);
  EXPECT_FLOAT_EQ(options.hue, 0.02f);
  EXPECT_TRUE(options.letterbox);
  EXPECT_FLOAT_EQ(options.resize, 1.5f);
  EXPECT_FLOAT_EQ(options.jitter, AugmentOptions{}.jitter);
}

TEST(AugmentOptions, RefusesWhatMakesNoSense) {
  for (const char* text :
       {"mosaic: 1.5", "jitter: 0.5", "saturation: 0.5", "hue: 0.6", "resize: 0.9", "flip: -1", "mosaics: 1",
        "rotate: 181", "shear: 31", "perspective: 0.01", "scale: 1", "blur_sigma: [2, 1]",
        "blur_sigma: [0, 1]", "noise_sigma: [1, 2, 3]", "cutout_size: {}", "cutmix_size: [0.1, two]",
        "noise_sigma: [1, nan]", "cutout_count: 0", "warped_boxes: round"}) {
    EXPECT_THROW(parse(text), InputError) << text;
  }
}

// 0.001 as a float is a little more than 0.001 as a double.
TEST(AugmentOptions, TakesEachLimitItself) {
  for (const char* text :
       {"jitter: 0.45", "resize: 4", "hue: 0.5", "rotate: 180", "shear: 30", "perspective: 0.001",
        "scale: 0.9", "translate: 0.9", "blur_sigma: 0.1", "cutout_size: 0.01", "cutmix_size: [0.01, 1]"}) {
    EXPECT_NO_THROW(parse(text)) << text;
  }
}

TEST(AugmentOptions, ReadsARangeAsTwoNumbersOrOne) {
  const AugmentOptions options = parse("blur_sigma: [0.25, 3]\nnoise_sigma: 7\nwarped_boxes: corners");
  EXPECT_FLOAT_EQ(options.blur_sigma.low, 0.25f);
  EXPECT_FLOAT_EQ(options.blur_sigma.high, 3);
  EXPECT_FLOAT_EQ(options.noise_sigma.low, 7);
  EXPECT_FLOAT_EQ(options.noise_sigma.high, 7);
  EXPECT_EQ(options.warped_boxes, WarpedBoxes::corners);
  const AugmentOptions again = parse(print_config(options));
  EXPECT_EQ(again.blur_sigma.low, options.blur_sigma.low) << "what is printed is read again";
  EXPECT_EQ(again.cutout_size.high, options.cutout_size.high);
}

TEST(AugmentOptions, SaysWhichValuesARangeMayHave) {
  try {
    parse("mosaic: 1\nnoise_sigma: [5, 400]");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'noise_sigma' has the value 400"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("a.yaml:2"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("within 0 and 127"), std::string::npos) << error.what();
  }
}

// Photographs are never turned by default, and their colours hardly change.
TEST(AugmentOptions, DefaultsAreThoseOfPhotographs) {
  const AugmentOptions options;
  EXPECT_LE(options.hue, 0.02f);
  EXPECT_EQ(
      options.vertical_flip + options.quarter_turns + options.rotate + options.shear + options.perspective,
      0);
  EXPECT_EQ(
      options.blur + options.noise + options.grey + options.cutout + options.cutmix + options.copy_paste, 0);
  EXPECT_FLOAT_EQ(options.whole_images(), 0.1f);
  EXPECT_FLOAT_EQ(parse("mosaic_off: 0.3").whole_images(), 0.3f);
  EXPECT_FLOAT_EQ(parse("mosaic_off: 0").whole_images(), 0);
}

}  // namespace
}  // namespace brightnet
