#include "core/shared_library.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(SharedLibrary, CallsAFunctionOfALibraryThatIsThere) {
  const SharedLibrary library("libm.so.6");
  ASSERT_TRUE(library.loaded()) << library.problem();
  EXPECT_EQ(library.problem(), "");
  EXPECT_TRUE(std::filesystem::exists(library.path())) << library.path();
  auto* cosine = library.function<double(double)>("cos");
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.5), std::cos(0.5));
  EXPECT_EQ(library.symbol("no_such_function"), nullptr);
}

TEST(SharedLibrary, SaysWhyAMissingLibraryIsNotLoaded) {
  const SharedLibrary library("libno_such_thing.so.7", {"/no/such/folder"});
  EXPECT_FALSE(library.loaded());
  EXPECT_NE(library.problem().find("libno_such_thing.so.7"), std::string::npos) << library.problem();
  EXPECT_EQ(library.path(), "");
  EXPECT_EQ(library.symbol("cos"), nullptr);
}

TEST(SharedLibrary, AFileThatDoesNotLoadIsNamed) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / "SharedLibrary_AFileThatDoesNotLoadIsNamed";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libbroken_thing.so.1") << "this is no library";
  const SharedLibrary library("libbroken_thing.so.1", {folder.string()});
  EXPECT_FALSE(library.loaded());
  EXPECT_NE(library.problem().find(folder.string()), std::string::npos) << library.problem();
}

TEST(SharedLibrary, LooksIntoTheFoldersGiven) {
  const std::string real = SharedLibrary("libm.so.6").path();
  const auto folder = std::filesystem::path(::testing::TempDir()) / "SharedLibrary_LooksIntoTheFoldersGiven";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(real, folder / "libmath_of_the_test.so.1");
  const SharedLibrary library("libmath_of_the_test.so.1", {"/no/such/folder", folder.string()});
  ASSERT_TRUE(library.loaded()) << library.problem();
  EXPECT_NE(library.symbol("cos"), nullptr);
}

TEST(SharedLibrary, FindsTheFolderOfPythonsPackagesThatItWasInstalledInto) {
  EXPECT_EQ(python_packages_above("/home/u/venv/lib/python3.11/site-packages/brightnet/bin/brightnet"),
            "/home/u/venv/lib/python3.11/site-packages");
  EXPECT_EQ(
      python_packages_above("/usr/local/lib/python3.11/dist-packages/brightnet/lib/libbrightnet.so.0.1"),
      "/usr/local/lib/python3.11/dist-packages");
  EXPECT_EQ(python_packages_above("/usr/local/bin/brightnet"), "");
  EXPECT_EQ(python_packages_above("site-packages"), "site-packages");
  EXPECT_EQ(python_packages_above(""), "");
  EXPECT_EQ(python_packages(), "");
}

}  // namespace
}  // namespace brightnet
