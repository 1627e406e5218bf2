// A run's folder, runs/NAME, and the paths of its files. An existing folder is never overwritten.
#pragma once

#include <filesystem>
#include <string>

namespace brightnet {

class RunFolder {
 public:
  /// Creates `wanted`, or `wanted`-2, -3, … when it exists, and its subfolders. Throws InputError on failure.
  static RunFolder create(const std::filesystem::path& wanted);
  /// The folder at `path`, which another rank has created or opened.
  static RunFolder at(std::filesystem::path path) { return RunFolder(std::move(path)); }
  /// An existing folder that can be resumed; otherwise InputError, which states what is missing.
  static RunFolder open(const std::filesystem::path& path);
  /// The most recently saved of the resumable folders `wanted`, `wanted`-2, …; InputError when there is none.
  static RunFolder latest(const std::filesystem::path& wanted);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path model() const { return path_ / "model.yaml"; }
  std::filesystem::path best() const { return path_ / "weights" / "best.safetensors"; }
  std::filesystem::path last() const { return path_ / "weights" / "last.safetensors"; }
  /// The mean of the best evaluations' weights; only when it scores better than the best.
  std::filesystem::path averaged() const { return path_ / "weights" / "averaged.safetensors"; }
  std::filesystem::path state() const { return path_ / "state" / "state.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path log() const { return path_ / "train.log"; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace brightnet
