// Linked into every test program: it finds the models as the program does, and ::testing::TempDir() is a folder of its
// process. ctest runs each test in a process
// of its own and several at a time, so tests of one fixture, which share the names of their files, do not meet there.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/resource_folder.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class OwnFolder : public ::testing::Environment {
 public:
  void SetUp() override {
    set_resource_folder(resource_folder_of(fs::read_symlink("/proc/self/exe")));
    base_ = ::testing::TempDir();
    std::string folder = (fs::path(base_) / "test.XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder.data()), nullptr) << folder;
    folder_ = folder;
    ASSERT_EQ(::setenv("TEST_TMPDIR", folder.c_str(), 1), 0);
  }
  /// What a failed test wrote is kept, to be looked at.
  void TearDown() override {
    ::setenv("TEST_TMPDIR", base_.c_str(), 1);
    std::error_code failed;
    if (!::testing::UnitTest::GetInstance()->Failed()) fs::remove_all(folder_, failed);
  }

 private:
  std::string base_;
  fs::path folder_;
};

// Google Test owns it.
[[maybe_unused]] const ::testing::Environment* const own_folder =
    ::testing::AddGlobalTestEnvironment(new OwnFolder);

}  // namespace
}  // namespace brightnet::testing
