// docs/migrate.md promises that what it names exists: every key and every option in its right-hand columns
// is tried.
#include <iterator>
#include <map>
#include <regex>

#include "layers/model/layer_kinds.h"
#include "tests/end_to_end/program.h"
#include "train/config/config.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string text;  ///< between backticks
  int line;
};

/// What stands between backticks in the last cells of the tables.
std::vector<Named> named_in_tables() {
  std::vector<Named> all;
  std::istringstream text(read_file(source_dir() / "docs/migrate.md"));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (!line.starts_with("| ")) continue;
    const size_t end = line.rfind('|'), begin = line.rfind('|', end - 1);
    const std::string cell = line.substr(begin, end - begin);
    const std::regex quoted("`([^`]+)`");
    for (std::sregex_iterator match(cell.begin(), cell.end(), quoted), none; match != none; ++match)
      all.push_back({(*match)[1], number});
  }
  return all;
}

/// {a: {b: ~}} for "a.b": an unknown key is refused as such, a known one for having no value.
YamlValue nested(const std::string& key) {
  const size_t dot = key.find('.');
  YAML::Node node(YAML::NodeType::Map);
  if (dot == std::string::npos) {
    node[key] = YAML::Node(YAML::NodeType::Null);
  } else {
    node[key.substr(0, dot)] = nested(key.substr(dot + 1)).node;
  }
  return {node, "docs/migrate.md"};
}

TEST(Migrate, EveryKeyExists) {
  const std::regex key("(data|train|optimizer|schedule|ema|augment|loader|evaluate|head)\\.[a-z_0-9.]+");
  int keys = 0;
  for (const auto& [text, line] : named_in_tables()) {
    if (!std::regex_match(text, key)) continue;
    ++keys;
    const bool of_head = text.starts_with("head.");
    try {
      if (of_head) {
        HeadOptions head;
        read_config(nested(text.substr(5)), head);
      } else {
        RunConfig config;
        read_config(nested(text), config);
      }
    } catch (const InputError& e) {
      const bool known = std::string(e.what()).find("has no value") != std::string::npos;
      EXPECT_TRUE(known) << "docs/migrate.md:" << line << ": " << e.what();
    }
  }
  EXPECT_GT(keys, 80);
  EXPECT_THROW(
      {
        RunConfig config;
        read_config(nested("train.epochz"), config);
      },
      InputError);
}

TEST(Migrate, EveryOptionExists) {
  const fs::path folder = fs::path(::testing::TempDir()) / "migrate_options";
  fs::create_directories(folder);
  const std::regex option("([a-z ]+) (--[a-z-]+)");
  std::map<std::string, std::string> help;
  int options = 0;
  for (const auto& [text, line] : named_in_tables()) {
    std::smatch match;
    if (!std::regex_match(text, match, option)) continue;
    ++options;
    std::string& page = help[match[1]];
    if (page.empty()) {
      std::istringstream command(match[1]);  // of two words: data anchors
      std::vector<std::string> words{std::istream_iterator<std::string>(command), {}};
      words.emplace_back("--help");
      page = run_program(words, folder).out;
    }
    EXPECT_NE(page.find(match[2].str() + ' '), std::string::npos)
        << "docs/migrate.md:" << line << ": " << text;
  }
  EXPECT_GT(options, 20);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace brightnet::testing
