// How a run on several ranks ends early: one message with the rank and the cause, no hang, a saved state.

#include <fcntl.h>
#include <stdio.h>

#include "core/shared_library.h"
#include "tests/distributed/job.h"
#include "tests/environment.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class FailingRanks : public ::testing::Test {
 protected:
  FailingRanks() { prepare_for_ranks(); }

  /// The words of `brightnet train` with `config` into the folder "out".
  static Words train(const std::string& config, const Words& settings) {
    return with_settings({program().string(), "train", config, "--out", "out"},
                         SmallRun::short_run(settings));
  }
  Program start(const Words& words) {
    return Program(words[0], {words.begin() + 1, words.end()}, run_.folder());
  }
  bool epochs_done(int epochs) {
    const fs::path metrics = run_.folder() / "out/metrics.csv";
    return fs::exists(metrics) &&
           read_file(metrics).find('\n' + std::to_string(epochs) + ',') != std::string::npos;
  }
  static void expect_once(const std::string& text, const std::string& words) {
    const size_t at = text.find(words);
    ASSERT_NE(at, std::string::npos) << "'" << words << "' is not in: " << text;
    EXPECT_EQ(text.find(words, at + 1), std::string::npos) << "said twice: " << text;
  }

  SmallRun run_{12, 4};
};

TEST_F(FailingRanks, DoNotHangWhenFilesCannotBeWrittenToTheEnd) {
  const Program program = start(mpirun(2, train("run.yaml", {"train.epochs=24", "evaluate.every=8"})));
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  // In one step, so that no save comes between and fails for another reason.
  write_atomically(run_.folder() / "out/away", "");
  ASSERT_EQ(::renameat2(AT_FDCWD, (run_.folder() / "out/away").c_str(), AT_FDCWD,
                        (run_.folder() / "out/state").c_str(), RENAME_EXCHANGE),
            0);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "Training goes on");
  expect_once(result.err, "could not be written: ");
  EXPECT_NE(result.err.find("epoch 24/24"), std::string::npos) << result.err;
  EXPECT_TRUE(fs::exists(run_.folder() / "out/weights/last.safetensors"));
}

TEST_F(FailingRanks, OneThatIsKilledEndsTheOthersAndTheRunGoesOn) {
  const Words settings{"train.epochs=24", "evaluate.every=8"};
  Words whole = train("run.yaml", settings);
  whole[4] = "whole";
  ASSERT_EQ(start(mpirun(2, whole)).wait().code, 0);

  const Program program = start(mpirun(2, train("run.yaml", settings)));
  ASSERT_TRUE(wait_until([&] { return epochs_done(3); })) << program.err_so_far();
  ::kill(ranks_below(program.process()).at(1), SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  const ProgramResult result = program.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(30));
  EXPECT_NE(result.code, 0);
  expect_once(result.err, "rank 1 (process ");
  expect_once(result.err, "has died");

  const ProgramResult resumed =
      start(mpirun(2, {testing::program().string(), "train", "--resume", "out"})).wait();
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(read_file(run_.folder() / "out/weights/last.safetensors"),
            read_file(run_.folder() / "whole/weights/last.safetensors"));
}

TEST_F(FailingRanks, OneThatStopsAnsweringEndsTheOthers) {
  const Program program = start(mpirun(2, train("run.yaml", {"train.epochs=4000", "train.comm_timeout=3"})));
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  ::kill(ranks_below(program.process()).at(1), SIGSTOP);
  const ProgramResult result = program.wait();
  EXPECT_NE(result.code, 0);
  expect_once(result.err, "rank 1 (process ");
  expect_once(result.err, "It has been silent for");
  EXPECT_TRUE(fs::exists(run_.folder() / "out/state/state.safetensors"));
}

TEST_F(FailingRanks, RankZeroMayBeTheOneThatStops) {
  const Program program = start(mpirun(2, train("run.yaml", {"train.epochs=4000", "train.comm_timeout=3"})));
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  ::kill(ranks_below(program.process()).at(0), SIGSTOP);
  const ProgramResult result = program.wait();
  EXPECT_NE(result.code, 0);
  expect_once(result.err, "rank 0 (process ");
}

TEST_F(FailingRanks, OneThatMakesProgressIsWaitedFor) {
  const ProgramResult result =
      start(mpirun(2, {rank_program().string(), "choosing", run_.folder().string()})).wait();
  EXPECT_EQ(result.code, 0) << result.err;
  for (const char* rank : {"0", "1"})
    EXPECT_EQ(read_file(run_.folder() / (std::string("choosing.") + rank)), "went on");
}

