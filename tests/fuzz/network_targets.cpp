// Files of networks: their descriptions, and weights.
#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "formats/foreign_weights.h"
#include "formats/onnx/metadata.h"
#include "formats/weights.h"
#include "layers/model/reader.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/target_parts.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

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
                       put(folder / "two.names", "cat\ndog\n");
                       put(folder / "three.names", "cat\ndog\nbird\n");
                     },
                     [](const fs::path& folder) {
                       const fs::path weights = folder / "net.weights";
                       const fs::path cfg = folder / "net.cfg";
                       read_each({[&] { refuse_foreign_weights(weights); },
                                  [&] { is_darknet_weights(weights); },
                                  [&] {
                                    read_darknet_trained({cfg, weights, folder / "two.names", true, {}});
                                  },
                                  [&] {
                                    read_darknet_trained({cfg, weights, {}, false, {}});
                                  }});
                       try {
                         read_darknet_trained({cfg, weights, folder / "three.names", false, {}});
                       } catch (const InputError&) {  // there are two classes
                       }
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
                       parse_model(YamlDocument::parse(model.yaml(), "again"), 2);
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
