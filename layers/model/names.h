// Names for layers and blocks, by what they do in a detector: stages of a backbone, laterals, heads by their
// stride (private to layers/model).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "layers/model/fold_blocks.h"

namespace brightnet {

/// Where a detector's layers stand: the backbone, the way up to finer maps, the way down again.
enum class Part { backbone, top_down, bottom_up };

struct ModelNames {
  std::vector<std::string> items;                  ///< of the model's own list; empty: needs none
  std::vector<std::string> blocks;                 ///< kinds of blocks
  std::vector<std::vector<std::string>> children;  ///< of each block's body
  std::vector<Part> parts;                         ///< of the model's own list

  /// What a layer is called in the model's own list.
  std::string path(const FoldedModel& folded, int layer) const;
  /// What a layer is called in a block's body, given the body's items; the block's input is "input".
  std::string path_in_block(int block, const std::vector<FoldedItem>& body, int layer) const;
};

/// Names what is referred to by name, all uses of blocks, and the heads.
ModelNames name_model(const Model& model, const FoldedModel& folded);

/// Whether an item can leave out `from`: it reads one layer, the last of the item before it (`before`:
/// nullptr for the first of a list, which reads the list's input).
bool reads_previous(const Model& model, const FoldedItem& item, const FoldedItem* before, int list_input);

}  // namespace brightnet
