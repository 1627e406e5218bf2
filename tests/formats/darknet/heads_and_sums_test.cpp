// What a .cfg says of several heads of one stride, and of the weights of a sum.

#include <gtest/gtest.h>

#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "layers/parameters.h"

namespace brightnet::testing {
namespace {

const std::string net_and_stem =
    "[net]\nwidth=64\nheight=64\nchannels=3\n"
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=4\npad=1\nactivation=leaky\n";

/// A head that has one of two anchors, and the convolution before it.
std::string head_of_anchor(int anchor) {
  return "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n[yolo]\nmask=" + std::to_string(anchor) +
         "\nanchors=8,8, 16,16\nclasses=2\nnum=2\n";
}

// By its name a layer finds its parameters.
TEST(DarknetImport, HeadsOfOneStrideHaveNamesOfTheirOwn) {
  const DarknetImport imported = import_darknet_text(
      net_and_stem + head_of_anchor(0) + "[route]\nlayers=0\n" + head_of_anchor(1), "twice.cfg");
  std::vector<std::string> names;
  for (const LayerDescription& layer : imported.model.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"conv0", "predict4", "head4", "predict4b", "head4b"}));
  const ParameterLayout layout(imported.model);
  ASSERT_NE(layout.find("predict4b.weight"), nullptr);
  EXPECT_EQ(layout.find("predict4b.weight")->layer, 3);
  const Model again = parse_model(YamlDocument::parse(imported.model_yaml(), "written.yaml"), 0);
  EXPECT_TRUE(same_layers(again.layers, imported.model.layers));
}

TEST(DarknetImport, ReadsAWeightForEachChannelOfASum) {
  const std::string second = "[convolutional]\nbatch_normalize=1\nfilters=8\nactivation=leaky\n";
  const auto imported = [&](const std::string& type) {
    return import_darknet_text(net_and_stem + second + "[shortcut]\nfrom=-2\nweights_type=" + type +
                                   "\nweights_normalization=softmax\nactivation=linear\n" + head_of_anchor(0),
                               "sum.cfg")
        .model;
  };
  for (const auto& [type, weights, count] : {std::tuple("per_channel", SumWeighting::channel, 2 * 8),
                                             {"per_feature", SumWeighting::input, 2},
                                             {"per_layer", SumWeighting::input, 2}}) {
    const Model model = imported(type);
    const auto* const sum = std::get_if<WeightedSumAttributes>(&model.layers[2].attributes);
    ASSERT_NE(sum, nullptr) << type;
    EXPECT_EQ(sum->weights, weights) << type;
    EXPECT_EQ(sum->normalization, SumNormalization::softmax) << type;
    const ParameterLayout layout(model);
    const ParameterEntry* const weight = layout.find(model.layers[2].name + ".weight");
    ASSERT_NE(weight, nullptr) << type;
    EXPECT_EQ(weight->count, static_cast<size_t>(count)) << type;
  }
}

}  // namespace
}  // namespace brightnet::testing
