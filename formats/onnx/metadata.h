// The metadata of an ONNX file from `brightnet export`: what the input must look like and what the outputs
// mean. They are the model's metadata_props, which every runtime can read
// (InferenceSession.get_modelmeta().custom_metadata_map in ONNX Runtime), so that deploying needs no second
// file. docs/deploy.md describes each entry.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/image/placement.h"
#include "kernels/yolo.h"

namespace brightnet {

/// The kind of outputs that the graph has.
enum class OnnxHeads : uint8_t {
  raw,      ///< each head's logits, the output of its convolution
  decoded,  ///< boxes and scores of all heads
  nms       ///< detections after NonMaxSuppression
};

constexpr std::string_view enum_name(OnnxHeads heads) {
  switch (heads) {
    case OnnxHeads::raw: return "raw";
    case OnnxHeads::decoded: return "decoded";
    case OnnxHeads::nms: return "nms";
  }
  return {};
}

/// Whether boxes and scores are computed in the graph.
constexpr bool are_decoded(OnnxHeads heads) {
  switch (heads) {
    case OnnxHeads::raw: return false;
    case OnnxHeads::decoded:
    case OnnxHeads::nms: return true;
  }
  return false;
}

/// Whether the graph ends in NonMaxSuppression.
constexpr bool are_suppressed(OnnxHeads heads) {
  switch (heads) {
    case OnnxHeads::raw:
    case OnnxHeads::decoded: return false;
    case OnnxHeads::nms: return true;
  }
  return false;
}

/// One head: what is needed to decode its raw outputs.
struct OnnxHead {
  std::string output;                            ///< the yolo layer's name, and that of a raw output
  int stride = 0;                                ///< pixels of the input per cell
  std::vector<std::pair<float, float>> anchors;  ///< widths and heights in pixels of the input
  float scale_xy = 1;
  bool new_coords = false;
  bool operator==(const OnnxHead&) const = default;
};

struct OnnxMetadata {
  std::string model;  ///< the model's name
  OnnxHeads heads = OnnxHeads::decoded;
  std::vector<std::string> classes;
  InputSize size;          ///< size of the input in pixels
  int channels = 3;        ///< channels of the input; three are in the order RGB
  bool letterbox = false;  ///< whether images are letterboxed into the input or stretched
  Resize resize = Resize::antialiased;
  float fill = 0;  ///< value, from 0 to 1, around a letterboxed image
  std::vector<OnnxHead> head_list;
  NmsKind suppression = NmsKind::greedy;  ///< the model's kind of NMS, for NMS outside the graph
  float nms_beta = 0.6f;                  ///< exponent of the distance term, for diou
  float score = 0, iou = 0;               ///< thresholds of NonMaxSuppression; heads nms only
  int max_detections = 0;                 ///< limit per class and image; heads nms only
  std::string tiles;  ///< "640,0.2": size and overlap of the tiles that were trained on; empty: whole images
  bool operator==(const OnnxMetadata&) const = default;
};

/// The entries of metadata_props.
std::map<std::string, std::string> to_properties(const OnnxMetadata& metadata);

/// Reads the metadata of a file without its graph. The file may be anything: all lengths in it are checked
/// against the file's, and no more is allocated than the size of its metadata (4 MiB at most). Throws
/// InputError when it is not an ONNX file, was not exported by brightnet, or is damaged.
OnnxMetadata read_onnx_metadata(const std::filesystem::path& file);
/// Reads the metadata in a file's content, which messages call `name`.
OnnxMetadata parse_onnx_metadata(std::string_view content, const std::string& name);

/// How many images go through the graph of an exported file at once; 0: any number. Reads all of it.
int onnx_batch(const std::filesystem::path& file);

/// Whether the graph of a file is quantised: values in it are rounded to 8 bits. Reads all of it; false for what is no ONNX.
bool is_quantized_onnx(const std::filesystem::path& file);

}  // namespace brightnet
