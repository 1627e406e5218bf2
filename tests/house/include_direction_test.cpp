// The house stands by its includes: a floor includes only floors below it, a room of a floor only rooms
// listed before it, nobody a header that another folder keeps private, the program only public headers and what
// prints, the Python module only public headers, and the product nothing of tests/.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
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
      {"data", {"core", "kernels"}},
      {"formats", {"core", "kernels", "layers", "data"}},
      {"detect", {"core", "kernels", "layers", "data", "formats"}},
      {"train", {"core", "kernels", "layers", "data", "formats", "detect"}},
      {"tune", {"core", "kernels", "layers", "data", "formats", "detect", "train"}},
      {"bench", {"core", "kernels", "layers", "data", "formats", "detect", "train"}},
      {"brightnet", {"core", "kernels", "layers", "data", "formats", "detect", "train", "tune", "bench"}},
      {"cli",
       {"core", "kernels", "layers", "data", "formats", "detect", "train", "tune", "bench", "brightnet"}},
      {"python", {"brightnet"}},
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
      "detect/quantization",
      "detect/outputs",
      "train/distributed",
      "train/optimizer",
      "train/config",
      "train/run",
      "train/loop",
      "train/report",
      "train/setup",
      "tune",
      "bench",
      "brightnet",  // the public interface
      "cli",
      "python",
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

/// Public headers stand on nothing. A room that defines what one declares, and those above it, may include it: here the
/// first of them. What is not listed is defined in brightnet/.
const std::map<std::string, std::string>& rooms_of_public_headers() {
  static const std::map<std::string, std::string> first{
      {"public.h", "core"},
      {"error.h", "core"},
      {"log.h", "core"},
      {"answer.h", "core"},
      {"data.h", "data/synth"},
      {"download.h", "formats/download"},
      {"import.h", "formats/darknet"},
      {"export.h", "formats/onnx"},
      {"weights.h", "detect"},
      {"detect.h", "detect/outputs"},
      {"ranks.h", "train/distributed"},
      {"configuration.h", "train/config"},
      {"models.h", "train/config"},
      {"compare.h", "train/report"},
      {"evaluate.h", "train/setup"},
      {"memory.h", "train/setup"},
      {"tune.h", "tune"},
      {"benchmark.h", "bench"},
      {"doctor.h", "bench"},
  };
  return first;
}

/// The room that an included file counts as one of.
std::string room_of_included(const std::string& file) {
  const auto& first = rooms_of_public_headers();
  const auto found = first.find(fs::path(file).filename().string());
  return floor_of(file) == "brightnet" && found != first.end() ? found->second : folder_of(file);
}

/// What the program includes besides public headers and its own.
const std::set<std::string>& what_the_program_includes() {
  static const std::set<std::string> headers{
      // What prints: messages, and what an error of the library itself is called.
      "core/error.h",
      "core/log.h",
      "core/printable.h",
      "core/progress_line.h",
      // The words of --size.
      "core/input_size.h",
      // Which files --out may name, without --force.
      "core/output_files.h",
      // What a process sets when it starts, and for --ranks: its own command line, and the launcher that it starts.
      "core/child_process.h",
      "core/files.h",
      "core/resource_folder.h",
      "core/threads.h",
  };
  return headers;
}

