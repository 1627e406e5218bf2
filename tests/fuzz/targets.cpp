#include "tests/fuzz/targets.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/resource_folder.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/target_parts.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* all_words[] = {"-1",
                                     "0",
                                     "1",
                                     "65536",
                                     "2147483648",
                                     "18446744073709551616",
                                     "1e999",
                                     "1e300",
                                     "-1e300",
                                     "1e-320",
                                     "nan",
                                     "inf",
                                     "0x10",
                                     ".",
                                     ",",
                                     "=",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     "<",
                                     ">",
                                     "\"",
                                     "'",
                                     "#",
                                     ":",
                                     "\n",
                                     "\r\n",
                                     "\t",
                                     "\xff",
                                     "\xEF\xBB\xBF",
                                     "null",
                                     "true",
                                     "../",
                                     "&amp;",
                                     "*a",
                                     "&a ",
                                     "- ",
                                     "[[[[[[[[[[[[[[[["};

std::vector<FuzzTarget> make_targets() {
  set_resource_folder(source_dir() / "configs");
  std::vector<FuzzTarget> targets;
  add_network_targets(targets);
  add_data_targets(targets);
  add_run_targets(targets);
  return targets;
}

}  // namespace

const std::span<const char* const> words = all_words;

void put(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  fs::remove(file);  // a file that is cut to nothing and written again waits for the disk on ext4
  std::ofstream(file, std::ios::binary) << content;
}

void prepare_image(const fs::path& file) {
  put(file, encoded(".png", CV_8UC3));
}

void read_each(const std::vector<std::function<void()>>& reads) {
  std::exception_ptr refusal;
  for (const auto& read : reads) {
    try {
      read();
    } catch (const InputError&) {
      refusal = std::current_exception();
    }
  }
  if (refusal) std::rethrow_exception(refusal);
}

void try_each(const std::vector<std::function<void()>>& reads) {
  for (const auto& read : reads) {
    try {
      read();
    } catch (const InputError&) {
    }
  }
}

void FuzzTarget::write(const fs::path& folder, const std::string& content) const {
  put(folder / file, content);
}

std::vector<std::string> FuzzTarget::found() const {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(source_dir() / "tests/fuzz/corpus" / name, none))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> contents;
  for (const fs::path& file_found : files) contents.push_back(read_file(file_found));
  return contents;
}

std::string FuzzTarget::input(uint64_t number) const {
  return Mutator(number, tokens).mutate(corpus[number % corpus.size()]);
}

const std::vector<FuzzTarget>& fuzz_targets() {
  static const std::vector<FuzzTarget> targets = make_targets();
  return targets;
}

const FuzzTarget& fuzz_target(const std::string& name) {
  if (name == planted_target().name) return planted_target();
  for (const FuzzTarget& target : fuzz_targets()) {
    if (target.name == name) return target;
  }
  throw InputError("there is no target '" + name + "'", "", "--list names them.");
}

const FuzzTarget& planted_target() {
  static const FuzzTarget target{"planted",
                                 "a.txt",
                                 {"0123456789\n"},
                                 words,
                                 [](const fs::path&) {},
                                 [](const fs::path& folder) {
                                   const std::string text = read_file(folder / "a.txt");
                                   if (text.find("65536") != std::string::npos) std::abort();
                                   if (text.find("nan") != std::string::npos)
                                     throw std::runtime_error("planted");
                                   if (text.find("null") != std::string::npos)
                                     std::this_thread::sleep_for(std::chrono::hours(1));
                                 }};
  return target;
}

}  // namespace brightnet::testing
