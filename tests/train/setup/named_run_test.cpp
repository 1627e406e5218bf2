#include "train/setup/named_run.h"

#include "tests/train/small_run.h"
#include "train/setup/data_sets.h"

namespace brightnet::testing {
namespace {

TEST(NamedRun, ValidationImagesAreTakenFromThoseOfTrainingAndTestImagesStayTestImages) {
  const SmallRun run(20, 4);
  const std::filesystem::path data = run.folder() / "data";
  for (const char* files : {"images", "labels"})
    std::filesystem::rename(data / files / "val", data / files / "test");
  write_atomically(data / "data.yaml",
                   std::string("train: images/train\ntest: images/test\nnames: [circle, square]\n"));
  const Configuration named{.model = (run.folder() / "model.yaml").string(), .data = data.string()};
  const RunConfig config = NamedRun(named).load();
  const RunData divided = read_run_data(config);
  EXPECT_EQ(divided.training.images.size() + divided.validation.images.size(), 20u);
  EXPECT_GE(divided.validation.images.size(), 1u);
  EXPECT_EQ(read_split(config, Split::test).images.size(), 4u);
  EXPECT_NE(NamedRun::evaluated(named, Split::val).divided_place(), "");
  EXPECT_EQ(NamedRun::evaluated(named, Split::test).divided_place(), "") << "those are all evaluated";
}

}  // namespace
}  // namespace brightnet::testing
