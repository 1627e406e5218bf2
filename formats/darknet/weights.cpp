#include "formats/darknet/weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "formats/darknet/export.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, ".weights are little-endian");

/// The values of one convolution, as stored in a file; or of a weighted sum: a row of weights for each input.
struct Block {
  const LayerDescription* layer = nullptr;
  int index = 0;  ///< index of the layer in its model
  int64_t filters = 0, size = 0, inputs = 0;
  bool batch_norm = false;
  bool is_sum = false;             ///< weights alone, neither bias nor batch-norm
  const YoloHead* head = nullptr;  ///< head whose predictions it makes

  uint64_t weights() const { return filters * size * size * inputs; }
  uint64_t floats() const {
    return weights() + static_cast<uint64_t>(filters) * (is_sum ? 0 : batch_norm ? 4 : 1);
  }
  bool same_shape(const Block& other) const {
    return filters == other.filters && size == other.size && inputs == other.inputs &&
           batch_norm == other.batch_norm && is_sum == other.is_sum;
  }
  std::string text() const {
    if (is_sum) return fmt::format("a sum with {}x{} weights", filters, inputs);
    return fmt::format("{}x{}x{}x{}{}", filters, size, size, inputs, batch_norm ? " with batch-norm" : "");
  }
};

/// The convolutions (and weighted sums) of a model whose heads have this many classes.
std::vector<Block> blocks_of(const Model& model, int64_t classes) {
  std::vector<Block> blocks;
  std::vector<int> block_of_layer(model.layers.size(), -1);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDescription& layer = model.layers[i];
    const int source = layer.inputs[0];
    if (const auto* conv = std::get_if<ConvAttributes>(&layer.attributes)) {
      const int inputs = model.channels_of(source) / conv->groups;
      block_of_layer[i] = static_cast<int>(blocks.size());
      blocks.push_back({&layer, static_cast<int>(i), conv->filters, conv->size, inputs, conv->batch_norm});
    } else if (const auto* sum = std::get_if<WeightedSumAttributes>(&layer.attributes)) {
      const int row = is_shared(sum->weights) ? 1 : layer.channels;
      blocks.push_back({&layer, static_cast<int>(i), static_cast<int64_t>(layer.inputs.size()), 1, row});
      blocks.back().is_sum = true;
    } else if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) {
      const int block = source == network_input ? -1 : block_of_layer[source];
      if (block < 0) continue;
      blocks[block].head = &yolo->head;
      blocks[block].filters = yolo->head.mask_count * (5 + classes);
    }
  }
  return blocks;
}

uint64_t floats_of(const std::vector<Block>& blocks) {
  uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.floats();
  return sum;
}

/// The number of classes with which the model has `floats` values, if there is one.
std::optional<int64_t> classes_for(const Model& model, uint64_t floats) {
  const auto one = static_cast<int64_t>(floats_of(blocks_of(model, 1)));
  const auto per_class = static_cast<int64_t>(floats_of(blocks_of(model, 2))) - one;
  const int64_t more = static_cast<int64_t>(floats) - one;
  if (per_class <= 0 || more < 0 || more % per_class != 0) return std::nullopt;
  return 1 + more / per_class;
}

/// A .weights file, read one convolution at a time; nothing is allocated beyond the file's length.
class WeightsFile {
 public:
  explicit WeightsFile(const fs::path& file) : file_(file) {
    in_ = open_sized(file, bytes_);
    const auto too_short = [&] {
      throw InputError(
          fmt::format("it has {} bytes, and darknet's header alone takes {}", bytes_, header_.bytes()),
          file_.string(), "It may have been cut short while it was copied; fetch it again.");
    };
    int32_t version[3] = {};
    if (bytes_ < 16) too_short();
    get(version, sizeof version);
    header_ = {version[0], version[1], version[2], 0};
    if (!header_.is_plausible()) {
      throw InputError("these are not darknet's weights: the file begins with version " +
                           std::to_string(version[0]) + '.' + std::to_string(version[1]) +
                           ", and 0.1, 0.2 or 0.3 was expected",
                       file.string(), "Give a .weights of darknet or a .safetensors of brightnet.");
    }
    if (bytes_ < header_.bytes()) too_short();
    get(&header_.seen, header_.wide() ? 8 : 4);
  }

