// What is read of a .cfg, and what is refused.
#include "formats/darknet/import.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "formats/darknet/export.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "layers/parameters.h"
#include "tests/formats/small_cfg.h"
#include "train/config/config.h"

namespace brightnet::testing {
namespace {

const YoloAttributes& head_of(const Model& model) {
  return std::get<YoloAttributes>(model.layers.back().attributes);
}

TEST(DarknetImport, ReadsEveryKindOfSection) {
  const Model model = import_darknet_text(small_cfg, "small.cfg").model;
  std::vector<std::string> kinds;
  for (const auto& layer : model.layers) kinds.push_back(Model::kind(layer));
  EXPECT_EQ(kinds, (std::vector<std::string>{"conv", "conv", "conv", "shortcut", "conv", "conv", "shortcut",
                                             "split", "spp", "conv", "multiply", "space_to_depth", "max_pool",
                                             "upsample", "concat", "conv", "yolo"}));
  EXPECT_EQ(std::get<SppAttributes>(model.layers[8].attributes).windows, (std::vector<int>{5, 9}));
  EXPECT_EQ(model.layers[10].inputs, (std::vector<int>{9, 8}));
  EXPECT_EQ(model.layers[14].inputs, (std::vector<int>{13, 10}));
  EXPECT_EQ(model.layers[14].channels, 4 * 12 + 12);
  EXPECT_EQ(model.layers[4].where, "small.cfg:46");
}

TEST(DarknetImport, CarriesAHeadsSettingsOver) {
  const YoloAttributes yolo = head_of(import_darknet_text(small_cfg, "small.cfg").model);
  EXPECT_TRUE(yolo.head.new_coords);
  EXPECT_FLOAT_EQ(yolo.head.scale_xy, 2);
  EXPECT_FLOAT_EQ(yolo.head.iou_threshold, 0.2f);
  EXPECT_FLOAT_EQ(yolo.head.objectness_weight, 0.4f);
  EXPECT_FLOAT_EQ(yolo.head.max_delta, 5);
  EXPECT_EQ(yolo.head.iou_kind, IouKind::ciou);
  EXPECT_EQ(yolo.head.box_weight, 2) << "whatever darknet's iou_normalizer is";
  EXPECT_EQ(yolo.nms, NmsKind::diou) << "darknet's greedynms subtracts a distance";
  EXPECT_FLOAT_EQ(yolo.nms_beta, 0.6f) << "and its exponent is not beta_nms";
}

TEST(DarknetImport, ReadsEveryKindOfSuppressionAndWritesItBack) {
  for (const auto& [kind, expected, beta] : {std::tuple("diounms", NmsKind::diou, 0.8f),
                                             {"greedynms", NmsKind::diou, 0.6f},
                                             {"default", NmsKind::greedy, 0.0f}}) {
    const std::string cfg = with(small_cfg, "nms_kind=greedynms", std::string("nms_kind=") + kind);
    const Model model = import_darknet_text(cfg, "small.cfg").model;
    const Model again = import_darknet_text(write_darknet_cfg(model), "again.cfg").model;
    for (const Model* one : {&model, &again}) {
      const YoloAttributes& yolo = head_of(*one);
      EXPECT_EQ(yolo.nms, expected) << kind;
      if (expected == NmsKind::diou) {
        EXPECT_FLOAT_EQ(yolo.nms_beta, beta) << kind;
      }
    }
  }
}

TEST(DarknetImport, HasDarknetsDefaultsForWhatAHeadDoesNotSay) {
  std::string bare = small_cfg.substr(0, small_cfg.find("jitter=")) + "new_coords=1\n";
  const YoloAttributes yolo = head_of(import_darknet_text(bare, "small.cfg").model);
  EXPECT_FLOAT_EQ(yolo.head.ignore_threshold, 0.5f);
  EXPECT_FLOAT_EQ(yolo.head.truth_threshold, 1);
  EXPECT_FLOAT_EQ(yolo.head.iou_threshold, 1);
  EXPECT_FLOAT_EQ(yolo.head.scale_xy, 1);
  EXPECT_FLOAT_EQ(yolo.head.max_delta, 0);
  EXPECT_EQ(yolo.head.iou_kind, IouKind::mse);
  EXPECT_EQ(yolo.head.box_weight, 1);
  EXPECT_EQ(yolo.nms, NmsKind::greedy);
}

TEST(DarknetImport, NamesLayersByTheirPlaceAndHeadsByTheirStrideAndTellsTheirLines) {
  const DarknetImport imported = import_darknet_text(small_cfg, "small.cfg");
  EXPECT_EQ(imported.model.layers[6].name, "shortcut6");
  EXPECT_EQ(imported.model.layers[15].name, "predict2");
  EXPECT_EQ(imported.model.layers[16].name, "head2");
  EXPECT_NE(imported.model_yaml().find(
                "  - concat: {name: concat14, from: [upsample13, multiply10]}  # line 106\n"),
            std::string::npos)
      << imported.model_yaml();
}

TEST(DarknetImport, GivesTheNetworkOtherClassesChannelsAndKeysOfItsHeads) {
  const DarknetImport imported = import_darknet_text(small_cfg, "small.cfg");
  HeadOptions head;
  head.box_weight = 6.0f;
  const Model model = imported_model(imported, 5, head, 1);
  EXPECT_EQ(model.classes, 5);
  EXPECT_EQ(model.channels, 1);
  EXPECT_EQ(model.layers.back().channels, 2 * (5 + 5));
  EXPECT_EQ(std::get<YoloAttributes>(model.layers.back().attributes).head.box_weight, 6);
  EXPECT_EQ(parameters_of(model, model.layers[0])[0].shape.back(), 1);
  const Model again = parse_model(YamlDocument::parse(model.yaml(), "written.yaml"), 0);
  EXPECT_TRUE(same_layers(again.layers, model.layers));
  EXPECT_EQ(imported_model(imported, 0).classes, 2);
}

TEST(DarknetImport, AddsUnequalShortcutsAsDarknetDoes) {
  const std::string wide = with(small_cfg, "filters=8\nsize=1", "filters=6\nsize=1");
  const std::string unequal = with(wide, "[shortcut]\nfrom=-3", "[shortcut]\nfrom=-2");
  const Model model = import_darknet_text(unequal, "small.cfg").model;
  EXPECT_TRUE(std::get<ShortcutAttributes>(model.layers[3].attributes).partial);
  EXPECT_EQ(model.layers[3].channels, 8);
}

struct Refusal {
  const char *from, *to, *line, *words;
};

const Refusal refusals[] = {
    {"[sam]\nfrom=-2", "[crnn]\nfrom=-2", "small.cfg:93: [crnn]", "remembers the frames"},
    {"[reorg3d]", "[reorg]", "small.cfg:96: [reorg]", "reorg3d"},
    {"size=3\nstride=2", "size=three\nstride=2", "small.cfg:21: [convolutional]", "not a number"},
    {"size=3\nstride=2", "size=3\ngroups=2\nstride=2", "small.cfg:22: [convolutional]",
     "3 channels into 2 groups"},
    {"size=3\nstride=2", "size=3\nstride=-1", "small.cfg:22: [convolutional]", "between 1 and 32"},
    {"activation=leaky", "activation=gelu", "small.cfg:24: [convolutional]", "gelu"},
    {"from=-3", "from=-30", "small.cfg:43: [shortcut]", "not one of the 3"},
    {"groups=2", "groups=3", "small.cfg:68: [route]", "8 channels into 3"},
    {"layers=-1,-4", "layers=-1,-3", "small.cfg:107: [route]", "different sizes"},
    {"group_id=1", "group_id=2", "small.cfg:69: [route]", "group 2 of 2"},
    {"filters=14", "filters=255", "small.cfg:113: [convolutional]", "2 · (5 + 2 classes) = 14"},
    {"filters=14\nactivation=logistic", "filters=14\nactivation=linear", "small.cfg:114: [convolutional]",
     "logistic"},
    {"new_coords=1", "new_coords=0", "small.cfg:114: [convolutional]", "linear"},
    {"mask = 0,1", "mask = 0,2", "small.cfg:117: [yolo]", "between 0 and 1"},
    {"num=2", "num=3", "small.cfg:118: [yolo]", "num=3"},
    {"nms_kind=greedynms", "nms_kind=softnms", "small.cfg:127: [yolo]", "softnms"},
    {"height=64", "height=66", "small.cfg", "multiple"},
    {"width=64\nheight=64", "width=66\nheight=66", "small.cfg", "multiple"},
    {"channels=3", "channels=2", "small.cfg:6: [net]", "3 channels (RGB) or 1 (grey)"},
    {"subdivisions=2", "subdivisions=3", "small.cfg:3: [net]",
     "has batch=8 and subdivisions=3, which does not divide it"},
    {"policy=steps", "policy=poly", "small.cfg:12: [net]", "poly"},
    {"scales=.1,.1", "scales=.1", "small.cfg:14: [net]", "as many"},
    {"mosaic=1", "adam=1", "small.cfg:15: [net]", "adam=1"},
    {"[net]", "[convolutional]", "small.cfg:1", "must be [net]"},
    {"batch=8", "batch", "small.cfg:2", "neither"},
    {"[route]\nlayers=-2", "[dropout]\nprobability=1.5", "small.cfg:76: [dropout]", "between 0 and 1"},
    {"size=3\nstride=2", "size=3\nstride_x=1\nstride=2", "small.cfg:22: [convolutional]",
     "different horizontal and vertical strides"},
    {"size=3\nstride=2", "size=3\ndilation=2\nstride=2", "small.cfg:22: [convolutional]", "dilation=2"},
    {"size=3\nstride=2", "size=3\nshare_index=0\nstride=2", "small.cfg:22: [convolutional]",
     "uses the weights of another layer"},
    {"size=5", "size=5\npadding=1", "small.cfg:73: [maxpool]", "a padding other than size − 1"},
    {"size=5", "size=5\nstride_y=2", "small.cfg:73: [maxpool]", "different horizontal and vertical strides"},
    {"activation=leaky", "activation=hardswish", "small.cfg:24: [convolutional]",
     "has activation=hardswish, which darknet does not have"},
    {"from=-3", "from=-3\nweights_type=per_pixel", "small.cfg:44: [shortcut]",
     "has weights_type=per_pixel, which darknet does not have"},
    {"iou_thresh=0.2", "iou_thresh=0.2\niou_thresh_kind=giou", "small.cfg:124: [yolo]",
     "compares anchors by another measure than IoU"},
    {"classes=2", "classes=2\ncounters_per_class=1,2,3", "small.cfg:120: [yolo]", "counts 3 classes of 2"},
    {"classes=2", "classes=2\nmap=9k.map", "small.cfg:120: [yolo]", "has map=, which brightnet does not"},
    {"classes=2", "classes=2\nembedding_layer=1", "small.cfg:120: [yolo]", "has embedding_layer="},
};

std::string refusal_of(const std::string& cfg) {
  try {
    import_darknet_text(cfg, "small.cfg");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(DarknetImport, RefusesWhatItCannotImportAndSaysWhere) {
  for (const Refusal& refusal : refusals) {
    const std::string message = refusal_of(with(small_cfg, refusal.from, refusal.to));
    EXPECT_NE(message.find(refusal.line), std::string::npos) << refusal.to << ": " << message;
    EXPECT_NE(message.find(refusal.words), std::string::npos) << refusal.to << ": " << message;
  }
}

/// Before anything else in it is refused, which no change would make importable.
TEST(DarknetImport, SaysOfANetworkWithoutAHeadThatItIsNoDetector) {
  const std::string backbone =
      with(small_cfg.substr(0, small_cfg.find("[yolo]")), "width=64\nheight=64", "time_steps=1");
  EXPECT_EQ(refusal_of(backbone),
            "small.cfg: there is no [yolo] section, so this is a classifier, a backbone or another network. "
            "brightnet reads YOLO detectors.");
}

TEST(DarknetImport, LeavesDropoutOutAndSaysSo) {
  const auto dropping = [](const std::string& settings) {
    return import_darknet_text(
        with(small_cfg, "[maxpool]\nsize=5", "[dropout]\n" + settings + "\n[maxpool]\nsize=5"), "small.cfg");
  };
  // The route after it counts it as a layer.
  const DarknetImport imported = dropping("probability=.15\ndropblock=1\ndropblock_size_abs=7"),
                      without = dropping("probability=0");
  EXPECT_TRUE(same_layers(imported.model.layers, without.model.layers));
  EXPECT_NE(imported.model_yaml().find("small.cfg:72: dropout of probability 0.15 is left out"),
            std::string::npos)
      << imported.model_yaml();
  EXPECT_EQ(without.model_yaml().find("dropout"), std::string::npos);
  EXPECT_NE(dropping("").model_yaml().find("dropout of probability 0.5 is left out"), std::string::npos);
}

TEST(DarknetImport, AStepBeforeTheFirstIterationHoldsFromItOn) {
  const DarknetImport imported = import_darknet_text(
      with(small_cfg, "steps=1600,1800\nscales=.1,.1", "steps=-1,500,1800\nscales=.1,10,.1"), "small.cfg");
  EXPECT_NE(imported.recipe_yaml.find("steps: [0, 500, 1800], scales: [0.1, 10, 0.1]"), std::string::npos)
      << imported.recipe_yaml;
}

TEST(DarknetImport, ReadsTheTwentyAnchorsOfFiveHeads) {
  std::string anchors;
  for (int i = 1; i <= 20; ++i) anchors += std::to_string(i) + ',' + std::to_string(2 * i) + ',';
  const std::string cfg =
      with(with(with(small_cfg, "anchors = 10,14,  23,27", "anchors = " + anchors), "num=2", "num=20"),
           "mask = 0,1", "mask = 18,19");
  const YoloHead& head = head_of(import_darknet_text(cfg, "small.cfg").model).head;
  EXPECT_EQ(head.anchor_count, 20);
  EXPECT_EQ(head.anchors[19].h, 40);
  EXPECT_EQ(std::vector<int>(head.mask, head.mask + head.mask_count), (std::vector<int>{18, 19}));
  const std::string many =
      refusal_of(with(cfg, "mask = 18,19", "mask = 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"));
  EXPECT_NE(many.find("must name 1 to 16 anchors"), std::string::npos) << many;
}

TEST(DarknetImport, ReadsWidthHeightAndChannelsAndWritesThemBack) {
  const std::string cfg =
      with(with(small_cfg, "width=64\nheight=64", "width=128\nheight=64"), "channels=3", "channels=1");
  const DarknetImport imported = import_darknet_text(cfg, "small.cfg", "small.yaml");
  EXPECT_EQ(imported.model.size.height, 64);
  EXPECT_EQ(imported.model.size.width, 128);
  EXPECT_EQ(imported.model.channels, 1);
  RunConfig config;
  read_config(YamlDocument::parse(imported.recipe_yaml, "recipe").root(), config);
  EXPECT_EQ(config.train.size.value(), InputSize(64, 128));
  // random=1: one factor for both sides, from round(64 / 1.4 / 32) + 1 = 2 to 4 of the height.
  EXPECT_EQ(config.train.sizes, (std::vector<InputSize>{{64, 96}, {96, 160}, {128, 224}}));
  const DarknetImport again = import_darknet_text(write_darknet_cfg(imported.model), "again.cfg");
  EXPECT_EQ(again.model.size, imported.model.size);
  EXPECT_EQ(again.model.channels, 1);
  EXPECT_TRUE(same_layers(again.model.layers, imported.model.layers));
  EXPECT_NE(write_darknet_cfg(imported.model, {.size = {96, 160}}).find("width=160\nheight=96\nchannels=1\n"),
            std::string::npos);
}

TEST(DarknetImport, RefusesEverySettingThatChangesHowALayerLearns) {
  for (const char* setting : {"train_only_bn=1", "dontload=1", "dontloadscales=1", "onlyforward=1",
                              "dont_update=1", "assisted_excitation=1", "clip=1", "learning_rate=0.5"}) {
    const std::string message =
        refusal_of(with(small_cfg, "size=3\nstride=2", std::string("size=3\n") + setting + "\nstride=2"));
    EXPECT_NE(message.find("small.cfg:22: [convolutional]"), std::string::npos) << setting << ": " << message;
    EXPECT_NE(message.find(setting), std::string::npos) << setting << ": " << message;
  }
}

/// The body of a network, without its [net] and head.
std::string with_body(const std::string& sections) {
  return "[net]\nwidth=64\nheight=64\nchannels=3\n" + sections +
         "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n"
         "[yolo]\nmask=0\nanchors=8,8\nclasses=2\nnum=1\n";
}

const std::string two_convolutions =
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\nstride=4\npad=1\nactivation=leaky\n"
    "[convolutional]\nbatch_normalize=1\nfilters=8\nsize=3\npad=1\ngroups=4\nactivation=swish\n";

template <typename Kind>
const LayerDescription& only_layer(const Model& model) {
  const auto is_it = [](const LayerDescription& layer) {
    return std::holds_alternative<Kind>(layer.attributes);
  };
  BRIGHTNET_CHECK(std::count_if(model.layers.begin(), model.layers.end(), is_it) == 1, "one of its kind");
  return *std::find_if(model.layers.begin(), model.layers.end(), is_it);
}

TEST(DarknetImport, ReadsGroupsAndSqueezeAndExcitation) {
  const std::string factors =
      "[avgpool]\n[convolutional]\nfilters=2\nactivation=relu\n[convolutional]\nfilters=8\nactivation=logistic\n";
  const std::string body =
      two_convolutions + factors + "[scale_channels]\nfrom=-4\n[local_avgpool]\nsize=2\nstride=2\n";
  const Model model = import_darknet_text(with_body(body), "small.cfg").model;
  EXPECT_EQ(std::get<ConvAttributes>(model.layers[1].attributes).groups, 4);
  const LayerDescription& scaled = only_layer<ScaleChannelsAttributes>(model);
  EXPECT_EQ(scaled.inputs, (std::vector<int>{1, 4})) << "the map first, the factors second";
  EXPECT_EQ(only_layer<AveragePoolAttributes>(model).channels, 8);
  EXPECT_EQ(model.stride, 8);
  // What it writes, it reads.
  const Model again = import_darknet_text(write_darknet_cfg(model, {}), "again.cfg").model;
  EXPECT_TRUE(same_layers(again.layers, model.layers));

  const auto refusal = [&](const std::string& from, const std::string& to) {
    return refusal_of(with_body(with(body, from, to)));
  };
  EXPECT_NE(
      refusal("groups=4", "groups=3").find("small.cfg:17: [convolutional] cannot divide 8 channels into 3"),
      std::string::npos);
  EXPECT_NE(refusal("from=-4", "from=-4\nscale_wh=1").find("scale_wh=1"), std::string::npos);
  EXPECT_NE(refusal("[avgpool]", "[maxpool]\nstride=2").find("one for each channel"), std::string::npos);
  EXPECT_NE(refusal("[scale_channels]\nfrom=-4", "[upsample]").find("one pixel"), std::string::npos);
}

TEST(DarknetImport, HasDarknetsDefaultsForWhatALayerDoesNotSay) {
  const std::string body =
      with(two_convolutions, "pad=1\ngroups=4", "padding=1\ngroups=4") + "[maxpool]\nstride=2\n[upsample]\n";
  const Model model = import_darknet_text(with_body(body), "small.cfg").model;
  EXPECT_EQ(std::get<ConvAttributes>(model.layers[1].attributes).padding, 1) << "as it says itself";
  EXPECT_EQ(std::get<ConvAttributes>(model.layers[1].attributes).stride, 1);
  EXPECT_EQ(std::get<MaxPoolAttributes>(only_layer<MaxPoolAttributes>(model).attributes).size, 2)
      << "the stride";
  EXPECT_EQ(std::get<UpsampleAttributes>(only_layer<UpsampleAttributes>(model).attributes).factor, 2);
  EXPECT_EQ(model.stride, 8);
}

TEST(DarknetImport, ReadsGroupsBeforeAHead) {
  const DarknetImport imported =
      import_darknet_text(with(small_cfg, "filters=14\n", "filters=14\ngroups=2\n"), "small.cfg");
  const auto predicting = [](const Model& model) {
    return std::get<ConvAttributes>(model.layers[model.layers.back().inputs[0]].attributes);
  };
  EXPECT_EQ(predicting(imported.model).groups, 2);
  EXPECT_EQ(predicting(imported.model).filters, 14);
  const Model more = imported_model(imported, 4);
  EXPECT_EQ(predicting(more).filters, 2 * (5 + 4));
  EXPECT_EQ(more.layers.back().channels, 2 * (5 + 4));
  for (const Model* model : {&imported.model, &more}) {
    const Model again = parse_model(YamlDocument::parse(model->yaml(), "written.yaml"), 0);
    EXPECT_TRUE(same_layers(again.layers, model->layers));
  }
}

TEST(DarknetImport, ReadsShortcutsOfSeveralLayersAndTheirWeights) {
  const std::string third = "[convolutional]\nbatch_normalize=1\nfilters=8\nactivation=linear\n";
  const std::string body = two_convolutions + third + "[shortcut]\nfrom=-2,-3\nactivation=leaky\n";
  Model model = import_darknet_text(with_body(body), "small.cfg").model;
  ASSERT_EQ(model.layers.size(), 7u) << "two sums, one after the other";
  EXPECT_EQ(model.layers[4].inputs, (std::vector<int>{3, 0}));
  EXPECT_EQ(std::get<ShortcutAttributes>(model.layers[3].attributes).activation, Activation::linear);
  EXPECT_EQ(std::get<ShortcutAttributes>(model.layers[4].attributes).activation, Activation::leaky);

  const std::string weighted =
      with(body, "from=-2,-3", "from=-2,-3\nweights_type=per_feature\nweights_normalization=avg_relu");
  model = import_darknet_text(with_body(weighted), "small.cfg").model;
  const LayerDescription& sum = only_layer<WeightedSumAttributes>(model);
  EXPECT_EQ(sum.inputs, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(std::get<WeightedSumAttributes>(sum.attributes).weights, SumWeighting::input);
  EXPECT_EQ(std::get<WeightedSumAttributes>(sum.attributes).normalization, SumNormalization::relu);
  const Model again = import_darknet_text(write_darknet_cfg(model, {}), "again.cfg").model;
  EXPECT_TRUE(same_layers(again.layers, model.layers));
  EXPECT_NE(refusal_of(with_body(with(weighted, "avg_relu", "none"))).find("softmax"), std::string::npos);
}

TEST(DarknetImport, SaysWhyASectionIsRefused) {
  for (const auto& [section, reason] : {std::pair("[region]\nclasses=20", "YOLOv2"),
                                        {"[detection]\nclasses=20", "YOLOv1"},
                                        {"[Gaussian_yolo]\nclasses=1", "Gaussian"},
                                        {"[contrastive]", "tracking"},
                                        {"[crnn]", "video"},
                                        {"[connected]\noutput=10", "fully connected"},
                                        {"[reorg]\nstride=2", "historical mistake"},
                                        {"[somethingelse]", "does not have"}}) {
    const std::string message = refusal_of(with_body(two_convolutions + section + "\n"));
    EXPECT_NE(message.find("small.cfg:19: ["), std::string::npos) << message;
    EXPECT_NE(message.find(reason), std::string::npos) << message;
  }
}

TEST(DarknetImport, TakesTheFirstOfTwoValuesAsDarknetDoes) {
  const auto imported = import_darknet_text(with(small_cfg, "mosaic=1", "width=32"), "small.cfg");
  EXPECT_EQ(imported.model.size.width, 64);
  const bool said = std::any_of(imported.notes.begin(), imported.notes.end(), [](const ImportNote& note) {
    return note.where == "small.cfg:15" &&
           note.text.find("'width' again, to 32: its first value stays") == 11;
  });
  EXPECT_TRUE(said) << imported.notes.front().text;
}

TEST(DarknetImport, SaysWhatItLeavesOut) {
  const auto imported =
      import_darknet_text(with(small_cfg, "classes=2", "classes=2\nbeta1=0.6"), "small.cfg");
  const bool said = std::any_of(imported.notes.begin(), imported.notes.end(), [](const ImportNote& note) {
    return note.where == "small.cfg:120" && note.text.find("'beta1'") != std::string::npos;
  });
  EXPECT_TRUE(said);
  EXPECT_NE(imported.model_yaml().find("beta1"), std::string::npos);
}

// What would end the comment, or is no UTF-8, is not written into it.
TEST(DarknetImport, NamesTheFileInPrintableCharacters) {
  const auto imported = import_darknet_text(small_cfg, "d\xC3\xBCn\n\xFF.cfg");
  EXPECT_NE(imported.model_yaml().find("d??n??.cfg."), std::string::npos)
      << imported.model_yaml().substr(0, 200);
  EXPECT_NO_THROW(YAML::Load(imported.model_yaml()));
}

/// The first head of small_cfg with these keys, and whether a note on `key` was made.
YoloAttributes head_with(const std::string& keys, const std::string& key, bool& noted) {
  const auto imported = import_darknet_text(with(small_cfg, "classes=2", "classes=2\n" + keys), "small.cfg");
  noted = std::any_of(imported.notes.begin(), imported.notes.end(),
                      [&](const ImportNote& note) { return note.text.starts_with(key); });
  for (const LayerDescription& layer : imported.model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) return *yolo;
  }
  return {};
}

TEST(DarknetImport, WeighsTheLossAsDarknetDoesOrSaysWhatDiffers) {
  bool noted = false;
  YoloAttributes yolo = head_with("cls_normalizer=0.5", "cls_normalizer", noted);
  EXPECT_EQ(yolo.head.class_weight, 1) << "darknet reads it beside counters_per_class alone";
  EXPECT_TRUE(noted);
  const float box = yolo.head.box_weight;

  yolo = head_with("counters_per_class=0,4\ncls_normalizer=0.5", "counters_per_class", noted);
  EXPECT_EQ(yolo.class_weights, (std::vector<float>{2, 0.5})) << "a count of 0 is 1";
  EXPECT_TRUE(noted);
  yolo = head_with("counters_per_class=1,1000", "counters_per_class", noted);
  EXPECT_EQ(yolo.class_weights, (std::vector<float>{5, 1})) << "at most max_delta=5";

  yolo = head_with("delta_normalizer=0.25", "delta_normalizer", noted);
  EXPECT_EQ(yolo.head.box_weight, 0.25f * box);
  EXPECT_FLOAT_EQ(yolo.head.objectness_weight, 0.25f * 0.4f);
  EXPECT_EQ(yolo.head.class_weight, 0.25f);
  EXPECT_FALSE(noted) << "the same as in darknet";

  yolo = head_with("focal_loss=1", "focal_loss=1 becomes focal_gamma: 2", noted);
  EXPECT_EQ(yolo.head.focal_gamma, 2);
  EXPECT_TRUE(noted);

  yolo = head_with("objectness_smooth=1", "objectness_smooth", noted);
  EXPECT_TRUE(yolo.head.objectness_smooth);
  EXPECT_TRUE(noted);
}

}  // namespace
}  // namespace brightnet::testing
