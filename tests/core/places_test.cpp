// Folders of the user and of the installation.
#include <filesystem>

#include <gtest/gtest.h>

#include "core/cache_folder.h"
#include "core/resource_folder.h"
#include "tests/environment.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

TEST(CacheFolder, IsBelowItsVariableOrTheHome) {
  testing::Environment environment;
  environment.set("HOME", "/home/u");
  environment.set("XDG_CACHE_HOME", "/cache");
  EXPECT_EQ(cache_folder(), "/cache/brightnet");
  environment.set("XDG_CACHE_HOME", "");
  EXPECT_EQ(cache_folder(), "/home/u/.cache/brightnet");
  environment.set("XDG_CACHE_HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), "/home/u/.cache/brightnet");
  environment.set("HOME", std::nullopt);
  EXPECT_EQ(cache_folder(), "");
}

TEST(ResourceFolder, OfAProgramIsThatOfItsInstallationElseConfigsBesideIt) {
  const fs::path prefix = fs::canonical(::testing::TempDir()) / "resources",
                 program = prefix / "bin/brightnet";
  fs::remove_all(prefix);
  fs::create_directories(prefix / "bin");
  EXPECT_EQ(resource_folder_of(program), "");
  fs::create_directories(prefix / "bin/configs/models");
  EXPECT_EQ(resource_folder_of(program), prefix / "bin/configs");
  fs::create_directories(prefix / "share/brightnet");
  EXPECT_EQ(resource_folder_of(program), prefix / "bin/configs") << "it has no models";
  fs::create_directories(prefix / "share/brightnet/models");
  EXPECT_EQ(resource_folder_of(program), prefix / "share/brightnet");
  fs::remove_all(prefix);
}

}  // namespace
}  // namespace brightnet
