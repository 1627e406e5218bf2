// Runs that are resumed by another number of ranks: the images that batch-norm computes its statistics from.
#include "train/setup/resumed_ranks.h"

#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "train/distributed/solo.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

struct RankOfMany : SoloCommunicator {
  explicit RankOfMany(int count) : count_(count) {}
  int size() const override { return count_; }
  int count_;
};

/// A device on which as much is free as a test wants.
class TightBackend : public cpu::CpuBackend {
 public:
  explicit TightBackend(size_t free) : free_(free) {}
  size_t free_bytes() const override { return free_; }

 private:
  size_t free_;
};

struct ResumedByRanks {
  int micro_batch = 0;
  bool changed = false;
  std::string said;
};

/// A run with batches of 8 whose state was saved by `ranks` ranks with these micro-batches.
class ResumedRanks : public ::testing::Test {
 protected:
  void begin(bool sync_bn, int ranks, int micro_batch) {
    const std::vector<std::string> settings{"train.epochs=1", "train.batch=8",
                                            "train.micro_batch=" + std::to_string(micro_batch),
                                            std::string("train.sync_bn=") + (sync_bn ? "true" : "false")};
    std::filesystem::remove_all(out_);
    RunRequest request;
    request.config = small_.config().string();
    request.overrides.assignments = SmallRun::short_run(settings);
    request.out = out_.string();
    Communicator& solo = Communicator::solo();
    run_training(request, common_device(solo, [] { return "cpu"; }), solo, {});
    change_state(SmallTraining(small_.load(settings), out_, true),
                 [&](RunState& state) { state.ranks = ranks; });
  }
  ResumedByRanks resume(int ranks, std::vector<std::string> settings = {}, bool memory_for_eight = true) {
    RunRequest request;
    request.resuming = true;
    request.resume = out_.string();
    request.overrides.assignments = std::move(settings);
    Communicator& solo = Communicator::solo();
    Preparation run = prepare(request, common_device(solo, [] { return "cpu"; }), solo);
    if (!memory_for_eight) {  // but for four, with all that is loaded
      run.config.train.memory_fraction = 0.09f;
      run.backend =
          std::make_unique<TightBackend>(10 * plan_run(run.config, run.model, *run.backend, 8).memory.peak());
    }
    const RankOfMany communicator(ranks);
    const Logged logged;
    fit_into_memory(run, communicator);
    remark_on_ranks(run, communicator);
    return {run.config.train.micro_batch, run.old->changed, logged.text()};
  }

  SmallRun small_;
  std::filesystem::path out_ = small_.folder() / "out";
};

bool warns_of_statistics(const ResumedByRanks& run) {
  return run.said.find("Batch-norm computed its statistics from") != std::string::npos;
}

TEST_F(ResumedRanks, ThatShareTheirStatisticsKeepTheirImages) {
  begin(true, 2, 4);
  for (const auto& [ranks, micro_batch] : {std::pair(1, 8), {2, 4}, {4, 2}, {8, 1}}) {
    const ResumedByRanks run = resume(ranks);
    EXPECT_EQ(run.micro_batch, micro_batch) << ranks;
    EXPECT_EQ(run.changed, ranks != 2) << "the run goes on with it";
    EXPECT_FALSE(warns_of_statistics(run)) << run.said;
    EXPECT_EQ(run.said.empty(), ranks == 2) << run.said;
  }
  EXPECT_NE(resume(1).said.find("The run had 2 ranks when its state was saved, and has 1 now"),
            std::string::npos);
}

TEST_F(ResumedRanks, AreWarnedOfOtherStatisticsThatAreAskedFor) {
  begin(true, 2, 4);
  const ResumedByRanks run = resume(1, {"train.micro_batch=4"});
  EXPECT_EQ(run.micro_batch, 4);
  EXPECT_NE(run.said.find("from 8 images when the state was saved, and from 4 now"), std::string::npos)
      << run.said;
  EXPECT_NE(run.said.find("--set train.micro_batch=8 restores that"), std::string::npos) << run.said;
}

TEST_F(ResumedRanks, AreWarnedWhereThereIsNoMemoryForTheSameStatistics) {
  begin(true, 2, 4);
  const ResumedByRanks run = resume(1, {}, false);
  EXPECT_EQ(run.micro_batch, 4);
  EXPECT_TRUE(warns_of_statistics(run)) << run.said;
}

TEST_F(ResumedRanks, WithStatisticsOfTheirOwnAreWarnedOfFewerImages) {
  begin(false, 1, 8);
  const ResumedByRanks run = resume(2);
  EXPECT_EQ(run.micro_batch, 4) << "the whole part of a rank";
  EXPECT_NE(run.said.find("from 8 images when the state was saved, and from 4 now"), std::string::npos)
      << run.said;
  EXPECT_EQ(run.said.find("restores that"), std::string::npos) << "a rank has no eight: " << run.said;
  begin(false, 2, 4);
  EXPECT_EQ(resume(1).micro_batch, 4);
  EXPECT_FALSE(warns_of_statistics(resume(1)));
}

TEST_F(ResumedRanks, OfARunOfAnEarlierVersionAreNotKnown) {
  begin(true, 0, 4);
  const ResumedByRanks run = resume(1);
  EXPECT_EQ(run.micro_batch, 4);
  EXPECT_EQ(run.said, "");
}

}  // namespace
}  // namespace brightnet::testing
