// scripts/compare, with a stand-in for PyTorch: the two programs in turn, and their table.
#include <fstream>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* stand_in = R"(#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" = --json ] && file=$2
  shift
done
cat > "$file" <<END
{"results": [{"framework": "Torch", "precision": "fp32", "images_per_s": 0.5,
              "forward_ms": 1, "backward_ms": null, "update_ms": null, "peak_bytes": null}]}
END
)";

TEST(Compare, RunsBothProgramsInTurnAndPrintsTheRatio) {
  if (Program("python3", {"--version"}, ::testing::TempDir()).wait().code != 0)
    GTEST_SKIP() << "there is no python3";
  const SmallRun run;
  const fs::path python = run.folder() / "python";
  write_atomically(python, std::string(stand_in));
  fs::permissions(python, fs::perms::owner_all);
  const ProgramResult compared =
      Program((source_dir() / "scripts/compare").string(),
              {"model.yaml", "--size", "64", "--batch", "2", "--precision", "fp32", "--rounds", "2",
               "--seconds", "0.05", "--recompute", "--brightnet", program().string(), "--python",
               python.string(), "--json", "all.json"},
              run.folder())
          .wait();
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_NE(compared.err.find("round 2 of 2: PyTorch"), std::string::npos) << compared.err;
  EXPECT_NE(compared.out.find("x as fast"), std::string::npos) << compared.out;
  EXPECT_NE(compared.out.find("step, brightnet recomputes activations, median"), std::string::npos)
      << compared.out;
  EXPECT_NE(read_file(run.folder() / "all.json").find("\"round\": 2"), std::string::npos);
  EXPECT_NE(read_file(run.folder() / "all.json").find("\"recompute\": true"), std::string::npos);
}

}  // namespace
}  // namespace brightnet::testing
