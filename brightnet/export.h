// Trained weights in the formats of other programs. Files are written whole or not at all, and replace files of the same
// names: it is for the caller to look first. What was written is logged (log.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

inline constexpr int onnx_oldest_opset = 13, onnx_newest_opset = 17;

struct OnnxExportOptions {
  /// The kind of outputs. "raw": the heads' logits; "decoded": boxes and scores; "nms": detections.
  std::string heads = "decoded";
  int batch = 1;                  ///< images; 0: any number, at run time
  int height = 0, width = 0;      ///< of the network's input, in pixels; 0: as recorded in the weights
  int opset = onnx_oldest_opset;  ///< the oldest is what most runtimes read
  float confidence = 0.25f, nms = 0.45f;  ///< least score, and IoU of suppression, for "nms"
};

/// The words for OnnxExportOptions::heads.
BRIGHTNET_PUBLIC std::vector<std::string> onnx_heads();

/// Writes an ONNX file. Throws InputError for options that do not fit the network and when the file cannot be written.
BRIGHTNET_PUBLIC void export_onnx(const Weights& weights, const std::filesystem::path& file,
                                  const OnnxExportOptions& options = {});

/// The words for the server of export_for().
BRIGHTNET_PUBLIC std::vector<std::string> servers();

/// The files that export_for() writes, by their places in its folder.
BRIGHTNET_PUBLIC std::vector<std::filesystem::path> files_for(const std::string& server);

/// Writes a folder as a server reads it (docs/deploy.md): the network as export_onnx() does, and beside it the description
/// that the server needs. "triton": FOLDER is a model of its repository and gives it its name. "deepstream": for nvinfer, with
/// the source of the library that reads the network's predictions; confidence and nms are those of nvinfer.
BRIGHTNET_PUBLIC void export_for(const std::string& server, const Weights& weights,
                                 const std::filesystem::path& folder, const OnnxExportOptions& options = {});

/// Whether this is a file of export_onnx().
BRIGHTNET_PUBLIC bool is_onnx_export(const std::filesystem::path& file);

/// The metadata of a file of export_onnx() as JSON (docs/deploy.md). Throws InputError when it is none.
BRIGHTNET_PUBLIC std::string describe_onnx(const std::filesystem::path& file);

/// Writes brightnet's own file, from darknet's weights or from those that quantize() made, with their scales. `half`: weights
/// in fp16, half the bytes. Throws InputError when it cannot be written, or a weight is beyond fp16's range.
BRIGHTNET_PUBLIC void export_safetensors(const Weights& weights, const std::filesystem::path& file,
                                         bool half = false);

/// The words for the values of a .weights. "kept": unchanged to the bit; "scaled": so that OpenCV and darknet compute the
/// same.
BRIGHTNET_PUBLIC std::vector<std::string> darknet_numbers();

/// Writes FOLDER/NAME.cfg, .weights and .names. Without `numbers`, those of weights that were imported from darknet are kept,
/// others are scaled. Scales of int8 are lost, which is warned of. Throws InputError for layers that darknet does not have.
BRIGHTNET_PUBLIC void export_darknet(const Weights& weights, const std::filesystem::path& folder,
                                     const std::string& name, const std::string& numbers = "");

}  // namespace brightnet
