// The house stands by its includes: a floor includes only floors below it, a room of a floor only rooms
// listed before it, nobody a header that another folder keeps private, and the product nothing of tests/.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

using Texts = std::map<std::string, std::string>;  ///< of source files, by their paths from the root

/// The floors that a floor may include.
const std::map<std::string, std::vector<std::string>>& floors() {
  static const std::map<std::string, std::vector<std::string>> below{
      {"core", {}},
      {"kernels", {"core"}},
      {"layers", {"core", "kernels"}},
      {"data", {"core"}},
      {"formats", {"core", "kernels", "layers", "data"}},
      {"detect", {"core", "kernels", "layers", "data", "formats"}},
      {"train", {"core", "kernels", "layers", "data", "formats", "detect"}},
      {"brightnet", {"core", "kernels", "layers", "data", "formats", "detect", "train"}},
      {"cli", {"core", "kernels", "layers", "data", "formats", "detect", "train", "brightnet"}},
  };
  return below;
}

/// The rooms of all floors; each may include those of its own floor that are listed before it.
const std::vector<std::string>& rooms() {
  static const std::vector<std::string> order{
      "core",
      "kernels/math",
      "kernels",
      "kernels/cpu",
      "kernels/cuda",
      "kernels/device",
      "layers/model",
      "layers",
      "data",
      "data/image",
      "data/drawing",
      "data/augment",
      "data/tiles",
      "data/formats",
      "data/loader",
      "data/synth",
      "data/split",
      "data/commands",
      "formats",
      "formats/darknet",
      "formats/onnx",
      "formats/download",
      "detect/sources",
      "detect",
      "detect/evaluate",
      "detect/outputs",
      "train/distributed",
      "train/optimizer",
      "train/config",
      "train/run",
      "train/loop",
      "train/report",
      "train/setup",
      "train/tune",
      "train/bench",
      "brightnet",  // the public interface
      "cli",
  };
  return order;
}

std::string folder_of(const std::string& file) {
  return fs::path(file).parent_path().string();
}

std::string floor_of(const std::string& file) {
  return file.substr(0, file.find('/'));
}

std::vector<std::string> includes_of(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  const std::string begin = "#include \"";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(begin)) continue;
    const std::string rest = line.substr(begin.size());
    found.push_back(rest.substr(0, rest.find('"')));
  }
  return found;
}

/// "layers" when the header's comment says "(private to layers/)"; empty for a public one.
std::string private_to(const std::string& text) {
  std::string comment = text.substr(0, text.find("#pragma once"));
  for (size_t end = comment.find("\n//"); end != std::string::npos; end = comment.find("\n//"))
    comment.erase(end, 3);
  const std::string mark = "(private to ";
  const size_t begin = comment.find(mark);
  if (begin == std::string::npos) return "";
  const size_t name = begin + mark.size();
  std::string folder = comment.substr(name, comment.find_first_of(" ;)", name) - name);
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

/// Public headers that every floor may include, since what they declare is defined below: the exceptions and the log.
bool stands_on_nothing(const std::string& header) {
  return header == "brightnet/public.h" || header == "brightnet/error.h" || header == "brightnet/log.h";
}

/// What is wrong with one include; empty when nothing is.
std::string problem_of(const std::string& file, const std::string& included, const Texts& texts) {
  const std::string from = folder_of(file), to = folder_of(included);
  if (floor_of(included) == "tests") return "the product includes a test's file";
  const auto target = texts.find(included);
  if (target == texts.end()) return "there is no such file in the product";
  const bool public_header =
      floor_of(file) == "brightnet" && file.ends_with(".h") && private_to(texts.at(file)).empty();
  if (public_header && floor_of(included) != "brightnet")
    return "a public header includes public headers alone";
  if (stands_on_nothing(included)) return "";
  const auto& below = floors().at(floor_of(file));
  const bool same_floor = floor_of(file) == floor_of(included);
  if (!same_floor && std::find(below.begin(), below.end(), floor_of(included)) == below.end())
    return floor_of(file) + "/ does not stand on " + floor_of(included) + "/";
  const auto place = [](const std::string& room) {
    return std::find(rooms().begin(), rooms().end(), room) - rooms().begin();
  };
  for (const std::string& room : {from, to}) {
    if (place(room) == std::ssize(rooms()))
      return room + "/ is no room that this test lists: say where it stands";
  }
  if (same_floor && place(to) > place(from)) return from + "/ stands below " + to + "/";
  const std::string owner = private_to(target->second);
  if (!owner.empty() && from != owner && !from.starts_with(owner + '/'))
    return "that header is private to " + owner + "/";
  return "";
}

std::vector<std::string> problems_in(const Texts& texts) {
  std::vector<std::string> problems;
  for (const auto& [file, text] : texts) {
    for (const std::string& included : includes_of(text)) {
      const std::string problem = problem_of(file, included, texts);
      if (!problem.empty()) problems.push_back(file + " includes \"" + included + "\": " + problem);
    }
  }
  return problems;
}

Texts product() {
  Texts texts;
  for (const auto& [floor, below] : floors()) {
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / floor)) {
      const std::string ending = entry.path().extension().string();
      if (ending != ".h" && ending != ".cpp" && ending != ".cu") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      texts[entry.path().lexically_relative(source_dir()).string()] = text.str();
    }
  }
  return texts;
}