  const DarknetHeader& header() const { return header_; }
  const fs::path& file() const { return file_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t floats() const { return (bytes_ - header_.bytes()) / sizeof(float); }
  /// Bytes after the last whole float.
  uint64_t odd_bytes() const { return (bytes_ - header_.bytes()) % sizeof(float); }
  uint64_t floats_left() const { return floats() - read_; }

  /// The next `count` values; the caller has checked that they exist.
  void read(std::vector<float>& numbers, uint64_t count) {
    BRIGHTNET_CHECK(count <= floats_left(), "read past the end of the weights");
    numbers.resize(count);
    get(numbers.data(), count * sizeof(float));
    read_ += count;
  }

 private:
  void get(void* to, size_t bytes) {
    if (!in_.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes)))
      throw InputError("this file cannot be read to its end", file_.string(), "Check the disk.");
  }

  fs::path file_;
  std::ifstream in_;
  uint64_t bytes_ = 0, read_ = 0;
  DarknetHeader header_;
};

/// How much of a network a file contains, by its length.
struct Extent {
  std::vector<Block> blocks;  ///< convolutions of the file's network
  int64_t classes = 0;
  size_t whole = 0;    ///< convolutions that are complete
  bool clean = false;  ///< the file ends where the last of them does
};

Extent extent_of(const WeightsFile& weights, const Model& network, bool any_classes) {
  Extent extent{{}, network.classes, 0, false};
  const uint64_t floats = weights.floats();
  if (any_classes && weights.odd_bytes() == 0) {
    if (const auto classes = classes_for(network, floats)) extent.classes = *classes;
  }
  extent.blocks = blocks_of(network, extent.classes);
  uint64_t end = 0;
  for (const Block& block : extent.blocks) {
    if (end + block.floats() > floats) break;
    end += block.floats();
    ++extent.whole;
  }
  extent.clean = end == floats && weights.odd_bytes() == 0 && extent.whole > 0;
  return extent;
}

std::string ordinal(size_t number) {
  const char* endings[] = {"th", "st", "nd", "rd"};
  const bool teen = number % 100 / 10 == 1;
  return std::to_string(number) + endings[!teen && number % 10 < 4 ? number % 10 : 0];
}

/// What to do about a file that is of another network, or not whole.
const char* remedy_for_unfit_weights(const DarknetWeightsOptions& options) {
  return options.may_be_partial
             ? "Give the model that these weights belong to (its .cfg tells their shapes), or "
               "--weights-partial to take the layers before."
             : "Give the .cfg that these weights belong to. If this is it, the file was cut short or damaged "
               "while it was copied or downloaded; fetch it again.";
}

[[noreturn]] void refuse_length(const WeightsFile& weights, const Model& network, const Extent& extent,
                                const DarknetWeightsOptions& options) {
  const uint64_t expected = weights.header().bytes() + sizeof(float) * floats_of(extent.blocks);
  std::string what = fmt::format("it has {} bytes, and all weights of '{}' with {} classes take {}",
                                 weights.bytes(), network.name, extent.classes, expected);
  if (extent.whole == extent.blocks.size()) {
    what += fmt::format(": {} bytes follow its last convolution", weights.bytes() - expected);
  } else {
    what += fmt::format(": it ends inside the {} of {} convolutions, '{}'", ordinal(extent.whole + 1),
                        extent.blocks.size(), extent.blocks[extent.whole].layer->name);
  }
  throw InputError(what + ", and no other number of classes fits", weights.file().string(),
                   remedy_for_unfit_weights(options));
}

/// What is wrong with a convolution's values; empty when they are plausible.
std::string nonsense(const Block& block, const std::vector<float>& numbers) {
  const auto filters = static_cast<ptrdiff_t>(block.filters);
  if (block.batch_norm) {
    const auto variance = numbers.begin() + 3 * filters;
    const auto bad =
        std::find_if(variance, variance + filters, [](float v) { return !(v >= 0) || std::isinf(v); });
    if (bad != variance + filters) return fmt::format("a running variance of {}", *bad);
  }
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](float v) { return !std::isfinite(v); });
  return bad == numbers.end() ? "" : fmt::format("a number that is {}", *bad);
}

/// darknet's OIHW ↔ our OHWI.
template <typename Move>
void for_each_weight(const Block& block, Move&& move) {
  const int64_t area = block.size * block.size;
  for (int64_t o = 0; o < block.filters; ++o) {
    for (int64_t i = 0; i < block.inputs; ++i) {
      for (int64_t k = 0; k < area; ++k) {
        move((o * block.inputs + i) * area + k, (o * area + k) * block.inputs + i);
      }
    }
  }
}

