#include "formats/onnx/export.h"

#include <cstring>
#include <map>
#include <set>

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "formats/onnx/model.h"
#include "formats/onnx/server_files.h"
#include "tests/formats/realistic_model.h"
#include "tests/layers/every_layer.h"

namespace brightnet::testing {
namespace {

TrainedModel trained_with(Model model) {
  TrainedModel trained;
  trained.model = std::move(model);
  trained.size = trained.model.size;
  for (int i = 0; i < trained.model.classes; ++i) trained.classes.push_back("class" + std::to_string(i));
  trained.layout = ParameterLayout(trained.model);
  trained.values.resize(trained.layout.floats());
  return trained;
}

std::vector<int64_t> sides(const onnx::ValueInfoProto& value) {
  std::vector<int64_t> shape;
  for (const auto& side : value.type().tensor_type().shape().dim())
    shape.push_back(side.has_dim_value() ? side.dim_value() : -1);
  return shape;
}

std::vector<std::string> operators(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph().node()) names.push_back(node.op_type());
  return names;
}

/// The shapes that ONNX derives from the operators alone must be those that the export declares.
void expect_declared_shapes_follow(const onnx::ModelProto& model) {
  onnx::ModelProto bare = model;
  bare.mutable_graph()->clear_value_info();
  for (auto& output : *bare.mutable_graph()->mutable_output())
    output.mutable_type()->mutable_tensor_type()->clear_shape();
  onnx::checker::check_model(model);
  onnx::shape_inference::InferShapes(bare, onnx::OpSchemaRegistry::Instance(), {true, 1, true});
  for (int i = 0; i < model.graph().output_size(); ++i)
    EXPECT_EQ(sides(bare.graph().output(i)), sides(model.graph().output(i)))
        << model.graph().output(i).name();
}

TEST(Onnx, EveryKindOfLayerIsValidInEveryFlavourBatchAndOpset) {
  const TrainedModel trained = trained_with(every_layer_model());
  for (const OnnxHeads heads : {OnnxHeads::raw, OnnxHeads::decoded, OnnxHeads::nms}) {
    for (const int batch : {0, 1, 3}) {
      for (int opset = onnx_oldest_opset; opset <= onnx_newest_opset; ++opset) {
        const auto model = make_onnx_model(trained, {.heads = heads, .batch = batch, .opset = opset});
        expect_declared_shapes_follow(model);
        EXPECT_EQ(model.opset_import(0).version(), opset);
        EXPECT_EQ(model.ir_version(), opset < 15 ? 7 : 8) << "of ONNX 1.8 to 1.9, and 1.10 to 1.12";
        EXPECT_EQ(sides(model.graph().input(0)), (std::vector<int64_t>{batch > 0 ? batch : -1, 3, 64, 64}));
      }
    }
  }
}

TEST(Onnx, OutputsAreWhatTheHeaderSays) {
  const TrainedModel trained = trained_with(shipped_model("yolov4-tiny", 4));
  const auto raw = make_onnx_model(trained, {.heads = OnnxHeads::raw});
  ASSERT_EQ(raw.graph().output_size(), 2);
  EXPECT_EQ(raw.graph().output(0).name(), "head32");
  EXPECT_EQ(raw.graph().output(1).name(), "head16");
  EXPECT_EQ(sides(raw.graph().output(0)), (std::vector<int64_t>{1, 27, 13, 13}));
  EXPECT_EQ(sides(raw.graph().output(1)), (std::vector<int64_t>{1, 27, 26, 26}));
  const auto decoded = make_onnx_model(trained, {.heads = OnnxHeads::decoded, .batch = 2});
  ASSERT_EQ(decoded.graph().output_size(), 2);
  EXPECT_EQ(decoded.graph().output(0).name(), "boxes");
  EXPECT_EQ(decoded.graph().output(1).name(), "scores");
  EXPECT_EQ(sides(decoded.graph().output(0)), (std::vector<int64_t>{2, 2535, 4}));
  EXPECT_EQ(sides(decoded.graph().output(1)), (std::vector<int64_t>{2, 2535, 4}));
  const auto nms = make_onnx_model(trained, {.heads = OnnxHeads::nms, .batch = 0});
  ASSERT_EQ(nms.graph().output_size(), 1);
  EXPECT_EQ(nms.graph().output(0).name(), "detections");
  EXPECT_EQ(sides(nms.graph().output(0)), (std::vector<int64_t>{-1, 7}));
  const auto names = operators(nms);
  EXPECT_EQ(std::count(names.begin(), names.end(), "NonMaxSuppression"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "BatchNormalization"), 0) << "it is folded";
}

TEST(Onnx, NoTwoNamesAreTheSame) {
  const auto model = make_onnx_model(trained_with(every_layer_model()), {.heads = OnnxHeads::nms});
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) EXPECT_TRUE(names.insert(node.name()).second) << node.name();
  for (const auto& tensor : model.graph().initializer())
    EXPECT_TRUE(names.insert(tensor.name()).second) << tensor.name();
}

