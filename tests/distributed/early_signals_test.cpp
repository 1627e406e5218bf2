// Signals before ranks are ready to save and stop, or that never are.
#include "tests/distributed/job.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

/// The exit code of a command on two ranks, to which a signal is sent as soon as they are there.
int code_after_early_signal(const SmallRun& run, Words words, int number) {
  words.insert(words.end(), {"--ranks", "2"});
  const Program program(words, run.folder());
  EXPECT_TRUE(wait_until([&] { return ranks_below(program.process()).size() == 2; }));
  program.signal(number);
  return program.wait().code;
}

TEST(EarlySignals, EndRanksAsTheyEndAProcess) {
  prepare_for_ranks();
  const SmallRun run;
  write_small_weights(run);
  const Words train = with_settings({"train", "run.yaml"}, SmallRun::short_run({"train.epochs=4000"}));
  for (const int number : {SIGINT, SIGTERM}) {
    const int of_train = code_after_early_signal(run, train, number);
    EXPECT_TRUE(of_train == 128 + number || of_train == 4) << of_train;
    EXPECT_EQ(code_after_early_signal(run, {"eval", "run.yaml", "--weights", "weights.safetensors"}, number),
              128 + number);
  }
}

}  // namespace
}  // namespace brightnet::testing
