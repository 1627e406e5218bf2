// What was measured once and is known ever after: which of cuDNN's engines is the fastest for a convolution
// of a given shape on a given GPU, in a file that the next run reads.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>

namespace brightnet::cuda {

/// One file for a GPU and a cuDNN version, a line an entry. The file is a help and never a condition: one
/// that is missing is begun, one that is damaged is reported and measured anew, a place that cannot be
/// written is reported once.
class TuneCache {
 public:
  /// Reads `file`; an empty path keeps everything in memory.
  explicit TuneCache(std::filesystem::path file);
  /// Saves what is new.
  ~TuneCache();
  TuneCache(const TuneCache&) = delete;
  TuneCache& operator=(const TuneCache&) = delete;

  /// The engine remembered for a convolution; empty when there is none.
  std::string find(const std::string& convolution) const;
  /// Neither text may hold a tab or a line's end.
  void remember(const std::string& convolution, const std::string& engine);
  /// Writes all entries, and those that another process has added to the file meanwhile, in one piece.
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
