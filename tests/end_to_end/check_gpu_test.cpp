// scripts/check_gpu, with stand-ins for the GPU, the programs, PyTorch and the sanitizer: it ends in its time though
// a stage hangs, and its last lines say what passed and set the figures beside the goals.
#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* nvidia_smi = R"(#!/bin/sh
echo "Some Card, 580.1"
)";

/// Hears no SIGTERM, like a program that waits for a GPU.
constexpr const char* hanging_sanitizer = R"(#!/bin/sh
trap '' TERM
while :; do sleep 1; done
)";

/// brightnet and gpu_tests: doctor fails, everything else passes.
constexpr const char* runner = R"(#!/bin/sh
[ "$1 $2" = "brightnet doctor" ] && exit 3
[ "$1" = gpu_tests ] && cat tests_say
while [ $# -gt 0 ]; do
  [ "$1" = --kernels ] && kernels=1
  [ "$1" = --recompute ] && recompute=1
  [ "$1" = --json ] && file=$2
  shift
done
[ -n "$file" ] || exit 0
case "$file" in
  */precisions.json) echo '{"results": [{"precision": "bf16", "images_per_s": 100}, {"precision": "fp16", "images_per_s": 110}]}' > "$file"; exit ;;
  */recompute.json) [ -n "$recompute" ] || exit 1
    echo '{"results": [{"precision": "fp16", "images_per_s": 140, "peak_bytes": 30, "recompute": true}]}' > "$file"; exit ;;
  */automatic.json) echo '{"results": [{"precision": "bf16", "images_per_s": 101}]}' > "$file"; exit ;;
esac
if [ -n "$kernels" ]; then
  echo '{"results": [{"kernel": "add", "copy_ratio": 0.9}, {"kernel": "activation forward", "copy_ratio": 0.75},
                      {"kernel": "yolo_detect", "copy_ratio": 0.05}]}' > "$file"
else
  echo '{"results": [{"framework": "brightnet", "precision": "fp16", "images_per_s": 160, "peak_bytes": 40,
                      "forward_ms": null, "backward_ms": null, "update_ms": null, "floor_ratio": null}]}' > "$file"
fi
)";

/// PyTorch's benchmark; everything else is Python's.
constexpr const char* stand_in_for_python = R"(#!/bin/sh
case "$1" in
  */bench_pytorch.py) ;;
  *) exec python3 "$@" ;;
esac
while [ $# -gt 0 ]; do
  [ "$1" = --json ] && file=$2
  shift
done
echo '{"results": [{"framework": "PyTorch 2 eager", "precision": "fp16", "images_per_s": 100, "peak_bytes": 100,
                    "forward_ms": null, "backward_ms": null, "update_ms": null}]}' > "$file"
)";

/// Processes that have this path in their command line.
int processes_of(const std::filesystem::path& program) {
  int count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    std::ifstream in(entry.path() / "cmdline");
    const std::string words{std::istreambuf_iterator<char>(in), {}};
    count += words.find(program.string()) != std::string::npos;
  }
  return count;
}

class CheckGpu : public ::testing::Test {
 protected:
  CheckGpu() {
    fs::create_directories(folder() / "bin");
    program("bin/nvidia-smi", nvidia_smi);
    program("bin/compute-sanitizer", hanging_sanitizer);
    program("run", runner);
    write_atomically(folder() / "tests_say",
                     "[==========] 7 tests from 2 test suites ran. (12 ms total)\n[  PASSED  ] 7 tests.\n");
    program("python", stand_in_for_python);
  }
  fs::path folder() const { return run_.folder(); }
  void program(const std::string& name, const std::string& text) {
    write_atomically(folder() / name, text);
    fs::permissions(folder() / name, fs::perms::owner_all);
  }
  ProgramResult check(const std::vector<std::string>& more, const std::string& variable = "NONE=") {
    std::vector<std::string> words{"PATH=" + (folder() / "bin").string() + ':' + std::getenv("PATH"),
                                   variable,
                                   (source_dir() / "scripts/check_gpu").string(),
                                   "--runner",
                                   (folder() / "run").string(),
                                   "--python",
                                   (folder() / "python").string(),
                                   "--out",
                                   "out"};
    words.insert(words.end(), more.begin(), more.end());
    return Program("env", words, folder()).wait();
  }

