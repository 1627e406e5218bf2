#include "cli/known_words.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "brightnet/configuration.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

class KnownWords : public ::testing::Test {
 protected:
  KnownWords() { add_commands(app_, action_); }

  /// What is offered for a word behind a command line that has another unknown option.
  std::string offered(std::vector<std::string> words, const std::string& like) {
    words.emplace_back("--unknown");
    std::reverse(words.begin(), words.end());
    EXPECT_THROW(app_.parse(words), CLI::ParseError);
    const auto known = known_words(*app_.get_subcommands().at(0));
    const auto found = known.find(like);
    return found == known.end() ? "" : found->second;
  }

  CLI::App app_{"", "brightnet"};
  Action action_;
};

TEST_F(KnownWords, AreTheOptionsAndTheKeysThatSetTakes) {
  EXPECT_EQ(offered({"train", "run.yaml"}, "--patience"), "--set train.patience=…");
  EXPECT_EQ(offered({"train", "run.yaml"}, "--weights"), "--weights");
  EXPECT_EQ(offered({"eval", "run.yaml"}, "--cache_mb"), "--set loader.cache_mb=…");
  EXPECT_EQ(offered({"eval", "run.yaml"}, "--patience"), "") << "it has no effect there";
  EXPECT_EQ(offered({"detect", "--source", "a.jpg"}, "--patience"), "") << "it has no --set";
}

// --set of a MODEL.yaml is of its own keys.
TEST_F(KnownWords, OfAModelAreNotThoseOfARun) {
  for (const char* command : {"bench", "memory"}) {
    EXPECT_EQ(offered({command, "model.yaml"}, "--patience"), "") << command;
    EXPECT_EQ(offered({command, "model.yaml"}, "--weights"), "") << command;
    EXPECT_EQ(offered({command, "--data", "data"}, "--patience"), "--set train.patience=…") << command;
  }
}

}  // namespace
}  // namespace brightnet::cli
