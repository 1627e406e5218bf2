#include "data/image/stored_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t most_header_bytes = uint64_t{1} << 20;  // limit for a long name or pax records

/// What tells that a file is still the same.
struct Stamp {
  uint64_t size = 0;
  int64_t seconds = 0, nanoseconds = 0;  ///< time of its last change
  bool operator==(const Stamp&) const = default;
};

/// A regular file that is open for reading.
class OpenFile {
 public:
  explicit OpenFile(const fs::path& file)
      : descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (!descriptor_ || ::fstat(descriptor_.number(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    is_regular_ = true;
    stamp_ = {static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
  }

  explicit operator bool() const { return is_regular_; }
  const Stamp& stamp() const { return stamp_; }

  /// How many bytes were read: fewer than wanted at the end of the file, or when it cannot be read.
  uint64_t read(uint64_t from, std::span<uint8_t> to) const {
    uint64_t done = 0;
    while (done < to.size()) {
      const ssize_t count =
          ::pread(descriptor_.number(), to.data() + done, to.size() - done, static_cast<off_t>(from + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += count;
    }
    return done;
  }

 private:
  Descriptor descriptor_;
  bool is_regular_ = false;
  Stamp stamp_;
};

/// One member's header, 512 bytes (POSIX.1-2008, pax: "ustar Interchange Format").
class TarHeader {
 public:
  explicit TarHeader(const std::array<uint8_t, tar_block>& bytes) : bytes_(bytes) {}

  bool is_empty() const {
    return std::all_of(bytes_.begin(), bytes_.end(), [](uint8_t byte) { return byte == 0; });
  }
  /// Whether the header's checksum is right: the sum of all bytes, its own taken as blanks.
  bool has_its_sum() const {
    uint64_t sum = 0;
    for (size_t i = 0; i < tar_block; ++i) sum += i >= 148 && i < 156 ? ' ' : bytes_[i];
    return number(148, 8) == sum;
  }
  char type() const { return static_cast<char>(bytes_[156]); }
  std::optional<uint64_t> size() const { return number(124, 12); }
  std::string name() const {
    const std::string own = text(0, 100), prefix = text(257, 6) == "ustar" ? text(345, 155) : "";
    return prefix.empty() ? own : prefix + '/' + own;
  }
  std::string link() const { return text(157, 100); }

 private:
  std::string text(size_t at, size_t length) const {
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + at;
    return {from, ::strnlen(from, length)};
  }
  /// Octal digits, or GNU's binary form for what does not fit into them.
  std::optional<uint64_t> number(size_t at, size_t length) const {
    uint64_t value = 0;
    if (bytes_[at] & 0x80) {
      for (size_t i = at + length - 8; i < at + length; ++i) value = value << 8 | bytes_[i];
      return value;
    }
    bool any = false;
    for (const char c : text(at, length)) {
      if (c == ' ') continue;
      if (c < '0' || c > '7') return std::nullopt;
      value = value * 8 + (c - '0');
      any = true;
    }
    return any ? std::optional(value) : std::nullopt;
  }

  const std::array<uint8_t, tar_block>& bytes_;
};

/// What a pax header says of the next member: records "LENGTH KEY=VALUE\n".
struct PaxRecords {
  std::string path, link, size;

  explicit PaxRecords(std::string_view text) {
    while (!text.empty()) {
      size_t length = 0, digits = 0;
      for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && length <= text.size();
           ++digits)
        length = length * 10 + (text[digits] - '0');
      if (length <= digits + 1 || length > text.size()) return;
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      if (record.starts_with("path=")) path = record.substr(5);
      if (record.starts_with("linkpath=")) link = record.substr(9);
      if (record.starts_with("size=")) size = record.substr(5);
      text.remove_prefix(length);
    }
  }
};

/// Walks through an archive and lists its members.
class TarReader {
 public:
  TarReader(const fs::path& file, const OpenFile& bytes) : file_(file), bytes_(bytes) {}

  std::vector<TarMember> members() {
    std::vector<TarMember> members;
    std::array<uint8_t, tar_block> bytes{};
    while (at_ < bytes_.stamp().size) {
      if (bytes_.read(at_, bytes) != tar_block) refuse("it ends within the header of a member");
      const TarHeader header(bytes);
      if (header.is_empty()) break;
      if (!header.has_its_sum())
        refuse(at_ == 0 ? "it is no tar archive, or a compressed one" : "the header of a member is damaged");
      read_member(header, members);
    }
    return members;
  }

 private:
  void read_member(const TarHeader& header, std::vector<TarMember>& members) {
    const std::string pax_size = std::exchange(next_size_, "");
    const auto size = pax_size.empty() ? header.size() : std::strtoull(pax_size.c_str(), nullptr, 10);
    const uint64_t from = at_ + tar_block, all = bytes_.stamp().size;
    if (!size || *size > all || from > all - *size)
      refuse(fmt::format("it ends within its member '{}'", header.name()));
    switch (header.type()) {
      case 'L':
        next_name_ = text(from, *size).c_str();
        break;  // GNU: the name of the next one, with a zero behind it
      case 'K': next_link_ = text(from, *size).c_str(); break;
      case 'x': {
        const PaxRecords records(text(from, *size));
        if (!records.path.empty()) next_name_ = records.path;
        if (!records.link.empty()) next_link_ = records.link;
        next_size_ = records.size;
        break;
      }
      default: add(header, from, *size, members);
    }
    at_ = from + (*size + tar_block - 1) / tar_block * tar_block;
  }

  void add(const TarHeader& header, uint64_t from, uint64_t size, std::vector<TarMember>& members) {
    const std::string name = std::exchange(next_name_, ""), link = std::exchange(next_link_, "");
    // Packed with `tar -C FOLDER .`, they begin with "./", which no path that was put in order has.
    const auto in_order = [](const std::string& given, const std::string& in_header) {
      return fs::path(given.empty() ? in_header : given).lexically_normal().string();
    };
    switch (header.type()) {
      case '0':
      case '7':
      case '\0': members.push_back({in_order(name, header.name()), from, size}); break;
      case '1': {  // a hard link: tar packs the bytes of a file once, under the first name that it meets
        // Most archives have no links, and may have millions of names.
        for (; indexed_ < members.size(); ++indexed_) {
          const TarMember& known = members[indexed_];
          by_name_[known.name] = {known.at, known.size};
        }
        const auto first = by_name_.find(in_order(link, header.link()));
        if (first == by_name_.end()) return;
        const auto [at, bytes] = first->second;
        members.push_back({in_order(name, header.name()), at, bytes});
        break;
      }
      default: return;  // folders, symbolic links and devices have no bytes
    }
    // Below its archive's path, such a name would be that of another file.
    const fs::path own = members.back().name;
    if (own.is_absolute() || (!own.empty() && *own.begin() == "..")) refuse_outside(own);
  }

  std::string text(uint64_t from, uint64_t size) const {
    if (size > most_header_bytes) refuse("the name of a member is too long");
    std::vector<uint8_t> bytes(size);
    bytes_.read(from, bytes);
    return {bytes.begin(), bytes.end()};
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError("this archive cannot be read: " + why, fmt::format("{}, byte {}", file_.string(), at_),
                     "Copy or write it again; archives must be uncompressed .tar files.");
  }

  [[noreturn]] void refuse_outside(const fs::path& name) const {
    throw InputError(fmt::format("the name of its member '{}' leads out of this archive", name.string()),
                     fmt::format("{}, byte {}", file_.string(), at_),
                     "Write it again with names that begin in a folder: tar -C FOLDER -cf FILE.tar .");
  }

  const fs::path& file_;
  const OpenFile& bytes_;
  uint64_t at_ = 0;
  std::string next_name_, next_link_, next_size_;
  std::unordered_map<std::string, std::pair<uint64_t, uint64_t>> by_name_;  // where a member is, its bytes
  size_t indexed_ = 0;                                                      // so many members are in by_name_
};

/// A list of members, and how its archive was when it was read.
class TarList {
 public:
  explicit TarList(const fs::path& archive) {
    const OpenFile file(archive);
    if (!file) throw InputError("this archive cannot be opened", archive.string(), "Check its permissions.");
    stamp_ = file.stamp();
    members_ = TarReader(archive, file).members();
    by_name_.resize(members_.size());
    std::iota(by_name_.begin(), by_name_.end(), 0u);
    std::stable_sort(by_name_.begin(), by_name_.end(),
                     [&](uint32_t a, uint32_t b) { return members_[a].name < members_[b].name; });
  }

  const std::vector<TarMember>& members() const { return members_; }
  const Stamp& stamp() const { return stamp_; }
  const TarMember* find(const std::string& name) const {
    const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                     [&](uint32_t a, const std::string& b) { return members_[a].name < b; });
    return at != by_name_.end() && members_[*at].name == name ? &members_[*at] : nullptr;
  }

 private:
  std::vector<TarMember> members_;
  std::vector<uint32_t> by_name_;
  Stamp stamp_;
};

/// The archives that this process has read from. The lists of their members stay; of their descriptors, of which a process
/// has few, those that were used last.
class Archives {
 public:
  /// The list of an archive as it is at the moment, for whoever opens a data set.
  std::shared_ptr<const TarList> list_again(const fs::path& archive) {
    const std::lock_guard lock(mutex_);
    auto& list = lists_[archive.native()];
    if (!list || OpenFile(archive).stamp() != list->stamp()) list = std::make_shared<const TarList>(archive);
    return list;
  }

  /// The list of an archive as it was when it was listed.
  std::shared_ptr<const TarList> list(const fs::path& archive) {
    const std::lock_guard lock(mutex_);
    auto& list = lists_[archive.native()];
    if (!list) list = std::make_shared<const TarList>(archive);
    return list;
  }

  /// The archive of a list. Throws InputError when there is another one in its place.
  std::shared_ptr<const OpenFile> open(const fs::path& archive, const TarList& list) {
    const std::lock_guard lock(mutex_);
    auto at = std::find_if(open_.begin(), open_.end(), [&](const auto& one) { return one.first == archive; });
    if (at != open_.end() && at->second->stamp() != list.stamp()) {
      open_.erase(at);
      at = open_.end();
    }
    if (at == open_.end()) {
      open_.emplace_front(archive, std::make_shared<const OpenFile>(archive));
      if (open_.size() > most_open) open_.pop_back();
    } else {
      open_.splice(open_.begin(), open_, at);
    }
    const auto& file = open_.front().second;
    if (*file && file->stamp() == list.stamp()) return file;
    throw InputError("this archive has been replaced since its members were listed", archive.string(),
                     "Do not change the data during training, or restart.");
  }

 private:
  static constexpr size_t most_open = 64;

  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const TarList>> lists_;
  std::list<std::pair<fs::path, std::shared_ptr<const OpenFile>>> open_;  // the last used first
};

Archives& archives() {
  static Archives all;
  return all;
}

/// The name in its archive of a file that lies in one, in order as those of the list are.
std::string member_name(const fs::path& file, const fs::path& archive) {
  return fs::path(file.native().substr(archive.native().size() + 1)).lexically_normal().string();
}

}  // namespace

std::vector<TarMember> tar_members(const fs::path& archive) {
  return archives().list_again(archive)->members();
}

bool is_tar_name(const fs::path& file) {
  return file.extension() == ".tar" && !is_clutter(file);
}

fs::path archive_of(const fs::path& file) {
  const std::string& path = file.native();
  constexpr std::string_view ending = ".tar/";
  for (size_t at = path.find(ending); at != std::string::npos; at = path.find(ending, at + 1)) {
    fs::path archive = path.substr(0, at + ending.size() - 1);
    std::error_code failed;
    if (fs::is_regular_file(archive, failed)) return archive;
  }
  return {};
}

bool is_stored(const fs::path& file) {
  std::error_code failed;
  return fs::exists(file, failed) || (!archive_of(file).empty() && stored_size(file));
}

std::optional<uint64_t> stored_size(const fs::path& file) {
  if (const fs::path archive = archive_of(file); !archive.empty()) {
    const auto list = archives().list(archive);
    const TarMember* member = list->find(member_name(file, archive));
    return member ? std::optional(member->size) : std::nullopt;
  }
  std::error_code failed;
  const uintmax_t size = fs::file_size(file, failed);  // fails for folders
  return failed ? std::nullopt : std::optional<uint64_t>(size);
}

std::vector<uint8_t> read_stored(const fs::path& file, uint64_t from, uint64_t limit) {
  const auto read = [&](const OpenFile& open, uint64_t at, uint64_t size) {
    std::vector<uint8_t> bytes(from < size ? std::min(limit, size - from) : 0);
    bytes.resize(open.read(at + from, bytes));
    return bytes;
  };
  const fs::path archive = archive_of(file);
  if (archive.empty()) {
    const OpenFile open(file);
    return open ? read(open, 0, open.stamp().size) : std::vector<uint8_t>();
  }
  const auto list = archives().list(archive);
  const TarMember* member = list->find(member_name(file, archive));
  if (!member) return {};
  return read(*archives().open(archive, *list), member->at, member->size);
}

}  // namespace brightnet
