// A weights file's prediction layers for a data set whose classes are others, or the same in another order:
// which output channel belongs to which class.
#pragma once

#include <string>
#include <vector>

#include "formats/weights.h"
#include "layers/model/model.h"
#include "layers/parameters.h"

namespace brightnet {

enum class ClassRelation {
  same,
  /// The names are the same, in another order.
  reordered,
  /// Some names are in both.
  shared,
  /// No name is in both.
  other,
  /// There are as many classes, whose names in the weights are numbers, as darknet's without a .names.
  numbered,
};

/// The classes of weights compared with those of a data set, by name.
struct ClassMatch {
  ClassRelation relation = ClassRelation::same;
  /// For each class of the data set, its index in the weights, or −1 where they lack it.
  std::vector<int> source;
};
/// A name that is not UTF-8 is the one that the weights have in its place.
ClassMatch match_classes(const std::vector<std::string>& of_weights, const std::vector<std::string>& of_data);

/// A sentence on names that differ in upper and lower case alone, with what to do; "" where there are none.
std::string describe_other_case(const std::vector<std::string>& of_weights,
                                const std::vector<std::string>& of_data);

/// The names of the layers that make the heads' predictions.
std::vector<std::string> prediction_layers(const Model& model);

/// The channel of weights of `theirs` for each output channel of the prediction layers of `model`: an
/// anchor's box and objectness are at the same anchor's, a class's by `match`; none when no class is shared,
/// or the head has another number of anchors there. Throws InputError, naming `file`, when the classes differ
/// and a head does not read a convolution.
ChannelSources class_channels(const Model& theirs, const Model& model, const ParameterLayout& layout,
                              const ClassMatch& match, const std::string& file);

}  // namespace brightnet
