#include "formats/onnx/model.h"

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "data/image/placement.h"
#include "formats/onnx/heads.h"
#include "formats/onnx/layers.h"
#include "layers/network.h"

namespace brightnet {
namespace {

/// The version of the file format that came with an opset.
int ir_version(int opset) {
  return opset < 15 ? 7 : 8;
}

void set_type(onnx::ValueInfoProto& tensor, const std::string& name, const std::vector<int64_t>& shape,
              const char* what) {
  tensor.set_name(name);
  tensor.set_doc_string(what);
  auto& type = *tensor.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  for (size_t i = 0; i < shape.size(); ++i) {
    auto& side = *type.mutable_shape()->add_dim();
    if (shape[i] > 0) {
      side.set_dim_value(shape[i]);
    } else {
      side.set_dim_param(name == "detections" ? "detections" : "batch");
    }
  }
}

std::vector<HeadLogits> heads_of(const Network& network, const std::vector<OnnxGraph::Value>& values) {
  std::vector<HeadLogits> heads;
  const auto& layers = network.setup().model->layers;
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto* yolo = std::get_if<YoloAttributes>(&layers[i].attributes);
    if (!yolo) continue;
    HeadLogits logits{layers[i].name, yolo->head, network.output_shape(static_cast<int>(i)), values[i]};
    logits.head.input_width = network.setup().width;
    logits.head.input_height = network.setup().height;
    heads.push_back(logits);
  }
  return heads;
}

void declare_outputs(onnx::GraphProto& graph, const std::vector<OnnxGraph::Value>& outputs,
                     const std::vector<HeadLogits>& heads, const OnnxOptions& options) {
  const int64_t batch = options.batch;
  if (are_suppressed(options.heads)) {
    set_type(*graph.add_output(), outputs[0], {0, 7},
             "image, class, score, x1, y1, x2, y2 as fractions of the input");
    return;
  }
  int64_t predictions = 0;
  for (size_t i = 0; i < heads.size(); ++i) {
    const Shape& shape = heads[i].shape;
    predictions += static_cast<int64_t>(shape.h) * shape.w * heads[i].head.mask_count;
    if (!are_decoded(options.heads))
      set_type(*graph.add_output(), outputs[i], {batch, shape.c, shape.h, shape.w},
               "logits; for each anchor x, y, w, h, objectness, classes");
  }
  if (!are_decoded(options.heads)) return;
  set_type(*graph.add_output(), outputs[0], {batch, predictions, 4},
           "x1, y1, x2, y2 as fractions of the input");
  set_type(*graph.add_output(), outputs[1], {batch, predictions, heads[0].head.classes},
           "objectness x class probability");
}

OnnxMetadata metadata_of(const TrainedModel& trained, const Network& network,
                         const std::vector<HeadLogits>& heads, const OnnxOptions& options) {
  OnnxMetadata metadata;
  metadata.model = trained.model.name;
  metadata.heads = options.heads;
  metadata.classes = trained.classes;
  metadata.size = network.setup().size();
  metadata.channels = trained.model.channels;
  metadata.letterbox = trained.letterbox;
  metadata.resize = trained.resize;
  metadata.fill = as_darknet(trained.resize) ? 0.5f : static_cast<float>(fill_value) / 255;
  for (const auto& layer : trained.model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) {
      metadata.suppression = yolo->nms;
      metadata.nms_beta = yolo->nms_beta;
    }
  }
  for (const HeadLogits& logits : heads) {
    const int stride = network.setup().width / logits.shape.w;
    OnnxHead head{logits.name, stride, {}, logits.head.scale_xy, logits.head.new_coords};
    for (int i = 0; i < logits.head.mask_count; ++i) {
      const Anchor& anchor = logits.head.anchors[logits.head.mask[i]];
      head.anchors.emplace_back(anchor.w, anchor.h);
    }
    metadata.head_list.push_back(head);
  }
  if (are_suppressed(options.heads)) {
    metadata.score = options.score;
    metadata.iou = options.iou;
    metadata.max_detections = options.max_detections;
  }
  if (const auto tiles = trained.training.find("tiles"); tiles != trained.training.end())
    metadata.tiles = tiles->second;
  return metadata;
}

void check(onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
    // What the checker's full_check does in Python: types and shapes must follow from the operators.
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), {true, 1, false});
  } catch (const std::bad_alloc&) {  // says nothing about the graph
    throw;
  } catch (const std::exception& e) {
    BRIGHTNET_CHECK(false, std::string("the exported graph is not valid ONNX: ") + e.what());
  }
}

}  // namespace

onnx::ModelProto make_onnx_model(const TrainedModel& trained, const OnnxOptions& options) {
  BRIGHTNET_CHECK(trained.values.size() == trained.layout.floats(), "weights of another model");
  if (options.opset < onnx_oldest_opset || options.opset > onnx_newest_opset) {
    throw InputError("opset " + std::to_string(options.opset) + " cannot be written", "",
                     "Choose one from " + std::to_string(onnx_oldest_opset) + " to " +
                         std::to_string(onnx_newest_opset) + '.');
  }
  const InputSize& size = options.size.given() ? options.size : trained.size;
  const auto backend = make_cpu_backend();
  const Parameters parameters{.layout = &trained.layout};
  const Network network({.model = &trained.model,
                         .backend = backend.get(),
                         .parameters = &parameters,
                         .batch = 1,
                         .height = size.height,
                         .width = size.width,
                         .precision = trained.model.quantization.empty() ? Precision::fp32 : Precision::int8,
                         .mode = Mode::infer});

  onnx::ModelProto model;
  model.set_ir_version(ir_version(options.opset));
  model.set_producer_name("brightnet");
  model.add_opset_import()->set_version(options.opset);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(trained.model.name.empty() ? "network" : trained.model.name);
  set_type(*graph.add_input(), "images", {options.batch, trained.model.channels, size.height, size.width},
           "planes in the order of the metadata, values from 0 to 1");
  OnnxGraph writer(graph);
  const std::vector<HeadLogits> heads = heads_of(network, add_layers(writer, "images", network, trained));
  declare_outputs(graph, add_heads(writer, heads, options), heads, options);
  for (const auto& [key, text] : to_properties(metadata_of(trained, network, heads, options))) {
    auto& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(text);
  }
  check(model);
  return model;
}

}  // namespace brightnet
