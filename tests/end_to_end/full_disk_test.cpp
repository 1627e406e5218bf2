// A disk that is full: a real one where this process may mount a small file system, which takes root.
#include <fstream>

#include <sys/mount.h>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// A file system of its own, in memory, of so many bytes.
class SmallDisk {
 public:
  SmallDisk(fs::path folder, size_t bytes) : folder_(std::move(folder)) {
    fs::create_directories(folder_);
    const std::string size = "size=" + std::to_string(bytes);
    mounted_ = ::mount("brightnet", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  /// Takes all of the space but so many bytes.
  void fill(size_t free) const {
    const size_t available = fs::space(folder_).available;
    if (available > free) std::ofstream(folder_ / "filling") << std::string(available - free, 'x');
  }
  void empty() const { fs::remove(folder_ / "filling"); }

 private:
  fs::path folder_;
  bool mounted_ = false;
};

class FullDisk : public ::testing::Test {
 protected:
  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
    return found;
  }
  /// Until the program has said this; false after a minute, or when it has ended.
  static bool said(const Program& program, const std::string& words) {
    for (int i = 0; i < 3000; ++i) {
      if (program.err_so_far().find(words) != std::string::npos) return true;
      ::usleep(20000);
    }
    return false;
  }

  SmallRun run_;
};

TEST_F(FullDisk, EndsARunOnlyAtItsEndAndItCanBeResumedWithSpace) {
  const SmallDisk disk(run_.folder() / "disk", 4 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a file system";
  disk.fill(64 << 10);
  const auto train =
      with_settings({"train", "run.yaml", "--out", "disk/out"}, SmallRun::short_run({"train.epochs=3"}));
  const ProgramResult full = run_program(train, run_.folder());
  EXPECT_EQ(full.code, 2) << full.err;
  EXPECT_EQ(count(full.err, "Training goes on"), 1u) << full.err;
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("may need"), std::string::npos) << "said at the start: " << full.err;
  EXPECT_NE(full.err.find("epoch 3/3"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("could not be written: "), std::string::npos) << full.err;
  EXPECT_FALSE(fs::exists(run_.folder() / "disk/out/weights/last.safetensors"));
  EXPECT_EQ(count(full.out, "Last weights: "), 0u) << "they are not there: " << full.err;
  EXPECT_EQ(count(full.out, "brightnet detect"), 0u) << full.err;
}

TEST_F(FullDisk, ThatIsEmptiedInTimeCostsTheRunNothing) {
  const SmallDisk disk(run_.folder() / "disk", 32 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a file system";
  disk.fill(64 << 10);
  const auto train = with_settings({"train", "run.yaml", "--out", "disk/out"},
                                   SmallRun::short_run({"train.epochs=400", "evaluate.every=50"}));
  const Program program(train, run_.folder());
  ASSERT_TRUE(said(program, "Training goes on")) << program.err_so_far();
  disk.empty();
  EXPECT_TRUE(said(program, "written again")) << program.err_so_far();
  program.signal(SIGTERM);
  const ProgramResult stopped = program.wait();
  EXPECT_EQ(stopped.code, 4) << stopped.err;
  for (const char* file : {"weights/last.safetensors", "state/state.safetensors", "metrics.csv"})
    EXPECT_TRUE(fs::exists(run_.folder() / "disk/out" / file)) << file;
  EXPECT_NE(read_file(run_.folder() / "disk/out/train.log").find("Training goes on"), std::string::npos)
      << "the log kept what it could not write";
}

}  // namespace
}  // namespace brightnet::testing