/// The parameters of a convolution in a file's order, weights last.
std::vector<const ParameterEntry*> entries_of(const Block& block, const ParameterLayout& layout) {
  static const std::vector<const char*> normalized{"shift", "scale", "running_mean", "running_variance",
                                                   "weight"};
  static const std::vector<const char*> plain{"bias", "weight"}, sum{"weight"};
  std::vector<const ParameterEntry*> entries;
  for (const char* what : block.is_sum ? sum : block.batch_norm ? normalized : plain) {
    entries.push_back(layout.find(block.layer->name + '.' + what));
    BRIGHTNET_CHECK(entries.back(), "a convolution without " + std::string(what));
  }
  return entries;
}

void put(const Block& block, const ParameterLayout& layout, const std::vector<float>& numbers,
         std::vector<float>& values, MatchReport& match) {
  const float* from = numbers.data();
  for (const ParameterEntry* entry : entries_of(block, layout)) {
    float* to = values.data() + entry->offset;
    if (entry->kind == ParameterKind::weight) {
      for_each_weight(block, [&](int64_t theirs, int64_t ours) { to[ours] = from[theirs]; });
    } else {
      std::copy(from, from + entry->count, to);
    }
    from += entry->count;
    match.taken.push_back(entry->name);
  }
}

/// Does what put() would, for a prediction layer that has another number of channels here.
DarknetPrediction prediction_of(const Block& block, const std::string& layer,
                                const std::vector<float>& numbers) {
  const auto filters = static_cast<size_t>(block.filters);
  DarknetPrediction prediction{.layer = layer, .weight = std::vector<float>(block.weights()), .bias = {}};
  prediction.bias.assign(numbers.begin(), numbers.begin() + block.filters);
  for_each_weight(block,
                  [&](int64_t theirs, int64_t ours) { prediction.weight[ours] = numbers[filters + theirs]; });
  return prediction;
}

/// Reads the convolutions in order, up to the first invalid one.
class BlockReader {
 public:
  BlockReader(WeightsFile& weights, const Extent& extent, const DarknetWeightsOptions& options)
      : weights_(weights), extent_(extent), options_(options) {}

  /// Calls use(index, values) for each and returns how many were valid. A convolution without batch-norm
  /// cannot be validated, so that in a partly invalid file it is used only if a valid batch-normalised
  /// one follows.
  template <typename Use>
  size_t read(Use&& use) {
    std::vector<std::vector<float>> unconfirmed;
    size_t used = 0;
    for (size_t i = 0; i < extent_.whole; ++i) {
      const Block& block = extent_.blocks[i];
      std::vector<float> numbers;
      weights_.read(numbers, block.floats());
      const std::string wrong = nonsense(block, numbers);
      if (!wrong.empty()) {
        if (!options_.partial) refuse(i, wrong);
        return used;
      }
      unconfirmed.push_back(std::move(numbers));
      const bool sure = block.batch_norm || extent_.clean;
      if (!sure) continue;
      for (auto& known : unconfirmed) use(used++, known);
      unconfirmed.clear();
    }
    return used;
  }

 private:
  [[noreturn]] void refuse(size_t index, const std::string& wrong) const {
    throw InputError(
        fmt::format("where the {} of {} convolutions is expected, '{}', it has {}: it is of another "
                    "network, or damaged",
                    ordinal(index + 1), extent_.blocks.size(), extent_.blocks[index].layer->name, wrong),
        weights_.file().string(), remedy_for_unfit_weights(options_));
  }

  WeightsFile& weights_;
  const Extent& extent_;
  const DarknetWeightsOptions& options_;
};

/// How many leading convolutions of two networks are alike, except for the filters of heads.
size_t alike(const std::vector<Block>& a, const std::vector<Block>& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() &&
         (a[i].same_shape(b[i]) || (a[i].head && b[i].head && a[i].inputs == b[i].inputs))) {
    ++i;
  }
  return i;
}

void refuse_other_network(const WeightsFile& weights, const Model& model, const std::vector<Block>& theirs,
                          const std::vector<Block>& ours, size_t at, const DarknetWeightsOptions& options) {
  const auto text = [&](const std::vector<Block>& blocks) {
    return at < blocks.size() ? blocks[at].text() : std::string("missing");
  };
  throw InputError(
      fmt::format("it is of another network than '{}': the {} convolution is {} there and {} here",
                  model.name, ordinal(at + 1), text(theirs), text(ours)),
      weights.file().string(),
      options.may_be_partial ? "--weights-partial takes the layers before."
                             : remedy_for_unfit_weights(options));
}

}  // namespace

