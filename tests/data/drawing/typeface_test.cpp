#include "data/drawing/typeface.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/resource_folder.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

cv::Mat drawn(const std::string& words, double height = 20, bool bold = false) {
  cv::Mat rgb(60, 400, CV_8UC3, cv::Scalar(255, 255, 255));
  draw_text(rgb, words, {10, 30}, height, {0, 0, 0}, bold);
  return rgb;
}

/// Bounding box of everything that is darker than half.
cv::Rect inked_part(const cv::Mat& picture) {
  int left = picture.cols, right = -1, top = picture.rows, bottom = -1;
  for (int y = 0; y < picture.rows; ++y) {
    for (int x = 0; x < picture.cols; ++x) {
      if (picture.at<cv::Vec3b>(y, x)[1] > 128) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  return {left, top, right - left + 1, bottom - top + 1};
}

TEST(Typeface, CapitalsHaveTheHeightThatWasAskedFor) {
  for (const double height : {8.0, 14.0, 20.0, 32.0})
    EXPECT_NEAR(inked_part(drawn("H", height)).height, height, 1.2);
  const cv::Rect letters = inked_part(drawn("HHHH"));
  EXPECT_NEAR(letters.x, 10, 3);
  EXPECT_NEAR(letters.y + letters.height / 2.0, 30, 1.2);
  EXPECT_NEAR(letters.width, text_width("HHHH", 20), 6);
  EXPECT_GT(text_width("HHHH", 20, true), text_width("HHHH", 20)) << "bold letters are wider";
}

TEST(Typeface, LettersAreAntiAliased) {
  const cv::Mat picture = drawn("SO");
  int partly = 0;
  for (int y = 0; y < picture.rows; ++y) {
    for (int x = 0; x < picture.cols; ++x) {
      const int value = picture.at<cv::Vec3b>(y, x)[1];
      partly += value > 20 && value < 235;
    }
  }
  EXPECT_GT(partly, 30);
}

TEST(Typeface, LettersOfManyScriptsDiffer) {
  const std::vector<std::string> words{"Käfer", "Kafer", "кошка", "собака", "Ελλάδα", "???", "猫", "犬"};
  for (size_t a = 0; a < words.size(); ++a) {
    ASSERT_EQ(shown_name(words[a], 3), words[a])
        << "a package of scripts/setup is missing: fonts-dejavu-core, "
           "fonts-droid-fallback";
    for (size_t b = 0; b < a; ++b)
      EXPECT_GT(cv::norm(drawn(words[a]), drawn(words[b]), cv::NORM_INF), 0) << words[a] << ' ' << words[b];
  }
  EXPECT_EQ(typeface_problem(words), "");
}

TEST(Typeface, ANameThatNoTypefaceHasIsANumberAndSaidSo) {
  const std::string nobody = "\U000F1234";  // a private character
  EXPECT_EQ(shown_name(nobody, 7), "class 7");
  const std::string problem = typeface_problem({"cat", nobody});
  EXPECT_NE(problem.find("is class 1"), std::string::npos) << problem;
  EXPECT_NE(problem.find("Install"), std::string::npos) << problem;
  std::vector<std::string> names{"cat"};
  for (const char* name : {"\U000F1231", "\U000F1232", "\U000F1233", "\U000F1234", "\U000F1235"})
    names.emplace_back(name);
  const std::string many = typeface_problem(names);
  EXPECT_NE(many.find("is class 3 and 2 more."), std::string::npos) << many;
}

TEST(Typeface, BrokenBytesAndControlsDoNoHarm) {
  for (const std::string words : {"", "\xC3(", "\xFF\xE7\x8C", "tab\there\n", "\u200B"}) {
    EXPECT_GE(text_width(words, 10), 0);
    drawn(words);
  }
  EXPECT_EQ(text_width("a\n\u200Bb", 10), text_width("ab", 10));
}

TEST(Typeface, ShortenedWordsFitAndEndInAnEllipsis) {
  EXPECT_EQ(shortened("short", 400, 10), "short");
  const std::string words = shortened("кошка и собака на диване", 100, 10);
  EXPECT_LE(text_width(words, 10), 100);
  EXPECT_TRUE(words.ends_with("…")) << words;
  EXPECT_TRUE(words.starts_with("кош")) << "whole characters: " << words;
}

TEST(Typeface, WhatLiesOutsideThePictureIsCut) {
  cv::Mat rgb(20, 20, CV_8UC3, cv::Scalar(255, 255, 255));
  draw_text(rgb, "far too long for this", {-30, 2}, 12, {0, 0, 0});
  draw_text(rgb, "outside", {400, 400}, 12, {0, 0, 0});
}

// In a process of its own each time: typefaces are looked for once.
TEST(Typeface, AWheelsOwnServeASystemWithoutFonts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const fs::path folder = fs::path(::testing::TempDir()) / "Typeface_AWheelsOwnServeASystemWithoutFonts";
  const auto problem = [&] {
    ::setenv("FONTCONFIG_FILE", "/no/such/file", 1);
    set_resource_folder(folder);
    std::exit(typeface_problem({"K\u00e4fer"}).empty() ? 0 : 1);
  };
  fs::remove_all(folder);
  fs::create_directories(folder / "fonts");
  EXPECT_EXIT(problem(), ::testing::ExitedWithCode(1), "^$");
  fs::copy_file("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", folder / "fonts/DejaVuSans.ttf");
  EXPECT_EXIT(problem(), ::testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace brightnet
