#include "train/run/run_lock.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path lock_of(const RunFolder& folder) {
  return folder.state().parent_path() / "lock";
}

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(::getpid()) + " on " + host;
}

/// What the lock's holder has written into the file, which may briefly be empty.
std::string holder(int file) {
  char words[512];
  const ssize_t length = ::pread(file, words, sizeof words, 0);
  return length > 0 ? std::string(words, static_cast<size_t>(length)) : "another process";
}

/// A run's files have the same names in every run: a link in a folder from somebody else may lead to another run.
void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_symlink(folder, ignored)) return;
  throw InputError("this folder of a run is a symbolic link (to " +
                       fs::read_symlink(folder, ignored).string() + "), and what it leads to is not written",
                   folder.string(),
                   "Put the folder itself here. For another disk, make the whole run's folder a link to it.");
}

void remove_temporaries(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (AtomicFile::is_temporary(entry.path())) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

RunLock::RunLock(const RunFolder& folder) : path_(fs::absolute(lock_of(folder))) {
  for (const auto& place : {folder.last().parent_path(), folder.state().parent_path()}) refuse_link(place);
  const fs::path& path = path_;
  file_ = Descriptor(open_no_link(path, O_RDWR | O_CREAT));
  if (!file_) {
    throw InputError(std::string("this run's folder cannot be written: ") + std::strerror(errno),
                     path.string(), "Check that you may write there, or train under another --out.");
  }
  lock_ = identity_of(path);
  folder_ = identity_of(path.parent_path());
  if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    const std::string who = holder(file_.number());
    if (reason == EWOULDBLOCK) {
      throw InputError(who + " is training in this folder", folder.path().string(),
                       "Wait for it, or stop it (a signal lets it save), or train under another --out.");
    }
    log::warn("{} cannot be locked ({}): make sure that no other program trains in this folder.",
              path.string(), std::strerror(reason));
    return;
  }
  const std::string words = this_process();
  if (::ftruncate(file_.number(), 0) == 0)
    static_cast<void>(!::pwrite(file_.number(), words.data(), words.size(), 0));
  for (const auto& place : {folder.path(), folder.last().parent_path(), folder.state().parent_path()}) {
    remove_temporaries(place);
  }
}

void RunLock::check() const {
  const auto other = [](const std::optional<FileIdentity>& now, const std::optional<FileIdentity>& held) {
    return now && now != held;
  };
  // What is no folder there is no other run: what is written into it fails by itself.
  std::error_code ignored;
  if (!fs::is_directory(path_.parent_path(), ignored)) return;
  if (!other(identity_of(path_), lock_) && !other(identity_of(path_.parent_path()), folder_)) return;
  throw InputError(
      "this run's folder was deleted or moved and made again while the run was training: it may be another "
      "run's now, so this run stops without writing into it",
      path_.parent_path().parent_path().string(),
      "Leave the folder of a run alone while it trains, or give each run its own --out.");
}

bool wait_for_end_of_run(const RunFolder& folder, std::chrono::milliseconds limit,
                         const std::stop_token& stop) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const Descriptor file(open_no_link(lock_of(folder), O_RDWR));
    if (!file) return true;
    const bool held = ::flock(file.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!held) return true;
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace brightnet
