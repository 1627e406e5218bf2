// What each command prints where: results on standard output, all else on standard error, and on a terminal, where both
// come together, no progress line stays.
#include <fcntl.h>

#include "core/json.h"
#include "tests/end_to_end/runs.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Streams : public Runs {
 protected:
  /// `out` is on standard output alone, `err` on standard error alone.
  void expect(const std::vector<std::string>& arguments, const std::vector<std::string>& out,
              const std::vector<std::string>& err = {}) {
    const ProgramResult result = run(arguments);
    const std::string name = arguments[0] + ' ' + (arguments.size() > 1 ? arguments[1] : "");
    EXPECT_EQ(result.code, 0) << name << result.err;
    for (const std::string& word : out) {
      EXPECT_NE(result.out.find(word), std::string::npos)
          << name << ": '" << word << "' is not in " << result.out;
      EXPECT_EQ(result.err.find(word), std::string::npos)
          << name << ": '" << word << "' is in " << result.err;
    }
    for (const std::string& word : err) {
      EXPECT_NE(result.err.find(word), std::string::npos)
          << name << ": '" << word << "' is not in " << result.err;
      EXPECT_EQ(result.out.find(word), std::string::npos)
          << name << ": '" << word << "' is in " << result.out;
    }
    if (err.empty()) {
      EXPECT_EQ(result.err, "") << name;
    }
  }
};

const std::string weights = "runs/run/weights/best.safetensors";

TEST_F(Streams, AreTheSameInEveryCommand) {
  expect(train({}), {"AP50 is mAP@0.5", "Best weights", "brightnet detect --weights"},
         {"epoch 2/2", "Training in runs/run"});
  expect(train({"--resume"}), {"Best weights"}, {"This run is finished"});
  expect({"eval", "run.yaml", "--weights", weights, "--data", "data"}, {"AP50 is mAP@0.5", "report.html"},
         {"Data: "});
  expect({"detect", "--weights", weights, "--source", "data/images/val"},
         {" ms\n", "in 4 images", "Pictures: "}, {"images/s; ms an image"});
  expect({"export", "--weights", weights, "--format", "onnx", "--out", "a.onnx"}, {"Wrote a.onnx"});
  expect({"prune", "--weights", weights, "--out", "small", "--keep", "0.9"}, {"parameters", "Fine-tune it"});
  expect({"export", "--describe", "a.onnx"}, {"circle"});
  expect({"compare", "runs/run", "runs/run"}, {"run", "Plot of the curves"});
  expect({"memory", "model.yaml", "--batch", "1", "--size", "64"}, {"peak"});
  expect({"bench", "model.yaml", "--batch", "1", "--size", "64", "--seconds", "0.05", "--precision", "fp32",
          "--steps-only"},
         {"images/s"});
  expect({"doctor"}, {"oneDNN"});
  expect({"models"}, {"yolov4-tiny"});
  expect({"download"}, {"yolov4-tiny"});
  expect({"config", "run.yaml"}, {"batch: auto"});
  expect({"completion", "bash"}, {"_brightnet"});
  expect({"manual"}, {".TH"});
  expect({"tune", "--list-keys"}, {"optimizer.rate"});
  expect(with_settings({"tune", "run.yaml", "--find-rate", "--steps", "20"}, SmallRun::short_run()),
         {"rate.png"}, {"20 steps of"});
  expect({"data", "synth", "more", "--train", "2", "--val", "1", "--size", "32"},
         {"2 training and 1 validation"});
  expect({"data", "check", "run.yaml"}, {"No problems found"});
  expect({"data", "stats", "run.yaml"}, {"circle"});
  expect({"data", "anchors", "run.yaml", "--size", "64"}, {"anchors:"});
  expect({"data", "show", "run.yaml", "--count", "2", "--set", "train.size=64"},
         {"2 samples", "all on one sheet"});
  expect({"data", "convert", "run.yaml", "--to", "coco", "--out", "coco"}, {"Written: coco"});
  expect({"data", "split", "run.yaml", "--out", "parts"}, {"Written: parts"});
}

TEST_F(Streams, StandardOutputIsJsonAloneWhereItIsAskedFor) {
  ASSERT_EQ(run(train({}, {"train.epochs=1"})).code, 0);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"eval", "run.yaml", "--weights", weights},
        {"detect", "--weights", weights, "--source", "data/images/val"},
        {"compare", "runs/run", "runs/run"},
        {"data", "split", "run.yaml", "--out", "parts"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--json", "-"});
    const ProgramResult result = run(all);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_FALSE(Json::parse(result.out, nullptr, false).is_discarded()) << all[0] << result.out;
    EXPECT_NE(result.err, "") << all[0] << ": what it has written is still said";
  }
}

