// `brightnet data` as a user meets it: exit codes, and what is said.
#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Data : public ::testing::Test {
 protected:
  ProgramResult run(const std::vector<std::string>& arguments) {
    return run_program(arguments, run_.folder());
  }
  static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  SmallRun run_{6, 2};
};

TEST_F(Data, CheckFailsWhereTrainingWouldStop) {
  ProgramResult result = run({"data", "check", "run.yaml"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(says(result.out, "No problems found.")) << result.out;
  fs::rename(run_.folder() / "data/labels", run_.folder() / "data/elsewhere");
  result = run({"data", "check", "run.yaml"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.out, "none of the 6 images has a label file")) << result.out;
  EXPECT_TRUE(says(result.out, "Problems found: training would stop")) << result.out;
}

TEST_F(Data, AnchorsAreAlwaysAsManyDifferentOnesAsTheModelHas) {
  for (const auto& entry : fs::directory_iterator(run_.folder() / "data/labels/train"))
    write_atomically(entry.path(), std::string("0 0.5 0.5 0.25 0.25\n"));
  ProgramResult result = run({"data", "anchors", "run.yaml"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(says(result.out, "3 shapes added to the 1 that the data has")) << result.out;
  result = run({"data", "anchors", "run.yaml", "--size", "1"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.err, "no room for 4 different anchors")) << result.err;
}

TEST_F(Data, PathsAreSaidWithOneSlash) {
  const ProgramResult result = run({"data", "synth", "made//", "--train", "1", "--val", "1", "--size", "32"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(says(result.err, " made/data.yaml contains")) << result.err;
}

}  // namespace
}  // namespace brightnet::testing