TEST_F(FailingRanks, OneWithABrokenConfigurationSaysSo) {
  write_atomically(run_.folder() / "broken.yaml", "model: model.yaml\ntrain: {epochz: 3}\n");
  const ProgramResult result = start(mpirun_each({train("run.yaml", {}), train("broken.yaml", {})})).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "rank 1 (on host ");
  EXPECT_NE(result.err.find("broken.yaml:2"), std::string::npos) << result.err;
  EXPECT_FALSE(fs::exists(run_.folder() / "out")) << "nothing was begun";
}

TEST_F(FailingRanks, OneThatCannotReadItsDataSaysSo) {
  fs::copy(run_.folder() / "data", run_.folder() / "other", fs::copy_options::recursive);
  fs::remove_all(run_.folder() / "other/images/train");
  const ProgramResult result =
      start(mpirun_each({train("run.yaml", {}), train("run.yaml", {"data.root=other"})})).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "rank 1 (on host ");
  EXPECT_NE(result.err.find("other"), std::string::npos) << result.err;
}

TEST_F(FailingRanks, OneWithOtherImagesIsFoundOut) {
  fs::copy(run_.folder() / "data", run_.folder() / "other", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(run_.folder() / "other/images/train")) {
    fs::remove(entry.path());
    break;
  }
  const ProgramResult result =
      start(mpirun_each({train("run.yaml", {}), train("run.yaml", {"data.root=other"})})).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "has another training split than rank 0");
}

TEST_F(FailingRanks, OneWhoseImageBreaksInTheMiddleSaysSo) {
  // Without a cache, images are read again in every epoch.
  fs::copy(run_.folder() / "data", run_.folder() / "other", fs::copy_options::recursive);
  const Words settings{"train.epochs=4000", "loader.cache_mb=0"};
  Words other = settings;
  other.emplace_back("data.root=other");
  const Program program = start(mpirun_each({train("run.yaml", settings), train("run.yaml", other)}));
  ASSERT_TRUE(wait_until([&] { return epochs_done(1); })) << program.err_so_far();
  for (const auto& entry : fs::directory_iterator(run_.folder() / "other/images/train"))
    fs::remove(entry.path());
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "[1] rank 1 (process ");
  EXPECT_NE(result.err.find("other/images/train"), std::string::npos) << result.err;
}

TEST_F(FailingRanks, AnErrorOfAllIsSaidOnce) {
  run_.write_config("train:\n  epochz: 3\n");
  const ProgramResult result = start(mpirun(3, train("run.yaml", {}))).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "epochz");
  EXPECT_EQ(result.err.find("(on host"), std::string::npos)
      << "all ranks have the same error: " << result.err;
}

TEST_F(FailingRanks, ABatchThatTheyCannotShareIsRefused) {
  const ProgramResult result =
      Program({"train", "run.yaml", "--ranks", "3", "--set", "train.batch=16"}, run_.folder()).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "3 ranks cannot share equally");
  EXPECT_NE(result.err.find("15 or 18"), std::string::npos) << result.err;
}

TEST_F(FailingRanks, AnotherNumberThanTheLaunchersIsRefused) {
  write_small_weights(run_);
  Words of_train = train("run.yaml", {});
  Words of_eval{testing::program().string(), "eval", "run.yaml", "--weights", "weights.safetensors"};
  for (Words* words : {&of_train, &of_eval}) {
    words->insert(words->end(), {"--ranks", "3"});
    const ProgramResult result = start(mpirun(2, *words)).wait();
    EXPECT_EQ(result.code, 2) << result.err;
    expect_once(result.err, "--ranks asks for 3 ranks, and a launcher has started 2");
  }
}

