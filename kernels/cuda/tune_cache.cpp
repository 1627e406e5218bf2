#include "kernels/cuda/tune_cache.h"

#include <cctype>
#include <cerrno>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

#include "core/cache_folder.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"

namespace brightnet::cuda {
namespace {

constexpr const char* header = "brightnet convolution engines, version 1";

using Entries = std::map<std::string, std::string>;

/// The entries of a file's text; nullopt when it is incomplete or has another format.
std::optional<Entries> parse(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != header || text.back() != '\n') return std::nullopt;
  Entries entries;
  while (std::getline(lines, line)) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size() ||
        line.find('\t', tab + 1) != std::string::npos)
      return std::nullopt;
    entries[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return entries;
}

Entries read(const std::filesystem::path& file) {
  std::error_code ignored;
  if (file.empty() || !std::filesystem::exists(file, ignored)) return {};
  try {
    if (auto entries = parse(read_file(file))) return *std::move(entries);
    log::warn("{} is damaged: the convolutions are measured again.", file.string());
  } catch (const Error& error) {
    log::warn("The convolutions are measured again: {}", error.what());
  }
  return {};
}

/// While what it returns lives, no other process merges its entries into a file of this folder. A folder that cannot be
/// locked, or that a stopped process holds, is not waited for longer: the cache is worth less than the run.
Descriptor turn_to_merge(const std::filesystem::path& folder) {
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int tries = 200;  // 2 s
  for (int i = 0; i < tries && ::flock(opened.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return opened;
}

}  // namespace

TuneCache::TuneCache(std::filesystem::path file) : file_(std::move(file)), entries_(read(file_)) {}

TuneCache::~TuneCache() {
  save();
}

std::string TuneCache::find(const std::string& convolution) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(convolution);
  return found == entries_.end() ? "" : found->second;
}

void TuneCache::remember(const std::string& convolution, const std::string& engine) {
  BRIGHTNET_CHECK(!convolution.empty() && !engine.empty() &&
                      (convolution + engine).find_first_of("\t\n\r") == std::string::npos,
                  "a cache entry of more than one line");
  const std::lock_guard lock(mutex_);
  entries_[convolution] = engine;
  changed_ = true;
}

void TuneCache::save() {
  // A process may have several for one file, each of a backend in a thread of its own.
  static std::mutex merging;
  const std::lock_guard lock(mutex_);
  if (!changed_ || file_.empty()) return;
  const std::lock_guard merge(merging);
  changed_ = false;
  try {
    std::filesystem::create_directories(file_.parent_path());
    const Descriptor turn = turn_to_merge(file_.parent_path());
    Entries all = read(file_);
    for (const auto& [convolution, engine] : entries_) all[convolution] = engine;
    std::string text = std::string(header) + '\n';
    for (const auto& [convolution, engine] : all) text += convolution + '\t' + engine + '\n';
    write_atomically(file_, text);
  } catch (const std::exception& error) {
    log::warn("The convolution measurements could not be saved for the next run: {}", error.what());
    file_.clear();
  }
}

std::filesystem::path tune_cache_file(const std::string& gpu, const std::string& cudnn_version) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return folder;
  std::string name = "convolutions-" + gpu + "-cudnn-" + cudnn_version + ".txt";
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  }
  return folder / name;
}

}  // namespace brightnet::cuda
