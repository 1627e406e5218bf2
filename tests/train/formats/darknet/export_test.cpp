#include "train/formats/darknet/export.h"

#include <gtest/gtest.h>

#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "tests/paths.h"
#include "tests/train/formats/small_cfg.h"
#include "train/formats/darknet/import.h"

namespace brightnet::testing {
namespace {

TEST(DarknetExport, ComesBackTheSame) {
  const DarknetImport imported = import_darknet_text(small_cfg, "small.cfg");
  const std::string cfg = write_darknet_cfg(imported.model, {0, true});
  EXPECT_TRUE(same_layers(import_darknet_text(cfg, "again.cfg").model.layers, imported.model.layers)) << cfg;
}

TEST(DarknetExport, KeepsTheWeightsOfObjectnessAndClasses) {
  const DarknetImport imported = import_darknet_text(
      with(small_cfg, "obj_normalizer=0.4", "obj_normalizer=0.4\ndelta_normalizer=0.25"), "small.cfg");
  const DarknetImport again = import_darknet_text(write_darknet_cfg(imported.model), "again.cfg");
  EXPECT_TRUE(same_layers(again.model.layers, imported.model.layers)) << write_darknet_cfg(imported.model);
}

TEST(DarknetExport, WritesOurOwnModels) {
  for (const char* name : {"yolov4", "yolov4-tiny", "yolov4-tiny-3l", "demo"}) {
    const Model model = load_model(source_dir() / "configs/models" / (std::string(name) + ".yaml"), 3);
    const DarknetImport again = import_darknet_text(write_darknet_cfg(model), "written.cfg");
    ASSERT_EQ(again.model.layers.size(), model.layers.size()) << name;
    for (size_t i = 0; i < model.layers.size(); ++i) {
      EXPECT_EQ(again.model.layers[i].inputs, model.layers[i].inputs);
      EXPECT_EQ(again.model.layers[i].attributes.index(), model.layers[i].attributes.index());
      EXPECT_EQ(again.model.layers[i].channels, model.layers[i].channels);
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
