#include "layers/model/names.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace brightnet {
namespace {

template <typename Attributes>
const Attributes* layer_as(const Model& model, const FoldedItem& item) {
  if (item.block >= 0) return nullptr;
  return std::get_if<Attributes>(&model.layers[item.first].attributes);
}

const std::vector<int>& first_inputs(const Model& model, const FoldedItem& item) {
  return model.layers[item.first].inputs;
}

size_t place_of(const std::vector<FoldedItem>& items, int layer) {
  const auto item = std::upper_bound(items.begin(), items.end(), layer,
                                     [](int wanted, const FoldedItem& other) { return wanted < other.end; });
  return static_cast<size_t>(item - items.begin());
}

bool contains(const Model& model, const FoldedItem& item, bool (*is)(const LayerAttributes&)) {
  for (int layer = item.first; layer < item.end; ++layer) {
    if (is(model.layers[layer].attributes)) return true;
  }
  return false;
}

bool is_upsample(const LayerAttributes& attributes) {
  return std::holds_alternative<UpsampleAttributes>(attributes);
}
bool is_downsample(const LayerAttributes& attributes) {
  const auto* conv = std::get_if<ConvAttributes>(&attributes);
  const auto* pool = std::get_if<MaxPoolAttributes>(&attributes);
  return (conv && conv->stride > 1) || (pool && pool->stride > 1);
}
bool is_concat(const LayerAttributes& attributes) {
  return std::holds_alternative<ConcatAttributes>(attributes);
}
bool is_sum(const LayerAttributes& attributes) {
  return std::holds_alternative<ShortcutAttributes>(attributes);
}
bool is_split(const LayerAttributes& attributes) {
  return std::holds_alternative<SplitAttributes>(attributes);
}

/// Makes names unique: one that is taken gets a letter.
class NameBook {
 public:
  std::string take(const std::string& wanted) {
    std::string name = wanted;
    for (char letter = 'b'; !taken_.insert(name).second; ++letter)
      name = wanted + (letter <= 'z' ? std::string(1, letter) : '_' + std::to_string(letter));
    return name;
  }
  /// For layers without a role: a, b, c, …
  std::string take_letter() {
    for (char letter = 'a'; letter <= 'z'; ++letter) {
      if (taken_.insert(std::string(1, letter)).second) return std::string(1, letter);
    }
    return take("c");
  }

 private:
  std::set<std::string> taken_{"input"};
};

class Namer {
 public:
  Namer(const Model& model, const FoldedModel& folded)
      : model_(model),
        folded_(folded),
        scales_(layer_scales(model.layers)),
        wanted_items_(folded.items.size()) {
    for (const FoldedBlock& block : folded.blocks)
      wanted_children_.emplace_back(block.first_use->children.size());
  }

  ModelNames name() {
    find_parts();
    want_list(folded_.items, wanted_items_, network_input);
    name_blocks();
    name_items();
    return std::move(names_);
  }

 private:
  // Marks every item that is referred to by name.
  void want_list(const std::vector<FoldedItem>& items, std::vector<bool>& wanted, int list_input) {
    for (size_t i = 0; i < items.size(); ++i) {
      const FoldedItem& item = items[i];
      if (item.block >= 0) {
        wanted[i] = true;
        want_list(item.children, wanted_children_[item.block], first_inputs(model_, item)[0]);
      }
      if (reads_previous(model_, item, i > 0 ? &items[i - 1] : nullptr, list_input)) continue;
      const auto& inputs = first_inputs(model_, item);
      const size_t count = item.block >= 0 ? 1 : inputs.size();
      for (size_t k = 0; k < count; ++k) {
        if (inputs[k] != list_input && inputs[k] != network_input) want(items, wanted, inputs[k]);
      }
    }
  }

  void want(const std::vector<FoldedItem>& items, std::vector<bool>& wanted, int layer) {
    const size_t place = place_of(items, layer);
    const FoldedItem& item = items[place];
    wanted[place] = true;
    if (item.block < 0 || layer == item.end - 1) return;
    const int inner = item.first + (layer - item.first) % item.repetition();
    want(item.children, wanted_children_[item.block], inner);
  }

