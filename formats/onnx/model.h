// The network as ONNX's own object (private to formats and its tests).
#pragma once

#include <onnx/onnx_pb.h>

#include "formats/onnx/export.h"

namespace brightnet {

/// The whole model, checked: onnx::checker and strict shape inference passed. Throws as export_onnx() does.
onnx::ModelProto make_onnx_model(const TrainedModel& trained, const OnnxOptions& options);

}  // namespace brightnet