TEST(IncludeDirection, EveryIncludeOfTheProductPointsDown) {
  const Texts texts = product();
  ASSERT_GT(texts.size(), 300u);
  for (const std::string& problem : problems_in(texts)) ADD_FAILURE() << problem;
}

TEST(IncludeDirection, AnOffendingIncludeIsNamed) {
  const Texts good{{"core/a.h", "#pragma once\n"},
                   {"data/b.h", "#pragma once\n#include \"core/a.h\"\n"},
                   {"layers/own.h", "// (private to layers/)\n#pragma once\n"},
                   {"layers/c.cpp", "#include \"layers/own.h\"\n"},
                   {"train/run/d.h", "#pragma once\n"},
                   {"brightnet/error.h", "#pragma once\n"},
                   {"brightnet/own.h", "// (private to brightnet/)\n#pragma once\n"},
                   {"brightnet/open.h", "#pragma once\n#include \"brightnet/error.h\"\n"},
                   {"train/loop/e.h", "#include \"train/run/d.h\"\n#include \"data/b.h\"\n"}};
  EXPECT_EQ(problems_in(good), std::vector<std::string>{});
  const auto problem = [&](const std::string& file, const std::string& included) {
    Texts bad = good;
    bad[file] += "#include \"" + included + "\"\n";
    const auto found = problems_in(bad);
    return found.empty() ? "" : found[0];
  };
  EXPECT_EQ(problem("core/a.h", "data/b.h"), "core/a.h includes \"data/b.h\": core/ does not stand on data/");
  EXPECT_EQ(problem("data/b.h", "layers/own.h"),
            "data/b.h includes \"layers/own.h\": data/ does not stand on layers/");
  EXPECT_EQ(problem("train/run/d.h", "train/loop/e.h"),
            "train/run/d.h includes \"train/loop/e.h\": train/run/ stands below train/loop/");
  EXPECT_EQ(problem("train/run/d.h", "layers/own.h"),
            "train/run/d.h includes \"layers/own.h\": that header is private to layers/");
  EXPECT_EQ(problem("core/a.h", "tests/paths.h"),
            "core/a.h includes \"tests/paths.h\": the product includes a test's file");
  EXPECT_EQ(problem("core/a.h", "core/gone.h"),
            "core/a.h includes \"core/gone.h\": there is no such file in the product");
  EXPECT_EQ(problem("brightnet/own.h", "core/a.h"), "") << "private";
  EXPECT_EQ(problem("brightnet/open.h", "core/a.h"),
            "brightnet/open.h includes \"core/a.h\": a public header includes public headers alone");
  EXPECT_EQ(problem("core/a.h", "brightnet/error.h"), "");
  EXPECT_EQ(problem("core/a.h", "brightnet/open.h"),
            "core/a.h includes \"brightnet/open.h\": core/ does not stand on brightnet/");
  EXPECT_EQ(
      problem("train/cellar/f.h", "core/a.h"),
      "train/cellar/f.h includes \"core/a.h\": train/cellar/ is no room that this test lists: say where it "
      "stands");
}

/// A program that uses the library needs no other library's headers.
TEST(IncludeDirection, PublicHeadersIncludeTheStandardLibraryAlone) {
  for (const auto& [file, text] : product()) {
    if (!file.starts_with("brightnet/") || !file.ends_with(".h")) continue;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#include <")) continue;
      EXPECT_EQ(line.find_first_of("/."), std::string::npos) << file << ": " << line;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
