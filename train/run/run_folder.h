// A run's folder, runs/NAME, and the paths of its files. An existing folder is never overwritten.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace brightnet {

class RunFolder {
 public:
  /// Creates `wanted`, or `wanted`-2, -3, … when it exists and is not empty, and its subfolders. Throws
  /// InputError on failure.
  static RunFolder create(const std::filesystem::path& wanted);
  /// The folder at `path`, which another rank has created or opened.
  static RunFolder at(std::filesystem::path path) { return RunFolder(std::move(path)); }
  /// The folder of a run that was begun; otherwise InputError, which states what is missing.
  static RunFolder open(const std::filesystem::path& path);
  /// The runs `wanted`, `wanted`-2, … that can be resumed or begun again.
  static std::vector<RunFolder> numbered(const std::filesystem::path& wanted);
  /// The runs directly below a folder that can be resumed or begun again, the one that was saved last first.
  static std::vector<RunFolder> below(const std::filesystem::path& folder);
  /// The one of several that was saved last; one without a state counts from when it was begun.
  static std::optional<RunFolder> latest(const std::vector<RunFolder>& runs);

  /// Whether the folder has the description that a run begins with, and whether a state to resume from.
  bool begun() const;
  bool saved() const;
  /// Whether the state is gone that was saved with the last weights: not a run to be begun again.
  bool lost_state() const;
  /// Makes the folder of the weights where it is missing, as in a copy without the large files, and returns whether it was.
  /// Throws InputError on failure; a link in its place is left to RunLock, which refuses it.
  bool make_missing_weights() const;
  /// Removes what create() made, `log()` and what there is of the description, and each folder that this leaves empty. Does
  /// nothing to a folder that was not created by this object, or in which the run has trained.
  void remove_unused() const;

  /// What a new run can begin with in the place of this one, as options that a shell takes: "--weights FILE", its last weights.
  /// Those of a run with train.quantize are of 8 bits, with which none can begin: then the ones that it began with itself. Empty
  /// where these are not there. No punctuation may follow it.
  std::string weights_of_new_run() const;
  /// Advice for what the run cannot be resumed with: "start a new run with --weights FILE". Without weights that are there,
  /// "start a new run". No punctuation may follow FILE.
  std::string new_run() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config() const { return path_ / "config.yaml"; }
  std::filesystem::path model() const { return path_ / "model.yaml"; }
  std::filesystem::path best() const { return path_ / "weights" / "best.safetensors"; }
  std::filesystem::path last() const { return path_ / "weights" / "last.safetensors"; }
  /// The mean of the best evaluations' weights; only when it scores better than the best.
  std::filesystem::path averaged() const { return path_ / "weights" / "averaged.safetensors"; }
  /// The weights after an epoch, where the run keeps them (train.save_epochs).
  std::filesystem::path snapshot(int64_t epoch) const;
  /// The file with what a run that is begun again starts from, as assignments of a configuration.
  std::filesystem::path start() const { return path_ / "state" / "start.txt"; }
  std::filesystem::path state() const { return path_ / "state" / "state.safetensors"; }
  std::filesystem::path metrics() const { return path_ / "metrics.csv"; }
  std::filesystem::path log() const { return path_ / "train.log"; }
  std::filesystem::path file(const std::string& name) const { return path_ / name; }

 private:
  explicit RunFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_ =
      {};  ///< folders around it that create() made, the inner ones first
  bool is_new_ = false;
};

}  // namespace brightnet