TEST_F(FailingRanks, WithoutOpenMpiSayWhatToInstall) {
  const fs::path folder = run_.folder() / "mpi";
  fs::create_directories(folder);
  Environment environment;
  environment.set("OMPI_COMM_WORLD_SIZE", "2");
  environment.set("LD_LIBRARY_PATH", folder.string());
  write_atomically(folder / "libmpi.so.40", "this is no library");
  ProgramResult result = start(train("run.yaml", {})).wait();
  EXPECT_EQ(result.code, 3) << result.err;
  expect_once(result.err, "openmpi-bin");
  // A library of that name which is not Open MPI.
  fs::copy_file(SharedLibrary("libm.so.6").path(), folder / "libmpi.so.40",
                fs::copy_options::overwrite_existing);
  result = start(train("run.yaml", {})).wait();
  EXPECT_EQ(result.code, 3) << result.err;
  expect_once(result.err, (folder / "libmpi.so.40").string() + " has no MPI_Init_thread");
  // Who is no rank needs none.
  environment.set("OMPI_COMM_WORLD_SIZE", std::nullopt);
  result = start(train("run.yaml", {})).wait();
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(FailingRanks, SignalsReachAllOfThemAndTheRunGoesOn) {
  const Words settings{"train.epochs=16", "evaluate.every=8"};
  Words whole = train("run.yaml", settings), parts = whole;
  whole[4] = "whole";
  whole.insert(whole.end(), {"--ranks", "2"});
  parts.insert(parts.end(), {"--ranks", "2"});
  ASSERT_EQ(start(whole).wait().code, 0);
  for (const int number : {SIGINT, SIGTERM}) {
    const Program program = start(parts);
    const int before = number == SIGINT ? 1 : 5;
    ASSERT_TRUE(wait_until([&] { return epochs_done(before); }));
    program.signal(number);
    const ProgramResult stopped = program.wait();
    ASSERT_EQ(stopped.code, 4) << stopped.err;
    EXPECT_NE(stopped.err.find("Resume with: brightnet train --resume out --ranks 2\n"), std::string::npos)
        << stopped.err;
    parts = {testing::program().string(), "train", "--resume", "out", "--ranks", "2"};
  }
  ASSERT_EQ(start(parts).wait().code, 0);
  EXPECT_EQ(read_file(run_.folder() / "out/weights/last.safetensors"),
            read_file(run_.folder() / "whole/weights/last.safetensors"));
}

/// The processes directly below another.
std::vector<pid_t> children_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(process) + "/children");
  std::vector<pid_t> children;
  for (pid_t child; file >> child;) children.push_back(child);
  return children;
}

// `train --restarts`: what is killed is started again, and nobody can tell from the weights.
TEST_F(FailingRanks, AreStartedAgain) {
  const Words settings{"train.epochs=24", "evaluate.every=8"};
  Words whole = train("run.yaml", settings);
  whole[4] = "whole";
  ASSERT_EQ(start(mpirun(2, whole)).wait().code, 0);

  Words words = train("run.yaml", settings);
  words.insert(words.end(), {"--ranks", "2", "--restarts", "1"});
  const Program program = start(words);
  ASSERT_TRUE(wait_until([&] { return epochs_done(3); })) << program.err_so_far();
  ::kill(ranks_below(program.process()).at(1), SIGKILL);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 0) << result.err;
  expect_once(result.err, "is resumed from its last saved state (restart 1 of 1)");
  EXPECT_EQ(read_file(run_.folder() / "out/weights/last.safetensors"),
            read_file(run_.folder() / "whole/weights/last.safetensors"));
  EXPECT_FALSE(fs::exists(run_.folder() / "out-2")) << "it began another run";
}

