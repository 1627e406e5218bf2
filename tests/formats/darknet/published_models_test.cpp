// darknet's own configurations as models: their size, what is written of them, and their recipe.
#include <algorithm>

#include <gtest/gtest.h>

#include "formats/darknet/export.h"
#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "layers/parameters.h"
#include "tests/paths.h"
#include "train/config/config.h"
#include "train/setup/model.h"

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

void PrintTo(const KnownModel& known, std::ostream* out) {
  *out << known.name;
}

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
  EXPECT_EQ(imported.model.classes, 80);
}

TEST_P(DarknetSuite, ItsYamlReadsBackAsTheSameModel) {
  const DarknetImport imported = import_darknet(file());
  for (const std::string& yaml : {imported.model_yaml(), imported.model.yaml()}) {
    const Model again = parse_model(YamlDocument::parse(yaml, "written.yaml"), 0);
    ASSERT_TRUE(same_layers(imported.model.layers, again.layers));
    for (size_t i = 0; i < again.layers.size(); ++i)
      EXPECT_EQ(imported.model.layers[i].name, again.layers[i].name);
    EXPECT_EQ(again.size, imported.model.size);
    EXPECT_EQ(again.stride, imported.model.stride);
    EXPECT_EQ(again.classes, 80);
  }
}

TEST_P(DarknetSuite, ComesBackTheSameFromTheCfgThatWeWrite) {
  const DarknetImport imported = import_darknet(file());
  const std::string cfg = write_darknet_cfg(imported.model, {0, imported.letterbox});
  const DarknetImport again = import_darknet_text(cfg, "written.cfg");
  EXPECT_TRUE(same_layers(imported.model.layers, again.model.layers));
  EXPECT_EQ(again.model.size, imported.model.size);
  EXPECT_EQ(again.model.classes, imported.model.classes);
  EXPECT_EQ(again.letterbox, imported.letterbox);
  const std::string twice = write_darknet_cfg(again.model, {0, again.letterbox});
  EXPECT_TRUE(twice.substr(twice.find("[net]")) == cfg.substr(cfg.find("[net]"))) << twice;
}

TEST_P(DarknetSuite, FollowsTheClassesOfTheData) {
  const Model model = imported_model(import_darknet(file()), 3);
  EXPECT_EQ(model.classes, 3);
  for (const auto& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (yolo) {
      EXPECT_EQ(layer.channels, yolo->head.mask_count * 8);
    }
  }
}

TEST_P(DarknetSuite, ItsRecipeIsARun) {
  const RunConfig config = load_run_config(file(), {}, false);
  EXPECT_EQ(config.train.size, GetParam().size);
  EXPECT_EQ(config.optimizer.kind, OptimizerKind::sgd);
  EXPECT_EQ(config.schedule.warmup, 1000);
  EXPECT_EQ(config.augment.letterbox, GetParam().letterbox);
  EXPECT_EQ(load_model(config, 0).classes, 80);
}

INSTANTIATE_TEST_SUITE_P(Files, DarknetSuite, ::testing::ValuesIn(known_models), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace brightnet::testing
