// The folder of a run: runs/NAME, and where everything in it lies. An existing one is never overwritten.
#pragma once

#include <filesystem>
#include <string>

namespace brightnet {

class RunFolder {
 public:
  /// Makes `wanted`, or `wanted`-2, -3, … when it exists, with the folders inside. Throws InputError when it
  /// cannot be made.
  static RunFolder create(const std::filesystem::path& wanted);
  /// The one at `path`, as another rank has made or opened it.
  static RunFolder at(std::filesystem::path path) { return RunFolder(std::move(path)); }
  /// An existing one that can be resumed; InputError, saying what is missing, for anything else.
  static RunFolder open(const std::filesystem::path& path);
  /// Of `wanted`, `wanted`-2, … that can be resumed, the one whose state was saved last; InputError when
  /// there is none.
  static RunFolder latest(const std::filesystem::path& wanted);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path model() const { return path_ / "model.yaml"; }
  std::filesystem::path best() const { return path_ / "weights" / "best.safetensors"; }
  std::filesystem::path last() const { return path_ / "weights" / "last.safetensors"; }
  std::filesystem::path state() const { return path_ / "state" / "state.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path log() const { return path_ / "train.log"; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace brightnet
