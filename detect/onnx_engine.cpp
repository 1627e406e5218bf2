#include "detect/onnx_engine.h"

#include <algorithm>

#include "core/dtype.h"
#include "core/error.h"
#include "core/text.h"

namespace brightnet {
namespace {

/// The graph's planes, from the pixels of the inputs side by side.
template <typename Value>
void fill_planes(const Value* values, float scale, size_t images, size_t pixels, size_t channels,
                 float* planes) {
  for (size_t image = 0; image < images; ++image) {
    for (size_t pixel = 0; pixel < pixels; ++pixel) {
      for (size_t c = 0; c < channels; ++c)
        planes[(image * channels + c) * pixels + pixel] = scale * static_cast<float>(*values++);
    }
  }
}

/// `what` OpenCV was asked to do with the file: "read" or "run".
[[noreturn]] void refuse_network(const std::string& what, const cv::Exception& problem,
                                 const std::string& file) {
  if (is_quantized_onnx(file)) {
    throw InputError(
        "this network is quantised to 8 bits, and OpenCV cannot " + what + " such a one", file,
        "Give with --precision int8 the .safetensors that `brightnet export --format safetensors --int8` "
        "writes, or use ONNX Runtime for this file.");
  }
  throw InputError("OpenCV cannot " + what + " this network: " + problem.err, file, "Export it again.");
}

}  // namespace

bool is_onnx(const std::filesystem::path& file) {
  return lower_case(file.extension().string()) == ".onnx";
}

OnnxEngine::OnnxEngine(const std::filesystem::path& file)
    : metadata_(read_onnx_metadata(file)), file_(file.string()) {
  if (metadata_.heads != OnnxHeads::decoded) {
    throw InputError("the outputs of this network are '" + std::string(enum_name(metadata_.heads)) +
                         "', and OpenCV, which runs it here, is asked for boxes and scores",
                     file_,
                     "Export it with --heads decoded, which is what `brightnet export` does by default.");
  }
  // Where the batch is open, OpenCV 4.6 computes all images but the first wrongly (formats/onnx/heads.cpp).
  batch_ = std::max(1, onnx_batch(file));
  try {
    net_ = cv::dnn::readNetFromONNX(file_);
  } catch (const cv::Exception& e) {
    refuse_network("read", e, file_);
  }
  const int shape[] = {batch_, metadata_.channels, metadata_.size.height, metadata_.size.width};
  input_.create(4, shape, CV_32F);
}

std::vector<std::vector<Detection>> OnnxEngine::candidates(const void* inputs, const InputFit& fit,
                                                           float score) {
  const size_t images = batch_, pixels = fit.size.pixels(), channels = metadata_.channels;
  if (as_darknet(fit.resize)) {
    fill_planes(static_cast<const float*>(inputs), 1, images, pixels, channels, input_.ptr<float>());
  } else {
    fill_planes(static_cast<const uint8_t*>(inputs), 1 / 255.0f, images, pixels, channels,
                input_.ptr<float>());
  }
  std::vector<cv::Mat> outputs;
  try {
    net_.setInput(input_, "images");
    net_.forward(outputs, std::vector<cv::String>{"boxes", "scores"});
  } catch (const cv::Exception& e) {
    refuse_network("run", e, file_);
  }
  const cv::Mat &boxes = outputs[0], &scores = outputs[1];
  const auto classes = static_cast<int>(metadata_.classes.size());
  const bool fits = boxes.dims == 3 && scores.dims == 3 && boxes.size[0] == batch_ &&
                    scores.size[0] == batch_ && boxes.size[1] == scores.size[1] && boxes.size[2] == 4 &&
                    scores.size[2] == classes;
  if (!fits) throw InputError("the outputs of this network are not those that its metadata describe", file_);
  std::vector<std::vector<Detection>> all(images);
  for (int image = 0; image < batch_; ++image) {
    for (int i = 0; i < boxes.size[1]; ++i) {
      const float *corners = boxes.ptr<float>(image, i), *of_classes = scores.ptr<float>(image, i);
      const Box box{(corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2, corners[2] - corners[0],
                    corners[3] - corners[1]};
      for (int c = 0; c < classes; ++c) {
        if (of_classes[c] >= score) all[image].push_back({box, c, of_classes[c]});
      }
    }
  }
  return all;
}

std::vector<YoloLoss> OnnxEngine::losses(const std::vector<std::vector<Truth>>&) {
  BRIGHTNET_CHECK(false, "an exported network computes no loss");
}

TrainedModel OnnxEngine::description() const {
  TrainedModel trained;
  trained.model.name = metadata_.model;
  trained.model.size = metadata_.size;
  trained.model.channels = metadata_.channels;
  trained.model.classes = static_cast<int>(metadata_.classes.size());
  YoloAttributes head;  // says how objects are suppressed
  head.nms = metadata_.suppression;
  head.nms_beta = metadata_.nms_beta;
  trained.model.layers.push_back({.name = "head", .inputs = {}, .attributes = head, .where = file_});
  trained.classes = metadata_.classes;
  trained.size = metadata_.size;
  trained.letterbox = metadata_.letterbox;
  trained.resize = metadata_.resize;
  if (!metadata_.tiles.empty()) trained.training["tiles"] = metadata_.tiles;
  return trained;
}

std::unique_ptr<OnnxEngine> open_exported(const WeightsFiles& files, const InputSize& size,
                                          const std::string& device, const std::string& precision) {
  const std::string file = files.weights.string();
  const auto refuse = [&](const std::string& what, const char* option) {
    throw InputError(what, file, std::string("Leave ") + option + " out, or give the .safetensors.");
  };
  if (device != "auto" && device != "cpu")
    refuse("OpenCV runs an exported network on the CPU, not on " + device, "--device");
  if (!precision.empty() && precision != enum_name(Precision::fp32))
    refuse("an exported network is computed in fp32, not in " + precision, "--precision");
  if (!files.cfg.empty() || !files.names.empty()) {
    throw InputError("--cfg and --names are for darknet's .weights, and this is an exported network", file,
                     "Leave them out: it contains its classes.");
  }
  auto engine = std::make_unique<OnnxEngine>(files.weights);
  if (size.given() && size != engine->size())
    refuse("this network was exported for an input of " + engine->size().described() + ", not of " +
               size.described(),
           "--size");
  return engine;
}

}  // namespace brightnet
