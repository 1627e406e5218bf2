// Finds repetitions in a list of layers: consecutive residual bodies, stages that differ in their widths. The
// result is the list expressed with blocks, parameters and repetitions (private to layers/model).
#pragma once

#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// A layer, or a use of a block, in a list. Layers are identified by their index in the model ("flat").
struct FoldedItem {
  int first = 0, end = 1;  ///< flat layers [first, end), all repetitions of a block
  int block = -1;          ///< −1: a layer
  int repeat = 1;
  int depth = 0;                     ///< nesting depth of the blocks inside it
  std::vector<FoldedItem> children;  ///< of a block: the items of its first repetition
  /// What may differ between uses: a convolution's filters; for a block the numbers of its children in order,
  /// then `repeat`.
  std::vector<int> numbers;

  int repetition() const { return (end - first) / repeat; }  ///< layers per repetition
};

/// A number in a block's body: a constant, or parameter · times / over.
struct Expression {
  int parameter = -1;
  int value = 0, times = 1, over = 1;
};

struct FoldedBlock {
  const FoldedItem* first_use = nullptr;  ///< its children are the body
  /// One for each of its children's `numbers`, concatenated; those that follow from the parameters of a
  /// child's own block are unused.
  std::vector<Expression> expressions;
  std::vector<int> parameters;  ///< which of those numbers each parameter is
  std::vector<bool> counts;     ///< for each number: whether it counts repetitions rather than filters
};

struct FoldedModel {
  std::vector<FoldedItem> items;
  std::vector<FoldedBlock> blocks;  ///< a block uses only earlier ones
};

/// Every block reads one layer outside itself. Heads and the convolutions before them are never part
/// of a block.
FoldedModel fold_blocks(const std::vector<LayerDescription>& layers);

}  // namespace brightnet