/// What is wrong with one include; empty when nothing is.
std::string problem_of(const std::string& file, const std::string& included, const Texts& texts) {
  const std::string from = folder_of(file), to = room_of_included(included);
  if (floor_of(included) == "tests") return "the product includes a test's file";
  const auto target = texts.find(included);
  if (target == texts.end()) return "there is no such file in the product";
  const bool public_header =
      floor_of(file) == "brightnet" && file.ends_with(".h") && private_to(texts.at(file)).empty();
  if (public_header && floor_of(included) != "brightnet")
    return "a public header includes public headers alone";
  if (public_header) return "";
  const std::string to_floor = floor_of(included);
  if (floor_of(file) == "cli" && to_floor != "cli" && to_floor != "brightnet" &&
      !what_the_program_includes().contains(included))
    return "the program includes public headers and what prints";
  const std::string owner = private_to(target->second);
  const bool owned = owner.empty() || from == owner || from.starts_with(owner + '/');
  if (floor_of(file) == "python" && to_floor != "python")
    return to_floor == "brightnet" && owned ? "" : "the Python module includes public headers alone";
  const auto& below = floors().at(floor_of(file));
  const bool same_floor = floor_of(file) == floor_of(to);
  if (!same_floor && std::find(below.begin(), below.end(), floor_of(to)) == below.end())
    return floor_of(file) + "/ does not stand on " + floor_of(to) + "/";
  if (floor_of(file) == "data" && floor_of(to) == "kernels" && to != "kernels/math")
    return "of kernels/, data/ shares the formulas alone";
  const auto place = [](const std::string& room) {
    return std::find(rooms().begin(), rooms().end(), room) - rooms().begin();
  };
  for (const std::string& room : {from, to}) {
    if (place(room) == std::ssize(rooms()))
      return room + "/ is no room that this test lists: say where it stands";
  }
  if (same_floor && place(to) > place(from)) return from + "/ stands below " + to + "/";
  return owned ? "" : "that header is private to " + owner + "/";
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
                   {"kernels/a.h", "#pragma once\n"},
                   {"kernels/math/b.h", "#pragma once\n"},
                   {"data/c.h", "#pragma once\n#include \"kernels/math/b.h\"\n"},
                   {"layers/own.h", "// (private to layers/)\n#pragma once\n"},
                   {"layers/c.cpp", "#include \"layers/own.h\"\n"},
                   {"train/run/d.h", "#pragma once\n"},
                   {"brightnet/error.h", "#pragma once\n"},
                   {"brightnet/own.h", "// (private to brightnet/)\n#pragma once\n"},
                   {"brightnet/open.h", "#pragma once\n#include \"brightnet/error.h\"\n"},
                   {"brightnet/download.h", "#pragma once\n"},
                   {"formats/download/f.cpp", "#include \"brightnet/download.h\"\n"},
                   {"core/log.h", "#pragma once\n"},
                   {"cli/g.h", "#include \"brightnet/open.h\"\n#include \"core/log.h\"\n"},
                   {"cli/g.cpp", "#include \"cli/g.h\"\n"},
                   {"python/h.h", "// (private to python/)\n#include \"brightnet/error.h\"\n"},
                   {"python/h.cpp", "#include \"python/h.h\"\n#include \"brightnet/open.h\"\n"},
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
  EXPECT_EQ(problem("data/b.h", "kernels/a.h"),
            "data/b.h includes \"kernels/a.h\": of kernels/, data/ shares the formulas alone");
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
      problem("formats/onnx/f.cpp", "brightnet/download.h"),
      "formats/onnx/f.cpp includes \"brightnet/download.h\": formats/onnx/ stands below formats/download/");
  EXPECT_EQ(problem("data/b.h", "brightnet/download.h"),
            "data/b.h includes \"brightnet/download.h\": data/ does not stand on formats/");
  EXPECT_EQ(problem("cli/g.cpp", "train/run/d.h"),
            "cli/g.cpp includes \"train/run/d.h\": the program includes public headers and what prints");
  EXPECT_EQ(problem("cli/g.cpp", "core/a.h"),
            "cli/g.cpp includes \"core/a.h\": the program includes public headers and what prints");
  EXPECT_EQ(problem("python/h.cpp", "core/a.h"),
            "python/h.cpp includes \"core/a.h\": the Python module includes public headers alone");
  EXPECT_EQ(problem("python/h.cpp", "brightnet/own.h"),
            "python/h.cpp includes \"brightnet/own.h\": the Python module includes public headers alone");
  EXPECT_EQ(
      problem("train/cellar/f.h", "core/a.h"),
      "train/cellar/f.h includes \"core/a.h\": train/cellar/ is no room that this test lists: say where it "
      "stands");
}

/// Of other libraries the program uses those that read its command line and print; OpenCV's switches are the process's.
TEST(IncludeDirection, TheProgramUsesNoOtherLibraries) {
  for (const auto& [file, text] : product()) {
    if (!file.starts_with("cli/")) continue;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#include <") || line.find('/') == std::string::npos) continue;
      const std::string library = line.substr(10, line.find('/') - 10);
      const bool switches = line.find("opencv2/core/util") != std::string::npos;
      EXPECT_TRUE(library == "CLI" || library == "fmt" || library == "sys" || switches)
          << file << ": " << line;
    }
  }
}

TEST(IncludeDirection, ThePythonModuleUsesNanobindAlone) {
  for (const auto& [file, text] : product()) {
    if (!file.starts_with("python/")) continue;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("#include <") || line.find('/') == std::string::npos) continue;
      EXPECT_TRUE(line.starts_with("#include <nanobind/")) << file << ": " << line;
    }
  }
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
