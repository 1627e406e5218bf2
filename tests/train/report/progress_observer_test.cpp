// What a run says of its progress, from one process to the next.
#include <gtest/gtest.h>

#include "tests/logged.h"
#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

TEST(ProgressObserver, AResumedRunShowsItsLastScoresUntilThereAreNewOnes) {
  const SmallRun run;
  // Of three epochs the first and the last are evaluated.
  const auto of_epochs = [&](const std::string& epochs) {
    return run.load({"train.epochs=" + epochs, "evaluate.every=5", "train.average=0"});
  };
  SmallTraining first(of_epochs("1"), run.folder() / "out");
  first.watched_by = WatchedBy::all;
  ASSERT_EQ(first.make().run(), TrainingEnd::finished);
  SmallTraining longer(of_epochs("3"), first.folder.path(), true);
  Trainer trainer = longer.make();
  trainer.resume();
  const Logged logged;
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  const std::string& said = logged.text();
  const size_t second = said.find("epoch 2/3  loss");
  ASSERT_NE(second, std::string::npos) << said;
  const std::string line = said.substr(second, said.find('\n', second) - second);
  EXPECT_NE(line.find("AP50 "), std::string::npos) << line;
  EXPECT_NE(line.find(" (epoch 1)"), std::string::npos) << line;
}

}  // namespace
}  // namespace brightnet::testing
