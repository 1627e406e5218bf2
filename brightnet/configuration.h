// What a run is made from, and its configuration with every default.
#pragma once

#include <string>
#include <vector>

#include "brightnet/public.h"

namespace brightnet {

/// A configuration, and what takes the place of its parts. Everything may be left out that another part says.
struct Configuration {
  std::string config = {};  ///< the path of a run's YAML, or of darknet's .cfg
  std::string model = {};   ///< a name that `brightnet models` lists, or the path of a YAML or .cfg
  /// A data set: an Ultralytics data.yaml, darknet's obj.data, a COCO JSON, a VOC folder, or a folder of images and labels.
  std::string data = {};
  /// "train.epochs=50"; the last one wins. A prefix, "--epochs:train.epochs=50", makes errors name that option; such a setting
  /// does not win: earlier ones of its key, and the members below, must agree with it.
  std::vector<std::string> settings = {};
  std::string fold = {};       ///< "K/N"; empty: the configuration's
  std::string precision = {};  ///< empty: the configuration's
  // An error about these names the command's option, "--size".
  /// A value for train.size: "416", "384x1248" (the height first) or "auto"; empty: the configuration's.
  std::string size = {};
  int batch = 0;  ///< a value for train.batch; 0: the configuration's
};

struct ConfigKey {
  std::string name = {};   ///< "train.batch"
  std::string about = {};  ///< the comment that is printed with it; may be empty
  /// The words that the key takes; no more than "auto" where it takes numbers or any text.
  std::vector<std::string> values = {};
};

/// All settings, in the order in which they are printed, and those of `head:`, which are printed where they are given.
BRIGHTNET_PUBLIC std::vector<ConfigKey> describe_config_keys();
/// The names of all settings, in the order of describe_config_keys().
BRIGHTNET_PUBLIC std::vector<std::string> config_keys();

struct ResolvedConfiguration {
  std::string yaml = {};                  ///< every value, each with its comment
  std::vector<std::string> remarks = {};  ///< a sentence for each thing that `train` needs and lacks
};

/// The configuration that `train` would have. Its data need not be there. Throws InputError for what `train` refuses before
/// it has read them.
BRIGHTNET_PUBLIC ResolvedConfiguration resolve_configuration(const Configuration& configuration);

}  // namespace brightnet
