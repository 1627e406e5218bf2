// Names for files, none of them twice.
#pragma once

#include <map>
#include <set>
#include <string>

namespace brightnet {

class UniqueNames {
 public:
  /// "dog"; the second time "dog_2", then "dog_3". Names that do not suit are passed over.
  template <typename Suits>
  std::string of(const std::string& wanted, const Suits& suits) {
    std::string name = wanted;
    // Counted on from the last time: of 100 000 images called "image" each would otherwise be compared with all before it.
    for (int& times = used_[wanted]; !suits(name) || !taken_.insert(name).second;)
      name = wanted + '_' + std::to_string(++times + 1);
    return name;
  }
  std::string of(const std::string& wanted) {
    return of(wanted, [](const std::string&) { return true; });
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> used_;  ///< how often a name had to be changed
};

}  // namespace brightnet
