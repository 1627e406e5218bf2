// `cmake --install`: the program with its models, its completion, its man page and its documentation, wherever it is moved to.
#include <sstream>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Installed : public ::testing::Test {
 protected:
  void SetUp() override {
    const fs::path build = program().parent_path();
    if (!fs::exists(build / "cmake_install.cmake")) GTEST_SKIP() << "the build folder is not on this machine";
    const ProgramResult result =
        Program("cmake", {"--install", build.string(), "--prefix", (run_.folder() / "first").string()},
                run_.folder())
            .wait();
    ASSERT_EQ(result.code, 0) << result.out << result.err;
    fs::rename(run_.folder() / "first", run_.folder() / "moved");
  }
  fs::path place(const std::string& path) const { return run_.folder() / "moved" / path; }
  ProgramResult run(const std::vector<std::string>& arguments) {
    return Program(place("bin/brightnet").string(), arguments, run_.folder()).wait();
  }
  /// What bash would offer for the last of these words.
  std::string completed(const std::string& words) {
    const std::string script = "PATH=" + place("bin").string() + ":$PATH; source " +
                               place("share/bash-completion/completions/brightnet").string() +
                               "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _brightnet; echo ${COMPREPLY[@]}";
    return Program("bash", {"-c", script}, run_.folder()).wait().out;
  }

  SmallRun run_{1, 1, 32};
};

TEST_F(Installed, FindsItsModelsAfterItWasMoved) {
  EXPECT_EQ(run({"models", "--names"}).out, "demo\nyolov4\nyolov4-tiny\nyolov4-tiny-3l\n");
  const ProgramResult config = run({"config", "--model", "yolov4-tiny", "--data", "data"});
  EXPECT_NE(config.out.find(place("share/brightnet/models/yolov4-tiny.yaml").string()), std::string::npos)
      << config.out << config.err;
  EXPECT_NE(run({"models"}).out.find("yolov4.conv.137"), std::string::npos);
}

TEST_F(Installed, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(completed("brightnet tr"), "train\n");
  EXPECT_EQ(completed("brightnet data ch"), "check\n");
  EXPECT_EQ(completed("brightnet train --ep"), "--epochs\n");
  EXPECT_EQ(completed("brightnet eval --split v"), "val\n");
  EXPECT_EQ(completed("brightnet train --model yolov4-tiny-"), "yolov4-tiny-3l\n");
  EXPECT_EQ(completed("brightnet train --data d"), "data\n");
  EXPECT_EQ(completed("brightnet train --epochs ''"), "\n");
  const ProgramResult script = run({"completion", "bash"});
  EXPECT_EQ(script.code, 0) << script.err;
  EXPECT_EQ(script.out, read_file(place("share/bash-completion/completions/brightnet")));
  EXPECT_EQ(Program("bash", {"-c", script.out + "complete -p brightnet"}, run_.folder()).wait().out,
            "complete -o filenames -F _brightnet brightnet\n");
}

TEST_F(Installed, LinksOfTheDocumentationLeadToFilesThatAreThere) {
  size_t links = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place("share/doc/brightnet"))) {
    if (entry.path().extension() != ".md") continue;
    const std::string page = read_file(entry.path());
    for (size_t at = page.find("]("); at != std::string::npos; at = page.find("](", at + 1)) {
      const std::string link = page.substr(at + 2, page.find_first_of("#)", at) - at - 2);
      if (link.empty() || link.find("://") != std::string::npos) continue;
      ++links;
      EXPECT_TRUE(fs::exists(entry.path().parent_path() / link)) << entry.path() << ": " << link;
    }
  }
  EXPECT_GT(links, 100u);
}

TEST_F(Installed, TheManPageHasEveryOptionOfTheHelp) {
  const std::string page = read_file(place("share/man/man1/brightnet.1"));
  EXPECT_EQ(page.find(".TH BRIGHTNET 1"), 0u);
  for (const std::string command : {"train", "eval", "detect", "data split"}) {
    EXPECT_NE(page.find(".SS brightnet " + command + '\n'), std::string::npos) << command;
    std::vector<std::string> words;
    std::istringstream list(command);
    for (std::string word; list >> word;) words.push_back(word);
    words.emplace_back("--help");
    std::istringstream help(run(words).out);
    for (std::string line; std::getline(help, line);) {
      const size_t begin = line.find_first_not_of(' ');
      if (begin != 2 || line.compare(begin, 2, "--") != 0) continue;
      std::string name;
      for (const char c : line.substr(begin, line.find(' ', begin) - begin))
        name += c == '-' ? "\\-" : std::string(1, c);
      EXPECT_NE(page.find("\\fB" + name + "\\fR"), std::string::npos) << command << ' ' << name;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
