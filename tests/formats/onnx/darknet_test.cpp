// Every architecture that can be imported can be exported: onnx::checker and strict shape inference pass on
// each flavour. The widths of the layers do not change the graph, so the quick suite takes an eighth of them.
#include <onnx/checker.h>

#include "formats/darknet/import.h"
#include "formats/onnx/model.h"
#include "tests/formats/realistic_model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

struct Channels {
  const Model& model;
  const LayerDescription& layer;

  int input(size_t i) const { return model.layers[layer.inputs[i]].channels; }
  int sum() const {
    int all = 0;
    for (size_t i = 0; i < layer.inputs.size(); ++i) all += input(i);
    return all;
  }

  int operator()(const ConvAttributes& conv) const { return conv.filters; }
  int operator()(const SppAttributes& spp) const {
    return input(0) * static_cast<int>(1 + spp.windows.size());
  }
  int operator()(const ConcatAttributes&) const { return sum(); }
  int operator()(const SplitAttributes& split) const { return input(0) / split.groups; }
  int operator()(const SpaceToDepthAttributes& fold) const { return input(0) * fold.block * fold.block; }
  template <typename Other>
  int operator()(const Other&) const {
    return input(0);
  }
};

/// The model with its convolutions' filters divided, but for those in front of a head.
Model thinned(Model model, int divisor) {
  std::vector<bool> predicts(model.layers.size());
  for (const auto& layer : model.layers) {
    if (std::holds_alternative<YoloAttributes>(layer.attributes)) predicts[layer.inputs[0]] = true;
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerDescription& layer = model.layers[i];
    if (auto* conv = std::get_if<ConvAttributes>(&layer.attributes); conv && !predicts[i])
      conv->filters = std::max(2, conv->filters / divisor);
    layer.channels = std::visit(Channels{model, layer}, layer.attributes);
  }
  return model;
}

void expect_valid_onnx_of_every_import(int divisor) {
  const fs::path folder = source_dir() / "../shared/darknet-cfg";
  if (!fs::exists(folder)) GTEST_SKIP() << "the folder shared/darknet-cfg is not beside the project";
  int models = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".cfg") continue;
    ++models;
    TrainedModel trained;
    trained.model = thinned(import_darknet(entry.path()).model, divisor);
    trained.size = trained.model.size;
    trained.classes.assign(static_cast<size_t>(trained.model.classes), "name");
    trained.layout = ParameterLayout(trained.model);
    trained.values.resize(trained.layout.floats());
    for (const OnnxHeads heads : {OnnxHeads::raw, OnnxHeads::decoded, OnnxHeads::nms}) {
      const onnx::ModelProto model = make_onnx_model(trained, {.heads = heads});
      EXPECT_NO_THROW(onnx::checker::check_model(model)) << entry.path();
      int convolutions = 0;
      for (const auto& node : model.graph().node()) convolutions += node.op_type() == "Conv";
      int described = 0;
      for (const auto& layer : trained.model.layers)
        described += std::holds_alternative<ConvAttributes>(layer.attributes);
      EXPECT_EQ(convolutions, described) << entry.path();
    }
  }
  EXPECT_GE(models, 14);
}

TEST(OnnxOfDarknet, EveryImportableModelIsValidInEveryFlavour) {
  expect_valid_onnx_of_every_import(8);
}

TEST(SlowOnnxOfDarknet, EveryImportableModelIsValidInItsFullWidth) {
  expect_valid_onnx_of_every_import(1);
}

}  // namespace
}  // namespace brightnet::testing
