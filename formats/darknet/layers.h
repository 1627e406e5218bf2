// What the sections of a darknet .cfg mean as layers: routes become edges, max-pools of one map become spp,
// and the logistic in front of a new_coords head becomes part of the head.
#pragma once

#include <string>
#include <vector>

#include "formats/darknet/cfg.h"
#include "layers/model/model.h"

namespace brightnet {

/// A setting of the .cfg that is ignored or changed by the import.
struct ImportNote {
  std::string where;  ///< "file:line"
  std::string text;   ///< one sentence without its full stop
};

struct DarknetLayers {
  /// Complete except for names and YAML. Convolutions are in the order of the .cfg, which is that of .weights
  /// files; `where` is the section's "file:line".
  Model model;
  /// Index of the last layer that the .cfg freezes (stopbackward=1); −1: none.
  int frozen = -1;
  std::vector<ImportNote> notes;
};

/// Throws InputError with section and line for layers that brightnet does not have and for invalid ones.
/// Channels, layers and parameters are bounded, so that a text cannot cause a huge allocation.
DarknetLayers read_darknet_layers(const DarknetCfg& cfg);

/// How many layers read each layer's output (private to formats).
std::vector<int> count_readers(const Model& model);

/// Replaces max-pools of one map and the concat that joins them by spp layers (private to formats).
void merge_spp(DarknetLayers& result);

/// The attributes of one [yolo] section (private to formats). `classes` is set to the head's.
YoloAttributes read_darknet_head(const CfgSection& section, int& classes, std::vector<ImportNote>& notes);

/// A key whose values have the same names as ours (private to formats); any other value is refused.
template <NamedEnum Enum>
Enum read_named(const CfgSection& section, std::string_view key, Enum otherwise) {
  const std::string name = section.text(key, std::string(enum_name(otherwise)));
  if (const auto value = enum_value<Enum>(name)) return *value;
  const std::vector<std::string> known = enum_names<Enum>();
  std::string list = known[0];
  for (size_t i = 1; i < known.size(); ++i) list += (i + 1 < known.size() ? ", " : " and ") + known[i];
  section.refuse(key,
                 "has " + std::string(key) + '=' + name.substr(0, 40) + ", which brightnet does not support",
                 "It has " + list + '.');
}

/// Whether darknet has this activation or box loss, by the same name.
bool is_known_to_darknet(Activation activation);
bool is_known_to_darknet(IouKind kind);

/// λ of the box loss that an import chooses: darknet's iou_normalizer scales a different gradient.
float imported_box_weight(IouKind kind);

}  // namespace brightnet
