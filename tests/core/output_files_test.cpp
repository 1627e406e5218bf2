#include "core/output_files.h"

#include <fstream>
#include <functional>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "brightnet/answer.h"
#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public ::testing::Test {
 protected:
  OutputFiles() { fs::create_directories(folder_); }
  ~OutputFiles() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(::testing::TempDir()) / "output_files";
};

TEST_F(OutputFiles, AFolderThatCannotBeMadeIsRefused) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_THROW(prepare_folder(folder_ / "file", "--out"), InputError);
  EXPECT_THROW(prepare_folder(folder_ / "file/below", "--out"), InputError);
  EXPECT_THROW(prepare_folder("/proc/none", "--out"), InputError);
  EXPECT_THROW(check_folder(folder_ / "file/below", "--out"), InputError);
  check_folder(folder_ / "new/one", "--out");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new")) << "it is only looked at";
  prepare_folder(folder_ / "new/one", "--out");
  EXPECT_TRUE(fs::is_directory(folder_ / "new/one"));
}

TEST_F(OutputFiles, AnInputIsNotReplacedEvenUnderAnotherName) {
  std::ofstream(folder_ / "input") << "x";
  fs::create_symlink(folder_ / "input", folder_ / "other");
  EXPECT_THROW(refuse_to_replace_inputs({folder_ / "other"}, {folder_ / "input"}), InputError);
  EXPECT_NO_THROW(refuse_to_replace_inputs({folder_ / "new"}, {folder_ / "input", ""}));
  EXPECT_THROW(refuse_to_replace_inputs({folder_ / "new", folder_ / "other"}, {"", folder_ / "input"}),
               InputError)
      << "any output, any input";
  EXPECT_THROW(refuse_to_replace(folder_ / "other"), InputError);
  EXPECT_NO_THROW(refuse_to_replace(folder_ / "new"));
}

TEST_F(OutputFiles, TwoOutputsAreNotOneFileUnderWhateverName) {
  fs::create_directories(folder_ / "below");
  fs::create_directory_symlink(folder_ / "below", folder_ / "link");
  const std::vector<fs::path> others{folder_ / "other", folder_ / "below/new"};
  for (const char* same : {"below/new", "link/new", "below/../below/./new", "other"})
    EXPECT_THROW(refuse_same_outputs(folder_ / same, "--json", others), InputError)
        << same << ", not there yet";
  EXPECT_THROW(refuse_same_outputs("new", "--json", {fs::current_path() / "new"}), InputError);
  EXPECT_NO_THROW(refuse_same_outputs(folder_ / "new", "--json", others));
  std::ofstream(folder_ / "other") << "x";
  fs::create_hard_link(folder_ / "other", folder_ / "hard");
  EXPECT_THROW(refuse_same_outputs(folder_ / "hard", "--json", others), InputError);
}

TEST_F(OutputFiles, AnAnswerReplacesAnEarlierOneAlone) {
  const std::string file = folder_ / "below/answer.json", answer = answer_beginning("AP") + " 1\n}\n";
  write_answer_file(file, "--json", answer);
  write_answer_file(file, "--json", answer);
  EXPECT_EQ(read_file(file), answer);
  EXPECT_THROW(write_answer_file(file, "--json", answer_beginning("model") + " 1\n}\n"), InputError);
  EXPECT_EQ(read_file(file), answer);
}

TEST_F(OutputFiles, AnAnswerIsNotNamedLikeAFolder) {
  for (const char* name : {"new/", "new/.", "new/.."})
    EXPECT_THROW(check_answer_file(folder_ / name, "--json", "{"), InputError) << name;
  EXPECT_FALSE(fs::exists(folder_ / "new")) << "it is only looked at";
}

TEST_F(OutputFiles, WhatIsNoEarlierAnswerIsNotReplaced) {
  const auto refused = [&](const std::string& content, const std::string& beginning) {
    std::ofstream(folder_ / "answer.json") << content;
    try {
      check_answer_file(folder_ / "answer.json", "--json", beginning);
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused("", "[\n"), "") << "an empty file";
  EXPECT_EQ(refused("[\n  {\n", "[\n  {"), "");
  EXPECT_EQ(refused("[\n]\n", "[\n  {"), "") << "a list that found nothing";
  EXPECT_NE(refused("[\n]\nmine", "[\n  {"), "");
  EXPECT_NE(refused("[\n]\n", answer_beginning("AP")), "");
  EXPECT_NE(refused("my notes", answer_beginning("AP")).find("not an earlier output"), std::string::npos);
  EXPECT_NE(refused("{", answer_beginning("AP")), "") << "shorter than a beginning";
  std::ofstream(folder_ / "image.txt");
  EXPECT_THROW(check_answer_file(folder_ / "image.txt", "--json", "{"), InputError)
      << "the labels of an image without objects";
  fs::create_directories(folder_ / "folder");
  EXPECT_THROW(check_answer_file(folder_ / "folder", "--json", "{"), InputError);
  EXPECT_THROW(check_answer_file("/dev/null", "--json", "{"), InputError);
  EXPECT_NO_THROW(check_answer_file("-", "--json", "{"));
  EXPECT_THROW(check_answer_file(folder_ / "answer.json/below", "--json", "{"), InputError);
}

// That there is no place for an answer must not turn out at the end of long work. Root may write to every folder, so
// another user looks.
TEST_F(OutputFiles, AFolderThatCannotBeWrittenToIsRefusedBeforeTheWork) {
  constexpr int not_refused = 1, still_root = 2;
  const auto code_of_looking = [](const std::function<void()>& look) {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr uid_t nobody = 65534;
      if (::geteuid() == 0 && ::setuid(nobody) != 0) ::_exit(still_root);
      try {
        look();
      } catch (const InputError& e) {
        if (std::string(e.what()).find("cannot be written to") != std::string::npos) ::_exit(0);
      }
      ::_exit(not_refused);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const int of_folder = code_of_looking([] { check_folder("/proc", "--out"); });
  if (of_folder == still_root) GTEST_SKIP() << "there is no other user";
  EXPECT_EQ(of_folder, 0);
  EXPECT_EQ(code_of_looking([] { check_folder("/proc/none/below", "--out"); }), 0);
  EXPECT_EQ(code_of_looking([] { check_answer_file("/proc/none/answer.json", "--json", "{"); }), 0);
}

}  // namespace
}  // namespace brightnet