std::string DarknetWeightsReport::summary() const {
  if (whole()) return fmt::format("all {} convolutions", all_convolutions);
  const std::string part = fmt::format("{} of {} convolutions", convolutions, all_convolutions);
  return layers ? fmt::format("{} (the first {} layers as darknet counts them)", part, *layers) : part;
}

bool is_darknet_weights(const fs::path& file) {
  std::ifstream in = open_regular(file);
  uint64_t header_bytes = 0;
  char brace = 0;
  in.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  in.get(brace);
  std::error_code error;
  const uint64_t bytes = fs::file_size(file, error);
  const std::string extension = file.extension().string();
  if (!in || error) return extension == ".weights";
  // A safetensors file's first bytes are the length of the JSON that follows.
  const bool safetensors = brace == '{' && header_bytes <= bytes;
  return !safetensors && extension != ".safetensors";
}

DarknetWeightsReport load_darknet_weights(const fs::path& file, const Model& model,
                                          const ParameterLayout& layout, std::vector<float>& values,
                                          const DarknetWeightsOptions& options) {
  BRIGHTNET_CHECK(values.size() == layout.floats(), "values of another model");
  WeightsFile weights(file);
  const Model& network = options.network ? *options.network : model;
  const Extent extent = extent_of(weights, network, options.network == nullptr);
  if (!extent.clean && !options.partial) refuse_length(weights, network, extent, options);
  const std::vector<Block> targets = blocks_of(model, model.classes);
  const size_t shared = alike(extent.blocks, targets);
  if (shared < std::max(extent.blocks.size(), targets.size()) && !options.partial)
    refuse_other_network(weights, model, extent.blocks, targets, shared, options);

  DarknetWeightsReport report;
  report.header = weights.header();
  report.classes = static_cast<int>(extent.classes);
  report.all_convolutions = static_cast<int>(targets.size());
  const auto leave = [&](size_t index, const std::string& why) {
    for (const ParameterEntry* entry : entries_of(targets[index], layout))
      report.match.left.push_back(entry->name + " (" + why + ")");
  };
  const size_t read = BlockReader(weights, extent, options).read([&](size_t i, const auto& numbers) {
    if (i >= shared) return;
    if (extent.blocks[i].same_shape(targets[i])) {
      put(targets[i], layout, numbers, values, report.match);
    } else {
      if (targets[i].head && !extent.blocks[i].batch_norm)
        report.predictions.push_back(prediction_of(extent.blocks[i], targets[i].layer->name, numbers));
      leave(i, extent.blocks[i].text() + " in the file, " + targets[i].text() + " here");
    }
  });
  const size_t used = std::min(read, shared);
  for (size_t i = used; i < targets.size(); ++i) leave(i, "not in the file");
  report.convolutions = static_cast<int>(used);
  if (report.match.taken.empty()) {
    throw InputError("nothing in it fits '" + model.name + "'", file.string(),
                     "These weights belong to another model.");
  }
  report.layers = darknet_layer_count(model, targets[used - 1].index);
  return report;
}

void save_darknet_weights(const fs::path& file, const Model& model, const ParameterLayout& layout,
                          const std::vector<float>& values, const DarknetHeader& header) {
  BRIGHTNET_CHECK(values.size() == layout.floats(), "values of another model");
  write_atomically(file, [&](std::ostream& out) {
    const int32_t version[3] = {header.major, header.minor, header.revision};
    out.write(reinterpret_cast<const char*>(version), sizeof version);
    out.write(reinterpret_cast<const char*>(&header.seen), header.wide() ? 8 : 4);
    std::vector<float> weights;
    size_t written = 0;
    for (const Block& block : blocks_of(model, model.classes)) {
      for (const ParameterEntry* entry : entries_of(block, layout)) {
        ++written;
        const float* from = values.data() + entry->offset;
        if (entry->kind == ParameterKind::weight) {
          weights.resize(entry->count);
          for_each_weight(block, [&](int64_t theirs, int64_t ours) { weights[theirs] = from[ours]; });
          from = weights.data();
        }
        out.write(reinterpret_cast<const char*>(from),
                  static_cast<std::streamsize>(entry->count * sizeof(float)));
      }
    }
    BRIGHTNET_CHECK(written == layout.entries().size(),
                    "a kind of layer whose weights blocks_of() leaves out");
  });
}

}  // namespace brightnet
