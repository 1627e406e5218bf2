#include "formats/darknet/sections.h"

#include <algorithm>

#include "formats/darknet/layers.h"

namespace brightnet {
namespace {

constexpr int widest_pool = 15, widest_average = 64;

/// Why a kind of section is refused. What `decides` makes the whole network another one, and is the reason to
/// give whatever else is refused before it.
struct RefusedKind {
  std::string_view kind, reason;
  bool decides = false;
};

constexpr std::string_view
    recurrent = "remembers the frames of a video before this one, and brightnet trains on images",
    of_classifiers = "belongs to a classifier, and brightnet trains detectors",
    fixes_the_size = "is fully connected, and brightnet's networks are convolutional";
constexpr RefusedKind refused_kinds[] = {
    {"region",
     "is the head of YOLOv2, whose classes exclude each other (softmax) and whose boxes are assigned by "
     "another rule; brightnet has the heads of YOLOv3 and later",
     true},
    {"detection",
     "is the head of YOLOv1, which predicts from a fully connected layer; brightnet has the heads of "
     "YOLOv3 and later",
     true},
    {"Gaussian_yolo",
     "predicts how certain each side of a box is (Gaussian YOLOv3), which brightnet's heads do not", true},
    {"contrastive",
     "learns to tell objects apart for tracking; detection alone needs neither it nor the layers that "
     "only it reads",
     true},
    {"reorg", "orders channels by a historical mistake of darknet; only [reorg3d] is supported"},
    {"crnn", recurrent},
    {"rnn", recurrent},
    {"gru", recurrent},
    {"lstm", recurrent},
    {"conv_lstm", recurrent},
    {"history", recurrent},
    {"connected", fixes_the_size},
    {"conn", fixes_the_size},
    {"local", "has weights of its own for every pixel, and brightnet's networks are convolutional"},
    {"softmax", of_classifiers},
    {"soft", of_classifiers},
    {"cost", of_classifiers},
    {"crop", of_classifiers},
    {"normalization", "normalises over neighbouring channels (AlexNet), which brightnet does not"},
    {"lrn", "normalises over neighbouring channels (AlexNet), which brightnet does not"},
    {"batchnorm",
     "normalises apart from a convolution, which brightnet does not: write batch_normalize=1 in the "
     "[convolutional] before it"},
    {"deconvolutional",
     "is a transposed convolution, which brightnet does not have; [upsample] and [convolutional] "
     "do the same"},
    {"activation", "applies an activation apart from a convolution: name it in the section before"},
    {"implicit", "adds learned constants (YOLOR), which brightnet does not have"},
};

void refuse_uneven_strides(const CfgSection& section, int stride, int most) {
  for (const char* key : {"stride_x", "stride_y"}) {
    if (section.integer(key, stride, 1, most) != stride)
      section.refuse(key, "has different horizontal and vertical strides, which brightnet does not support");
  }
}

/// Max-pools and local averages have the same keys and the same padding.
template <typename Pool>
Pool read_pool(const CfgSection& section, int widest) {
  section.require({"maxpool_depth", "antialiasing"}, 0);
  section.pass_over({"out_channels"});
  Pool pool;
  pool.stride = section.integer("stride", 1, 1, widest);
  pool.size = section.integer("size", pool.stride, 1, widest);
  refuse_uneven_strides(section, pool.stride, widest);
  if (section.integer("padding", pool.size - 1, 0, 63) != pool.size - 1)
    section.refuse("padding", "has a padding other than size − 1, which brightnet does not support");
  return pool;
}

}  // namespace

Activation read_activation(const CfgSection& section, Activation otherwise) {
  const Activation activation = read_named(section, "activation", otherwise);
  if (!is_known_to_darknet(activation))
    section.refuse("activation",
                   "has activation=" + std::string(enum_name(activation)) + ", which darknet does not have");
  return activation;
}

ConvAttributes read_darknet_convolution(const CfgSection& section) {
  section.require({"dilation"}, 1);
  if (section.has("share_index"))
    section.refuse("share_index", "uses the weights of another layer, which brightnet does not support",
                   "Without the line the layer learns its own.");
  section.require(
      {"stretch", "sway", "rotate", "stretch_sway", "coordconv", "binary", "xnor", "bin_output", "flipped",
       "dot", "angle", "grad_centr", "antialiasing", "assisted_excitation", "deform", "reverse"},
      0);
  ConvAttributes conv;
  conv.filters = section.integer("filters", 1, 1, 65536);
  conv.size = section.integer("size", 1, 1, 31);
  conv.stride = section.integer("stride", 1, 1, 32);
  refuse_uneven_strides(section, conv.stride, 32);
  conv.padding = section.integer("padding", 0, 0, 31);
  if (section.integer("pad", 0, 0, 1) != 0) conv.padding = conv.size / 2;
  conv.groups = section.integer("groups", 1, 1, max_channels);
  conv.batch_norm = section.integer("batch_normalize", 0, 0, 1) != 0;
  conv.activation = read_activation(section, Activation::logistic);
  return conv;
}

MaxPoolAttributes read_darknet_max_pool(const CfgSection& section) {
  return read_pool<MaxPoolAttributes>(section, widest_pool);
}

AveragePoolAttributes read_darknet_average_pool(const CfgSection& section) {
  return read_pool<AveragePoolAttributes>(section, widest_average);
}

std::optional<WeightedSumAttributes> read_darknet_sum_weights(const CfgSection& section) {
  const std::string type = section.text("weights_type", "none"),
                    normalization = section.text("weights_normalization", "none");
  if (type == "none") return std::nullopt;
  WeightedSumAttributes sum;
  if (type == "per_feature" || type == "per_layer") {
    sum.weights = SumWeighting::input;
  } else if (type != "per_channel") {
    section.refuse("weights_type", "has weights_type=" + type.substr(0, 40) + ", which darknet does not have",
                   "It has none, per_feature and per_channel.");
  }
  if (normalization == "relu" || normalization == "avg_relu") {
    sum.normalization = SumNormalization::relu;
  } else if (normalization == "softmax") {
    sum.normalization = SumNormalization::softmax;
  } else {
    // darknet's own message offers `none`, but it stops there too.
    section.refuse(
        "weights_normalization",
        "has weights and no weights_normalization of relu or softmax, without which darknet does not "
        "read them either");
  }
  return sum;
}

void refuse_other_networks(const DarknetCfg& cfg) {
  for (const CfgSection& section : cfg.sections) {
    for (const RefusedKind& refused : refused_kinds) {
      if (refused.decides && refused.kind == section.kind()) section.refuse("", std::string(refused.reason));
    }
  }
  if (std::ranges::none_of(cfg.sections,
                           [](const CfgSection& section) { return section.kind() == "yolo"; })) {
    throw InputError("there is no [yolo] section, so this is a classifier, a backbone or another network",
                     cfg.file, "brightnet reads YOLO detectors.");
  }
}

void refuse_darknet_section(const CfgSection& section) {
  for (const RefusedKind& refused : refused_kinds) {
    if (refused.kind == section.kind()) section.refuse("", std::string(refused.reason));
  }
  section.refuse(
      "", "is a kind of layer that brightnet does not have",
      "It reads convolutional, maxpool, avgpool, local_avgpool, route, shortcut, sam, scale_channels, "
      "upsample, reorg3d, dropout (which is left out), and yolo.");
}

}  // namespace brightnet