  void find_parts() {
    const auto& items = folded_.items;
    size_t first_up = items.size(), last_up = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      if (!contains(model_, items[i], is_upsample)) continue;
      first_up = std::min(first_up, i);
      last_up = i;
    }
    Part part = Part::backbone;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i == first_up) part = Part::top_down;
      if (part == Part::top_down && i > last_up && contains(model_, items[i], is_downsample))
        part = Part::bottom_up;
      names_.parts.push_back(part);
    }
    // The 1x1 convolution before the first upsampling belongs to the top-down path.
    if (first_up > 0 && first_up < items.size()) {
      const auto* conv = layer_as<ConvAttributes>(model_, items[first_up - 1]);
      if (conv && conv->size == 1 && layer_as<UpsampleAttributes>(model_, items[first_up]) &&
          first_inputs(model_, items[first_up])[0] == items[first_up - 1].first)
        names_.parts[first_up - 1] = Part::top_down;
    }
  }

  // Blocks are named by their content.
  std::string block_kind(const FoldedBlock& block) const {
    const FoldedItem& use = *block.first_use;
    const bool sum = contains(model_, use, is_sum), concat = contains(model_, use, is_concat);
    size_t widest = 0;
    for (const FoldedItem& child : use.children)
      widest = std::max(widest, first_inputs(model_, child).size());
    if (contains(model_, use, is_upsample)) return concat ? "merge_up" : "lateral";
    if (concat && widest >= 4) return "elan";
    if (concat && (sum || contains(model_, use, is_split))) return "csp";
    if (concat) return contains(model_, use, is_downsample) ? "csp" : "csp_plain";
    if (sum) return contains(model_, use, is_downsample) ? "stage" : "residual";
    static const char* counts[] = {"single", "single", "pair",  "three", "four",
                                   "five",   "six",    "seven", "eight"};
    return use.children.size() < std::size(counts) ? counts[use.children.size()] : "chain";
  }

  void name_blocks() {
    NameBook book;
    for_each_layer_kind([&](const auto& defaults) { book.take(std::string(defaults.kind)); });
    for (size_t block = 0; block < folded_.blocks.size(); ++block) {
      names_.blocks.push_back(book.take(block_kind(folded_.blocks[block])));
      names_.children.push_back(name_children(block));
    }
  }

  std::vector<std::string> name_children(size_t block) const {
    const FoldedItem& use = *folded_.blocks[block].first_use;
    const auto& children = use.children;
    const int input = first_inputs(model_, use)[0];
    std::vector<std::string> names(children.size());
    NameBook book;
    for (size_t i = 0; i < children.size(); ++i) {
      if (!wanted_children_[block][i]) continue;
      const std::string role = child_role(children, i, input);
      names[i] = role.empty() ? book.take_letter() : book.take(role);
    }
    return names;
  }

  /// Items of the list that read the last layer of item i.
  std::vector<size_t> readers(const std::vector<FoldedItem>& items, size_t i) const {
    std::vector<size_t> found;
    for (size_t k = i + 1; k < items.size(); ++k) {
      const auto& inputs = first_inputs(model_, items[k]);
      const size_t count = items[k].block >= 0 ? 1 : inputs.size();
      if (std::find(inputs.begin(), inputs.begin() + static_cast<long>(count), items[i].end - 1) !=
          inputs.begin() + static_cast<long>(count))
        found.push_back(k);
    }
    return found;
  }

  static std::string plain_role(const LayerAttributes& attributes) {
    return std::visit([](const auto& kind) { return std::string(kind.role); }, attributes);
  }

  std::string child_role(const std::vector<FoldedItem>& items, size_t i, int list_input) const {
    const FoldedItem& item = items[i];
    if (item.block >= 0) return "body";
    const auto* conv = layer_as<ConvAttributes>(model_, item);
    if (!conv) return plain_role(model_.layers[item.first].attributes);
    if (conv->stride > 1) return "down";
    const int source = first_inputs(model_, item)[0];
    const auto read = readers(items, i);
    const auto joins = [&](size_t k) {
      return layer_as<ConcatAttributes>(model_, items[k]) || layer_as<ShortcutAttributes>(model_, items[k]);
    };
    if (gates(items, i)) return "attention";
    if (i > 0 && source == items[i - 1].end - 1 && layer_as<ConcatAttributes>(model_, items[i - 1]))
      return "merge";
    const bool to_join = std::any_of(read.begin(), read.end(), joins);
    const bool on = !read.empty() && read[0] == i + 1 && !joins(read[0]);
    if (to_join && !on && branches(items, source, i)) return "bypass";
    if (source == list_input) return "in";
    return to_join && !on ? "out" : "";
  }

  /// Whether a layer with one input, other than `reader`, reads `source` as well.
  bool branches(const std::vector<FoldedItem>& items, int source, size_t reader) const {
    for (size_t k = 0; k < items.size(); ++k) {
      if (k != reader && first_inputs(model_, items[k]).size() == 1 &&
          first_inputs(model_, items[k])[0] == source)
        return true;
    }
    return false;
  }

  /// A convolution whose logistic output multiplies another layer.
  bool gates(const std::vector<FoldedItem>& items, size_t i) const {
    const auto* conv = layer_as<ConvAttributes>(model_, items[i]);
    const auto read = readers(items, i);
    return conv && conv->activation == Activation::logistic && !read.empty() &&
           layer_as<MultiplyAttributes>(model_, items[read[0]]);
  }

  int level(int layer) const {
    return static_cast<int>(std::lround(std::log2(std::max(1.0, scales_[layer]))));
  }

  void name_items() {
    const auto& items = folded_.items;
    NameBook book;
    int stage = 0;
    names_.items.resize(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      const FoldedItem& item = items[i];
      const std::string stride = std::to_string(static_cast<int>(std::lround(scales_[item.end - 1])));
      const bool head = layer_as<YoloAttributes>(model_, item);
      const bool predict = i + 1 < items.size() && layer_as<YoloAttributes>(model_, items[i + 1]);
      if (head || predict) {
        names_.items[i] = book.take((head ? "head" : "predict") + stride);
      } else if (item.block >= 0 && names_.parts[i] == Part::backbone && begins_stage(i)) {
        names_.items[i] = book.take("stage" + std::to_string(++stage));
      } else if (wanted_items_[i]) {
        names_.items[i] = book.take(item_role(i) + std::to_string(level(item.end - 1)));
      }
    }
  }

  /// A use of a block that changes the scale or directly follows a layer that does.
  bool begins_stage(size_t i) const {
    const auto& items = folded_.items;
    if (contains(model_, items[i], is_downsample)) return true;
    for (size_t before = i; before-- > 0 && items[before].block < 0;) {
      if (contains(model_, items[before], is_downsample)) return true;
    }
    return false;
  }

  std::string item_role(size_t i) const {
    const auto& items = folded_.items;
    const FoldedItem& item = items[i];
    const char* of_part = names_.parts[i] == Part::backbone   ? "c"
                          : names_.parts[i] == Part::top_down ? "p"
                                                              : "n";
    if (item.block >= 0) return contains(model_, item, is_upsample) ? "up" : of_part;
    const auto* conv = layer_as<ConvAttributes>(model_, item);
    if (!conv) {
      const LayerAttributes& attributes = model_.layers[item.first].attributes;
      return std::holds_alternative<MultiplyAttributes>(attributes) ? "attended" : plain_role(attributes);
    }
    if (conv->stride > 1) return "down";
    const int source = first_inputs(model_, item)[0];
    const bool apart = source != network_input && (i == 0 || source != items[i - 1].end - 1);
    const auto read = readers(items, i);
    const bool to_join = !read.empty() && std::all_of(read.begin(), read.end(), [&](size_t k) {
      return layer_as<ConcatAttributes>(model_, items[k]) != nullptr;
    });
    if (gates(items, i)) return "attention";
    if (apart && names_.parts[i] != Part::backbone) return "lateral";
    if (names_.parts[i] == Part::backbone && to_join && i + 1 < items.size() && read[0] != i + 1)
      return "bypass";
    if (names_.parts[i] == Part::backbone && to_join) return "out";
    if (i > 0 && layer_as<ConcatAttributes>(model_, items[i - 1]) && names_.parts[i] == Part::backbone)
      return "merge";
    return of_part;
  }

  const Model& model_;
  const FoldedModel& folded_;
  const std::vector<double> scales_;
  std::vector<bool> wanted_items_;
  std::vector<std::vector<bool>> wanted_children_;
  ModelNames names_;
};

}  // namespace

