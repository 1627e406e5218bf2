// What the data set of --data says of itself, beside a configuration that says otherwise of its own.
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

TEST(DataOfTheCommandLine, IsReadAsItSaysAndNotAsTheFileDoes) {
  const SmallRun run;
  DataOptions said = run.load().data;
  said.single_class = true;
  said.include_difficult_in_training = false;
  said.max_pixels = 5'000'000;
  write_atomically(run.config(),
                   "model: model.yaml\ndata: {single_class: false, include_difficult_in_training: true, "
                   "max_pixels: 9000000}\n");
  Overrides overrides;
  overrides.data = said;
  const RunConfig config = load_run_config(run.config(), overrides);
  EXPECT_TRUE(config.data.single_class);
  EXPECT_FALSE(config.data.include_difficult_in_training);
  EXPECT_EQ(config.data.max_pixels, 5'000'000u);
  EXPECT_EQ(config.where("data.single_class"), "--data");
}

}  // namespace
}  // namespace brightnet::testing
