// A persistent cache of autotuning results: the fastest cuDNN engine for each convolution on a given GPU.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace brightnet::cuda {

/// One file per GPU and cuDNN version, one line per entry. The file is optional: a missing one is created, a
/// damaged one is reported and measured again, a failed write is reported once.
class TuneCache {
 public:
  /// Reads `file`; an empty path keeps everything in memory.
  explicit TuneCache(std::filesystem::path file);
  /// Saves new entries.
  ~TuneCache();
  TuneCache(const TuneCache&) = delete;
  TuneCache& operator=(const TuneCache&) = delete;

  /// The engine remembered for a convolution; empty when there is none.
  std::string find(const std::string& convolution) const;
  /// Neither text may hold a tab or a line's end.
  void remember(const std::string& convolution, const std::string& engine);
  /// Atomically writes all entries, merged with those that other processes have added to the file.
  void save();

  const std::filesystem::path& file() const { return file_; }

 private:
  mutable std::mutex mutex_;
  std::filesystem::path file_;
  std::map<std::string, std::string> entries_;
  bool changed_ = false;
};

/// $XDG_CACHE_HOME/brightnet/NAME of this GPU and cuDNN, or ~/.cache/brightnet; empty without a home.
std::filesystem::path tune_cache_file(const std::string& gpu, const std::string& cudnn_version);

}  // namespace brightnet::cuda
