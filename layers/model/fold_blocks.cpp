// Three steps. First, consecutive repetitions become one use of a block (residual bodies). Then, repeatedly,
// the sequence of items that occurs several times, possibly with different numbers, and saves most lines as a
// block becomes one. Finally, each number in a block becomes a constant, a parameter or a multiple of a
// parameter, whichever fits all uses.
#include "layers/model/fold_blocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

namespace brightnet {
namespace {

constexpr size_t longest_block = 24;
constexpr size_t longest_chain_link = 12;
constexpr int most_rounds = 32;
constexpr int most_repeats = 1000;  // as much as YAML allows
constexpr int deepest_block = 6;
constexpr double least_gain = 2;

/// A sequence of items that could be a block.
struct Stretch {
  uint64_t signature = 0;  ///< equal for stretches that differ only in their numbers
  int input = 0;           ///< the one layer outside that it reads
};

bool joins(const LayerDescription& layer) {
  return layer.inputs.size() > 1;
}

class Folder {
 public:
  explicit Folder(const std::vector<LayerDescription>& layers) : layers_(layers), barrier_(layers.size()) {
    for (size_t i = 0; i < layers.size(); ++i) {
      FoldedItem item;
      item.first = static_cast<int>(i);
      item.end = item.first + 1;
      if (const auto* conv = std::get_if<ConvAttributes>(&layers[i].attributes))
        item.numbers = {conv->filters};
      items_.push_back(std::move(item));
      kinds_.push_back(kind_of(layers[i]));
      if (!is_head(layers[i])) continue;
      barrier_[i] = true;
      if (layers[i].inputs[0] != network_input) barrier_[layers[i].inputs[0]] = true;
    }
  }

  FoldedModel fold() {
    fold_chains();
    use_known_blocks();
    for (int round = 0; round < most_rounds && fold_best(); ++round) {
    }
    FoldedModel model;
    model.items = std::move(items_);
    model.blocks.resize(uses_.size());
    find_first_uses(model, model.items);
    for (size_t block = 0; block < uses_.size(); ++block) infer(model, block);
    return model;
  }

 private:
  /// Identifies a layer's kind and attributes other than its filters and inputs.
  int kind_of(const LayerDescription& layer) {
    std::string text = Model::kind(layer);
    const bool head = is_head(layer);  // no block has one
    for (const auto& [key, value] : head ? YamlTexts() : layer_texts(layer.attributes, Activation::linear)) {
      if (key != "filters") text += ' ' + key + '=' + value;
    }
    return known_kinds_.emplace(text, static_cast<int>(known_kinds_.size())).first->second;
  }

  /// The layers that an item reads from outside itself.
  std::vector<int> inputs_of(const FoldedItem& item) const {
    const std::vector<int>& inputs = layers_[item.first].inputs;
    // The first layer of a block reads only the block's input.
    return item.block < 0 ? inputs : std::vector<int>{inputs[0]};
  }

  bool is_barrier(const FoldedItem& item) const { return item.block < 0 && barrier_[item.first]; }

  /// Calls see(length, stretch) for every stretch of at most `longest` items from `begin` that could be
  /// a block.
  template <typename See>
  void stretches(size_t begin, size_t longest, See&& see) const {
    Stretch stretch;
    stretch.signature = 1469598103934665603ULL;
    const auto add = [&](int64_t token) {
      stretch.signature = (stretch.signature ^ static_cast<uint64_t>(token + 7)) * 1099511628211ULL;
    };
    const int start = items_[begin].first;
    stretch.input = inputs_of(items_[begin])[0];
    for (size_t i = begin; i < items_.size() && i < begin + longest; ++i) {
      const FoldedItem& item = items_[i];
      if (is_barrier(item) || item.depth >= deepest_block) return;
      add(item.block < 0 ? kinds_[item.first] : 1000000 + item.block);
      const std::vector<int> inputs = inputs_of(item);
      add(static_cast<int64_t>(inputs.size()));
      for (const int input : inputs) {
        if (input < start) {
          if (input != stretch.input) return;
          add(-1);
          continue;
        }
        size_t k = begin;
        while (items_[k].end <= input) ++k;
        add(static_cast<int64_t>(k - begin));
        add(input == items_[k].end - 1 ? -2 : input - items_[k].first);
      }
      see(i - begin + 1, stretch);
    }
  }

