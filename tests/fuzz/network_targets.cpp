// Files of networks: their descriptions, and weights.
#include "core/config.h"
#include "core/files.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "formats/foreign_weights.h"
#include "formats/onnx/metadata.h"
#include "formats/weights.h"
#include "layers/model/reader.h"
#include "layers/parameters.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/target_parts.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Two convolutions and their weighted sum: few numbers reach what is read of each.
constexpr const char* sum_cfg = R"([net]
width=32
height=32
channels=1
[convolutional]
batch_normalize=1
[convolutional]
batch_normalize=1
[shortcut]
from=-2
weights_type=per_channel
weights_normalization=relu
[convolutional]
filters=6
activation=linear
[yolo]
classes=1
anchors=8,8
)";

const DarknetImport& small_import() {
  static const DarknetImport import = import_darknet_text(small_cfg, "net.cfg");
  return import;
}
const DarknetImport& sum_import() {
  static const DarknetImport import = import_darknet_text(sum_cfg, "sum.cfg");
  return import;
}

/// Into this model, from the weights of that network.
void load_into(const Model& model, const fs::path& weights, const DarknetWeightsOptions& options) {
  const ParameterLayout layout(model);
  std::vector<float> values(layout.floats());
  load_darknet_weights(weights, model, layout, values, options).summary();
}

/// The shapes of all maps, as a network is planned.
void infer_shapes(const Model& model) {
  const Shape image{1, model.size.height, model.size.width, model.channels};
  std::vector<Shape> shapes;
  for (const LayerDescription& layer : model.layers) {
    std::vector<Shape> inputs;
    for (const int input : layer.inputs) inputs.push_back(input == network_input ? image : shapes[input]);
    shapes.push_back(output_shape(layer, inputs));
  }
}

/// darknet's.
void add_darknet_files(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"cfg", "net.cfg", {small_cfg}, words, nothing, [](const fs::path& folder) {
                       const DarknetImport read =
                           import_darknet_text(read_file(folder / "net.cfg"), (folder / "net.cfg").string());
                       read.model_yaml();
                       imported_model(read, 3);
                     }});
  targets.push_back({"weights",
                     "net.weights",
                     {darknet_weights()},
                     words,
                     [](const fs::path& folder) {
                       put(folder / "net.cfg", small_cfg);
                       put(folder / "sum.cfg", sum_cfg);
                       put(folder / "two.names", "cat\ndog\n");
                       put(folder / "three.names", "cat\ndog\nbird\n");
                     },
                     [](const fs::path& folder) {
                       const fs::path weights = folder / "net.weights";
                       const fs::path cfg = folder / "net.cfg";
                       const Model three_classes = imported_model(small_import(), 3);
                       const Model &small = small_import().model, &sum = sum_import().model;
                       try_each({[&] {  // there are two classes
                                   read_darknet_trained({cfg, weights, folder / "three.names", false, {}});
                                 },
                                 [&] {
                                   read_darknet_trained({folder / "sum.cfg", weights, {}, false, {}});
                                 },
                                 [&] {
                                   read_darknet_trained({folder / "sum.cfg", weights, {}, true, {}});
                                 },
                                 [&] { load_into(three_classes, weights, {.network = &small}); },
                                 [&] { load_into(sum, weights, {.network = &small}); },
                                 [&] { load_into(small, weights, {.network = &sum}); }});
                       read_each({[&] { refuse_foreign_weights(weights); },
                                  [&] { is_darknet_weights(weights); },
                                  [&] {
                                    read_darknet_trained({cfg, weights, folder / "two.names", true, {}});
                                  },
                                  [&] {
                                    read_darknet_trained({cfg, weights, {}, false, {}});
                                  }});
                     }});
  targets.push_back({"names",
                     "obj.names",
                     {"cat\ndog\n", "classes = 2\nnames = obj.names\n"},
                     words,
                     nothing,
                     [](const fs::path& folder) { read_darknet_names(folder / "obj.names"); }});
}

/// Our own, and ONNX.
void add_network_files(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back(
      {"safetensors", "net.safetensors", own_weights(), words, nothing, [](const fs::path& folder) {
         refuse_foreign_weights(folder / "net.safetensors");
         describe_weights(folder / "net.safetensors");
         const TrainedModel trained = load_trained_model(folder / "net.safetensors");
         // Into a network of other classes and of grey images, as fine-tuning does.
         const Model other = parse_model(YamlDocument::parse(trained.model.yaml(), "model"),
                                         trained.model.classes + 1, {}, 1);
         const ParameterLayout layout(other);
         std::vector<float> values(layout.floats());
         ChannelSources sources;
         for (const ParameterEntry& entry : layout.entries()) {
           if (entry.shape.empty() || trained.layout.find(entry.name) == nullptr) continue;
           std::vector<int>& channels = sources[entry.name];
           for (int64_t i = 0; i < entry.shape[0]; ++i)
             channels.push_back(i < trained.layout.find(entry.name)->shape[0] ? static_cast<int>(i) : -1);
         }
         load_matching_weights(folder / "net.safetensors", layout, values, sources);
         load_matching_weights(folder / "net.safetensors", layout, values, {}, {"conv1.weight"});
       }});
  targets.push_back({"model", "model.yaml", models(), words, nothing, [](const fs::path& folder) {
                       Model model = load_model(folder / "model.yaml", 2);
                       forward_flops(model, model.size);
                       HeadOptions head;
                       head.iou_loss = IouKind::diou;
                       set_head(head, model);
                       parse_model(YamlDocument::parse(model.yaml(), "again"), 2, head, 1);
                       infer_shapes(model);
                     }});
  targets.push_back({"onnx", "net.onnx", onnx_files(), words, nothing, [](const fs::path& folder) {
                       read_onnx_metadata(folder / "net.onnx");
                       parse_onnx_metadata(read_file(folder / "net.onnx"), "net.onnx");
                       is_quantized_onnx(folder / "net.onnx");
                       onnx_batch(folder / "net.onnx");
                     }});
}

}  // namespace

void add_network_targets(std::vector<FuzzTarget>& targets) {
  add_darknet_files(targets);
  add_network_files(targets);
}

}  // namespace brightnet::testing
