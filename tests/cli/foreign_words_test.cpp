#include "cli/foreign_words.h"

#include <gtest/gtest.h>

#include "cli/command_tree.h"
#include "cli/commands.h"
#include "core/files.h"
#include "tests/paths.h"

namespace brightnet::cli {
namespace {

TEST(ForeignWords, AreAnsweredForTheCommandThatTheyWereGivenTo) {
  EXPECT_EQ(in_our_words("predict", ""), "detect");
  EXPECT_EQ(in_our_words("partial", "").substr(0, 17), "train --weights F");
  EXPECT_NE(in_our_words("detector", "").find("data anchors --data obj.data --model X.cfg"),
            std::string_view::npos);
  EXPECT_EQ(in_our_words("--imgsz", "train"), "--size");
  EXPECT_EQ(in_our_words("--iou", "detect"), "--nms");
  EXPECT_EQ(in_our_words("--iou", "eval"), "--set evaluate.nms.iou=X");
  EXPECT_EQ(in_our_words("--weight_decay", "train"), "--set optimizer.decay=X");
  EXPECT_EQ(in_our_words("predict", "train"), "") << "it is no option";
  EXPECT_EQ(in_our_words("--frobnicate", "train"), "");
}

TEST(ForeignWords, AreNotAnsweredByAnOptionThatTheCommandLacks) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  const auto answer = [&](const char* word, const char* command) {
    return answer_for(word, *app.get_subcommand(command));
  };
  EXPECT_EQ(answer("--iou", "detect"), "--nms");
  EXPECT_EQ(answer("--iou", "export"), "--nms");
  EXPECT_EQ(answer("--iou", "train"), "");
  EXPECT_EQ(answer("--conf-thres", "eval"), "");
  EXPECT_EQ(answer("--workers", "detect"), "") << "it has no --set";
  EXPECT_EQ(answer("--seed", "train"), "--set train.seed=N");
  EXPECT_EQ(answer("--seed", "bench"), "") << "its --set takes the model's keys";
  EXPECT_EQ(answer("--hyp", "memory"), "");
  EXPECT_EQ(answer("--patience", "eval"), "") << "which is refused there";
  EXPECT_EQ(answer("--fraction", "eval"), "--set data.fraction=F");
  EXPECT_EQ(answer("--weights", "bench").substr(0, 25), "bench WEIGHTS --inference");
  EXPECT_EQ(answer("--dynamic", "export"), "--batch dynamic");
  EXPECT_NE(answer("--ranks", "tune").find("--jobs"), std::string_view::npos);
  EXPECT_EQ(answer("--ranks", "detect"), "");
  EXPECT_EQ(answer("-gpus", "train").find("cuda:0,1"), std::string_view::npos) << "which is refused";
}

TEST(ForeignWords, OfUltralyticsFormAreGivenInOurs) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  const auto form = [&](const char* command, const char* name, const char* value) {
    return in_our_form(name, value, *app.get_subcommand(command)).value_or("unknown");
  };
  EXPECT_EQ(form("train", "epochs", "3"), "--epochs 3");
  EXPECT_EQ(form("train", "imgsz", "640"), "--size 640");
  EXPECT_EQ(form("train", "data", "my data"), "--data 'my data'");
  EXPECT_EQ(form("train", "data", "-st"), "--data=-st");
  EXPECT_EQ(form("train", "lr0", "0.01"), "--set optimizer.rate=0.01");
  EXPECT_EQ(form("train", "freeze", "10"), "--set train.freeze=10");
  EXPECT_EQ(form("train", "optimizer", "sgd"), "--set optimizer.kind=sgd");
  EXPECT_EQ(form("train", "single_cls", "True"), "--set data.single_class=true");
  EXPECT_EQ(form("train", "multi_scale", "True"), "--set train.sizes=[320,416,512]");
  EXPECT_EQ(form("train", "resume", "True"), "--resume");
  EXPECT_EQ(form("eval", "half", "True"), "--precision fp16");
  EXPECT_EQ(form("eval", "half", "False"), "");
  EXPECT_EQ(form("train", "exist_ok", "True"), "") << "nothing is to be said in its place";
  EXPECT_EQ(form("train", "plots", "True"), "unknown");
}

