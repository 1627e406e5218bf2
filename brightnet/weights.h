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

/// A network's description, its class names and its values in memory. Copies share them; nothing changes them, so an
/// object may be used by several threads.
class BRIGHTNET_PUBLIC Weights {
 public:
  /// Reads a .safetensors file of brightnet. Throws InputError when it is not one, or not whole.
  static Weights open(const std::filesystem::path& file);
  /// Reads darknet's .weights by its .cfg; `names` is a .names file or an obj.data, or empty: the classes are numbered.
  /// Throws InputError when they do not belong together, or when not all layers are in the file.
  static Weights open_darknet(const std::filesystem::path& weights, const std::filesystem::path& cfg,
                              const std::filesystem::path& names = {});

  const std::string& model() const;                 ///< the network's name
  const std::vector<std::string>& classes() const;  ///< by class id
  int input_height() const;                         ///< pixels, at which the network was evaluated
  int input_width() const;
  int channels() const;        ///< 3: RGB; 1: grey
  int64_t parameters() const;  ///< trainable values
  /// Where the weights come from: "run", "epoch", "AP", …; for people.
  const std::map<std::string, std::string>& training() const;

  /// For the library itself.
  explicit Weights(std::shared_ptr<const TrainedModel> trained);
  const TrainedModel& trained() const { return *trained_; }

 private:
  std::shared_ptr<const TrainedModel> trained_;
};

}  // namespace brightnet
