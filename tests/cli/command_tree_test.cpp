// What the help, the shell completion and the man page say of every command and option.
#include "cli/command_tree.h"

#include <set>

#include <gtest/gtest.h>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

class CommandTree : public ::testing::Test {
 protected:
  CommandTree() { add_commands(app_, action_); }
  CLI::App app_{"", "brightnet"};
  Action action_;
};

TEST_F(CommandTree, HasTheCommands) {
  std::vector<std::string> commands;
  for_each_command(app_, [&](const std::string& words, const CLI::App& command) {
    commands.push_back(words);
    EXPECT_FALSE(command.get_description().empty()) << words;
  });
  EXPECT_EQ(commands, (std::vector<std::string>{
                          "train",      "tune",       "eval",       "detect",       "export",
                          "prune",      "bench",      "memory",     "config",       "data",
                          "data check", "data stats", "data show",  "data anchors", "data convert",
                          "data shard", "data split", "data synth", "import",       "doctor",
                          "compare",    "models",     "download",   "completion",   "manual"}));
}

TEST_F(CommandTree, EveryOptionSaysWhatItDoesAndWhatItTakes) {
  for_each_command(app_, [&](const std::string& words, const CLI::App& command) {
    std::set<std::string> names;
    for (const CLI::Option* option : options_of(command)) {
      const std::string name = name_of(*option);
      SCOPED_TRACE("brightnet " + words + ' ' + name);
      EXPECT_EQ(name.find("--"), 0u);
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
      EXPECT_TRUE(names.insert(name).second) << "there twice";
      EXPECT_FALSE(option->get_description().empty());
      EXPECT_EQ(value_of(*option).empty(), option->get_items_expected_max() == 0);
    }
    for (const CLI::Option* positional : positionals_of(command)) {
      EXPECT_FALSE(value_of(*positional).empty()) << words;
      EXPECT_FALSE(positional->get_description().empty()) << words;
    }
  });
}

/// Whether the value is one that the command's option may have.
bool is_valid(const std::string& command, const std::string& option, const std::string& value) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  try {
    app.parse(command + ' ' + option + ' ' + value);
  } catch (const CLI::ValidationError&) {
    return false;
  } catch (const CLI::ParseError&) {  // what else the command needs
  }
  return true;
}

TEST(CommandLimits, AreThoseOfTheirMeaning) {
  struct Limits {
    const char *command, *option, *low, *below, *high, *above;
  };
  const char* const none = nullptr;
  for (const Limits& limits : std::vector<Limits>{
           {"train", "--epochs", "1", "0", "100000", none},
           {"train", "--batch", "1", "0", "4096", none},
           {"tune", "--trials", "1", "0", "1000", none},
           {"tune", "--minutes", "0.01", "0", "1e4", none},
           {"tune", "--batch", "1", "0", "4096", none},
           {"tune", "--epochs", "1", "0", "1000", none},
           {"tune", "--jobs", "1", "0", "64", none},
           {"tune", "--steps", "20", "19", "10000", "10001"},
           {"eval", "--batch", "1", "0", "4096", none},
           {"detect", "--conf", "0", "-0.01", "1", "1.01"},
           {"detect", "--nms", "0", "-0.01", "1", "1.01"},
           {"detect", "--max-det", "0", "-1", "100000", none},
           {"detect", "--frames", "0", "-1", "100000", none},
           {"detect", "--every", "1", "0", "100000", none},
           {"detect", "--batch", "1", "0", "4096", none},
           {"detect", "--workers", "0", "-1", "64", none},
           {"export", "--conf", "0", "-0.01", "1", "1.01"},
           {"export", "--nms", "0", "-0.01", "1", "1.01"},
           {"bench", "--batch", "1", "0", "4096", none},
           {"bench", "--classes", "1", "0", "1000", none},
           {"bench", "--workers", "0", "-1", "64", none},
           {"bench", "--seconds", "0.01", "0", "1e4", none},
           {"memory", "--batch", "1", "0", "4096", none},
           {"memory", "--classes", "1", "0", "1000", none},
           {"data show", "--count", "1", "0", "10000", "10001"},
           {"data anchors", "--count", "1", "0", "9", none},
       }) {
    SCOPED_TRACE(std::string(limits.command) + ' ' + limits.option);
    EXPECT_TRUE(is_valid(limits.command, limits.option, limits.low));
    EXPECT_FALSE(is_valid(limits.command, limits.option, limits.below));
    EXPECT_TRUE(is_valid(limits.command, limits.option, limits.high));
    if (limits.above) {
      EXPECT_FALSE(is_valid(limits.command, limits.option, limits.above));
    }
    EXPECT_FALSE(is_valid(limits.command, limits.option, "nan"));
  }
}

}  // namespace
}  // namespace brightnet::cli
