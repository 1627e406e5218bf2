#include "core/log.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

/// Appends every message to a file. While there is none yet, or that fails (disk full), messages are kept and
/// written before the next one; stderr has shown them.
class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  FileSink() { set_pattern("%Y-%m-%d %H:%M:%S %l %v"); }
  ~FileSink() override { write(); }

  void open(std::filesystem::path file) {
    append_to_file(file, "");
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
    write();
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (unwritten_.size() + line.size() <= most_unwritten) unwritten_.append(line.data(), line.size());
    write();
  }
  void flush_() override {}
  void write() {
    if (unwritten_.empty() || file_.empty()) return;
    try {
      append_to_file(file_, unwritten_);
      unwritten_.clear();
    } catch (const InputError&) {  // the next message tries again
    }
  }

  static constexpr size_t most_unwritten = 1 << 20;
  std::filesystem::path file_;
  std::string unwritten_;
};

// The console is read live: no time stamps or levels there.
const bool configured = [] {
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_pattern("%v");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("brightnet", console));
  return true;
}();

/// Has no file yet.
std::shared_ptr<FileSink> kept;

}  // namespace

void keep_messages() {
  static_cast<void>(configured);
  kept = std::make_shared<FileSink>();
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.resize(1);
  sinks.push_back(kept);
}

void log_to_file(const std::filesystem::path& file) {
  if (!kept) keep_messages();
  const auto sink = std::exchange(kept, nullptr);
  sink->open(std::filesystem::absolute(file));
}

void log_as_rank(int rank) {
  static_cast<void>(configured);
  spdlog::default_logger()->sinks()[0]->set_pattern('[' + std::to_string(rank) + "] %v");
  if (rank > 0) spdlog::set_level(spdlog::level::warn);
}

}  // namespace brightnet
