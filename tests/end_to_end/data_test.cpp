// `brightnet data` as a user meets it: exit codes, and what is said.
#include <algorithm>

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
  static long pictures_in(const fs::path& folder) {
    return std::count_if(fs::directory_iterator(folder), fs::directory_iterator(),
                         [](const auto& entry) { return entry.path().extension() == ".jpg"; });
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
  result = run({"data", "anchors", "run.yaml", "--size", "32", "--count", "1100"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.err, "no room for 1100 different anchors")) << result.err;
  result = run({"data", "anchors", "run.yaml", "--size", "40"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.err, "must be a multiple of 16")) << result.err;
}

TEST_F(Data, PathsAreSaidWithOneSlash) {
  const ProgramResult result = run({"data", "synth", "made//", "--train", "1", "--val", "1", "--size", "32"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(says(result.out, "images written to made. Train on them with: ")) << result.err;
}

TEST_F(Data, ShowWritesASampleAFileAndOneSheet) {
  ProgramResult result = run({"data", "show", "run.yaml", "--count", "3", "--out", "pictures/", "--set",
                              "train.size=64", "--set", "augment.rotate=30"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(says(result.out, "3 samples with ")) << result.err;
  EXPECT_TRUE(says(result.out, "as training augments them: pictures; all on one sheet: pictures/sheet.jpg"))
      << result.err;
  const fs::path folder = run_.folder() / "pictures";
  EXPECT_EQ(pictures_in(folder), 4);
  EXPECT_TRUE(fs::exists(folder / "sheet.jpg"));

  result = run({"data", "show", "run.yaml", "--count", "2", "--split", "val", "--out", "pictures"});
  EXPECT_EQ(result.code, 0) << "what the command wrote it may replace: " << result.err;
  EXPECT_TRUE(says(result.out, "without augmentation")) << result.err;
  EXPECT_EQ(pictures_in(folder), 3) << "and nothing of the first call is left";
}

TEST_F(Data, ShowReplacesNothingOfTheUsers) {
  const fs::path folder = run_.folder() / "pictures";
  ASSERT_EQ(run({"data", "show", "run.yaml", "--count", "1", "--out", "pictures"}).code, 0);
  write_atomically(folder / "sheet.jpg", std::string("mine"));
  ProgramResult result = run({"data", "show", "run.yaml", "--count", "3", "--out", "pictures"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(says(result.err, "changed after `brightnet data show` wrote it")) << result.err;
  EXPECT_EQ(read_file(folder / "sheet.jpg"), "mine");
  EXPECT_EQ(pictures_in(folder), 2) << "nothing was written";
  result = run({"data", "show", "run.yaml", "--split", "nowhere"});
  EXPECT_EQ(result.code, 2);
}

}  // namespace
}  // namespace brightnet::testing
