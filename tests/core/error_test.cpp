#include "core/error.h"

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

using std::string;

TEST(Error, MessageIsOneParagraphOfWhatWhereAndRemedy) {
  EXPECT_STREQ(InputError("the key is unknown", "a.yaml:3", "Remove it.").what(),
               "a.yaml:3: the key is unknown. Remove it.");
  EXPECT_STREQ(InputError("the key is unknown").what(), "the key is unknown.");
  EXPECT_STREQ(InputError("is it there?", "", "Look").what(), "is it there? Look.");
  EXPECT_STREQ(DeviceError("no GPU here.", "", "").what(), "no GPU here.");
}

TEST(Error, CarriesTheProcessExitCode) {
  EXPECT_EQ(static_cast<int>(InputError("x").code()), 2);
  EXPECT_EQ(static_cast<int>(DeviceError("x").code()), 3);
  EXPECT_EQ(static_cast<int>(Error(ExitCode::interrupted, "x", "", "").code()), 4);
}

TEST(Error, WhatTheMachineHasNoMoreOfIsNoBug) {
  EXPECT_EQ(describe_internal(std::bad_alloc()).find("bug"), std::string::npos);
  EXPECT_NE(describe_internal(std::bad_alloc()).find("no more memory"), std::string::npos);
  const std::system_error refused(std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_NE(describe_internal(refused).find("no more threads"), std::string::npos);
  EXPECT_EQ(code_of_internal(std::bad_alloc()), ExitCode::input);
  EXPECT_EQ(code_of_internal(refused), ExitCode::input);
  const std::runtime_error opencvs(
      "OpenCV(4.6.0) alloc.cpp:73: error: (-4:Insufficient memory) Failed to allocate 3072 bytes");
  EXPECT_EQ(code_of_internal(opencvs), ExitCode::input);
  EXPECT_NE(describe_internal(opencvs).find("no more memory"), std::string::npos);
  EXPECT_EQ(code_of_internal(std::out_of_range("seven")), ExitCode::internal);
  EXPECT_EQ(describe_internal(std::out_of_range("seven")),
            "internal error: seven. This is a bug in brightnet; please report it.");
}

// Wherever the standard library meets a link to itself, a folder that may not be read or a disk that is gone.
TEST(Error, AFileThatCannotBeUsedIsNoBug) {
  const std::filesystem::filesystem_error loop(
      "cannot get status", "data/loop", std::make_error_code(std::errc::too_many_symbolic_link_levels));
  EXPECT_EQ(code_of_internal(loop), ExitCode::input);
  EXPECT_EQ(
      describe_internal(loop),
      "data/loop: this file or folder cannot be used: Too many levels of symbolic links. Check the path, and "
      "that you may read and write there.");
  const std::filesystem::filesystem_error busy(
      "cannot open", "data", std::make_error_code(std::errc::resource_unavailable_try_again));
  EXPECT_EQ(describe_internal(busy).find("threads"), std::string::npos) << describe_internal(busy);
}

TEST(Error, EditDistanceCountsSingleCharacterEdits) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", ""), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("epoch", "epochs"), 1);
  EXPECT_EQ(edit_distance("ab", "ba"), 2);
  EXPECT_EQ(edit_distance("RBC", "rbc"), 0);
}

TEST(Error, NearestWordIsASlipOfThePenOrNothing) {
  const std::vector<string> known{"size", "batch", "epochs", "precision"};
  EXPECT_EQ(nearest_word("epoch", known), "epochs");
  EXPECT_EQ(nearest_word("presicion", known), "precision");
  EXPECT_EQ(nearest_word("siez", known), "size");
  EXPECT_EQ(nearest_word("warmup", known), "");
  EXPECT_EQ(nearest_word("epoch", std::vector<string>{}), "");
  const std::vector<string> options = {"--val", "--shear", "--weights"};
  EXPECT_EQ(nearest_word("--wieghts", options), "--weights");
  EXPECT_EQ(nearest_word("weights", options), "--weights");
  EXPECT_EQ(nearest_word("--all", options), "");
  EXPECT_EQ(nearest_word("--threads", options), "");
}

TEST(Error, AFailedCheckIsALogicErrorThatNamesItsPlace) {
  EXPECT_NO_THROW(BRIGHTNET_CHECK(1 + 1 == 2, "arithmetic"));
  try {
    BRIGHTNET_CHECK(1 + 1 == 3, "arithmetic is broken");
    FAIL();
  } catch (const std::logic_error& e) {
    const string text = e.what();
    EXPECT_NE(text.find("arithmetic is broken"), string::npos) << text;
    EXPECT_NE(text.find("1 + 1 == 3"), string::npos) << text;
    EXPECT_NE(text.find("error_test.cpp"), string::npos) << text;
  }
}

}  // namespace
}  // namespace brightnet