  std::optional<Stretch> stretch_at(size_t begin, size_t length) const {
    std::optional<Stretch> found;
    if (begin + length > items_.size()) return found;
    stretches(begin, length, [&](size_t seen, const Stretch& stretch) {
      if (seen == length) found = stretch;
    });
    return found;
  }

  std::vector<int> numbers_of(size_t begin, size_t length) const {
    std::vector<int> numbers;
    for (size_t i = begin; i < begin + length; ++i)
      numbers.insert(numbers.end(), items_[i].numbers.begin(), items_[i].numbers.end());
    return numbers;
  }

  bool has_join(size_t begin, size_t length) const {
    return std::any_of(items_.begin() + static_cast<long>(begin),
                       items_.begin() + static_cast<long>(begin + length),
                       [&](const FoldedItem& item) { return item.block >= 0 || joins(layers_[item.first]); });
  }

  /// Replaces `repeat` consecutive stretches of `length` items by one use of a block.
  void replace(size_t begin, size_t length, int repeat, uint64_t signature) {
    const auto known = blocks_.emplace(signature, static_cast<int>(uses_.size())).first;
    if (known->second == static_cast<int>(uses_.size())) uses_.emplace_back();
    FoldedItem use;
    use.block = known->second;
    use.repeat = repeat;
    use.first = items_[begin].first;
    use.end = items_[begin + length * static_cast<size_t>(repeat) - 1].end;
    use.numbers = numbers_of(begin, length);
    uses_[use.block].push_back(use.numbers);
    use.numbers.push_back(repeat);
    const auto from = items_.begin() + static_cast<long>(begin);
    for (size_t i = begin; i < begin + length; ++i) use.depth = std::max(use.depth, items_[i].depth + 1);
    use.children.assign(std::make_move_iterator(from),
                        std::make_move_iterator(from + static_cast<long>(length)));
    items_[begin] = std::move(use);
    items_.erase(from + 1, from + static_cast<long>(length * static_cast<size_t>(repeat)));
  }

  /// How often the stretch repeats with the same numbers, each time reading the last layer of the one before.
  int links(size_t begin, size_t length, const Stretch& first) const {
    const std::vector<int> numbers = numbers_of(begin, length);
    int count = 1;
    for (size_t next = begin + length; count < most_repeats; next += length, ++count) {
      const auto stretch = stretch_at(next, length);
      if (!stretch || stretch->signature != first.signature || stretch->input != items_[next - 1].end - 1 ||
          numbers_of(next, length) != numbers)
        break;
    }
    return count;
  }

  /// Whether a stretch may become a repeated block: it joins layers, or it is a run of convolutions, three
  /// times or more, whose intermediate results are not read elsewhere; and it keeps the scale, since a change
  /// begins a stage.
  bool may_repeat(size_t begin, size_t length, int count) const {
    for (size_t i = begin; i < begin + length; ++i) {
      if (begins_scale(items_[i])) return false;
    }
    if (has_join(begin, length)) return true;
    const size_t end = begin + length * static_cast<size_t>(count);
    if (end < items_.size() && is_barrier(items_[end])) return false;  // the last convolution is the head's
    for (size_t i = begin; i + 1 < end; ++i) {
      if (std::any_of(readers_[i].begin(), readers_[i].end(), [&](size_t reader) { return reader >= end; }))
        return false;
    }
    return count >= 3;
  }

  void fold_chains() {
    for (size_t length = 2; length <= longest_chain_link; ++length) {
      count_readers();
      for (size_t begin = 0; begin + 2 * length <= items_.size(); ++begin) {
        const auto stretch = stretch_at(begin, length);
        if (!stretch) continue;
        const int count = links(begin, length, *stretch);
        if (count < 2 || !may_repeat(begin, length, count)) continue;
        if (has_join(begin, length)) with_joins_.push_back({length, stretch->signature});
        replace(begin, length, count, stretch->signature);
        count_readers();
      }
    }
  }

  /// A single residual body is a use of the block as well.
  void use_known_blocks() {
    for (const auto& [length, signature] : with_joins_) {
      for (size_t begin = 0; begin + length <= items_.size(); ++begin) {
        const auto stretch = stretch_at(begin, length);
        if (stretch && stretch->signature == signature) replace(begin, length, 1, signature);
      }
    }
  }

