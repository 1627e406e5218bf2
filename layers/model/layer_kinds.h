// The kinds of layers. Everything about a kind that needs no device is defined here: its name and keys
// in YAML, its inputs, its output's shape and its parameters. The reader, the writer, the parameters'
// layout and the network follow from here; the compiler reports what a new kind lacks, and the linker
// when nothing makes its Layer.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/weighted_sum.h"
#include "kernels/yolo.h"
#include "layers/model/head_options.h"
#include "layers/model/layer_fields.h"
#include "layers/model/parameter_spec.h"

namespace brightnet {

class Layer;
struct LayerSetup;

/// Channels of each of a layer's inputs.
using InputChannels = std::span<const int>;

/// Number of inputs of a kind that takes any number.
constexpr int any_number = -1;

/// Checks the members that a kind may define besides those of LayerKind: a member that is declared otherwise
/// would pass for missing and never be called.
template <typename Kind>
constexpr bool optional_members_fit() {
  // Why it cannot read such inputs; empty: it can.
  static_assert(
      !requires { &Kind::refusal; } ||
          requires(const Kind kind, InputChannels in) {
            { kind.refusal(in) } -> std::same_as<std::string>;
          },
      "declare it as std::string refusal(InputChannels) const");
  // The kind's parameters.
  static_assert(
      !requires { &Kind::parameters; } ||
          requires(const Kind kind, InputChannels in) {
            { kind.parameters(in) } -> std::same_as<std::vector<ParameterSpec>>;
          },
      "declare it as std::vector<ParameterSpec> parameters(InputChannels) const");
  // The kind's second input is one pixel for the whole image; without this, all inputs have the first one's
  // sides.
  static_assert(
      !requires { &Kind::second_is_one_pixel; } ||
          requires {
            { &Kind::second_is_one_pixel } -> std::same_as<const bool*>;
          },
      "declare it as static constexpr bool second_is_one_pixel = true");
  // Each element of the kind's output is an element of an input: 8-bit values stay what they are.
  static_assert(
      !requires { &Kind::moves_values; } ||
          requires {
            { &Kind::moves_values } -> std::same_as<const bool*>;
          },
      "declare it as static constexpr bool moves_values = true");
  return true;
}

/// The members that every kind defines.
template <typename Kind>
concept LayerKind = requires(Kind kind, const Kind constant, LayerFields& f, InputChannels in,
                             const LayerSetup& setup) {
  // The kind's name in YAML.
  { Kind::kind } -> std::convertible_to<std::string_view>;
  // Number of layers that the kind reads.
  { Kind::inputs } -> std::convertible_to<int>;
  // Makes the layer that computes it, whose file defines this.
  { constant.make_layer(setup) } -> std::same_as<std::unique_ptr<Layer>>;
  // Visits its keys, in the order in which they are written.
  kind.fields(f);
  // Channels of its output.
  { constant.channels(in) } -> std::same_as<int64_t>;
  // Height or width of its output from its first input's; 0: the input does not fit.
  { constant.side(1) } -> std::same_as<int>;
  // Stride of its output in pixels of the image, from its first input's.
  { constant.scale(1.0) } -> std::same_as<double>;
  requires optional_members_fit<Kind>();
};

/// Stride of a map whose one pixel is the whole image, at any size of the image.
constexpr double whole_image = 0;

/// Maximum channels of a layer: more than any network has, and few enough to count its weights in 64 bits.
constexpr int max_channels = 65536;

/// Convolution, then batch-norm or a bias, then an activation.
struct ConvAttributes {
  static constexpr std::string_view kind = "conv";
  static constexpr int inputs = 1;

  int filters = 0;  ///< output channels; 0 while reading: `auto`
  int size = 1, stride = 1;
  int padding = 0;  ///< pixels on every side
  int groups = 1;   ///< groups of channels that are convolved apart; as many as channels: depthwise
  bool batch_norm = true;
  Activation activation = Activation::linear;
  bool full_precision = false;  ///< computes in fp32 in a network of any precision

