#include "formats/foreign_weights.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* start_elsewhere =
    "Start from darknet's weights of the same model (`brightnet download` lists those that can be fetched), or "
    "train without --weights, from scratch.";
constexpr const char* own_weights =
    "Give the .safetensors of the run that it was exported from: runs/NAME/weights/best.safetensors.";

struct Kind {
  std::vector<std::string> extensions;
  std::string what, remedy;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {{".pt", ".pth", ".ckpt", ".torchscript"},
       "these are PyTorch weights (Ultralytics' are), of a network with other layers than brightnet's YOLOv4",
       start_elsewhere},
      {{".onnx"},
       "this is an ONNX network, which is made for inference: the commands `brightnet eval` and `brightnet detect` run it, and "
       "nothing else does",
       own_weights},
      {{".engine", ".trt", ".plan"},
       "this is a TensorRT engine, which is built for one GPU and cannot be read back",
       own_weights},
      {{".tlt", ".etlt"},
       "these are weights of NVIDIA TAO, which are encrypted; their data and settings can be taken over "
       "(docs/migrate.md), the weights cannot",
       start_elsewhere},
      {{".h5", ".hdf5", ".keras"},
       "these are Keras weights (NVIDIA TAO writes them too), of a network with other layers than "
       "brightnet's YOLOv4",
       start_elsewhere},
      {{".pb", ".tflite"}, "this is a TensorFlow network", start_elsewhere},
      {{".caffemodel"}, "these are Caffe weights", start_elsewhere},
      {{".cfg"},
       "this is darknet's description of a network, not its weights",
       "Give its .weights as --weights, and the .cfg as the CONFIG (train, eval) or as --cfg."},
      {{".yaml", ".yml"},
       "this is a YAML file, not weights",
       "Give a model as `model:` of the configuration, and a .safetensors or .weights as --weights."}};
  return all;
}

/// Whether it begins as a safetensors file does: with the length of the JSON that follows.
bool begins_as_safetensors(const fs::path& file) {
  std::ifstream in = open_regular(file);
  uint64_t header_bytes = 0;
  in.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  std::error_code error;
  return in.get() == '{' && header_bytes <= fs::file_size(file, error);
}

/// The extension that a file without a telling one should have, by its contents.
std::string extension_by_contents(const fs::path& file) {
  std::string bytes(8, '\0');
  open_regular(file).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const auto begins = [&](const std::string& magic) { return bytes.compare(0, magic.size(), magic) == 0; };
  if (begins("PK\x03\x04")) return ".pt";
  if (begins("\x89HDF")) return ".h5";
  // ONNX's message: the fields ir_version, a number from 3 to 31, and producer_name.
  if (bytes[0] == 0x08 && bytes[1] >= 3 && bytes[1] < 32 && bytes[2] == 0x12) return ".onnx";
  return "";
}

}  // namespace

void refuse_foreign_weights(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    throw InputError("this is a folder, and not that of a run with weights", file.string(),
                     "Give a .safetensors, a run's folder, or darknet's .weights.");
  }
  refuse_irregular(file);
  if (!fs::exists(file, ignored) || begins_as_safetensors(file)) return;
  const auto kind_of = [](const std::string& name) {
    return std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) {
      return std::find(kind.extensions.begin(), kind.extensions.end(), name) != kind.extensions.end();
    });
  };
  auto kind = kind_of(lower_case(file.extension().string()));
  if (kind == kinds().end()) kind = kind_of(extension_by_contents(file));
  if (kind != kinds().end()) throw InputError(kind->what, file.string(), kind->remedy);
}

}  // namespace brightnet