TEST(Onnx, WritesAFileWhoseMetadataSayHowToUseIt) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "onnx_written.onnx";
  TrainedModel trained = trained_with(every_layer_model());
  trained.letterbox = true;
  trained.resize = Resize::darknet;
  trained.training["tiles"] = "96,0.2";
  for (LayerDescription& layer : trained.model.layers) {
    auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    yolo->nms = NmsKind::diou;
    yolo->nms_beta = 0.75f;
  }
  const OnnxSummary summary = export_onnx(
      trained,
      {.heads = OnnxHeads::nms, .size = 96, .batch = 0, .score = 0.125f, .iou = 0.375f, .max_detections = 77},
      file);
  EXPECT_EQ(std::filesystem::file_size(file), summary.bytes);
  ASSERT_EQ(summary.inputs.size(), 1u);
  EXPECT_EQ(summary.inputs[0].shape, (std::vector<std::string>{"batch", "3", "96", "96"}));
  EXPECT_EQ(summary.outputs.at(0).shape, (std::vector<std::string>{"detections", "7"}));
  const OnnxMetadata metadata = read_onnx_metadata(file);
  EXPECT_EQ(metadata.model, trained.model.name);
  EXPECT_EQ(metadata.classes, trained.classes);
  EXPECT_EQ(metadata.size, 96);
  EXPECT_TRUE(metadata.letterbox);
  EXPECT_EQ(metadata.score, 0.125f);
  EXPECT_EQ(metadata.iou, 0.375f);
  EXPECT_EQ(metadata.max_detections, 77);
  EXPECT_EQ(metadata.resize, Resize::darknet);
  EXPECT_EQ(metadata.fill, 0.5f);
  EXPECT_EQ(metadata.channels, 3);
  EXPECT_EQ(metadata.tiles, "96,0.2");
  EXPECT_EQ(metadata.heads, OnnxHeads::nms);
  EXPECT_EQ(metadata.suppression, NmsKind::diou);
  EXPECT_EQ(metadata.nms_beta, 0.75f);
  ASSERT_EQ(metadata.head_list.size(), 2u);
  EXPECT_EQ(metadata.head_list[0].stride, 8);
  EXPECT_EQ(metadata.head_list[0].anchors, (std::vector<std::pair<float, float>>{{8, 10}, {14, 12}}));
  EXPECT_EQ(metadata.head_list[0].scale_xy, 1.05f);
  EXPECT_FALSE(metadata.head_list[0].new_coords);
  EXPECT_EQ(metadata.head_list[1].stride, 16);
  EXPECT_EQ(metadata.head_list[1].anchors, (std::vector<std::pair<float, float>>{{22, 30}, {40, 32}}));
  EXPECT_EQ(metadata.head_list[1].scale_xy, 2);
  EXPECT_TRUE(metadata.head_list[1].new_coords);
  trained.resize = Resize::antialiased;
  export_onnx(trained, {}, file);
  EXPECT_FLOAT_EQ(read_onnx_metadata(file).fill, 114 / 255.0f);
}

TEST(Onnx, IsOfOneImageDecodedInTheOldestOpsetUnlessSaidOtherwise) {
  const OnnxOptions options;
  EXPECT_EQ(options.heads, OnnxHeads::decoded);
  EXPECT_EQ(options.batch, 1);
  EXPECT_EQ(options.opset, 13);
  EXPECT_EQ(options.score, 0.25f);
  EXPECT_EQ(options.iou, 0.45f);
  EXPECT_EQ(options.max_detections, 300);
}

