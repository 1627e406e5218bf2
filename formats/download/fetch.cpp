#include "formats/download/fetch.h"

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress_line.h"
#include "core/sha256.h"
#include "formats/darknet/cfg.h"
#include "formats/darknet/weights.h"
#include "formats/download/transfer.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Limits, in bytes, for a file whose length is not published.
constexpr uint64_t most_weights = uint64_t{4} << 30, most_text = uint64_t{1} << 20;

/// A file to fetch.
struct Wanted {
  std::string name, address;
  uint64_t bytes = 0;
  std::string sha256;
  uint64_t most = UINT64_MAX;
  /// Throws InputError for a file of another kind.
  void (*check)(const fs::path& file) = nullptr;
};

[[noreturn]] void not_weights(const fs::path& file, const std::string& why) {
  throw InputError(
      "what was fetched are not darknet's weights: " + why, file.string(),
      "A proxy or the mirror may have sent something else; try again, or name another mirror with "
      "BRIGHTNET_MIRROR (brightnet download: --mirror).");
}

void check_weights(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  int32_t version[3] = {};
  in.read(reinterpret_cast<char*>(version), sizeof version);
  const DarknetHeader header{version[0], version[1], version[2]};
  if (!in || !header.is_plausible()) not_weights(file, "it does not begin with a version of theirs");
  in.ignore(header.wide() ? 8 : 4);
  std::vector<float> numbers(1 << 18);
  uint64_t read = 0;
  for (std::streamsize got = 1; got > 0;) {
    in.read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(float)));
    got = in.gcount();
    if (got % sizeof(float) != 0) not_weights(file, "it ends within a number");
    for (size_t i = 0; i < got / sizeof(float); ++i, ++read) {
      if (!std::isfinite(numbers[i])) not_weights(file, fmt::format("its number {} is not finite", read));
    }
  }
  if (read == 0) not_weights(file, "no data after the header");
}

void check_cfg(const fs::path& file) {
  parse_darknet_cfg(read_file(file), file.string());
}

void check_names(const fs::path& file) {
  const auto lines = read_lines(file);
  if (!lines.empty() && lines.front().text.find('<') == std::string::npos) return;
  throw InputError("what was fetched is no list of class names", file.string(),
                   "Try again, or name a mirror with BRIGHTNET_MIRROR (brightnet download: --mirror).");
}

std::string mirror_of(const FetchOptions& options) {
  std::string mirror = options.mirror;
  if (const char* set = std::getenv("BRIGHTNET_MIRROR"); mirror.empty() && set) mirror = set;
  while (mirror.ends_with('/')) mirror.pop_back();
  if (mirror.empty() || mirror.starts_with("http://") || mirror.starts_with("https://")) return mirror;
  throw InputError("the mirror is '" + mirror + "' and must begin with http:// or https://",
                   options.mirror.empty() ? "BRIGHTNET_MIRROR" : "--mirror",
                   "Files that are on this machine need no mirror: give the path with --weights.");
}