bool reads_previous(const Model& model, const FoldedItem& item, const FoldedItem* before, int list_input) {
  const auto& inputs = first_inputs(model, item);
  if (item.block < 0 && inputs.size() != 1) return false;
  return inputs[0] == (before ? before->end - 1 : list_input);
}

std::string ModelNames::path_in_block(int block, const std::vector<FoldedItem>& body, int layer) const {
  const size_t place = place_of(body, layer);
  if (layer < body.front().first || place == body.size()) return "input";
  return path_in(body[place], children[block][place], layer);
}

std::string ModelNames::path(const FoldedModel& folded, int layer) const {
  if (layer == network_input) return "input";
  const size_t place = place_of(folded.items, layer);
  return path_in(folded.items[place], items[place], layer);
}

std::string ModelNames::path_in(const FoldedItem& item, const std::string& name, int layer) const {
  if (item.block < 0 || layer == item.end - 1) return name;
  const int repetition = (layer - item.first) / item.repetition();
  const std::string instance = item.repeat == 1 ? name : name + '.' + std::to_string(repetition + 1);
  return instance + '.' + path_in_block(item.block, item.children, layer - repetition * item.repetition());
}

ModelNames name_model(const Model& model, const FoldedModel& folded) {
  return Namer(model, folded).name();
}

}  // namespace brightnet
