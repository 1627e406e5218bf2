// The answers for programs: every key is in docs/json.md.
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

TEST(JsonAnswers, HaveNoKeyThatIsNotDocumented) {
  const SmallRun run;
  write_small_weights(run);
  const std::string page = read_file(source_dir() / "docs/json.md");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"eval", "run.yaml", "--weights", "weights.safetensors"},
           {"bench", "model.yaml", "--size", "64", "--batch", "2", "--seconds", "0.05"},
           {"bench", "model.yaml", "--traffic", "--size", "64", "--batch", "2"},
           {"bench", "--data", "run.yaml", "--workers", "1", "--seconds", "0.05"},
           {"memory", "model.yaml", "--batch", "2", "--size", "64", "--device-memory", "16MiB"},
           {"data", "stats", "run.yaml"},
           {"data", "anchors", "run.yaml"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--json", "-"});
    const ProgramResult result = run_program(arguments, run.folder());
    if (command[2] == "--traffic" && result.code == 3) continue;  // a build without CUDA
    ASSERT_EQ(result.code, 0) << command[0] << ": " << result.err;
    std::set<std::string> keys;
    collect_keys(Json::parse(result.out), keys);
    EXPECT_FALSE(keys.empty()) << command[0];
    for (const std::string& key : keys)
      EXPECT_NE(page.find('`' + key + '`'), std::string::npos) << command[0] << ": " << key;
  }
}

}  // namespace
}  // namespace brightnet::testing
