// From the names in the labels to the classes that are trained on, the same for all formats: data.map,
// data.target_class_mapping, data.classes and data.single_class.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/formats/labels.h"

namespace brightnet {

class ChosenClasses {
 public:
  /// `declared` are the classes that the data set itself lists; where it lists none, `in_labels` finds those of its
  /// labels, which may take long and is called only where they are needed. Throws InputError for a map of a class that
  /// is not there, or to one that data.classes does not list.
  ChosenClasses(const DataOptions& options, const std::vector<std::string>& declared,
                const std::function<std::vector<std::string>()>& in_labels);

  const std::vector<std::string>& names() const { return names_; }

  /// The class of an object as it is labelled. Logs one that is unknown, and one that is not chosen, with its name
  /// as the detail.
  std::optional<int> find(const LabelledBox& box, ProblemLog& log) const;

 private:
  std::string mapped(const std::string& name) const;
  void check_map(const DataOptions& options, const std::vector<std::string>& own) const;
  void check_list(const DataOptions& options, const std::vector<std::string>& declared) const;

  bool drops_unmapped_;  ///< data.target_class_mapping, whose keys are in lower case here
  bool is_list_;         ///< data.classes
  bool is_declared_;
  std::map<std::string, std::string> map_;
  std::vector<std::string> chosen_;  ///< the chosen classes before data.single_class joins them
  std::vector<std::string> names_;
};

/// The classes where the options alone tell them; else nullopt.
std::optional<std::vector<std::string>> known_classes(const DataOptions& options);

/// Makes one problem, with the number of objects, of all that are of a class that is not chosen.
void count_dropped(std::vector<DataProblem>& problems);

}  // namespace brightnet
