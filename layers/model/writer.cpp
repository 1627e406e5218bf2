#include "layers/model/writer.h"

#include <algorithm>

#include "layers/model/fold_blocks.h"
#include "layers/model/names.h"

namespace brightnet {
namespace {

/// The activation that most convolutions have.
Activation usual_activation(const Model& model) {
  const auto count = [&](Activation activation) {
    return std::count_if(model.layers.begin(), model.layers.end(), [&](const LayerDescription& layer) {
      const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
      return conv && conv->activation == activation;
    });
  };
  const std::vector<Activation> all = enum_values<Activation>();
  return *std::max_element(all.begin(), all.end(),
                           [&](Activation a, Activation b) { return count(a) < count(b); });
}

std::string flow(const YamlTexts& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text.append(text.empty() ? "" : ", ").append(key + ": " + value);
  return '{' + text + '}';
}

/// The keys that all heads share, for `head:`, and those that differ.
struct HeadTexts {
  YamlTexts shared;
  std::vector<YamlTexts> own;  ///< one per head
};

HeadTexts head_texts(const Model& model) {
  std::vector<YamlTexts> heads;
  for (const LayerDescription& layer : model.layers) {
    if (is_head(layer)) heads.push_back(layer_texts(layer.attributes, Activation::linear));
  }
  const YamlTexts defaults = layer_texts(YoloAttributes(), Activation::linear);
  HeadTexts texts;
  texts.own.resize(heads.size());
  for (size_t key = defaults.size(); key-- > 0;) {
    const bool same = std::all_of(heads.begin(), heads.end(),
                                  [&](const YamlTexts& head) { return head[key] == heads[0][key]; });
    const bool mask = defaults[key].first == "mask";
    if (same && !mask) {
      if (heads[0][key] != defaults[key]) texts.shared.insert(texts.shared.begin(), heads[0][key]);
      continue;
    }
    for (size_t i = 0; i < heads.size(); ++i) {
      if (heads[i][key] == defaults[key]) continue;
      texts.own[i].insert(mask ? texts.own[i].begin() : texts.own[i].begin() + 1, heads[i][key]);
    }
  }
  return texts;
}

/// "2*$filters", "$blocks" or a constant.
std::string expression_text(const Expression& expression, const std::vector<std::string>& parameters) {
  if (expression.parameter < 0) return std::to_string(expression.value);
  std::string text = '$' + parameters[expression.parameter];
  if (expression.times > 1) text = std::to_string(expression.times) + '*' + text;
  if (expression.over > 1) text += '/' + std::to_string(expression.over);
  return text;
}

class ModelWriter {
 public:
  explicit ModelWriter(const Model& model)
      : model_(model),
        usual_(usual_activation(model)),
        heads_(head_texts(model)),
        folded_(fold_blocks(model.layers)),
        names_(name_model(model, folded_)) {
    for (size_t block = 0; block < folded_.blocks.size(); ++block)
      parameters_.push_back(name_parameters(block));
  }

  std::string write(const std::vector<std::string>& header) {
    for (const std::string& line : header) text_ += "# " + line + '\n';
    text_ += "name: " + model_.name + '\n';
    const std::string size = model_.size.square() ? model_.size.text()
                                                  : '[' + std::to_string(model_.size.height) + ", " +
                                                        std::to_string(model_.size.width) + ']';
    text_ += "input: {size: " + size + ", channels: " + std::to_string(model_.channels) + "}\n";
    text_ += "classes: " + std::to_string(model_.classes) + '\n';
    text_ += "activation: " + std::string(enum_name(usual_)) + '\n';
    text_ += "head:\n";
    for (const auto& [key, value] : heads_.shared) text_ += "  " + key + ": " + wrapped(value) + '\n';
    if (!folded_.blocks.empty()) text_ += "blocks:\n";
    for (size_t block = 0; block < folded_.blocks.size(); ++block) write_block(block);
    text_ += "layers:\n";
    write_layers();
    return std::move(text_);
  }

 private:
  /// Breaks a long list of pairs into several lines.
  static std::string wrapped(const std::string& value) {
    constexpr size_t width = 104;
    std::string text, rest = value;
    while (rest.size() > width) {
      const size_t cut = rest.rfind("], [", width);
      if (cut == std::string::npos) break;
      text += rest.substr(0, cut + 2) + "\n            ";
      rest.erase(0, cut + 3);
    }
    return text + rest;
  }

  std::vector<std::string> name_parameters(size_t index) const {
    const FoldedBlock& block = folded_.blocks[index];
    static const char* widths[] = {"filters", "width", "inner", "hidden"};
    std::vector<std::string> names;
    size_t width = 0, count = 0;
    const bool residual = block.parameters.size() == 2 && names_.blocks[index].starts_with("residual");
    for (const int number : block.parameters) {
      if (block.counts[number]) {
        names.push_back(count++ == 0 ? "blocks" : "blocks" + std::to_string(count));
      } else {
        const char* name = width < std::size(widths) ? widths[width] : nullptr;
        names.push_back(!name ? "width" + std::to_string(width) : residual && width == 1 ? "hidden" : name);
        ++width;
      }
    }
    return names;
  }

  const LayerDescription& layer_of(const FoldedItem& item) const { return model_.layers[item.first]; }

