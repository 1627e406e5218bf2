// Data sets that a YAML describes: Ultralytics's data.yaml, the `data:` section of a configuration, or such a
// section alone, as `data synth` writes it.
#pragma once

#include "core/config.h"
#include "data/formats/recognize.h"

namespace brightnet {

/// Whether a YAML describes a data set and not a run or a model.
bool describes_data(const YamlValue& root);

/// Whether data_of_yaml() reads it: it describes data, or is a run's and has a `data:` section.
bool has_data(const YamlValue& root);

/// Whether a `data:` section says nothing of how its folder is laid out, neither a format nor a split: this is
/// recognized then, as --data FOLDER is.
bool lacks_layout(const YamlValue& section);

/// Fills in what a section that lacks_layout() leaves open, from the folder `options.root`. What it says stays. Throws
/// InputError as recognize_data() does.
RecognizedData take_layout(const YamlValue& section, DataOptions& options);

/// The data set of a YAML.
///
/// Ultralytics's keys are `path`, `train`, `val`, `test`, `names` (a list, or a map from ids), `nc` and `kpt_shape`. A relative
/// `path` starts in the YAML's folder or else in the current folder; places start below it, also where a leading ../
/// is too many, as in Roboflow's exports. `download` is named and not run. Throws InputError, with file and line,
/// when a place does not exist, when `nc` is not the number of names, and for a YAML that describes no data.
RecognizedData data_of_yaml(const std::filesystem::path& file);

}  // namespace brightnet