  void fields(LayerFields& f);
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels) const { return filters; }
  int side(int in) const { return in + 2 * padding < size ? 0 : (in + 2 * padding - size) / stride + 1; }
  double scale(double in) const { return in * stride; }
  std::vector<ParameterSpec> parameters(InputChannels in) const;
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Max-pooling with darknet's padding, size − 1 in total: stride 1 keeps the size, stride 2 halves it.
struct MaxPoolAttributes {
  static constexpr std::string_view kind = "max_pool";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  int size = 2, stride = 2;

  void fields(LayerFields& f) {
    f("size", size, "side of the window").within(1, 15);
    f("stride", stride, "pixels between windows").within(1, 15);
  }
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return (in - 1) / stride + 1; }
  double scale(double in) const { return in * stride; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// The mean over windows, padded as max-pooling's; what lies outside the map does not count.
struct AveragePoolAttributes {
  static constexpr std::string_view kind = "average_pool";
  static constexpr int inputs = 1;

  int size = 2, stride = 2;

  void fields(LayerFields& f) {
    f("size", size, "side of the window").within(1, 64);
    f("stride", stride, "pixels between windows").within(1, 64);
  }
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return (in - 1) / stride + 1; }
  double scale(double in) const { return in * stride; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// The mean over the whole map: one pixel.
struct GlobalPoolAttributes {
  static constexpr std::string_view kind = "global_average_pool";
  static constexpr int inputs = 1;

  void fields(LayerFields&) {}
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int) const { return 1; }
  double scale(double) const { return whole_image; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Spatial pyramid pooling: the input and its stride-1 max-pools, concatenated (largest window first).
struct SppAttributes {
  static constexpr std::string_view kind = "spp";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  std::vector<int> windows{5, 9, 13};

  void fields(LayerFields& f) {
    f("windows", windows, "sides of the stride-1 windows, in any order").at_least(1);
  }
  /// The windows in the order in which their maps are joined, the input last.
  std::vector<int> largest_first() const;
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0] * static_cast<int64_t>(1 + windows.size()); }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Concatenation of its inputs along the channels.
struct ConcatAttributes {
  static constexpr std::string_view kind = "concat";
  static constexpr int inputs = any_number;
  static constexpr bool moves_values = true;

  void fields(LayerFields&) {}
  int64_t channels(InputChannels in) const;
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Keeps group `part` of `groups` equal groups of channels.
struct SplitAttributes {
  static constexpr std::string_view kind = "split";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  int groups = 2, part = 0;

  void fields(LayerFields& f) {
    f("groups", groups, "into how many groups the channels are split").at_least(1);
    f("part", part, "which of them is kept, from 0").within(0, groups - 1);
  }
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0] / groups; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Channel shuffle (Zhang et al. 2018, section 3.1): with g equal groups of c channels in all, output channel j·g + i is
/// input channel i·(c / g) + j.
struct ChannelShuffleAttributes {
  static constexpr std::string_view kind = "channel_shuffle";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  int groups = 2;

  void fields(LayerFields& f) {
    f("groups", groups, "equal groups of channels, which are interleaved").at_least(1);
  }
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }

  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Sum of its two inputs, then an activation. `partial` allows different channels, as darknet's [shortcut]
/// does: the output has the first input's channels, and the second is added to those that both have.
struct ShortcutAttributes {
  static constexpr std::string_view kind = "shortcut";
  static constexpr int inputs = 2;

  Activation activation = Activation::linear;
  bool partial = false;

  void fields(LayerFields& f) {
    f("partial", partial, false, "the second may have other channels: the common ones are added");
    f("activation", activation, Activation::linear, "applied last");
  }
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Σ w_i · x_i of its inputs with weights that are learned, then an activation (kernels/weighted_sum.h).
struct WeightedSumAttributes {
  static constexpr std::string_view kind = "weighted_sum";
  static constexpr int inputs = any_number;

  SumWeighting weights = SumWeighting::channel;
  SumNormalization normalization = SumNormalization::none;
  Activation activation = Activation::linear;

  void fields(LayerFields& f) {
    f("weights", weights, SumWeighting::channel, "one for each input, or for each channel of each input");
    f("normalization", normalization, SumNormalization::none, "what makes factors of the weights");
    f("activation", activation, Activation::linear, "applied last");
  }
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::vector<ParameterSpec> parameters(InputChannels in) const;
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Squeeze-and-excitation (Hu et al. 2018): the first input's channels, each times the second input's one pixel.
struct ScaleChannelsAttributes {
  static constexpr std::string_view kind = "scale_channels";
  static constexpr int inputs = 2;
  static constexpr bool second_is_one_pixel = true;

  void fields(LayerFields&) {}
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Element-wise product of its two inputs: YOLOv4's spatial attention, darknet's [sam].
struct MultiplyAttributes {
  static constexpr std::string_view kind = "multiply";
  static constexpr int inputs = 2;

  void fields(LayerFields&) {}
  std::string refusal(InputChannels in) const;
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Every pixel becomes factor × factor equal ones.
struct UpsampleAttributes {
  static constexpr std::string_view kind = "upsample";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  int factor = 2;

  void fields(LayerFields& f) { f("factor", factor, "pixels made of one, each way").within(1, 8); }
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in * factor; }
  double scale(double in) const { return in / factor; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// Every block × block pixels become one: [h, w, c] → [h / block, w / block, block²·c], the channels of the
/// block's pixels one after the other, row by row (darknet's [reorg3d]).
struct SpaceToDepthAttributes {
  static constexpr std::string_view kind = "space_to_depth";
  static constexpr int inputs = 1;
  static constexpr bool moves_values = true;

  int block = 2;

  void fields(LayerFields& f) {
    f("block", block, "side of the block of pixels that become one").within(1, 8);
  }
  int64_t channels(InputChannels in) const { return int64_t{in[0]} * block * block; }
  int side(int in) const { return in % block == 0 ? in / block : 0; }
  double scale(double in) const { return in * block; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// A head: its output is its input, the raw predictions. The input's size in `head` is set by the network,
/// and `head.classes` by the model.
struct YoloAttributes {
  static constexpr std::string_view kind = "yolo";
  static constexpr int inputs = 1;

  YoloHead head;
  std::string anchors_where;             ///< file and line of the anchors, for messages
  std::vector<float> class_weights;      ///< empty: all 1
  std::string class_weights_where;       ///< file and line of these, for messages
  bool automatic_class_weights = false;  ///< `auto`: training sets class_weights
  NmsKind nms = NmsKind::greedy;         ///< kind of NMS, unless the user chooses another
  float nms_beta = 0.6f;

  void fields(LayerFields& f);
  int64_t channels(InputChannels in) const { return in[0]; }
  int side(int in) const { return in; }
  double scale(double in) const { return in; }
  std::unique_ptr<Layer> make_layer(const LayerSetup& setup) const;
};

/// All kinds. The exporters (ONNX, darknet) visit this variant, so that they do not compile until they handle
/// a new kind.
using LayerAttributes =
    std::variant<ConvAttributes, MaxPoolAttributes, AveragePoolAttributes, GlobalPoolAttributes,
                 SppAttributes, ConcatAttributes, SplitAttributes, ChannelShuffleAttributes,
                 ShortcutAttributes, WeightedSumAttributes, MultiplyAttributes, ScaleChannelsAttributes,
                 UpsampleAttributes, SpaceToDepthAttributes, YoloAttributes>;

/// Calls f with the defaults of each kind in turn.
template <typename Function>
void for_each_layer_kind(Function&& f) {
  const auto call = [&]<LayerKind... Kinds>(std::type_identity<std::variant<Kinds...>>) {
    (f(Kinds()), ...);
  };
  call(std::type_identity<LayerAttributes>());
}

/// A layer's YAML keys other than its name and inputs; for a head all keys. `activation` is the model's.
YamlTexts layer_texts(const LayerAttributes& attributes, Activation activation);

}  // namespace brightnet
