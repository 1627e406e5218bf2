// The program text that is written beside a network for DeepStream. DeepStream has parsers of few networks' outputs, and
// loads others as a library, which is compiled where DeepStream is: its headers are not ours to give.
#pragma once

namespace brightnet {

constexpr const char* deepstream_parser =
    R"parser(// What a network that brightnet exported predicts, as objects
// for DeepStream's nvinfer, which suppresses doubles among them. Compile it where DeepStream is installed:
//
//   sdk=/opt/nvidia/deepstream/deepstream/sources/includes
//   g++ -std=c++17 -O2 -shared -fPIC -I$sdk nvdsparse_brightnet.cpp -o libnvdsparse_brightnet.so
//
// With CUDA's headers elsewhere than the compiler looks: -I/usr/local/cuda/include besides.
#include <algorithm>
#include <cstring>
#include <vector>

#include )parser"
    "\"nvdsinfer_custom_impl.h\"\n"  // not a header of ours, and not included here
    R"parser(
namespace {

const NvDsInferLayerInfo* output_of(const std::vector<NvDsInferLayerInfo>& outputs, const char* name) {
  for (const NvDsInferLayerInfo& output : outputs) {
    if (std::strcmp(output.layerName, name) == 0) return &output;
  }
  return nullptr;
}

}  // namespace

extern "C" bool NvDsInferParseBrightnet(std::vector<NvDsInferLayerInfo> const& outputs,
                                        NvDsInferNetworkInfo const& network,
                                        NvDsInferParseDetectionParams const& parameters,
                                        std::vector<NvDsInferObjectDetectionInfo>& objects) {
  const NvDsInferLayerInfo* boxes = output_of(outputs, "boxes");    // [predictions, 4]: corners, from 0 to 1
  const NvDsInferLayerInfo* scores = output_of(outputs, "scores");  // [predictions, classes]
  if (!boxes || !scores || boxes->inferDims.numDims != 2 || scores->inferDims.numDims != 2) return false;
  const unsigned predictions = scores->inferDims.d[0];
  const unsigned classes = std::min<unsigned>(scores->inferDims.d[1], parameters.numClassesConfigured);
  const auto* box = static_cast<const float*>(boxes->buffer);
  const auto* score = static_cast<const float*>(scores->buffer);
  for (unsigned i = 0; i < predictions; ++i, box += 4, score += scores->inferDims.d[1]) {
    for (unsigned c = 0; c < classes; ++c) {
      if (score[c] < parameters.perClassPreclusterThreshold[c]) continue;
      NvDsInferObjectDetectionInfo object{};
      object.classId = c;
      object.detectionConfidence = score[c];
      const float right = std::min(box[2], 1.0f) * network.width;
      const float bottom = std::min(box[3], 1.0f) * network.height;
      object.left = std::max(box[0], 0.0f) * network.width;
      object.top = std::max(box[1], 0.0f) * network.height;
      object.width = right - object.left;
      object.height = bottom - object.top;
      if (object.width > 0 && object.height > 0) objects.push_back(object);
    }
  }
  return true;
}

CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(NvDsInferParseBrightnet);
)parser";

}  // namespace brightnet
