// Trained weights: what `brightnet train` writes, or darknet's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "brightnet/public.h"

namespace brightnet {

struct TrainedModel;

/// The files that trained weights are read from.
struct WeightsFiles {
  std::filesystem::path weights = {};  ///< a file, or the name of published weights, which are fetched
  std::filesystem::path cfg = {};      ///< darknet's description of a .weights file; empty for a .safetensors
  std::filesystem::path names = {};    ///< darknet's class names: a .names file or an obj.data
  /// Class names for darknet's weights where no file has them; empty: classes are numbered.
  std::vector<std::string> classes = {};
};

/// Returns for a run's folder the file of its weights to use: the averaged ones where they are better, else the best, else the
/// last. Other paths as they are.
BRIGHTNET_PUBLIC std::filesystem::path weights_file(const std::filesystem::path& weights);

/// A network's description, its class names and its values in memory. Copies share them; nothing changes them, so an
/// object may be used by several threads. One that was moved from can be assigned to and destroyed, and nothing else.
class BRIGHTNET_PUBLIC Weights {
 public:
  /// Throws InputError when the files are not there, not whole, or do not belong together.
  static Weights open(const WeightsFiles& files);
  /// Reads a .safetensors file of brightnet.
  static Weights open(const std::filesystem::path& file) { return open(WeightsFiles{.weights = file}); }

  const std::string& model() const;                 ///< the network's name
  const std::vector<std::string>& classes() const;  ///< names; the index is the class id
  int input_height() const;                         ///< in pixels, at which the network was evaluated
  int input_width() const;
  int channels() const;        ///< 3: RGB; 1: grey
  int64_t parameters() const;  ///< trainable values
  /// Says where the weights come from: "run", "epoch", "AP", …; for people.
  const std::map<std::string, std::string>& training() const;

  /// Only the library itself calls this.
  explicit Weights(std::shared_ptr<const TrainedModel> trained);
  const TrainedModel& trained() const { return *trained_; }

 private:
  std::shared_ptr<const TrainedModel> trained_;
};

}  // namespace brightnet
