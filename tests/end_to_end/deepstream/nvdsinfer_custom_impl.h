// As much of DeepStream's interface for parsers as a parser of detections uses, by its documentation: stands in for the SDK's
// own header, which is where DeepStream is.
#pragma once

#include <vector>

struct NvDsInferDims {
  unsigned int numDims;
  unsigned int d[8];
  unsigned int numElements;
};

struct NvDsInferLayerInfo {
  int dataType;
  NvDsInferDims inferDims;
  int bindingIndex;
  const char* layerName;
  void* buffer;
  int isInput;
};

struct NvDsInferNetworkInfo {
  unsigned int width, height, channels;
};

struct NvDsInferParseDetectionParams {
  unsigned int numClassesConfigured;
  std::vector<float> perClassPreclusterThreshold;
};

struct NvDsInferObjectDetectionInfo {
  unsigned int classId;
  float left, top, width, height;
  float detectionConfidence;
};

using NvDsInferParseCustomFunc = bool (*)(std::vector<NvDsInferLayerInfo> const&, NvDsInferNetworkInfo const&,
                                          NvDsInferParseDetectionParams const&,
                                          std::vector<NvDsInferObjectDetectionInfo>&);

#define CHECK_CUSTOM_PARSE_FUNC_PROTOTYPE(function)                    \
  static void check_##function(NvDsInferParseCustomFunc = function) {} \
  extern void check_##function(NvDsInferParseCustomFunc)
