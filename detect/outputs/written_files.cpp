#include "detect/outputs/written_files.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/written_list.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* unfinished = "-";

/// The hash of the file's content: times of change do not survive copying.
std::string hash_of(const fs::path& file) {
  std::ifstream in = open_regular(file);
  if (!in) return "unreadable";
  uint64_t hash = 0;
  std::array<char, 1 << 16> block{};
  while (in.read(block.data(), block.size()), in.gcount() > 0)
    hash = hash_bytes(block.data(), static_cast<size_t>(in.gcount()), hash);
  return fmt::format("{:016x}", hash);
}

/// Whether FOLDER/NAME is a file in the folder or below it, links on the way considered. The list of a folder from
/// somebody else may name any file of this machine.
bool lies_inside(const fs::path& folder, const fs::path& name) {
  std::error_code error;
  if (name.is_absolute() || !name.has_filename() || fs::is_symlink(folder / name, error)) return false;
  if (std::find(name.begin(), name.end(), "..") != name.end()) return false;
  return lies_in((folder / name).parent_path(), folder);
}

}  // namespace

WrittenFiles::WrittenFiles(fs::path folder, std::string option, std::string command)
    : folder_(std::move(folder)),
      option_(std::move(option)),
      command_(std::move(command)),
      list_(written_list(folder_, command_)) {
  std::error_code error;
  const fs::path here = folder_.empty() ? fs::path(".") : folder_;
  was_empty_ = !fs::exists(here, error) || fs::is_empty(here, error);
  if (fs::is_symlink(list_, error)) {
    throw InputError("this list of the files that `brightnet " + command_ + "` wrote is a symbolic link",
                     list_.string(), "Remove it, or name another folder with " + option_ + '.');
  }
  if (fs::exists(list_, error)) read_list();
}

void WrittenFiles::read_list() {
  std::istringstream lines(read_file(list_, most_list_bytes));
  const fs::path here = folder_.empty() ? fs::path(".") : folder_;
  size_t count = 0;
  std::string outside;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto file = parse_written_line(line);
    if (!file) continue;
    if (lies_inside(here, file->name)) {
      written_[file->name] = file->hash;
    } else if (outside.empty()) {
      outside = file->name;
    }
  }
  if (!outside.empty()) {
    log::warn(
        "{} names files that do not lie in its folder (the first: {}): they are left alone. `brightnet {}` has not "
        "written such names.",
        list_.string(), outside, command_);
  }
  if (count != written_.size()) write_list();  // a file that was written several times needs one line
}

void WrittenFiles::write_list() const {
  std::string text;
  for (const auto& [name, hash] : written_) text += written_line({hash, name});
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

void WrittenFiles::write(const std::string& name, const std::function<void(const fs::path&)>& write) {
  const fs::path file = place(name);
  begin(name);
  write(file);
  note(name);
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
  append_to_file(list_, written_line({hash, name}));
}

void WrittenFiles::remove_the_rest(const std::function<bool(const fs::path& name)>& which) {
  const auto is_left_over = [&](const std::string& name, const std::string& hash) {
    return !now_.contains(name) && which(name) && hash == hash_of(folder_ / name);
  };
  std::set<std::string> gone;
  for (const auto& [name, hash] : written_) {
    std::error_code error;
    if (is_left_over(name, hash) && fs::remove(folder_ / name, error)) gone.insert(name);
  }
  if (gone.empty()) return;
  std::erase_if(written_, [&](const auto& file) { return gone.contains(file.first); });
  // Another object may have added lines for the same folder.
  std::istringstream lines(read_file(list_, most_list_bytes));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto file = parse_written_line(line);
    if (file && !gone.contains(file->name)) text += line + '\n';
  }
  write_atomically(list_, text);
}

}  // namespace brightnet
