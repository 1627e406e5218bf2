// A run as its user names it: a configuration, a data set by its place alone (`--data`), settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "brightnet/configuration.h"
#include "data/formats/recognize.h"
#include "train/config/config.h"

namespace brightnet {

class NamedRun {
 public:
  /// `needs_validation`: a data set without validation images is divided, unless a setting says something of them.
  explicit NamedRun(Configuration named = {}, bool needs_validation = true)
      : named_(std::move(named)), needs_validation_(needs_validation) {}
  /// For an evaluation, which takes all images of a place that has the name of validation or test images. Those of test are
  /// never divided.
  static NamedRun evaluated(Configuration named, Split split) {
    NamedRun run(std::move(named), split != Split::test);
    run.evaluates_ = true;
    return run;
  }

  const std::string& config() const { return named_.config; }
  /// The settings that override config(). Throws InputError for data that are not recognized.
  Overrides overrides() const;
  RunConfig load(bool needs_data = true) const { return load_run_config(config(), overrides(), needs_data); }
  /// Logs what the data set was recognized as.
  void say_data() const;
  /// The place of a data set of which a part of the training images becomes the validation images; empty: no other.
  std::string divided_place() const;

 private:
  /// The data set that is named by its place or of a configuration that says where its folder is and no more
  /// (data/formats/data_yaml.h); null where a configuration says all of it.
  const RecognizedData* recognized() const;
  bool divides() const;
  bool says_validation() const;
  bool is_held_back() const;

  Configuration named_;
  bool needs_validation_;
  bool evaluates_ = false;
  mutable std::optional<RecognizedData> recognized_;
  mutable bool is_asked_ = false;
};

/// The configuration with `config` moved to `data`, where it is a data set itself and no data set is named.
Configuration with_data_for_config(Configuration named);

/// `place` is what recognize_data() takes, or a run's configuration.
Configuration configuration_at(const std::string& place, std::vector<std::string> settings);

}  // namespace brightnet