  /// The keys of a use of a block: a value for each parameter, and `repeat`.
  YamlTexts arguments(const FoldedItem& item, const std::vector<std::string>& numbers) const {
    const auto block = static_cast<size_t>(item.block);
    YamlTexts fields;
    const auto& wanted = folded_.blocks[block].parameters;
    for (size_t i = 0; i < wanted.size(); ++i) fields.emplace_back(parameters_[block][i], numbers[wanted[i]]);
    if (numbers.back() != "1") fields.emplace_back("repeat", numbers.back());
    return fields;
  }

  /// One item of a list. `numbers` are the texts of item.numbers; path(layer) is a layer's name here.
  template <typename Path>
  std::string item_text(const FoldedItem& item, const std::string& name, bool follows,
                        const std::vector<std::string>& numbers, Path&& path) {
    YamlTexts fields;
    if (!name.empty()) fields.emplace_back("name", name);
    const LayerDescription& layer = layer_of(item);
    if (!follows) {
      const size_t count = item.block >= 0 ? 1 : layer.inputs.size();
      std::string from;
      for (size_t i = 0; i < count; ++i) from.append(i > 0 ? ", " : "").append(path(layer.inputs[i]));
      fields.emplace_back("from", count > 1 ? '[' + from + ']' : from);
    }
    YamlTexts own;
    if (item.block >= 0) {
      own = arguments(item, numbers);
    } else if (is_head(layer)) {
      own = heads_.own[next_head_++];
    } else {
      own = layer_texts(layer.attributes, usual_);
      if (!numbers.empty()) own[0].second = numbers[0];
    }
    fields.insert(fields.end(), own.begin(), own.end());
    const std::string kind = item.block >= 0 ? names_.blocks[item.block] : Model::kind(layer);
    return "- " + kind + ": " + flow(fields) + '\n';
  }

  void write_block(size_t index) {
    const FoldedBlock& block = folded_.blocks[index];
    const auto& body = block.first_use->children;
    text_ += "  " + names_.blocks[index] + ":\n";
    if (!parameters_[index].empty()) {
      std::string list;
      for (const std::string& name : parameters_[index]) list.append(list.empty() ? "" : ", ").append(name);
      text_ += "    parameters: [" + list + "]\n";
    }
    text_ += "    layers:\n";
    const int input = layer_of(*block.first_use).inputs[0];
    size_t number = 0;
    for (size_t i = 0; i < body.size(); ++i) {
      std::vector<std::string> numbers;
      for (size_t k = 0; k < body[i].numbers.size(); ++k)
        numbers.push_back(expression_text(block.expressions[number++], parameters_[index]));
      const bool follows = reads_previous(model_, body[i], i > 0 ? &body[i - 1] : nullptr, input);
      text_ += "      " + item_text(body[i], names_.children[index][i], follows, numbers, [&](int layer) {
                 return names_.path_in_block(static_cast<int>(index), body, layer);
               });
    }
  }

  void write_layers() {
    const auto& items = folded_.items;
    for (size_t i = 0; i < items.size(); ++i) {
      write_comment(i);
      const bool before_head =
          i + 1 < items.size() && is_head(layer_of(items[i + 1])) && items[i + 1].block < 0;
      std::vector<std::string> numbers;
      for (const int number : items[i].numbers)
        numbers.push_back(before_head ? "auto" : std::to_string(number));
      const bool follows = reads_previous(model_, items[i], i > 0 ? &items[i - 1] : nullptr, network_input);
      text_ += "  " + item_text(items[i], names_.items[i], follows, numbers,
                                [&](int layer) { return names_.path(folded_, layer); });
    }
  }

  bool is_head_item(size_t i) const {
    return i < folded_.items.size() && folded_.items[i].block < 0 && is_head(layer_of(folded_.items[i]));
  }
  /// The head that item i belongs to: as the head itself, as its convolution or as the one before that;
  /// 0: none.
  size_t head_of(size_t i) const {
    if (is_head_item(i)) return i;
    if (is_head_item(i + 1)) return i + 1;
    const bool leads = is_head_item(i + 2) && folded_.items[i].block < 0 && names_.items[i].empty() &&
                       std::holds_alternative<ConvAttributes>(layer_of(folded_.items[i]).attributes);
    return leads ? i + 2 : 0;
  }

  void write_comment(size_t i) {
    static const char* titles[] = {"backbone", "top-down path", "bottom-up path"};
    std::string title = titles[static_cast<size_t>(names_.parts[i])];
    if (const size_t head = head_of(i)) title = "head at stride " + names_.items[head].substr(4);
    if (title != title_) text_ += "  # " + title + '\n';
    title_ = title;
  }

  const Model& model_;
  const Activation usual_;
  const HeadTexts heads_;
  const FoldedModel folded_;
  const ModelNames names_;
  std::vector<std::vector<std::string>> parameters_;  ///< of each block
  size_t next_head_ = 0;
  std::string text_, title_;
};

}  // namespace

std::string write_model_yaml(const Model& model, const std::vector<std::string>& header) {
  return ModelWriter(model).write(header);
}

bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.inputs == y.inputs && x.attributes.index() == y.attributes.index() && x.channels == y.channels &&
           layer_texts(x.attributes, Activation::linear) == layer_texts(y.attributes, Activation::linear);
  });
}

}  // namespace brightnet
