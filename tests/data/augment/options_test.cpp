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
  for (const char* text : {"mosaic: 1.5", "jitter: 0.5", "saturation: 0.5", "hue: 0.6", "resize: 0.9",
                           "flip: -1", "mosaics: 1"}) {
    EXPECT_THROW(parse(text), InputError) << text;
  }
}

}  // namespace
}  // namespace brightnet
