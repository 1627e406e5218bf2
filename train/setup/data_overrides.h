// A data set that is named by its place alone (`--data`), as configurations are overridden by it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/formats/recognize.h"
#include "train/config/config.h"

namespace brightnet {

/// Of a data set without validation images: a tenth of the training images, chosen by content.
constexpr Fold validation_fold{1, 10};

/// The data set at `data` or, where that is empty, of a configuration that says where its folder is and no more
/// (data/formats/data_yaml.h); none where a configuration says all of it. Throws InputError as recognize_data() does.
std::optional<RecognizedData> recognize_run_data(const std::string& data, const std::string& config,
                                                 const std::vector<std::string>& assignments);

/// Whether a run on it needs validation_fold: it has no validation images, and the assignments say nothing of them.
bool lacks_validation(const RecognizedData& data, const std::vector<std::string>& assignments);

/// What overrides `config` for a run on `data`, either of which may be empty, with these assignments.
Overrides overrides_for(const std::string& data, const std::string& config,
                        std::vector<std::string> assignments);

/// A configuration and what overrides it.
struct NamedData {
  std::string config;  ///< a run's YAML, if the place is that of one; otherwise empty
  Overrides overrides;
};

/// `place` is what recognize_data() takes, or a run's configuration. Throws InputError when it is neither.
NamedData name_data(const std::string& place, std::vector<std::string> assignments);

}  // namespace brightnet
