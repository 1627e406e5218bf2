// brightnet compare, on runs of the program itself.
#include <regex>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

TEST(CompareRuns, PutsThemSideBySideAndReplacesNoPictureUnasked) {
  const SmallRun run;
  const auto train = [&](std::vector<std::string> more, const std::string& rate) {
    more.insert(more.begin(), {"train", "run.yaml", "--out"});
    return run_program(with_settings(more, SmallRun::short_run({"optimizer.rate=" + rate})), run.folder());
  };
  ASSERT_EQ(train({"a"}, "0.02").code, 0);
  ASSERT_EQ(train({"b", "--no-graph"}, "0.01").code, 0);
  fs::remove_all(run.folder() / "b/state");
  const std::vector<std::string> words{"compare", "a", "b/", "--json", "all.json"};
  const ProgramResult compared = run_program(words, run.folder());
  ASSERT_EQ(compared.code, 0) << compared.err;
  for (const char* part : {"optimizer.rate", "0.02", "0.01", "images/s", "b/state/state.safetensors"})
    EXPECT_NE(compared.out.find(part), std::string::npos) << "'" << part << "' is not in: " << compared.out;
  EXPECT_TRUE(std::regex_search(compared.out, std::regex("train\\.graph +true +false"))) << compared.out;
  EXPECT_EQ(compared.out.find("train.epochs"), std::string::npos) << compared.out;
  const auto json = nlohmann::json::parse(read_file(run.folder() / "all.json"));
  ASSERT_EQ(json.at("runs").size(), 2u);
  EXPECT_EQ(json.at("runs")[1].at("epochs"), 2);
  EXPECT_GT(json.at("runs")[0].at("weights_bytes"), 1000);
  EXPECT_GT(json.at("runs")[0].at("seconds"), 0);
  const std::string picture = read_file(run.folder() / "compare.png");
  EXPECT_GT(picture.size(), 1000u);
  const std::string axis = "minutes of training";
  EXPECT_EQ(read_file(run.folder() / "compare.html").find(axis), std::string::npos);
  ASSERT_EQ(run_program({"compare", "a", "--over", "minutes", "--out", "m.html"}, run.folder()).code, 0);
  EXPECT_NE(read_file(run.folder() / "m.html").find(axis), std::string::npos);

  fs::create_directories(run.folder() / "detect");
  std::vector<std::string> more = words;
  more.insert(more.end(), {"detect", "data"});
  const ProgramResult again = run_program(more, run.folder());
  EXPECT_EQ(again.code, 0) << "its own files it replaces: " << again.err;
  EXPECT_NE(again.err.find("Skipped, as no run: detect, data."), std::string::npos) << again.err;
  EXPECT_EQ(again.out, compared.out);
  EXPECT_EQ(run_program({"compare", "a", "gone"}, run.folder()).code, 2);
  EXPECT_EQ(run_program({"compare", "data"}, run.folder()).code, 2);

  write_atomically(run.folder() / "compare.html", "somebody's own");
  const ProgramResult refused = run_program(words, run.folder());
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("--force"), std::string::npos) << refused.err;
  EXPECT_EQ(read_file(run.folder() / "compare.html"), "somebody's own");
  EXPECT_EQ(run_program({"compare", "a", "--force"}, run.folder()).code, 0);
  EXPECT_EQ(run_program({"compare"}, run.folder()).code, 2);
}

}  // namespace
}  // namespace brightnet::testing