 private:
  SmallRun run_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CheckGpu, EndsInItsTimeAndSetsTheFiguresBesideTheGoals) {
  if (Program("python3", {"--version"}, folder()).wait().code != 0) GTEST_SKIP() << "there is no python3";
  const ProgramResult checked =
      check({"--seconds", "11", "--only", "doctor,tests,yolov4,recompute,kernels,memcheck,layers"});
  EXPECT_EQ(checked.code, 3) << "doctor, memcheck, and layers, which had no time" << checked.err;
  for (const char* line :
       {"doctor: FAILED with 3", "Passed: tests yolov4 recompute kernels\n", "Failed: doctor memcheck\n",
        "Not run: layers\n", "PyTorch AMP                 1.60 x  goal >= 1.5 x: reached",
        "PyTorch AMP                0.40 x  goal <= 0.5 x: reached",
        "recomputed: memory over PyTorch AMP    0.30 x  goal <= 0.5 x: reached",
        "recomputed: speed over PyTorch AMP     1.40 x  goal >= 1.3 x: reached",
        "torch.compile             unmeasured", "(activation forward)", " 75.00 %  goal >= 80 %: NOT REACHED",
        "yolo_detect over a copy", "Some Card, 580.1"})
    EXPECT_TRUE(contains(checked.out, line)) << line << "\n" << checked.out;
  EXPECT_TRUE(fs::exists(folder() / "out.tar.gz"));
  EXPECT_EQ(processes_of(folder() / "bin/compute-sanitizer"), 0) << "it went on when its time was over";
}

