// `cmake --install`: the program with its models, completions, man page and documentation, wherever it is moved to.
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
  bool has(const std::string& shell) const {
    return Program(shell, {"-c", "true"}, run_.folder()).wait().code == 0;
  }
  /// What bash offers for these words, which are parted as bash parts them.
  std::string bash_offers(const std::string& words) {
    const std::string script = "PATH=" + place("bin").string() + ":$PATH; source " +
                               place("share/bash-completion/completions/brightnet").string() +
                               "; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _brightnet brightnet; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"";
    return Program("bash", {"-c", script}, run_.folder()).wait().out;
  }
  /// What zsh makes of a line when the tabulator key is pressed at its end: a zsh of its own terminal is typed to, and
  /// writes its line into a file.
  std::string zsh_completes(const std::string& line) {
    const fs::path done = run_.folder() / "line.txt";
    fs::remove(done);
    const std::string script =
        "zmodload zsh/zpty; zpty -b shell 'zsh -f -i'\n"
        "zpty -w shell 'PATH=" +
        place("bin").string() + ":$PATH; fpath=(" + place("share/zsh/site-functions").string() +
        " $fpath); autoload -U compinit; compinit -u -d " + (run_.folder() / "zcompdump").string() +
        "; told() { print -r -- $BUFFER >| told.txt; mv told.txt line.txt }; zle -N told; bindkey \"^T\" told; "
        "bindkey \"^I\" complete-word; setopt no_beep; PS1=ready; print -r begun >| begun.txt'\n"
        "for i in {1..200}; do [[ -e begun.txt ]] && break; sleep 0.05; done; sleep 0.2\n"
        "zpty -n -w shell '" +
        line +
        "'$'\\t\\x14'\n"
        "for i in {1..200}; do [[ -e line.txt ]] && break; sleep 0.05; done; zpty -d shell";
    Program("zsh", {"-f", "-c", script}, run_.folder()).wait();
    return fs::exists(done) ? read_file(done) : "nothing";
  }
  std::string fish_offers(const std::string& line) {
    const std::string script = "set -x PATH " + place("bin").string() + " $PATH; source " +
                               place("share/fish/vendor_completions.d/brightnet.fish").string() +
                               "; complete -C '" + line + "'";
    return Program("fish", {"--no-config", "-c", script}, run_.folder()).wait().out;
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

/// By it an installation is removed again.
TEST_F(Installed, EveryFileIsInTheManifest) {
  const std::string manifest = read_file(program().parent_path() / "install_manifest.txt");
  for (const char* file :
       {"/bin/brightnet\n", "/share/man/man1/brightnet.1", "/share/bash-completion/completions/brightnet",
        "/share/zsh/site-functions/_brightnet", "/share/fish/vendor_completions.d/brightnet.fish"})
    EXPECT_NE(manifest.find(file), std::string::npos) << file << " in: " << manifest;
}

TEST_F(Installed, BashCompletesCommandsOptionsAndValues) {
  EXPECT_EQ(bash_offers("brightnet tr"), "train\n");
  EXPECT_EQ(bash_offers("brightnet data ch"), "check\n");
  EXPECT_EQ(bash_offers("brightnet train --ep"), "--epochs\n");
  EXPECT_EQ(bash_offers("brightnet train --model yolov4-tiny-"), "yolov4-tiny-3l\n");
  EXPECT_EQ(bash_offers("brightnet train --data d"), "data\n");
  EXPECT_EQ(bash_offers("brightnet train --epochs ''"), "\n");
  EXPECT_EQ(bash_offers("brightnet train --set train.epo"), "train.epochs=\n");
  // bash replaces what follows the = or the : alone.
  EXPECT_EQ(bash_offers("brightnet train --set optimizer.kind = ad"), "adamw\n");
  EXPECT_EQ(bash_offers("brightnet eval --split ="), "train\nval\ntest\n");
  EXPECT_EQ(bash_offers("brightnet train --data = d"), "data\n");
  EXPECT_EQ(bash_offers("brightnet train --device cuda :"), "0\n");
  const ProgramResult script = run({"completion", "bash"});
  EXPECT_EQ(script.code, 0) << script.err;
  EXPECT_EQ(script.out, read_file(place("share/bash-completion/completions/brightnet")));
  EXPECT_EQ(Program("bash", {"-c", script.out + "complete -p brightnet"}, run_.folder()).wait().out,
            "complete -F _brightnet brightnet\n");
}

TEST_F(Installed, ZshCompletesCommandsOptionsAndValues) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not on this machine";
  EXPECT_EQ(zsh_completes("brightnet tr"), "brightnet train \n");
  EXPECT_EQ(zsh_completes("brightnet train --ep"), "brightnet train --epochs \n");
  EXPECT_EQ(zsh_completes("brightnet train --set train.epo"), "brightnet train --set train.epochs=\n");
  EXPECT_EQ(zsh_completes("brightnet train --set optimizer.kind=ad"),
            "brightnet train --set optimizer.kind=adamw \n");
  EXPECT_EQ(zsh_completes("brightnet eval --split=v"), "brightnet eval --split=val \n");
  EXPECT_EQ(zsh_completes("brightnet train --data d"), "brightnet train --data data/\n");
  EXPECT_EQ(zsh_completes("brightnet train --data=d"), "brightnet train --data=data/\n");
}

TEST_F(Installed, FishCompletesCommandsOptionsAndValues) {
  if (!has("fish")) GTEST_SKIP() << "fish is not on this machine";
  EXPECT_EQ(fish_offers("brightnet tr"), "train\ttrain a model on a data set\n");
  EXPECT_EQ(fish_offers("brightnet train --ep"),
            "--epochs\tpasses over the training images (train.epochs)\n");
  EXPECT_EQ(fish_offers("brightnet train --set optimizer.kind=ad"), "optimizer.kind=adamw\n");
  EXPECT_EQ(fish_offers("brightnet eval --split=v"), "--split=val\n");
  EXPECT_EQ(fish_offers("brightnet train --data d").substr(0, 5), "data/");
  EXPECT_EQ(fish_offers("brightnet train --data=d").substr(0, 12), "--data=data/");
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
