// The keys of a configuration that something other than a training heeds.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace brightnet {

struct HeededKeys {
  std::string by;                 ///< what heeds them: "an evaluation"
  std::vector<std::string> keys;  ///< where one ends in '.', all that begin with it
  std::map<std::string, std::string> remedies =
      {};  ///< a sentence for a key whose value something else gives

  bool contain(const std::string& key) const;
  /// Those of config_keys().
  std::vector<std::string> names() const;
  /// Throws InputError for values that would be ignored. `where` is what has the assignments; those of an option are passed over.
  void refuse_others(const std::vector<std::string>& assignments, const std::string& where) const;
};

}  // namespace brightnet
