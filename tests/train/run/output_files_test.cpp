#include "train/run/output_files.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "tests/logged.h"
#include "train/run/run_folder.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// A folder that can be taken away and given back.
class OutputFilesOf : public ::testing::Test {
 protected:
  OutputFilesOf() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void take_away() {
    fs::remove_all(folder_);
    write_atomically(folder_, "");
  }
  void give_back() {
    fs::remove(folder_);
    fs::create_directories(folder_);
  }
  void write(const std::string& name, const std::string& content) {
    const fs::path file = folder_ / name;
    files_.write(file, 1 << 20, [=] { write_atomically(file, content); });
  }
  /// What is said during `act`.
  template <typename Act>
  static std::string words_of(Act&& act) {
    const testing::Logged logged;
    act();
    return logged.text();
  }

  fs::path folder_ = fs::path(::testing::TempDir()) / "output_files";
  RunFolder run_ = RunFolder::at(folder_);
  OutputFiles files_;
};

TEST_F(OutputFilesOf, SayOnceThatTheyCannotBeWrittenAndOnceThatTheyAre) {
  EXPECT_EQ(words_of([&] { write("a", "1"); }), "");
  take_away();
  const std::string said = words_of([&] { write("a", "2"); });
  for (const std::string& part : {(folder_ / "a").string(), std::string("Not a directory"),
                                  std::string("needs 1.00 MiB"), std::string("Training goes on")}) {
    EXPECT_NE(said.find(part), std::string::npos) << "'" << part << "' is not in: " << said;
  }
  EXPECT_EQ(words_of([&] {
              write("b", "1");
              files_.retry();
              write("a", "3");
            }),
            "")
      << "for the same reason";
  EXPECT_FALSE(files_.all_written());
  give_back();
  const std::string recovered = words_of([&] { files_.retry(); });
  EXPECT_NE(recovered.find("written again"), std::string::npos) << recovered;
  EXPECT_NE(recovered.find((folder_ / "b").string()), std::string::npos) << recovered;
  EXPECT_EQ(read_file(folder_ / "a"), "3") << "the newest";
  EXPECT_EQ(read_file(folder_ / "b"), "1");
  EXPECT_TRUE(files_.all_written());
  files_.check(run_);
  EXPECT_EQ(words_of([&] { files_.retry(); }), "");
  take_away();
  EXPECT_NE(words_of([&] { write("a", "4"); }), "") << "the next outage is said again";
}

TEST_F(OutputFilesOf, SayOnceWhatNamesTheFileAndWhatNamesItsFolder) {
  const fs::path file = folder_ / "a";
  const auto failing = [&](const fs::path& named) {
    return words_of([&] {
      files_.write(file, 1,
                   [&] { throw InputError("it cannot be written: Not a directory", named.string()); });
    });
  };
  EXPECT_NE(failing(folder_), "") << "while a folder is taken away, it is what cannot be written";
  EXPECT_EQ(failing(file), "") << "afterwards it is the file";
}

TEST_F(OutputFilesOf, AreNamedWhenTheyAreMissingAtTheEnd) {
  take_away();
  words_of([&] {
    write("weights", "1");
    files_.write_newest(folder_ / "state", 0, [&] { write_atomically(folder_ / "state", "1"); });
  });
  try {
    files_.check(run_);
    FAIL() << "no error";
  } catch (const InputError& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find((folder_ / "weights").string()), std::string::npos) << said;
    EXPECT_NE(said.find((folder_ / "state").string()), std::string::npos) << said;
    EXPECT_NE(said.find("Not a directory"), std::string::npos) << said;
  }
}

// Weights without a state are not resumed, and a run that has neither begins again.
TEST_F(OutputFilesOf, SayWhatIsLeftOfTheRun) {
  words_of([&] {
    files_.write(run_.file("report.html"), 1, [&] { throw InputError("no space left", "report.html"); });
  });
  const auto advice = [&] {
    try {
      files_.check(run_);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(advice().find("`brightnet train --resume` begins it again"), std::string::npos) << advice();
  fs::create_directories(run_.last().parent_path());
  write_atomically(run_.last(), "weights");
  EXPECT_NE(advice().find("start a new run with --weights " + run_.last().string()), std::string::npos)
      << advice();
  EXPECT_EQ(advice().find("--resume"), std::string::npos) << advice();
  fs::create_directories(run_.state().parent_path());
  write_atomically(run_.state(), "state");
  EXPECT_NE(advice().find("`brightnet train --resume` continues from the last state"), std::string::npos)
      << advice();
}

TEST_F(OutputFilesOf, AreNotKeptWhenANewerOneWillCome) {
  take_away();
  int attempts = 0;
  const auto write_state = [&] {
    ++attempts;
    write_atomically(folder_ / "state", "1");
  };
  words_of([&] { files_.write_newest(folder_ / "state", 0, write_state); });
  give_back();
  files_.retry();
  EXPECT_EQ(attempts, 1);
  EXPECT_FALSE(files_.all_written());
  words_of([&] { files_.write_newest(folder_ / "state", 0, write_state); });
  EXPECT_TRUE(files_.all_written());
}

TEST_F(OutputFilesOf, AreTriedAgainAtTheEndUntilAFailureOfAMomentIsOver) {
  std::vector<double> pauses;
  files_.pause = [&](double seconds) {
    pauses.push_back(seconds);
    if (pauses.size() == 2) give_back();
  };
  files_.insist();
  EXPECT_TRUE(pauses.empty()) << "nothing is missing";
  take_away();
  const std::string said = words_of([&] {
    write("a", "1");
    files_.insist();
  });
  EXPECT_NE(said.find("Trying again in 0.2 s to write " + (folder_ / "a").string()), std::string::npos)
      << said;
  EXPECT_EQ(pauses, (std::vector<double>{0.2, 0.4}));
  EXPECT_EQ(read_file(folder_ / "a"), "1");
  files_.check(run_);
  take_away();
  words_of([&] {
    write("a", "2");
    files_.insist();
  });
  EXPECT_EQ(pauses.size(), 6u) << "a failure that stays is given up";
  EXPECT_THROW(files_.check(run_), InputError);
}

TEST_F(OutputFilesOf, AreNotTouchedWhereTheGuardRefuses) {
  write("a", "1");
  files_.guard = [] { throw InputError("the folder is another run's", "", ""); };
  EXPECT_THROW(write("a", "2"), InputError);
  EXPECT_THROW(files_.write_newest(folder_ / "b", 0, [&] { write_atomically(folder_ / "b", ""); }),
               InputError);
  EXPECT_EQ(read_file(folder_ / "a"), "1");
  EXPECT_FALSE(fs::exists(folder_ / "b"));
}

TEST_F(OutputFilesOf, AreForgottenWhenTheyAreNoLongerWanted) {
  take_away();
  words_of([&] { write("a", "1"); });
  EXPECT_EQ(words_of([&] { files_.forget(folder_ / "a"); }), "");
  give_back();
  files_.retry();
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  files_.check(run_);
}

TEST_F(OutputFilesOf, LetABugThrough) {
  EXPECT_THROW(files_.write(folder_ / "a", 0, [] { BRIGHTNET_CHECK(false, "a bug"); }), std::logic_error);
}

}  // namespace
}  // namespace brightnet