TEST(Onnx, RefusesWhatTheModelCannotBe) {
  const TrainedModel trained = trained_with(every_layer_model());
  EXPECT_THROW(make_onnx_model(trained, {.size = 100}), InputError) << "no multiple of the stride";
  EXPECT_THROW(make_onnx_model(trained, {.opset = 12}), InputError);
  EXPECT_THROW(make_onnx_model(trained, {.opset = 18}), InputError);
}

/// The values of a constant.
template <typename Value>
std::vector<Value> values_of_constant(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() != name) continue;
    std::vector<Value> values(tensor.raw_data().size() / sizeof(Value));
    std::memcpy(values.data(), tensor.raw_data().data(), values.size() * sizeof(Value));
    return values;
  }
  return {};
}

// What ONNX Runtime computes of it is compared in tests/end_to_end, where it is installed.
TEST(Onnx, NmsHasTheOptionsAndItsRowsAreImageClassScoreAndBox) {
  const auto model =
      make_onnx_model(trained_with(every_layer_model()),
                      {.heads = OnnxHeads::nms, .score = 0.125f, .iou = 0.375f, .max_detections = 77});
  std::map<std::string, const onnx::NodeProto*> nodes;
  for (const auto& node : model.graph().node()) nodes[node.name()] = &node;
  const auto ints = [&](const std::string& name) { return values_of_constant<int64_t>(model, name); };
  const auto floats = [&](const std::string& name) { return values_of_constant<float>(model, name); };
  using Ints = std::vector<int64_t>;
  const onnx::NodeProto& nms = *nodes.at("nms/selected");
  EXPECT_EQ(nms.op_type(), "NonMaxSuppression");
  ASSERT_EQ(nms.input_size(), 5);
  EXPECT_EQ(nms.input(0), "boxes");
  EXPECT_EQ(nms.input(1), "nms/scores");
  EXPECT_EQ(ints(nms.input(2)), Ints{77});
  EXPECT_EQ(floats(nms.input(3)), std::vector<float>{0.375f});
  EXPECT_EQ(floats(nms.input(4)), std::vector<float>{0.125f});
  const onnx::NodeProto& place = *nodes.at("nms/place");
  EXPECT_EQ(place.input(0), "nms/selected");
  EXPECT_EQ(ints(place.input(1)), (Ints{0, 2})) << "of image, class and prediction";
  const onnx::NodeProto& labels = *nodes.at("nms/image_and_class");
  EXPECT_EQ(ints(labels.input(1)), Ints{0});
  EXPECT_EQ(ints(labels.input(2)), Ints{2});
  EXPECT_EQ(ints(labels.input(3)), Ints{1}) << "the axis";
  const auto& rows = nodes.at("detections")->input();
  EXPECT_EQ(std::vector<std::string>(rows.begin(), rows.end()),
            (std::vector<std::string>{"nms/labels", "nms/kept_scores", "nms/kept_boxes"}));
}

// Of grey images that are letterboxed; those of RGB images that are stretched are in tests/end_to_end.
TEST(Onnx, DeepStreamIsToldTheKindOfInputAndTheOptions) {
  OnnxMetadata metadata;
  metadata.classes = {"a", "b b"};
  metadata.size = {128, 192};
  metadata.channels = 1;
  metadata.letterbox = true;
  OnnxOptions options{.score = 0.125f, .iou = 0.375f, .max_detections = 77};
  for (const auto& [batch, images] : {std::pair(0, "32"), {1, "1"}, {4, "4"}}) {
    options.batch = batch;
    const auto files = server_files(Server::deepstream, "net", options, {}, metadata);
    EXPECT_EQ(files.at("labels.txt"), "a\nb b\n");
    const std::string& config = files.at("config_infer.txt");
    for (const std::string& line :
         {std::string("num-detected-classes=2"), std::string("infer-dims=1;128;192"),
          std::string("batch-size=") + images, std::string("model-color-format=2"),
          std::string("maintain-aspect-ratio=1"), std::string("symmetric-padding=1"),
          std::string("pre-cluster-threshold=0.125"), std::string("nms-iou-threshold=0.375"),
          std::string("topk=77")})
      EXPECT_NE(config.find("\n" + line + "\n"), std::string::npos) << line << " in\n" << config;
  }
}

}  // namespace
}  // namespace brightnet::testing
