// What ranks that differ are told: what somebody can put right.
#include "tests/train/distributed/thread_ranks.h"
#include "tests/train/small_run.h"
#include "train/distributed/agreement.h"
#include "train/distributed/solo.h"
#include "train/setup/preparation.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

Preparation prepared_rank(const SmallRun& run, const std::vector<std::string>& settings) {
  RunRequest request;
  request.config = run.config().string();
  request.overrides.assignments = SmallRun::short_run(settings);
  Communicator& alone = Communicator::solo();
  return prepare(request, common_device(alone, [] { return "cpu"; }), alone);
}

std::string difference_of_ranks(const SmallRun& run, const std::vector<std::string>& settings_of_other) {
  Preparation one = prepared_rank(run, {}), other = prepared_rank(run, settings_of_other);
  return on_ranks(2, [&](Communicator& ranks) -> std::string {
    try {
      compare_ranks(ranks, ranks.leads() ? one : other);
      return "";
    } catch (const SharedError& error) {
      return error.what();
    }
  })[1];
}

// The anchors that are fitted to the boxes differ, too, and whoever reads of the configuration compares YAML files.
TEST(CompareRanks, NamesTheDataWhereAFileOfThemIsMissing) {
  const SmallRun run;
  const fs::path other = run.folder() / "other";
  fs::copy(run.folder() / "data", other, fs::copy_options::recursive);
  const std::string root = "data.root=" + other.string();
  EXPECT_EQ(difference_of_ranks(run, {root}), "") << "a copy elsewhere is the same";
  for (const auto& label : fs::directory_iterator(other / "labels/train")) {
    if (fs::file_size(label) > 0) write_atomically(label.path(), std::string("0 0.5 0.5 0.9 0.9\n"));
  }
  ASSERT_NE(prepared_rank(run, {}).model.yaml(), prepared_rank(run, {root}).model.yaml());
  const std::string said = difference_of_ranks(run, {root});
  EXPECT_NE(said.find("has another training split than rank 0"), std::string::npos) << said;
}

TEST(CompareRanks, NamesTheConfigurationWhereItReadsOtherData) {
  const SmallRun run;
  for (const char* setting : {"data.fraction=0.5", "train.seed=7", "optimizer.rate=0.01"}) {
    const std::string said = difference_of_ranks(run, {setting});
    EXPECT_NE(said.find("has another configuration than rank 0"), std::string::npos) << setting << said;
  }
}

}  // namespace
}  // namespace brightnet::testing
