#include "formats/darknet/export.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "tests/formats/small_cfg.h"
#include "tests/paths.h"

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

/// The .cfg of these layers and a head behind them.
std::string cfg_with_head(const std::string& layers, const std::string& head) {
  return write_darknet_cfg(parse_model(
      YamlDocument::parse("head: {anchors: [[10, 10]], " + head + "}\nlayers:\n" + layers +
                              "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n",
                          "model.yaml"),
      2));
}

TEST(DarknetExport, SaysWhetherASumHasAWeightForEachChannelOrForEachInput) {
  for (const auto& [weights, type] : {std::pair("channel", "per_channel"), {"input", "per_feature"}}) {
    const std::string cfg = cfg_with_head(
        "  - conv: {name: a, filters: 8}\n  - conv: {name: b, filters: 8}\n"
        "  - weighted_sum: {from: [b, a], normalization: softmax, weights: " +
            std::string(weights) + "}\n",
        "box_weight: 1");
    EXPECT_NE(cfg.find("[shortcut]\nfrom=-2\nweights_type=" + std::string(type) +
                       "\nweights_normalization=softmax\n"),
              std::string::npos)
        << cfg;
  }
}

// The layer joins the largest window first, whatever the order in which its YAML lists them.
TEST(DarknetExport, JoinsTheWindowsOfAPyramidAsTheLayerDoes) {
  const auto cfg_of = [](const std::string& windows) {
    return cfg_with_head("  - conv: {filters: 8}\n  - spp: {windows: [" + windows + "]}\n", "box_weight: 1");
  };
  EXPECT_NE(cfg_of("3, 5").find(
                "size=3\n\n[route]\nlayers=-2\n\n[maxpool]\nstride=1\nsize=5\n\n[route]\nlayers=-1,-3,-4\n"),
            std::string::npos)
      << cfg_of("3, 5");
  for (const char* windows : {"5, 3", "9, 3, 5"}) {
    const std::string ascending = windows == std::string("5, 3") ? "3, 5" : "3, 5, 9";
    EXPECT_EQ(cfg_of(windows), cfg_of(ascending));
  }
}

TEST(DarknetExport, KeepsTheSmoothedAndTheFocalLossOfTheClasses) {
  const std::string cfg = cfg_with_head("  - conv: {filters: 8}\n", "label_smoothing: 0.125, focal_gamma: 2");
  EXPECT_NE(cfg.find("\nlabel_smooth_eps=0.125\nfocal_loss=1\n"), std::string::npos) << cfg;
  const std::string plain = cfg_with_head("  - conv: {filters: 8}\n", "box_weight: 1");
  EXPECT_EQ(plain.find("label_smooth_eps"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("focal_loss"), std::string::npos) << plain;
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

TEST(DarknetExport, RefusesWhatDarknetCannotHaveAndNamesTheLayer) {
  const auto cfg_of = [](const std::string& layers, const std::string& head = "anchors: [[10, 10]]") {
    return write_darknet_cfg(parse_model(
        YamlDocument::parse("head: {" + head + "}\nlayers:\n" + layers +
                                "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n",
                            "model.yaml"),
        2));
  };
  const auto refusal = [&](const std::string& layers) -> std::string {
    try {
      return cfg_of(layers);
    } catch (const InputError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal("  - conv: {name: a, filters: 8, activation: hardswish}\n"),
            "model.yaml:3: darknet cannot have this model: 'a' ends in hardswish, which darknet does not "
            "have. Export it as ONNX.");
  EXPECT_NE(refusal("  - conv: {filters: 8}\n  - channel_shuffle: {name: b}\n").find("'b' shuffles channels"),
            std::string::npos);
  EXPECT_NE(refusal("  - concat: {name: b, from: [input, input]}\n").find("'b' reads the network's input"),
            std::string::npos);
  EXPECT_NE(refusal("  - conv: {name: a, filters: 8}\n  - conv: {name: b, filters: 8}\n"
                    "  - weighted_sum: {name: c, from: [a, b], weights: input, normalization: none}\n")
                .find("'c' has weights without a normalization"),
            std::string::npos);
}

TEST(DarknetExport, SaysWhatDarknetWouldTrainOtherwise) {
  const auto cfg_with = [](const std::string& head) {
    return cfg_with_head("  - conv: {filters: 8}\n", head);
  };
  for (const std::string known : {"focal_gamma: 2", "label_smoothing: 0.1", "class_weights: [1, 1]"})
    EXPECT_EQ(cfg_with(known).find("# trained with"), std::string::npos) << known;
  const std::string darknets[][2] = {{"assignment: simota", "best_anchor"},
                                     {"focal_gamma: 1.5", "2"},
                                     {"negative_weight: 0.5", "1"},
                                     {"objectness_gamma: 2", "0"},
                                     {"class_weights: [1, 3]", "1 for each class"}};
  for (const auto& [ours, theirs] : darknets) {
    const std::string note = "\n# trained with " + ours + "; darknet would train with " + theirs + '\n';
    EXPECT_NE(cfg_with(ours).find(note), std::string::npos) << cfg_with(ours);
  }
}

}  // namespace
}  // namespace brightnet::testing