/// The part of a file, locked by this process.
class Part {
 public:
  /// Waits while another process fetches it.
  Part(const fs::path& file, const FetchOptions& options) : path_(file.string() + ".part") {
    for (bool told = false;;) {
      descriptor_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
      if (!descriptor_) fail("cannot be written");
      if (::flock(descriptor(), LOCK_EX | LOCK_NB) == 0) {
        if (still_there()) return;
      } else if (errno != EWOULDBLOCK && errno != EINTR) {
        fail("cannot be locked");
      } else if (!told) {
        told = true;
        log::info("Another process is fetching {}: waiting for it.", file.filename().string());
      }
      descriptor_ = Descriptor();
      if (options.stopped && options.stopped())
        throw Error(ExitCode::interrupted, "the download was stopped", path_.string(), "");
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  int descriptor() const { return descriptor_.number(); }
  const fs::path& path() const { return path_; }
  uint64_t bytes() const {
    struct stat now {};
    return ::fstat(descriptor(), &now) == 0 ? static_cast<uint64_t>(now.st_size) : 0;
  }
  void clear() {
    if (::ftruncate(descriptor(), 0) != 0) fail("cannot be written");
  }
  void become(const fs::path& file) {
    if (::fsync(descriptor()) != 0) fail("cannot be written");
    std::error_code error;
    fs::rename(path_, file, error);
    if (error) throw InputError("this file cannot be written: " + error.message(), file.string());
    flush_folder(file.parent_path());
  }

 private:
  /// Whether the locked file is the one of this name: the process before has renamed it when it was done.
  bool still_there() const {
    struct stat locked {
    }, named{};
    return ::fstat(descriptor(), &locked) == 0 && ::stat(path_.c_str(), &named) == 0 &&
           locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(
        fmt::format("this file {}: {}", what, std::strerror(errno)), path_.string(),
        "Check that you may write there and that the disk is not full; XDG_CACHE_HOME names another "
        "place.");
  }

  fs::path path_;
  Descriptor descriptor_;
};

void verify(const Part& part, const Wanted& wanted) {
  if (!wanted.sha256.empty()) {
    const std::string hash = sha256_of(part.path());
    if (hash == wanted.sha256) return;
    throw InputError(
        fmt::format("what was fetched from {} is not {}: its SHA-256 is {}, and {} was expected",
                    wanted.address, wanted.name, hash, wanted.sha256),
        wanted.name,
        "Name a mirror that you trust with BRIGHTNET_MIRROR (brightnet download: --mirror), or try again later.");
  }
  if (wanted.check) wanted.check(part.path());
}

void fetch_part(Part& part, const Wanted& wanted, const FetchOptions& options) {
  ProgressLine line(10);
  TransferOptions how;
  how.bytes = wanted.bytes;
  how.most = wanted.most;
  how.first_wait = options.first_wait;
  how.progress = [&](uint64_t done, uint64_t all) {
    if (options.stopped && options.stopped()) return false;
    if (line.due()) {
      const auto mebibytes = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
      const std::string of = all > 0 ? fmt::format(" of {:.1f}", mebibytes(all)) : "";
      line.show(fmt::format("{}  {:.1f}{} MiB", wanted.name, mebibytes(done), of));
    }
    return true;
  };
  transfer(wanted.address, part.descriptor(), wanted.name, how);
}

/// Where the hash of a file is kept, as sha256sum writes it.
fs::path hash_file(const fs::path& file) {
  return file.string() + ".sha256";
}

void record_hash(const fs::path& file, const std::string& hash) {
  write_atomically(hash_file(file), hash + "  " + file.filename().string() + '\n');
}

/// The hash of a kept file is compared with the published one, or else with that of its first download. A file that an
/// earlier version kept gets one now.
void check_kept(const fs::path& file, const Wanted& wanted) {
  const std::string hash = sha256_of(file);
  std::error_code failed;
  const bool recorded = fs::exists(hash_file(file), failed);
  if (wanted.sha256.empty() && !recorded) return record_hash(file, hash);
  const std::string expected =
      wanted.sha256.empty() ? read_file(hash_file(file)).substr(0, hash.size()) : wanted.sha256;
  if (hash == expected) return;
  throw InputError(
      fmt::format("this file is not what was fetched: its SHA-256 is {}, and {} was {}", hash, expected,
                  wanted.sha256.empty() ? "recorded at its first download" : "published"),
      file.string(),
      "Remove it, and " + hash_file(file).filename().string() +
          " beside it, to have it fetched again; give a file of your own by its path elsewhere.");
}

fs::path fetch(Wanted wanted, const FetchOptions& options) {
  const fs::path folder = weights_folder(), file = folder / wanted.name;
  std::error_code failed;
  if (fs::is_regular_file(file, failed)) {
    check_kept(file, wanted);
    return file;
  }
  if (const std::string mirror = mirror_of(options); !mirror.empty())
    wanted.address = mirror + '/' + wanted.name;
  create_folders(folder, failed);
  if (failed)
    throw InputError("this folder cannot be created: " + failed.message(), folder.string(),
                     "XDG_CACHE_HOME names another place.");
  Part part(file, options);
  if (fs::is_regular_file(file, failed)) {  // the process before was done with it
    fs::remove(part.path(), failed);
    check_kept(file, wanted);
    return file;
  }
  uint64_t before = part.bytes();
  // Without a hash nothing would tell that the beginning is another file's, from another mirror say.
  const fs::path origin = part.path().string() + ".from";
  const bool known =
      !wanted.sha256.empty() || (fs::exists(origin, failed) && read_file(origin) == wanted.address);
  if (!known || (wanted.bytes > 0 && before > wanted.bytes)) {
    part.clear();
    before = 0;
  }
  if (wanted.sha256.empty()) write_atomically(origin, wanted.address);
  log::info("{} {} from {}", before > 0 ? "Continuing" : "Fetching", wanted.name, wanted.address);
  for (;; before = 0) {
    if (wanted.bytes == 0 || part.bytes() != wanted.bytes) fetch_part(part, wanted, options);
    try {
      verify(part, wanted);
      break;
    } catch (const InputError&) {
      part.clear();
      if (before == 0) {
        fs::remove(part.path(), failed);
        fs::remove(origin, failed);
        throw;
      }
      log::warn("What an earlier download had left of {} does not belong to it: fetching it anew.",
                wanted.name);
    }
  }
  const std::string hash = wanted.sha256.empty() ? sha256_of(part.path()) : wanted.sha256;
  part.become(file);
  fs::remove(origin, failed);
  record_hash(file, hash);
  return file;
}

}  // namespace

fs::path fetch_weights(const PublishedWeights& weights, const FetchOptions& options) {
  return fetch({weights.file, weights.address, weights.bytes, weights.sha256, most_weights, check_weights},
               options);
}

FetchedNetwork fetch_network(const PublishedWeights& weights, const FetchOptions& options) {
  FetchedNetwork network;
  network.weights = fetch_weights(weights, options);
  const auto fetch_text = [&](const std::string& address, void (*check)(const fs::path&)) {
    if (address.empty()) return fs::path();
    return fetch({fs::path(address).filename().string(), address, 0, "", most_text, check}, options);
  };
  network.cfg = fetch_text(weights.cfg, check_cfg);
  network.names = fetch_text(weights.names, check_names);
  return network;
}

std::string fetch_if_named(const std::string& weights, const FetchOptions& options) {
  // A run's YAML names the place where they are kept, and where they are compared with their hash.
  const fs::path path = weights;
  const bool in_cache = is_in_weights_folder(path);
  std::error_code failed;
  if (weights.empty() || (!in_cache && fs::is_regular_file(weights, failed))) return weights;
  if (path.has_parent_path() && !in_cache) return weights;
  const auto published = find_published_weights(path.filename().string());
  return published ? fetch_weights(*published, options).string() : weights;
}

}  // namespace brightnet
