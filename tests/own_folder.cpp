// Linked into every test program: it finds the models as the program does, and ::testing::TempDir() is a folder of the
// process, and within a test one of the test, so that tests which give their files the same names do not meet there.
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "core/resource_folder.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Makes a folder in TempDir() and puts it in that place, until it is destroyed.
class OwnFolder {
 public:
  OwnFolder() : around_(::testing::TempDir()) {
    folder_ = (fs::path(around_) / "test.XXXXXX").string();
    if (!::mkdtemp(folder_.data()) || ::setenv("TEST_TMPDIR", folder_.c_str(), 1) != 0)
      ADD_FAILURE() << "no folder could be made: " << folder_;
  }
  ~OwnFolder() { ::setenv("TEST_TMPDIR", around_.c_str(), 1); }
  void remove() const {
    std::error_code failed;
    fs::remove_all(folder_, failed);
  }

 private:
  std::string around_, folder_;
};

/// What a failed test wrote is kept, to be looked at.
class OwnFolders : public ::testing::EmptyTestEventListener {
 public:
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    set_resource_folder(resource_folder_of(fs::read_symlink("/proc/self/exe")));
    of_program_.emplace();
  }
  void OnTestStart(const ::testing::TestInfo&) override { of_test_.emplace(); }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (!test.result()->Failed()) of_test_->remove();
    of_test_.reset();
  }
  void OnTestProgramEnd(const ::testing::UnitTest& program) override {
    if (!program.Failed()) of_program_->remove();
    of_program_.reset();
    const int skipped = program.skipped_test_count();
    if (skipped > 0 && skipped == program.test_to_run_count() && !program.Failed())
      std::puts("All were skipped.");  // ctest calls it skipped, too (brightnet_discover_suites())
  }

 private:
  std::optional<OwnFolder> of_program_, of_test_;
};

// Google Test owns it.
[[maybe_unused]] const bool is_listening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new OwnFolders);
  return true;
}();

}  // namespace
}  // namespace brightnet::testing
