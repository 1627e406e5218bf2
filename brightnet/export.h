// Trained weights in the formats of other programs. Files are written whole or not at all, and replace files of the same
// names: it is for the caller to look first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

/// What the outputs of an ONNX file are.
enum class ExportedHeads : uint8_t {
  raw,      ///< the heads' logits
  decoded,  ///< boxes and scores
  nms,      ///< detections
};

struct OnnxExportOptions {
  ExportedHeads heads = ExportedHeads::decoded;
  int batch = 1;                          ///< 0: dynamic
  int height = 0, width = 0;              ///< of the input; 0: as recorded in the weights
  int opset = 0;                          ///< 0: the default
  float confidence = 0.25f, nms = 0.45f;  ///< with ExportedHeads::nms
};

/// Throws InputError for options that do not fit the network and when the file cannot be written.
BRIGHTNET_PUBLIC void export_onnx(const Weights& weights, const std::filesystem::path& file,
                                  const OnnxExportOptions& options = {});

/// Writes FOLDER/NAME.cfg, .weights and .names. `unchanged`: the values stay as they are to the bit; otherwise they are
/// scaled so that OpenCV and darknet compute the same. Throws InputError for layers that darknet does not have.
BRIGHTNET_PUBLIC void export_darknet(const Weights& weights, const std::filesystem::path& folder,
                                     const std::string& name, bool unchanged = false);

}  // namespace brightnet
