#include "core/log.h"

#include <memory>
#include <string>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include "core/error.h"

namespace brightnet {
namespace {

// The console is read live: no time stamps or levels there.
const bool configured = [] {
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_pattern("%v");
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("brightnet", console));
  return true;
}();

}  // namespace

void log_to_file(const std::filesystem::path& file) {
  static_cast<void>(configured);
  std::shared_ptr<spdlog::sinks::basic_file_sink_mt> sink;
  try {
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
  } catch (const spdlog::spdlog_ex&) {
    throw InputError("this file cannot be written", file.string(), "Check that you may write there.");
  }
  sink->set_pattern("%Y-%m-%d %H:%M:%S %l %v");
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.resize(1);
  sinks.push_back(std::move(sink));
  spdlog::flush_on(spdlog::level::info);
}

void log_as_rank(int rank) {
  static_cast<void>(configured);
  spdlog::default_logger()->sinks()[0]->set_pattern('[' + std::to_string(rank) + "] %v");
  if (rank > 0) spdlog::set_level(spdlog::level::warn);
}

}  // namespace brightnet