  /// Folds the stretch that saves most lines; false when none is worth it.
  bool fold_best() {
    std::unordered_map<uint64_t, std::pair<size_t, std::vector<size_t>>> places;
    for (size_t begin = 0; begin < items_.size(); ++begin) {
      stretches(begin, longest_block, [&](size_t length, const Stretch& stretch) {
        if (length < 2) return;
        auto& [known_length, begins] = places[stretch.signature];
        known_length = length;
        if (begins.empty() || begins.back() + length <= begin) begins.push_back(begin);
      });
    }
    count_readers();
    double best = least_gain;
    size_t best_length = 0;
    uint64_t best_signature = 0;
    std::vector<size_t> best_begins;
    for (const auto& [signature, place] : places) {
      const auto& [length, begins] = place;
      if (begins.size() < 2) continue;
      const double gain = gain_of(begins, length);
      const bool earlier = gain == best && !best_begins.empty() && begins[0] < best_begins[0];
      if (gain > best || earlier) {
        best = gain;
        best_length = length;
        best_signature = signature;
        best_begins = begins;
      }
    }
    for (auto begin = best_begins.rbegin(); begin != best_begins.rend(); ++begin)
      replace(*begin, best_length, 1, best_signature);
    return !best_begins.empty();
  }

  void count_readers() {
    readers_.assign(items_.size(), {});
    for (size_t i = 0; i < items_.size(); ++i) {
      for (const int input : inputs_of(items_[i])) {
        if (input == network_input) continue;
        const auto item =
            std::upper_bound(items_.begin(), items_.end(), input,
                             [](int layer, const FoldedItem& other) { return layer < other.end; });
        readers_[item - items_.begin()].push_back(i);
      }
    }
  }

  double gain_of(const std::vector<size_t>& begins, size_t length) const {
    const auto uses = static_cast<double>(begins.size()), lines = static_cast<double>(length);
    double gain = uses * lines - (lines + 3 + uses);
    std::vector<std::vector<int>> numbers;
    for (const size_t begin : begins) numbers.push_back(numbers_of(begin, length));
    const size_t parameters = parameters_of(numbers);
    if (parameters > 4) return 0;
    gain -= parameters > 2 ? static_cast<double>(parameters - 2) * uses / 2 : 0;
    // Good blocks have one input and one output, begin where the scale changes, and end with the layer that
    // joins what they computed.
    for (const size_t begin : begins) {
      for (size_t i = begin; i + 1 < begin + length; ++i) {
        for (const size_t reader : readers_[i]) gain -= reader >= begin + length ? 0.75 : 0;
      }
      if (is_strided(items_[begin])) gain += 1;
      const size_t after = begin + length;
      if (after < items_.size() && is_barrier(items_[after])) gain -= 1.5;
      if (after < items_.size() && is_join(items_[after - 1]) && reads_only(items_[after], items_[after - 1]))
        gain -= 1;
    }
    return gain;
  }

  bool begins_scale(const FoldedItem& item) const {
    if (item.block >= 0) return false;
    return std::visit([](const auto& kind) { return kind.scale(1) != 1 && kind.scale(1) != whole_image; },
                      layers_[item.first].attributes);
  }
  bool is_strided(const FoldedItem& item) const {
    return begins_scale(item) && std::holds_alternative<ConvAttributes>(layers_[item.first].attributes);
  }
  bool is_join(const FoldedItem& item) const {
    return item.block < 0 && std::holds_alternative<ConcatAttributes>(layers_[item.first].attributes);
  }
  bool reads_only(const FoldedItem& item, const FoldedItem& other) const {
    const std::vector<int> inputs = inputs_of(item);
    return !is_barrier(item) && item.block < 0 && inputs.size() == 1 && inputs[0] == other.end - 1;
  }

  /// Estimates, for gain_of(), how many of the numbers are neither constant nor a simple multiple of another.
  static size_t parameters_of(const std::vector<std::vector<int>>& uses) {
    std::vector<size_t> chosen;
    for (size_t slot = uses[0].size(); slot-- > 0;) {
      if (constant(uses, slot)) continue;
      const bool derived = std::any_of(chosen.begin(), chosen.end(),
                                       [&](size_t base) { return ratio(uses, slot, base).parameter == 0; });
      if (!derived) chosen.push_back(slot);
    }
    return chosen.size();
  }

