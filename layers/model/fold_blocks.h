// Finding what repeats in a list of layers: residual bodies in a row, stages that differ in their widths. The
// result says how to write the list with blocks, parameters and repetitions (private to layers/model).
#pragma once

#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// A layer, or a use of a block, in a list. Layers are named by their index in the model ("flat").
struct FoldedItem {
  int first = 0, end = 1;  ///< flat layers [first, end), all repetitions of a block
  int block = -1;          ///< −1: a layer
  int repeat = 1;
  int depth = 0;                     ///< of blocks inside it
  std::vector<FoldedItem> children;  ///< of a block: the items of its first repetition
  /// What may differ between uses: a convolution's filters; of a block that of its children in
  /// order, and repeat.
  std::vector<int> numbers;

  int repetition() const { return (end - first) / repeat; }  ///< layers of one
};

/// A number in a block's body: a constant, or parameter · times / over.
struct Expression {
  int parameter = -1;
  int value = 0, times = 1, over = 1;
};

struct FoldedBlock {
  const FoldedItem* first_use = nullptr;  ///< its children are the body
  /// One for each of its children's `numbers`, joined; those of a child's own block that its parameters give
  /// are unused.
  std::vector<Expression> expressions;
  std::vector<int> parameters;  ///< which of those numbers each parameter is
  std::vector<bool> counts;     ///< of the numbers: a count of repetitions, not of filters
};

struct FoldedModel {
  std::vector<FoldedItem> items;
  std::vector<FoldedBlock> blocks;  ///< a block uses only earlier ones
};

/// Every block reads one layer outside itself. Heads and the convolutions before them are never part
/// of a block.
FoldedModel fold_blocks(const std::vector<LayerDescription>& layers);

}  // namespace brightnet
