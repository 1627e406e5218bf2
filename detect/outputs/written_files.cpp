#include "detect/outputs/written_files.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* unfinished = "-";

/// Of the file's content: times of change do not survive copying.
std::string hash_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return "unreadable";
  uint64_t hash = 0;
  std::array<char, 1 << 16> block{};
  while (in.read(block.data(), block.size()), in.gcount() > 0)
    hash = hash_bytes(block.data(), static_cast<size_t>(in.gcount()), hash);
  return fmt::format("{:016x}", hash);
}

fs::path list_name(std::string command) {
  std::replace(command.begin(), command.end(), ' ', '-');
  return ".brightnet-" + command;
}

}  // namespace

WrittenFiles::WrittenFiles(fs::path folder, std::string option, std::string command)
    : folder_(std::move(folder)),
      option_(std::move(option)),
      command_(std::move(command)),
      list_(folder_ / list_name(command_)) {
  std::error_code error;
  const fs::path here = folder_.empty() ? fs::path(".") : folder_;
  was_empty_ = !fs::exists(here, error) || fs::is_empty(here, error);
  if (!fs::exists(list_, error)) return;
  std::istringstream lines(read_file(list_));
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const size_t space = line.find(' ');
    if (space != std::string::npos) written_[line.substr(space + 1)] = line.substr(0, space);
  }
  if (count != written_.size()) write_list();  // a file that was written several times needs one line
}

void WrittenFiles::write_list() const {
  std::string text;
  for (const auto& [name, hash] : written_) text += hash + ' ' + name + '\n';
  write_atomically(list_, text);
}

fs::path WrittenFiles::place(const std::string& name) {
  const fs::path file = folder_ / name;
  std::error_code error;
  if (was_empty_ || ours_.contains(name) || !fs::exists(fs::symlink_status(file, error))) return file;
  const auto written = written_.find(name);
  const std::string remedy = "Move it away, or name another folder with " + option_ + '.';
  if (written == written_.end()) {
    throw InputError("there is a file of this name already, which `brightnet " + command_ + "` did not write",
                     file.string(), remedy);
  }
  if (written->second != unfinished && written->second != hash_of(file))
    throw InputError("this file was changed after `brightnet " + command_ + "` wrote it", file.string(),
                     remedy);
  ours_.insert(name);
  return file;
}

void WrittenFiles::note(const std::string& name) {
  put(name, hash_of(folder_ / name));
}

void WrittenFiles::begin(const std::string& name) {
  put(name, unfinished);
}

void WrittenFiles::put(const std::string& name, const std::string& hash) {
  ours_.insert(name);
  now_.insert(name);
  std::string& listed = written_[name];
  if (listed == hash) return;
  listed = hash;
  std::ofstream out(list_, std::ios::app);
  out << hash << ' ' << name << '\n' << std::flush;
  if (!out) throw InputError("this file cannot be written", list_.string(), "Is the disk full?");
}

void WrittenFiles::remove_the_rest() {
  const size_t gone = std::erase_if(written_, [&](const auto& file) {
    const auto& [name, hash] = file;
    std::error_code error;
    return !now_.contains(name) && hash == hash_of(folder_ / name) && fs::remove(folder_ / name, error);
  });
  if (gone > 0) write_list();
}

}  // namespace brightnet