  static bool constant(const std::vector<std::vector<int>>& uses, size_t slot) {
    return std::all_of(uses.begin(), uses.end(),
                       [&](const auto& numbers) { return numbers[slot] == uses[0][slot]; });
  }

  /// slot = base · times / over in every use; parameter is −1 when there is no such ratio.
  static Expression ratio(const std::vector<std::vector<int>>& uses, size_t slot, size_t base) {
    static constexpr std::pair<int, int> ratios[] = {{1, 1}, {1, 2}, {2, 1}, {1, 4}, {4, 1}, {1, 8}, {8, 1}};
    for (const auto& [times, over] : ratios) {
      const bool fits = std::all_of(uses.begin(), uses.end(), [&](const auto& numbers) {
        return static_cast<int64_t>(numbers[slot]) * over == static_cast<int64_t>(numbers[base]) * times;
      });
      if (fits) return {0, 0, times, over};
    }
    return {};
  }

  void find_first_uses(FoldedModel& model, const std::vector<FoldedItem>& items) const {
    for (const FoldedItem& item : items) {
      if (item.block < 0) continue;
      find_first_uses(model, item.children);
      auto& block = model.blocks[item.block];
      if (!block.first_use) block.first_use = &item;
    }
  }

  void infer(FoldedModel& model, size_t index) const {
    FoldedBlock& block = model.blocks[index];
    const auto& uses = uses_[index];
    std::vector<bool> wanted;
    for (const FoldedItem& child : block.first_use->children) {
      const size_t begin = wanted.size();
      wanted.resize(begin + child.numbers.size(), child.block < 0);
      block.counts.resize(wanted.size());
      if (child.block < 0) continue;
      const FoldedBlock& inner = model.blocks[child.block];
      for (size_t i = 0; i < inner.counts.size(); ++i) block.counts[begin + i] = inner.counts[i];
      for (const int number : inner.parameters) wanted[begin + static_cast<size_t>(number)] = true;
      wanted.back() = true;
      block.counts.back() = true;
    }
    block.expressions.resize(wanted.size());
    // From the last to the first: a block's width is that of its output.
    for (size_t slot = wanted.size(); slot-- > 0;) {
      if (!wanted[slot]) continue;
      Expression& expression = block.expressions[slot];
      expression.value = uses[0][slot];
      if (constant(uses, slot)) continue;
      for (size_t parameter = 0; parameter < block.parameters.size() && expression.parameter < 0;
           ++parameter) {
        const auto base = static_cast<size_t>(block.parameters[parameter]);
        if (block.counts[slot] != block.counts[base]) continue;
        const Expression found = ratio(uses, slot, base);
        const bool plain = found.times == 1 && found.over == 1;
        if (found.parameter < 0 || (block.counts[slot] && !plain)) continue;
        expression = {static_cast<int>(parameter), 0, found.times, found.over};
      }
      if (expression.parameter >= 0) continue;
      expression = {static_cast<int>(block.parameters.size()), 0, 1, 1};
      block.parameters.push_back(static_cast<int>(slot));
    }
    put_counts_last(block);
  }

  /// Widths are named before counts.
  static void put_counts_last(FoldedBlock& block) {
    std::vector<int> order;
    for (const bool count : {false, true}) {
      for (size_t i = 0; i < block.parameters.size(); ++i) {
        if (block.counts[block.parameters[i]] == count) order.push_back(static_cast<int>(i));
      }
    }
    std::vector<int> sorted, place(order.size());
    for (const int old : order) {
      place[old] = static_cast<int>(sorted.size());
      sorted.push_back(block.parameters[old]);
    }
    block.parameters = sorted;
    for (Expression& expression : block.expressions) {
      if (expression.parameter >= 0) expression.parameter = place[expression.parameter];
    }
  }

  const std::vector<LayerDescription>& layers_;
  std::vector<bool> barrier_;
  std::vector<int> kinds_;
  std::map<std::string, int> known_kinds_;
  std::vector<FoldedItem> items_;
  std::map<uint64_t, int> blocks_;                   ///< by signature
  std::vector<std::vector<std::vector<int>>> uses_;  ///< the numbers of each block's uses
  std::vector<std::pair<size_t, uint64_t>> with_joins_;
  std::vector<std::vector<size_t>> readers_;  ///< of each item: the items that read it
};

}  // namespace

FoldedModel fold_blocks(const std::vector<LayerDescription>& layers) {
  return Folder(layers).fold();
}

}  // namespace brightnet
