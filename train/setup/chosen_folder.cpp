#include "train/setup/chosen_folder.h"

#include <fmt/format.h>

#include "core/files.h"
#include "core/log.h"
#include "train/distributed/agreement.h"
#include "train/setup/known_runs.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Best weights of a run that ended before its first save are kept under another name: best-before, best-before-2, ….
void set_best_aside(const RunFolder& folder) {
  std::error_code ignored;
  const auto name = [&](int number) {
    return folder.best().parent_path() /
           fmt::format("best-before{}.safetensors", number > 1 ? fmt::format("-{}", number) : "");
  };
  int number = 1;
  while (fs::exists(name(number), ignored)) ++number;
  fs::rename(folder.best(), name(number), ignored);
}

}  // namespace

RunPlace::RunPlace(const RunRequest& request, Communicator& ranks)
    : request_(request), leads_(ranks.leads()) {
  // Before anything is created, on all ranks: one whose configuration is broken says so.
  prepare_together(ranks, [&] {
    if (!request.resuming) request_.loaded = requested_config(request);
  });
  prepare_together(ranks, [&] {
    if (leads_) find_or_create();
  });
  // "resume", "again" or "new", then the folder.
  const char* kind = request_.resuming ? "resume " : request_.begin_again ? "again " : "new ";
  const std::string decided = ranks.all_gather(kind + folder_.path().string())[0];
  if (leads_) return;
  const std::string path = decided.substr(decided.find(' ') + 1);
  folder_ = RunFolder::at(path);
  request_.out.clear();
  request_.resuming = decided[0] == 'r';
  request_.begin_again = decided[0] == 'a';
  if (request_.resuming || request_.begin_again) request_.resume = path;
}

void RunPlace::find_or_create() {
  request_ = with_run_found(request_);
  if (request_.resuming || request_.begin_again) {
    folder_ = RunFolder::open(request_.resume);
    const bool made = folder_.make_missing_weights();
    lock_ = std::make_unique<RunLock>(folder_);
    log_to_file(folder_.log());
    if (!request_.begin_again) {
      if (made) {
        log::warn(
            "{} was missing, and has been made again without what was in it. Best weights are written to it once an "
            "evaluation scores better than the run's best so far.",
            folder_.last().parent_path().string());
      }
      return;
    }
    log::info("The run in {} ended before its first save: it begins again.", folder_.path().string());
    set_best_aside(folder_);
    return;
  }
  const fs::path usual = fs::path("runs") / request_.loaded->name;
  const fs::path wanted = request_.out.empty() ? usual : fs::path(request_.out);
  folder_ = RunFolder::create(wanted);
  lock_ = std::make_unique<RunLock>(folder_);
  log_to_file(folder_.log());
  if (!request_.out.empty()) list_run(usual, folder_);
  if (without_slash(fs::absolute(folder_.path())) != without_slash(fs::absolute(wanted)))
    kept_ = without_slash(wanted);
}

void RunPlace::say_number() const {
  if (kept_.empty()) return;
  log::info("{} exists and is kept: this run is written to {}. (`--resume` continues an earlier run.)",
            kept_.string(), folder_.path().string());
}

void RunPlace::check() const {
  if (lock_) lock_->check();
}

RunPlace::~RunPlace() {
  if (!leads_ || folder_.path().empty() || folder_.begun()) return;
  try {
    check();
  } catch (const InputError&) {  // the folder is another's by now
    return;
  }
  lock_.reset();
  folder_.remove_unused();
}

}  // namespace brightnet
