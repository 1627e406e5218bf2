// The answers for programs, and docs/json.md, which describes them.
#include <regex>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/end_to_end/program.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

using Json = nlohmann::json;

void collect_keys(const Json& json, std::set<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) keys.insert(key);
  }
  if (!json.is_structured()) return;
  for (const auto& value : json) collect_keys(value, keys);
}

/// The keys in the paragraph of docs/json.md that begins with this name.
std::set<std::string> documented_keys(const std::string& page, const std::string& name) {
  const size_t begin = page.find("**`" + name + "`**");
  if (begin == std::string::npos) return {};
  const size_t text = begin + name.size() + 6;
  const std::string paragraph = page.substr(text, page.find("\n\n", text) - text);
  static const std::regex code("`(\\w+)`");
  std::set<std::string> keys;
  for (std::sregex_iterator at(paragraph.begin(), paragraph.end(), code), end; at != end; ++at)
    keys.insert((*at)[1]);
  return keys;
}

// Programs read them: a key that is gone breaks one, and one that nobody describes cannot be used.
TEST(JsonAnswers, HaveTheDocumentedKeysAndNoOthers) {
  const SmallRun run;
  write_small_weights(run);
  const std::string page = read_file(source_dir() / "docs/json.md");
  struct Answer {
    std::string name;  ///< in docs/json.md
    std::vector<std::string> command;
    std::set<std::string> elsewhere = {};  ///< keys that depend on what is asked, or on the machine
  };
  for (const Answer& answer : std::vector<Answer>{
           {"eval", {"eval", "run.yaml", "--weights", "weights.safetensors"}, {"augmented", "fold", "tiles"}},
           {"bench", {"bench", "model.yaml", "--size", "64", "--batch", "2", "--seconds", "0.05"}},
           {"bench --traffic", {"bench", "model.yaml", "--traffic", "--size", "64", "--batch", "2"}},
           {"bench --data",
            {"bench", "--data", "run.yaml", "--workers", "1", "--seconds", "0.05"},
            {"decoded"}},
           {"models", {"models"}},
           {"memory", {"memory", "model.yaml", "--batch", "2", "--size", "64", "--device-memory", "16MiB"}},
           {"prune", {"prune", "--weights", "weights.safetensors", "--out", "small"}},
           {"data stats", {"data", "stats", "run.yaml"}},
           {"data anchors", {"data", "anchors", "run.yaml"}}}) {
    SCOPED_TRACE(answer.name);
    std::vector<std::string> arguments = answer.command;
    arguments.insert(arguments.end(), {"--json", "-"});
    const ProgramResult result = run_program(arguments, run.folder());
    if (answer.name == "bench --traffic" && result.code == 3) continue;  // a build without CUDA
    ASSERT_EQ(result.code, 0) << result.err;
    std::set<std::string> keys;
    collect_keys(Json::parse(result.out), keys);
    keys.insert(answer.elsewhere.begin(), answer.elsewhere.end());
    EXPECT_EQ(keys, documented_keys(page, answer.name));
  }
}

TEST(JsonFiles, ThatTheCommandWritesBesidesAreRefusedBeforeItsWork) {
  const SmallRun run;
  write_small_weights(run);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"eval", "run.yaml", "--weights", "weights.safetensors", "--plots", "out", "--json",
            "out/report.html"},
           {"eval", "run.yaml", "--weights", "weights.safetensors", "--plots", "out", "--json",
            "out/val_pred0.jpg"},
           {"compare", "no_run", "--out", "out.png", "--json", "out.html"},
           {"data", "split", "run.yaml", "--out", "out", "--json", "out/train.txt"},
           {"data", "split", "run.yaml", "--out", "out", "--json", "out/run.yaml"},
           {"data", "split", "data", "--out", "out", "--json", "out/data.yaml"}}) {
    const ProgramResult result = run_program(command, run.folder());
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(command.back() + ": two outputs would be written there"), std::string::npos)
        << result.err;
    EXPECT_FALSE(std::filesystem::exists(run.folder() / "out")) << command[0];
  }
  const ProgramResult beside =
      run_program({"data", "split", "run.yaml", "--out", "out", "--json", "out/split.json"}, run.folder());
  EXPECT_EQ(beside.code, 0) << beside.err;
}

}  // namespace
}  // namespace brightnet::testing
