// Commands that the program prints, typed as they stand: also where a path has a blank or begins as an option does.
#include "tests/end_to_end/runs.h"

namespace brightnet::testing {
namespace {

class Advice : public Runs {
 protected:
  /// What stands in a message from `begin` up to `end`, or to the end of its line.
  static std::string command_in(const ProgramResult& result, const std::string& begin,
                                const std::string& end = "\n") {
    const std::string text = result.out + result.err;
    const size_t at = text.find(begin);
    EXPECT_NE(at, std::string::npos) << begin << " is not in: " << text;
    return at == std::string::npos ? ""
                                   : text.substr(at, std::min(text.find(end, at), text.find('\n', at)) - at);
  }
  /// Gives it to a shell, with `to` in the place of `from`.
  void expect_taken(std::string command, const std::string& from = "", const std::string& to = "") {
    if (const size_t at = command.find(from); at != std::string::npos) command.replace(at, from.size(), to);
    const std::string script = "brightnet() { '" + program().string() + "' \"$@\"; }; " + command;
    const ProgramResult result = Program("sh", {"-c", script}, run_.folder()).wait();
    EXPECT_EQ(result.code, 0) << command << ": " << result.err;
  }
};

TEST_F(Advice, OfATrainingCanBeTyped) {
  for (const std::string out : {"-st", "runs/it's my $5 ä"}) {
    const ProgramResult trained = run(train({"--out", "./" + out}, {"train.epochs=1"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    expect_taken(command_in(trained, "brightnet detect"), "FOLDER", "data/images/val");
    expect_taken(command_in(run({"train", "--resume", "./" + out}), "brightnet train --resume", ";"));
  }
  expect_taken("brightnet train " + command_in(run({"train", "--resume"}), "--resume 'runs/it'", ".\n"));
}

TEST_F(Advice, AboutDataCanBeTyped) {
  const ProgramResult made =
      run({"data", "synth", "./-made", "--train", "4", "--val", "2", "--size", "32", "--classes", "2"});
  expect_taken(command_in(made, "brightnet train"), "train", "config");
  const ProgramResult divided = run({"data", "split", "run.yaml", "--out", "./-sp lit"});
  expect_taken(command_in(divided, "brightnet train"), "train", "config");
  const ProgramResult data = run({"train", "./-made/data.yaml"});
  expect_taken(command_in(data, "brightnet train", ")"), "train", "config");
}

}  // namespace
}  // namespace brightnet::testing