TEST(ForeignWords, AreAWholeCommandLineOfOurs) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  const auto ours = [&](const std::vector<std::string>& words) {
    return in_our_options(command_line(app, words));
  };
  EXPECT_EQ(ours({"train", "model=demo", "data=toy", "epochs=3"}),
            "brightnet train --model demo --data toy --epochs 3");
  EXPECT_EQ(ours({"train", "--data", "toy", "model=demo", "plots=True"}),
            "brightnet train --data toy --model demo. It has no option for plots=True");
  EXPECT_EQ(ours({"train", "model=demo", "--data=toy"}), "brightnet train --model demo --data=toy");
  EXPECT_EQ(ours({"train", "--no-graph", "model=demo"}), "brightnet train --no-graph --model demo");
  EXPECT_EQ(ours({"train", "--data", "my data", "model=demo"}),
            "brightnet train --data 'my data' --model demo");
  EXPECT_EQ(ours({"train", "--resume", "device=cpu"}), "brightnet train --resume --device cpu");
  EXPECT_EQ(ours({"data", "check", "data=toy"}), "brightnet data check --data toy");
  const std::string long_name(300, 'x');  // longer than that of any file
  EXPECT_EQ(ours({"train", "model=demo", "data=" + long_name}),
            "brightnet train --model demo --data " + long_name);
  // What is ours, and what is answered by itself.
  for (const std::vector<std::string>& words : {std::vector<std::string>{"train", "--data", "model=demo"},
                                                {"train", "run.yaml", "--set", "train.seed=1", "model=demo"},
                                                {"train", "model=demo", "--help"},
                                                {"train", "model=demo", "-dont_show"},
                                                {"data", "data=toy"},
                                                {"model=demo"},
                                                {}})
    EXPECT_EQ(ours(words), "") << ::testing::PrintToString(words);
}

/// An answer that is a command or an option exists.
TEST(ForeignWords, AreAnsweredByWordsOfOurs) {
  CLI::App app("", "brightnet");
  Action action;
  add_commands(app, action);
  for (const ForeignWord& known : foreign_words()) {
    const std::string ours(known.ours.substr(0, known.ours.find_first_of(" ,;:")));
    if (ours == "nothing" || ours == "a") continue;
    bool found = false, is_ours = false;
    for_each_command(app, [&](const std::string& words, const CLI::App& command) {
      found |= words == ours;
      const bool is_meant = known.command.empty() || known.command == command.get_name();
      found |= is_meant && ours.starts_with("--") && command.get_option_no_throw(ours) != nullptr;
      is_ours |= known.command == command.get_name() &&
                 command.get_option_no_throw(std::string(known.word)) != nullptr;
    });
    EXPECT_TRUE(found) << known.word << ": " << ours;
    if (ours == "--set") {
      const CLI::App& command =
          *app.get_subcommand(known.command.empty() ? "train" : std::string(known.command));
      EXPECT_EQ(answer_for(known.word, command), known.ours) << "there is no such key";
    }
    EXPECT_FALSE(is_ours) << known.word << " of " << known.command;
    for_each_command(app, [&](const std::string& words, const CLI::App& command) {
      const std::string answer(answer_for(known.word, command));
      const std::string option = answer.substr(0, answer.find_first_of(" ,;:"));
      EXPECT_TRUE(!option.starts_with('-') || command.get_option_no_throw(option))
          << words << ' ' << known.word << ": " << answer;
    });
  }
}

TEST(ForeignWords, AreTheTableOfTheDocumentation) {
  EXPECT_NE(read_file(testing::source_dir() / "docs/migrate.md").find(foreign_words_table()),
            std::string::npos)
      << "docs/migrate.md has another table than\n"
      << foreign_words_table();
}

}  // namespace
}  // namespace brightnet::cli
