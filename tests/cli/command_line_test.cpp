#include "cli/command_line.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cli/command_tree.h"
#include "cli/commands.h"
#include "core/error.h"
#include "core/text.h"

namespace brightnet::cli {
namespace {

class WordsOfCommands : public ::testing::Test {
 protected:
  WordsOfCommands() { add_commands(app_, action_); }

  /// What is said of a value that is an option; "" where there is none.
  std::string refusal(const std::vector<std::string>& words) const {
    try {
      command_line(app_, words);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }
  bool is_value(const std::vector<std::string>& words) const {
    const CommandWord last = command_line(app_, words).words.back();
    return last.is_value && !last.option;
  }

  CLI::App app_{"", "brightnet"};
  Action action_;
};

TEST_F(WordsOfCommands, AnOptionIsNoValueOfAnother) {
  int tried = 0;
  for_each_command(app_, [&](const std::string& name, const CLI::App& command) {
    for (const CLI::Option* option : options_of(command)) {
      if (option->get_items_expected_min() == 0) continue;
      std::vector<std::string> words;
      for (const std::string_view part : brightnet::words(name)) words.emplace_back(part);
      words.push_back(name_of(*option));
      for (const CLI::Option* next : options_of(command)) {
        words.push_back(name_of(*next));
        EXPECT_NE(refusal(words).find(name_of(*option) + " needs a value, and '" + name_of(*next) +
                                      "' is an option"),
                  std::string::npos)
            << name;
        words.pop_back();
        ++tried;
      }
      for (const char* value : {"-", "-1", "-0.5", "--", "--of-another-program", "-x", "x.jpg", ""}) {
        words.emplace_back(value);
        EXPECT_TRUE(is_value(words)) << name << ' ' << name_of(*option) << ' ' << value;
        words.pop_back();
      }
    }
  });
  EXPECT_GT(tried, 1000);
}

TEST_F(WordsOfCommands, TheRefusalSaysHowSuchAValueIsGiven) {
  EXPECT_EQ(refusal({"detect", "--source", "a.jpg", "--json", "--no-save"}),
            "--json needs a value, and '--no-save' is an option. Give it one; if it is this word, write "
            "--json=--no-save.");
  EXPECT_EQ(refusal({"detect", "--json=--no-save", "--no-save"}), "");
  // As of an empty variable of a shell.
  EXPECT_NE(refusal({"detect", "--weights=", "--source", "x.jpg"}), "");
  EXPECT_NE(refusal({"detect", "--weights", "-h"}), "");
  EXPECT_NE(refusal({"detect", "--json", "--conf=0.5"}).find("'--conf' is an option"), std::string::npos);
}

TEST_F(WordsOfCommands, OptionsBesideOptionsStay) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"detect", "--no-save", "--quiet", "--classes", "dog", "cat", "--conf",
                                 "0.5"},
        {"train", "run.yaml", "--set", "a=1", "b=2", "--resume", "--no-graph"},
        {"data", "split", "--ratios", "0.8", "0.2", "--exact"},
        {"completion", "bash", "--", "detect", "--json", "--no-save"},
        {"help", "detect", "--json", "--no-save"},
        {"--version"},
        {}})
    EXPECT_EQ(refusal(words), "") << ::testing::PrintToString(words);
}

// CLI11 would print the help for -height, and end with 0.
TEST_F(WordsOfCommands, ShortOptionsInOneAreNone) {
  const auto word = [&](const std::vector<std::string>& words) {
    return run_together(command_line(app_, words));
  };
  for_each_command(app_, [&](const std::string& name, const CLI::App&) {
    std::vector<std::string> words;
    for (const std::string_view part : brightnet::words(name)) words.emplace_back(part);
    words.insert(words.end(), {"x", "-height", "608"});
    EXPECT_EQ(word(words), "-height") << name;
  });
  EXPECT_EQ(word({"train", "-hue=0.1"}), "-hue");
  EXPECT_EQ(word({"-help"}), "-help");
  EXPECT_EQ(word({"detector", "calc_anchors", "-height", "608"}), "-height");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"train", "-h"},
                                                {"train", "--height", "608"},
                                                {"train", "-width", "608"},
                                                {"detect", "--json", "-height"},
                                                {"memory", "model.yaml", "--batch", "-1"},
                                                {"completion", "bash", "--", "train", "-height"},
                                                {}})
    EXPECT_EQ(word(words), "") << ::testing::PrintToString(words);
}

TEST(CommandLine, SeveralAssignmentsAfterSetAreAnOptionEach) {
  const auto read = [](std::vector<std::string> words) {
    words.insert(words.begin(), "brightnet");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    std::vector<std::string> all = reversed_words(static_cast<int>(arguments.size()), arguments.data());
    std::reverse(all.begin(), all.end());
    return all;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(read({"train", "--set", "a.b=1", "c_2=x=y", "run.yaml"}),
            (List{"train", "--set", "a.b=1", "--set", "c_2=x=y", "run.yaml"}));
  EXPECT_EQ(read({"train", "--set", "a=1", "=2", "B=3", "a b=4"}),
            (List{"train", "--set", "a=1", "=2", "B=3", "a b=4"}));
  const std::string long_one = "c=" + std::string(300, 'x');  // longer than the name of any file
  EXPECT_EQ(read({"train", "--set", "a=1", long_one}), (List{"train", "--set", "a=1", "--set", long_one}));
  EXPECT_EQ(read({"train", "a=1", "b=2"}), (List{"train", "a=1", "b=2"})) << "not after --set";
  EXPECT_EQ(read({"help", "data", "check"}), (List{"data", "check", "--help"}));
  EXPECT_EQ(read({"data", "help"}), (List{"data", "help"}));
}

}  // namespace
}  // namespace brightnet::cli