TEST_F(Streams, EachKindOfJsonHasStandardOutputForItself) {
  write_small_weights(run_);
  for (const char* option : {"--json", "--coco-json", "--darknet-json"}) {
    const ProgramResult result = run({"detect", "--weights", "weights.safetensors", "--source",
                                      "data/images/val", "--device", "cpu", option, "-"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(Json::accept(result.out)) << option << ": " << result.out;
    EXPECT_NE(result.err.find("in 4 images"), std::string::npos) << option << ": " << result.err;
  }
}

TEST_F(Streams, TheJsonIsWrittenAlsoWhereNobodyReadsStandardOutput) {
  write_small_weights(run_);
  for (const std::string arguments :
       {"eval run.yaml --weights weights.safetensors", "data stats run.yaml", "data check run.yaml",
        "data split run.yaml --out parts", "memory model.yaml --batch 1 --size 64"}) {
    fs::remove(path("answer.json"));
    const std::string unread =
        "exec 3> >(true); wait $!; " + program().string() + ' ' + arguments + " --json answer.json >&3";
    const ProgramResult result = Program("bash", {"-c", unread}, run_.folder()).wait();
    EXPECT_EQ(result.code, 0) << arguments << result.err;
    EXPECT_TRUE(fs::exists(path("answer.json"))) << arguments;
  }
}

TEST_F(Streams, QuietDetectionPrintsWarningsAlone) {
  ASSERT_EQ(run(train({}, {"train.epochs=1"})).code, 0);
  const ProgramResult quiet = run({"detect", "--weights", weights, "--source", "data/images/val", "--quiet"});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
  EXPECT_TRUE(fs::exists(path("runs/detect")));
  write_atomically(path("data/images/val/broken.jpg"), std::string("x"));
  const ProgramResult warned =
      run({"detect", "--weights", weights, "--source", "data/images/val", "--quiet"});
  EXPECT_EQ(warned.out, "");
  EXPECT_EQ(warned.err.find("Skipped data/images/val/broken.jpg"), 0u) << warned.err;
}

/// The lines of a terminal on which the program has run to its end.
std::vector<std::string> screen_of(std::vector<std::string> arguments, const fs::path& folder,
                                   bool hidden_output) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return {"no terminal"};
  arguments.insert(arguments.begin(), program().string());
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  const std::string name = ::ptsname(terminal);
  const pid_t child = ::fork();
  if (child == 0) {
    const int screen = ::open(name.c_str(), O_RDWR | O_NOCTTY);
    ::dup2(screen, STDERR_FILENO);
    if (!hidden_output) ::dup2(screen, STDOUT_FILENO);
    ::close(screen);
    ::close(terminal);
    ::setenv("TERM", "xterm", 1);
    if (::chdir(folder.c_str()) == 0) ::execv(words[0], words.data());
    ::_exit(127);
  }
  std::string sent;
  char buffer[4096];
  for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;)
    sent.append(buffer, static_cast<size_t>(count));
  ::waitpid(child, nullptr, 0);
  ::close(terminal);
  std::vector<std::string> lines(1);
  size_t column = 0;
  for (size_t i = 0; i < sent.size(); ++i) {
    if (sent[i] == '\n') {
      lines.emplace_back();
      column = 0;
    } else if (sent[i] == '\r') {
      column = 0;
    } else if (sent.compare(i, 3, "\x1b[K") == 0) {
      lines.back().resize(column);
      i += 2;
    } else {
      lines.back().resize(std::max(lines.back().size(), column + 1));
      lines.back()[column++] = sent[i];
    }
  }
  return lines;
}

TEST_F(Streams, OnATerminalNoProgressLineStays) {
  const auto expect_none = [&](const std::vector<std::string>& arguments, const char* progress,
                               bool hidden_output) {
    for (const std::string& line : screen_of(arguments, run_.folder(), hidden_output))
      EXPECT_EQ(line.find(progress), std::string::npos) << arguments[0] << ": " << line;
  };
  expect_none(train({}), "/3  loss", false);
  for (const bool hidden_output : {false, true}) {
    expect_none({"eval", "run.yaml", "--weights", weights}, "evaluating ", hidden_output);
    expect_none({"detect", "--weights", weights, "--source", "data/images/val"}, "detecting ", hidden_output);
    // An error in the middle of it.
    expect_none({"detect", "--weights", weights, "--source", "data/images/val", "--out", "data/images/val"},
                "detecting ", hidden_output);
  }
}

}  // namespace
}  // namespace brightnet::testing
