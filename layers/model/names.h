// Names layers and blocks by their role in a detector: stages of a backbone, laterals, heads by their stride
// (private to layers/model).
#pragma once

#include <string>
#include <vector>

#include "layers/model/fold_blocks.h"

namespace brightnet {

/// The parts of a detector: the backbone, the top-down path to finer maps, the bottom-up path after it.
enum class Part { backbone, top_down, bottom_up };

struct ModelNames {
  std::vector<std::string> items;                  ///< of the model's top-level list; empty: needs none
  std::vector<std::string> blocks;                 ///< kinds of blocks
  std::vector<std::vector<std::string>> children;  ///< of each block's body
  std::vector<Part> parts;                         ///< of the model's top-level list

  /// The name of a layer in the model's top-level list.
  std::string path(const FoldedModel& folded, int layer) const;
  /// The name of a layer in a block's body, given the body's items; the block's input is "input".
  std::string path_in_block(int block, const std::vector<FoldedItem>& body, int layer) const;

 private:
  std::string path_in(const FoldedItem& item, const std::string& name, int layer) const;
};

/// Names every layer that another refers to, all uses of blocks, and the heads.
ModelNames name_model(const Model& model, const FoldedModel& folded);

/// Whether an item can leave out `from`: it reads one layer, the last of the item before it (`before`:
/// nullptr for the first of a list, which reads the list's input).
bool reads_previous(const Model& model, const FoldedItem& item, const FoldedItem* before, int list_input);

}  // namespace brightnet
