// darknet's own configurations as models, and what is refused of others.
#include "train/formats/darknet_import.h"

#include <map>

#include <gtest/gtest.h>

#include "layers/parameters.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

fs::path suite() {
  return source_dir() / "../shared/darknet-cfg";
}

/// Convolution weights, biases, scales and shifts in millions with 80 classes, as published or as darknet
/// counts them.
struct KnownModel {
  const char* name;
  double parameters;
  int heads, size, stride;
  bool letterbox;
};

const KnownModel known_models[] = {
    {"yolov3", 61.95, 3, 416, 32, false},          {"yolov3-tiny", 8.86, 2, 416, 32, false},
    {"yolov4", 64.36, 3, 608, 32, false},          {"yolov4-custom", 64.36, 3, 608, 32, false},
    {"yolov4-tiny", 6.06, 2, 416, 32, false},      {"yolov4-tiny-custom", 6.06, 2, 416, 32, false},
    {"yolov4-tiny-3l", 6.33, 3, 608, 32, false},   {"yolov4-csp", 52.92, 3, 512, 32, true},
    {"yolov4-csp-swish", 52.92, 3, 640, 32, true}, {"yolov4x-mish", 99.75, 3, 640, 32, true},
    {"yolov4-p5", 70.8, 3, 896, 32, true},         {"yolov4-p6", 127.6, 4, 1280, 64, true},
    {"yolov7-tiny", 6.2, 3, 416, 32, false},       {"yolov4-sam-mish-csp-reorg-bfm", 61.49, 3, 512, 64, true},
};

class DarknetSuite : public ::testing::TestWithParam<KnownModel> {
 protected:
  void SetUp() override {
    if (!fs::exists(suite())) GTEST_SKIP() << "darknet's configurations are not at " << suite();
  }
  fs::path file() const { return suite() / (std::string(GetParam().name) + ".cfg"); }
};

TEST_P(DarknetSuite, HasItsKnownSize) {
  const DarknetImport imported = import_darknet(file());
  const ParameterLayout layout(imported.model);
  EXPECT_NEAR(static_cast<double>(layout.trainable_parameters()) * 1e-6, GetParam().parameters, 0.06);
  int heads = 0;
  for (const auto& layer : imported.model.layers)
    heads += std::holds_alternative<YoloAttributes>(layer.attributes);
  EXPECT_EQ(heads, GetParam().heads);
  EXPECT_EQ(imported.model.size, GetParam().size);
  EXPECT_EQ(imported.model.stride, GetParam().stride);
  EXPECT_EQ(imported.letterbox, GetParam().letterbox);
  EXPECT_EQ(imported.declared_classes, 80);
}

INSTANTIATE_TEST_SUITE_P(Files, DarknetSuite, ::testing::ValuesIn(known_models), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace brightnet::testing