TEST_F(CheckGpu, ComparesThePrecisionOfAutoWithTheFasterOne) {
  if (Program("python3", {"--version"}, folder()).wait().code != 0) GTEST_SKIP() << "there is no python3";
  const ProgramResult checked = check({"--only", "precisions"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_TRUE(contains(checked.out, "auto's precision (bf16)")) << checked.out;
  EXPECT_TRUE(contains(checked.out, " 0.91 x  goal >= 0.98 x: NOT REACHED")) << checked.out;
}

// Google Test is content when every test skips, as they do where cuDNN cannot be loaded.
TEST_F(CheckGpu, TakesSkippedTestsForFailures) {
  const ProgramResult passed = check({"--only", "tests,full_size"});
  EXPECT_EQ(passed.code, 0) << passed.out << passed.err;
  EXPECT_TRUE(contains(passed.out, "s, 7 tests\n")) << passed.out;
  for (
      const std::string said :
      {"[==========] 7 tests from 2 test suites ran. (12 ms total)\n[  PASSED  ] 6 tests.\n"
       "[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] Convolution.IsLikeTheCpus\n",
       "../../tests/gpu/gpu_device.cpp:21: Skipped\nno driver\n[==========] 7 tests from 2 test suites ran. (0 ms total)\n"
       "[  PASSED  ] 7 tests.\n",
       "[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n", ""}) {
    write_atomically(folder() / "tests_say", said);
    const ProgramResult skipped = check({"--only", "tests"});
    EXPECT_EQ(skipped.code, 1) << said << skipped.out;
    EXPECT_TRUE(contains(skipped.out, "tests: FAILED with 8")) << said << skipped.out;
  }
}

// Compute capability 7.5: what it has not is no failure there, and is one elsewhere.
TEST_F(CheckGpu, AsksNoBf16OfACardThatHasNone) {
  program("run",
          "#!/bin/sh\n[ \"$1\" = gpu_tests ] && cat tests_say && exit\n"
          "case \"$*\" in *bf16*) exit 3 ;; esac\n");
  const std::string
      skipped = "../../tests/gpu/network_test.cpp:107: Skipped\nthe device does not compute in bf16\n\n",
      passed = "[==========] 7 tests from 2 test suites ran. (0 ms total)\n[  PASSED  ] 6 tests.\n";
  write_atomically(folder() / "tests_say", skipped + passed + "[  SKIPPED ] 1 test.\n");
  const auto with_card = [&](const char* capability) {
    program("bin/nvidia-smi", std::string("#!/bin/sh\necho 'Some Card, 580.1, ") + capability + "'\n");
    return check({"--only", "tests,precisions"});
  };
  const ProgramResult old = with_card("7.5");
  EXPECT_EQ(old.code, 0) << old.out << old.err;
  const ProgramResult other = with_card("9.0");
  EXPECT_EQ(other.code, 2) << other.out << other.err;
  EXPECT_TRUE(contains(other.out, "does not compute in bf16")) << "the reason" << other.out;
  const std::string another = "../../tests/gpu/nccl_test.cpp:21: Skipped\nNCCL: none\n\n";
  write_atomically(folder() / "tests_say", skipped + another + passed + "[  SKIPPED ] 2 tests.\n");
  EXPECT_EQ(with_card("7.5").code, 1);
  write_atomically(folder() / "tests_say", skipped + passed + "[  SKIPPED ] 2 tests, listed below:\n");
  EXPECT_EQ(with_card("7.5").code, 1);
}

// Batches of 32 pictures want more, and the tests of large tensors 15 GiB.
TEST_F(CheckGpu, AsksASmallCardForWhatFits) {
  program("run", "#!/bin/sh\necho \"$@\" >> asked\n[ \"$1\" = gpu_tests ] && cat tests_say\nexit 0\n");
  const auto with_card = [&](const char* mebibytes) {
    program("bin/nvidia-smi",
            std::string("#!/bin/sh\necho 'Some Card, 580.1, ") + mebibytes + " MiB, 8.6'\n");
    write_atomically(folder() / "asked", "");
    return check({"--only", "recompute,full_size,layers"});
  };
  const ProgramResult small = with_card("8188");
  EXPECT_EQ(small.code, 0) << small.out << small.err;
  const std::string asked = read_file(folder() / "asked");
  EXPECT_TRUE(contains(asked, "--batch 4 ")) << asked;
  EXPECT_FALSE(contains(asked, "--batch 32")) << asked;
  EXPECT_FALSE(contains(asked, "FullSize")) << asked;
  for (const char* line : {"8188 MiB of memory: yolov4 in batches of 4 instead of 32", "full_size: left out",
                           "Not run: full_size\n", "yolov4 608, batch 4, fp16,"})
    EXPECT_TRUE(contains(small.out, line)) << line << small.out;
  with_card("12288");
  EXPECT_TRUE(contains(read_file(folder() / "asked"), "--batch 8 "));
  const ProgramResult large = with_card("81559");
  EXPECT_TRUE(contains(read_file(folder() / "asked"), "--batch 32 "));
  EXPECT_TRUE(contains(large.out, "Passed: recompute full_size layers\n")) << large.out;
}

TEST_F(CheckGpu, CountsWhatCouldNotRunAsFailures) {
  const ProgramResult late = check({"--seconds", "5", "--only", "tests,kernels"});
  EXPECT_EQ(late.code, 2) << late.out << late.err;
  EXPECT_TRUE(contains(late.out, "Not run: tests kernels\n")) << late.out;
}

TEST_F(CheckGpu, NeedsACompilerForTorchCompile) {
  // As the script finds its tools, without any compiler.
  const fs::path tools = folder() / "tools";
  fs::create_directories(tools);
  for (const char* place : {"/usr/bin", "/bin"}) {
    for (const auto& entry : fs::directory_iterator(place)) {
      const std::string name = entry.path().filename().string();
      const bool compiles = name.find("++") != std::string::npos;
      std::error_code exists;
      if (!compiles) fs::create_symlink(entry.path(), tools / name, exists);
    }
  }
  ::unsetenv("CXX");
  const ProgramResult checked =
      check({"--only", "tiny_compiled"}, "PATH=" + (folder() / "bin").string() + ':' + tools.string());
  EXPECT_EQ(checked.code, 1) << checked.out << checked.err;
  EXPECT_TRUE(contains(checked.out, "Not run: tiny_compiled\n")) << checked.out;
}

TEST_F(CheckGpu, RefusesAStageThatThereIsNot) {
  const ProgramResult checked = check({"--only", "doctor,kernel"});
  EXPECT_EQ(checked.code, 2) << checked.out << checked.err;
  EXPECT_TRUE(contains(checked.err, "there is no stage 'kernel'")) << checked.err;
  EXPECT_FALSE(fs::exists(folder() / "out")) << "before anything begins";
}

// Runs and data sets in it are removed where check_gpu makes its own.
TEST_F(CheckGpu, LeavesAFolderOfTheUsersAlone) {
  fs::create_directories(folder() / "out/data");
  write_atomically(folder() / "out/data/mine.txt", "a data set\n");
  write_atomically(folder() / "out/results.json", "{}\n");
  const ProgramResult refused = check({"--only", "train"});
  EXPECT_EQ(refused.code, 2) << refused.out << refused.err;
  EXPECT_TRUE(contains(refused.err, "the folder 'out' holds something else")) << refused.err;
  EXPECT_EQ(read_file(folder() / "out/data/mine.txt"), "a data set\n");
  EXPECT_TRUE(fs::exists(folder() / "out/results.json"));
  fs::remove_all(folder() / "out");
  write_atomically(folder() / "out", "no folder\n");
  const ProgramResult no_folder = check({"--only", "train"});
  EXPECT_EQ(no_folder.code, 2) << no_folder.out << no_folder.err;
  EXPECT_TRUE(contains(no_folder.err, "'out' is no folder")) << no_folder.err;
}

// --only runs in another call what there was no time for.
TEST_F(CheckGpu, KeepsTheArchiveOfAnEarlierCall) {
  ASSERT_EQ(check({"--only", "tests"}).code, 0);
  const std::string first = read_file(folder() / "out.tar.gz");
  for (const char* stage : {"full_size", "tests"}) {
    const ProgramResult again = check({"--only", stage});
    EXPECT_EQ(again.code, 0) << again.out << again.err;
    EXPECT_EQ(read_file(folder() / "out.1.tar.gz"), first) << stage;
  }
  EXPECT_TRUE(fs::exists(folder() / "out.2.tar.gz"));
  EXPECT_TRUE(fs::exists(folder() / "out.tar.gz"));
}

TEST_F(CheckGpu, RefusesATimeThatIsNoNumber) {
  for (const char* seconds : {"ten", "0", "08", "-5", "1.5"}) {
    const ProgramResult checked = check({"--seconds", seconds});
    EXPECT_EQ(checked.code, 2) << seconds << checked.out << checked.err;
    EXPECT_TRUE(contains(checked.err, "is no number of seconds")) << checked.err;
  }
}

TEST_F(CheckGpu, StartsProgramsInAFolderWithASpace) {
  const fs::path bundle = folder() / "it's a bundle";
  for (const char* inner : {"bin", "scripts", "lib"}) fs::create_directories(bundle / inner);
  fs::copy_file(source_dir() / "scripts/check_gpu", bundle / "scripts/check_gpu");
  for (const char* name : {"brightnet", "gpu_tests"})
    program(bundle / "bin" / name, "#!/bin/sh\necho \"$1, with $LD_LIBRARY_PATH\"\n");
  const ProgramResult checked = Program("env",
                                        {"PATH=" + (folder() / "bin").string() + ':' + std::getenv("PATH"),
                                         (bundle / "scripts/check_gpu").string(), "--python",
                                         (folder() / "python").string(), "--only", "doctor", "--out", "out"},
                                        folder())
                                    .wait();
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_TRUE(contains(checked.out, "Passed: doctor\n")) << checked.out;
  const std::string said = read_file(folder() / "out/doctor.log");
  EXPECT_TRUE(contains(said, "doctor, with " + (bundle / "bin/../lib").string())) << said;
}

TEST_F(CheckGpu, SaysWhenThereIsNoGpu) {
  program("bin/nvidia-smi", "#!/bin/sh\nexit 9\n");
  const ProgramResult checked = check({});
  EXPECT_EQ(checked.code, 1);
  EXPECT_TRUE(contains(checked.err, "finds no GPU")) << checked.err;
}

// A driver that hangs lets its process not be killed: what it holds must not be waited for.
TEST_F(CheckGpu, WaitsForNoProcessThatHoldsNvidiaSmisOutput) {
  program("bin/nvidia-smi",
          "#!/bin/sh\necho 'Some Card, 580.1'\nsetsid sh -c 'sleep 20; touch released' &\n");
  const ProgramResult checked = check({"--only", "tests"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_FALSE(fs::exists(folder() / "released")) << "it was waited for";
}

TEST_F(CheckGpu, FindsTheSanitizerInAToolkitAndAmongPythonsPackages) {
  fs::remove(folder() / "bin/compute-sanitizer");
  const fs::path toolkit = folder() / "toolkit", packages = folder() / "packages";
  struct Place {
    fs::path file;
    std::string variable;
  };
  for (const Place& place :
       {Place{"bin/nvcc-is-here/bin/compute-sanitizer",
              "PATH=" + (folder() / "bin/nvcc-is-here/bin").string() + ':' + (folder() / "bin").string() +
                  ':' + std::getenv("PATH")},
        Place{toolkit / "compute-sanitizer/compute-sanitizer", "CUDA_HOME=" + toolkit.string()},
        Place{packages / "nvidia/cu13/bin/compute-sanitizer", "PYTHONPATH=" + packages.string()}}) {
    SCOPED_TRACE(place.file);
    if (place.variable.rfind("PYTHONPATH=", 0) == 0 &&
        Program("python3", {"--version"}, folder()).wait().code != 0)
      GTEST_SKIP() << "there is no python3";
    fs::create_directories((folder() / place.file).parent_path());
    program(place.file, "#!/bin/sh\necho \"$0\" > used\necho \"$*\" > asked\ncat tests_say\n");
    if (place.variable.rfind("PATH=", 0) == 0) program("bin/nvcc-is-here/bin/nvcc", "#!/bin/sh\n");
    const ProgramResult checked = check({"--only", "memcheck"}, place.variable);
    EXPECT_TRUE(contains(checked.out, "Passed: memcheck\n")) << checked.out << checked.err;
    EXPECT_EQ(read_file(folder() / "used"), (folder() / place.file).string() + '\n');
    EXPECT_TRUE(contains(read_file(folder() / "asked"), " --kernel-name kns=brightnet "));
    fs::remove(folder() / place.file);
  }
}

TEST_F(CheckGpu, SaysAtOnceWhenThereIsNoPyTorch) {
  program("python", "#!/bin/sh\ncat > /dev/null\necho 'torch and yaml'\n");
  const ProgramResult checked = check({"--only", "tests"});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  EXPECT_TRUE(contains(checked.out, "has no torch and yaml")) << checked.out;
}

}  // namespace
}  // namespace brightnet::testing