// systemd-tmpfiles takes away what has lain in /tmp for ten days, also below a run that takes longer.
TEST_F(FailingRanks, AreStartedAgainWhereTemporaryFilesWereCleanedAway) {
  const fs::path temporary = run_.folder() / "temporary";
  fs::create_directories(temporary);
  Environment environment;
  environment.set("TMPDIR", temporary.string());
  Words words = train("run.yaml", {"train.epochs=40000"});
  words.insert(words.end(), {"--restarts", "1"});
  const Program program = start(words);
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  EXPECT_FALSE(fs::is_empty(temporary)) << "this test looks at the wrong folder";
  for (const auto& entry : fs::directory_iterator(temporary)) fs::remove_all(entry.path());
  ::kill(children_of(program.process()).at(0), SIGKILL);
  EXPECT_TRUE(wait_until([&] {
    const std::string said = program.err_so_far();
    return said.find("(restart 1 of 1)") < said.rfind("Resum") && said.rfind("Resum") < said.rfind("epoch ");
  })) << program.err_so_far();
  ::kill(program.process(), SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  expect_once(result.err, "is resumed from its last saved state (restart 1 of 1)");
  EXPECT_FALSE(fs::exists(run_.folder() / "out-2")) << "it began another run";
}

// What a run was resumed with is in no file of it.
TEST_F(FailingRanks, AreStartedAgainAsTheyWereResumed) {
  ASSERT_EQ(start(train("run.yaml", {"train.epochs=1"})).wait().code, 0);
  const Program program =
      start(with_settings({testing::program().string(), "train", "--resume", "out", "--restarts", "1"},
                          {"train.epochs=400", "train.log_every=7"}));
  ASSERT_TRUE(wait_until([&] { return epochs_done(3); })) << program.err_so_far();
  const pid_t first = children_of(program.process()).at(0);
  ::kill(first, SIGKILL);
  std::string words;
  ASSERT_TRUE(wait_until([&] {
    const auto now = children_of(program.process());
    if (now.empty() || now[0] == first) return false;
    std::ifstream file("/proc/" + std::to_string(now[0]) + "/cmdline");
    words.assign(std::istreambuf_iterator<char>(file), {});
    return words.find("--resume") != std::string::npos;
  })) << program.err_so_far();
  EXPECT_NE(words.find("train.log_every=7"), std::string::npos) << words;
  ASSERT_TRUE(wait_until([&] {
    const std::string said = program.err_so_far();
    return said.find("(restart 1 of 1)") < said.rfind("Resum") && said.rfind("Resum") < said.rfind("epoch ");
  })) << program.err_so_far();
  ::kill(program.process(), SIGINT);
  EXPECT_EQ(program.wait().code, 4);
}

// `--resume` without a folder takes the run that was saved last, which may be another one by then.
TEST_F(FailingRanks, AreStartedAgainInTheFolderThatTheyHadResumed) {
  const Words words{testing::program().string(), "train", "run.yaml"};
  for (int run = 1; run <= 2; ++run)
    ASSERT_EQ(start(with_settings(words, SmallRun::short_run({"train.epochs=1"}))).wait().code, 0);
  const fs::path runs = run_.folder() / "runs";
  const auto saved_last = [&](const char* run) {
    fs::last_write_time(runs / run / "state/state.safetensors",
                        fs::file_time_type::clock::now() + std::chrono::hours(1));
  };
  saved_last("run");
  Words again = words;
  again.insert(again.end(), {"--resume", "--restarts", "1"});
  const Program program = start(with_settings(again, SmallRun::short_run({"train.epochs=40000"})));
  ASSERT_TRUE(wait_until([&] {
    return read_file(runs / "run/metrics.csv").find("\n3,") != std::string::npos;
  })) << program.err_so_far();
  ::kill(children_of(program.process()).at(0), SIGKILL);
  ASSERT_TRUE(wait_until([&] { return program.err_so_far().find("(restart 1 of 1)") != std::string::npos; }))
      << program.err_so_far();
  saved_last("run-2");  // within the two seconds before the restart
  EXPECT_TRUE(wait_until([&] {
    const std::string said = program.err_so_far();
    return said.find("(restart 1 of 1)") < said.rfind("Resum") && said.rfind("Resum") < said.rfind("epoch ");
  })) << program.err_so_far();
  ::kill(program.process(), SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  const std::string last = result.err.substr(result.err.find("(restart 1 of 1)"));
  EXPECT_EQ(last.find("runs/run-2"), std::string::npos) << last;
}

TEST_F(FailingRanks, ASingleProcessIsStartedAgainUntilItsRestartsAreUsedUp) {
  const Program program = start(train("run.yaml", {"train.epochs=40000", "train.restarts=1"}));
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  const pid_t first = children_of(program.process()).at(0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(wait_until([&] {
    const auto now = children_of(program.process());
    return !now.empty() && now[0] != first && program.err_so_far().find("Resum") != std::string::npos;
  })) << program.err_so_far();
  ASSERT_TRUE(
      wait_until([&] { return program.err_so_far().rfind("epoch ") > program.err_so_far().rfind("Resum"); }));
  ::kill(children_of(program.process()).at(0), SIGKILL);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 128 + SIGKILL) << result.err;
  expect_once(result.err, "its 1 restart is used up");
}

TEST_F(FailingRanks, AreNotStartedAgainAfterCtrlC) {
  Words words = train("run.yaml", {"train.epochs=40000"});
  words.insert(words.end(), {"--restarts", "3"});
  const Program program = start(words);
  ASSERT_TRUE(wait_until([&] { return epochs_done(2); })) << program.err_so_far();
  ::kill(program.process(), SIGINT);
  const ProgramResult result = program.wait();
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_EQ(result.err.find("restart 1"), std::string::npos) << result.err;
}

/// The words of a page's file from `first` up to the end of its block.
std::string part_of_page(const std::string& first, const std::string& end) {
  const std::string page = read_file(source_dir() / "docs/distributed.md");
  const size_t begin = page.find(first), until = page.find(end, begin);
  EXPECT_NE(begin, std::string::npos) << first;
  return begin == std::string::npos ? "" : page.substr(begin, until - begin);
}

// The sbatch file and the launcher of the page, as they stand there but for what starts the ranks. They looked for a saved
// state: a run that was killed before it had one left a folder in the way, and each later start began a run of its own.
TEST_F(FailingRanks, OfTheLaunchersOnThePageGoOnWhereTheyWereKilledBeforeTheFirstSave) {
  const fs::path bin = run_.folder() / "bin", runs = run_.folder() / "runs", coco = runs / "coco";
  fs::create_directories(bin);
  fs::create_symlink(testing::program(), bin / "brightnet");
  for (const char* launcher : {"srun", "mpirun"}) {
    write_atomically(bin / launcher,
                     "#!/bin/bash\nwhile [[ $1 != brightnet ]]; do shift; done\nexec \"$@\"\n");
    fs::permissions(bin / launcher, fs::perms::owner_all);
  }
  run_.write_config(
      "train: {precision: fp32, size: 64, batch: 4, epochs: 1, grow: 0}\nloader: {workers: 1}\n");
  fs::rename(run_.config(), run_.folder() / "coco.yaml");
  std::string pod = part_of_page("                  if [ -e runs/coco", "              volumeMounts");
  write_atomically(run_.folder() / "kubernetes", pod);
  write_atomically(run_.folder() / "slurm", part_of_page("run=runs/coco", "```"));
  Environment environment;
  environment.set("PATH", bin.string() + ":/usr/bin:/bin");
  for (const char* script : {"slurm", "kubernetes"}) {
    fs::remove_all(runs);
    // Killed while it read the data, and after it had described itself.
    fs::create_directories(coco / "weights");
    fs::create_directories(coco / "state");
    write_atomically(coco / "state/lock", "process 1 on gpu01");
    for (const bool begun : {false, true}) {
      if (begun) fs::remove(coco / "state/state.safetensors");
      if (begun) fs::remove(coco / "weights/last.safetensors");
      const ProgramResult result = start({"bash", script}).wait();
      ASSERT_EQ(result.code, 0) << script << ": " << result.err;
      EXPECT_TRUE(fs::exists(coco / "state/state.safetensors")) << script << ": " << result.err;
      EXPECT_FALSE(fs::exists(runs / "coco-2")) << script << ": " << result.err;
      int aside = 0;
      for (const auto& entry : fs::directory_iterator(runs)) aside += fs::exists(entry.path() / "state/lock");
      EXPECT_EQ(aside, 2) << script << ": what was there is kept";
    }
  }
}

// As --restarts does: a device that worked until it failed is no mistake of the user's.
TEST_F(FailingRanks, OfTheSbatchFileAreQueuedAgainUnlessTheUserMustActFirst) {
  Environment environment;
  environment.set("SLURM_JOB_ID", "7");
  environment.set("SLURM_RESTART_COUNT", "50");  // at the time limit
  const fs::path state = run_.folder() / "runs/coco/state/state.safetensors";
  const std::string stubs = "srun() { return $1; }\nscontrol() { echo \"$@\"; }\nrun=runs/coco\n";
  const std::string rest = part_of_page("srun --mpi=pmix", "```");
  write_atomically(run_.folder() / "slurm", stubs + "srun $CODE\n" + rest.substr(rest.find("code=$?")));
  for (const bool saved : {false, true}) {
    if (saved) fs::create_directories(state);
    for (const int code : {0, 1, 2, 3, 4, 137}) {
      environment.set("CODE", std::to_string(code));
      const ProgramResult result = start({"bash", "slurm"}).wait();
      EXPECT_EQ(result.code, code);
      const bool again = code == 1 || code >= 4 || (code == 3 && saved);
      EXPECT_EQ(result.out, again ? "requeue 7\n" : "") << code << ", saved: " << saved;
    }
  }
  environment.set("CODE", "1");
  for (int failure = 6; failure <= 11; ++failure)
    EXPECT_EQ(start({"bash", "slurm"}).wait().out, failure <= 10 ? "requeue 7\n" : "") << failure;
}

TEST_F(FailingRanks, OfALauncherAreRestartedByTheLauncher) {
  Words words = train("run.yaml", {});
  words.insert(words.end(), {"--restarts", "3"});
  const ProgramResult result = start(mpirun(2, words)).wait();
  EXPECT_EQ(result.code, 2) << result.err;
  expect_once(result.err, "which alone can start them again");
}

}  // namespace
}  // namespace brightnet::testing
