// The exported graph run by another program: OpenCV's DNN module must find what `detect` finds. ONNX Runtime,
// which also runs NonMaxSuppression, is asked by scripts/check_onnx.py.
#include <opencv2/dnn.hpp>

#include "formats/darknet/import.h"
#include "formats/onnx/model.h"
#include "tests/formats/realistic_model.h"
#include "tests/layers/every_layer.h"
#include "tests/layers/pruned.h"

namespace brightnet::testing {
namespace {

/// Runs an export on the model's own picture; the outputs in the graph's order.
std::vector<cv::Mat> run_in_opencv(const RealisticModel& made, const OnnxOptions& options) {
  const onnx::ModelProto model = make_onnx_model(made.trained, options);
  const std::string file = model.SerializeAsString();
  cv::dnn::Net net = cv::dnn::readNetFromONNX(file.data(), file.size());
  // The picture is RGB already.
  net.setInput(cv::dnn::blobFromImages(std::vector<cv::Mat>(options.batch, made.image), 1.0 / 255), "images");
  std::vector<cv::String> names;
  for (const auto& output : model.graph().output()) names.push_back(output.name());
  std::vector<cv::Mat> outputs;
  net.forward(outputs, names);
  return outputs;
}

/// The predictions of `boxes` [1, M, 4] and `scores` [1, M, classes] above `least`.
std::vector<Detection> candidates_in(const cv::Mat& boxes, const cv::Mat& scores, float least) {
  std::vector<Detection> candidates;
  for (int i = 0; i < boxes.size[1]; ++i) {
    const float* corners = boxes.ptr<float>(0, i);
    const Box box{(corners[0] + corners[2]) / 2, (corners[1] + corners[3]) / 2, corners[2] - corners[0],
                  corners[3] - corners[1]};
    for (int c = 0; c < scores.size[2]; ++c) {
      const float score = scores.ptr<float>(0, i)[c];
      if (score >= least) candidates.push_back({box, c, score});
    }
  }
  return candidates;
}

/// What OpenCV's suppression leaves of them, class by class.
std::vector<Detection> suppressed_by_opencv(const std::vector<Detection>& candidates, int classes,
                                            float iou) {
  std::vector<Detection> kept;
  for (int c = 0; c < classes; ++c) {
    std::vector<Detection> of_class;
    std::vector<cv::Rect2d> rectangles;
    std::vector<float> scores;
    for (const Detection& d : candidates) {
      if (d.class_id != c) continue;
      of_class.push_back(d);
      rectangles.emplace_back(d.box.x - d.box.w / 2, d.box.y - d.box.h / 2, d.box.w, d.box.h);
      scores.push_back(d.score);
    }
    std::vector<int> chosen;
    cv::dnn::NMSBoxes(rectangles, scores, 0, iou, chosen);
    for (const int i : chosen) kept.push_back(of_class[static_cast<size_t>(i)]);
  }
  return kept;
}

void expect_opencv_detects_the_same(Model model, const InputSize& size, float score) {
  const RealisticModel made = realistic_model(std::move(model), size);
  const float least = score - 1e-3f, iou = 0.45f;
  auto candidates = candidates_of(made, least);
  const auto outputs = run_in_opencv(made, {.heads = OnnxHeads::decoded});
  ASSERT_EQ(outputs.size(), 2u);
  auto theirs = candidates_in(outputs[0], outputs[1], least);
  expect_same_detections(candidates, theirs, score);
  remove_near_ties(candidates, theirs, iou);
  const auto ours = non_max_suppression(
      candidates, {.kind = NmsMethod::greedy, .iou = iou, .score = least, .max_detections = 1'000'000});
  expect_same_detections(ours, suppressed_by_opencv(theirs, made.trained.model.classes, iou), score);
  // The comparison is worth something when there is much to compare, of different scores.
  ASSERT_GT(ours.size(), 20u);
  EXPECT_GT(candidates.size(), ours.size()) << "nothing was suppressed";
  EXPECT_GT(ours.front().score - ours.back().score, 0.2f);
}

TEST(OnnxInOpenCv, YoloV4TinyDetectsTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4-tiny", 20), 256, 0.3f);
}

TEST(OnnxInOpenCv, RectangularInputsDetectTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4-tiny", 20), {192, 352}, 0.3f);
  expect_opencv_detects_the_same(every_layer_model(), {192, 96}, 0.3f);
}

TEST(OnnxInOpenCv, AGreyInputDetectsTheSame) {
  const auto file = source_dir() / "configs/models/yolov4-tiny.yaml";
  expect_opencv_detects_the_same(load_model(file, 20, {}, 1), {256, 224}, 0.3f);
}

TEST(OnnxInOpenCv, YoloV4DetectsTheSame) {
  expect_opencv_detects_the_same(shipped_model("yolov4", 20), 128, 0.6f);
}

TEST(OnnxInOpenCv, NewCoordinatesAndEveryKindOfLayerDetectTheSame) {
  expect_opencv_detects_the_same(every_layer_model(), 128, 0.3f);
}

TEST(OnnxInOpenCv, YoloV7TinyOfDarknetDetectsTheSame) {
  const auto file = source_dir() / "../shared/darknet-cfg/yolov7-tiny.cfg";
  if (!std::filesystem::exists(file))
    GTEST_SKIP() << "the folder shared/darknet-cfg is not beside the project";
  expect_opencv_detects_the_same(imported_model(import_darknet(file), 20), 192, 0.6f);
}

TEST(OnnxInOpenCv, PrunedNetworksDetectTheSame) {
  for (const Model& model : {shipped_model("yolov4-tiny", 20), every_layer_model()}) {
    const CoupledChannels coupled = couple_channels(model);
    expect_opencv_detects_the_same(without_channels(model, coupled, random_removal(coupled, 1)), 128, 0.3f);
  }
}

TEST(OnnxInOpenCv, EveryImageOfABatchIsTreatedAlike) {
  const RealisticModel made = realistic_model(every_layer_model(), 64);
  const auto single = run_in_opencv(made, {.heads = OnnxHeads::decoded});
  const auto pair = run_in_opencv(made, {.heads = OnnxHeads::decoded, .batch = 2});
  for (size_t output = 0; output < 2; ++output) {
    const size_t count = single[output].total();
    ASSERT_EQ(pair[output].total(), 2 * count);
    for (size_t i = 0; i < count; ++i) {
      const float expected = single[output].ptr<float>()[i];
      ASSERT_NEAR(pair[output].ptr<float>()[i], expected, 1e-4f);
      ASSERT_NEAR(pair[output].ptr<float>()[count + i], expected, 1e-4f);
    }
  }
}

TEST(OnnxInOpenCv, RawHeadsAreTheNetworksLogits) {
  const RealisticModel made = realistic_model(every_layer_model(), 96);
  const auto outputs = run_in_opencv(made, {.heads = OnnxHeads::raw});
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, made.trained.model, 1, 96, Precision::fp32, Mode::infer);
  bound.set_values(made.trained.values);
  bound.network().set_pixels(made.image.data);
  bound.network().infer();
  size_t head = 0;
  for (int i = 0; i < bound.network().layer_count(); ++i) {
    if (!std::holds_alternative<YoloAttributes>(made.trained.model.layers[i].attributes)) continue;
    const Tensor logits = bound.network().output(i);
    const cv::Mat& planes = outputs.at(head++);
    ASSERT_EQ(planes.size[1], logits.shape.c);
    float worst = 0, largest = 0;
    for (int y = 0; y < logits.shape.h; ++y) {
      for (int x = 0; x < logits.shape.w; ++x) {
        for (int c = 0; c < logits.shape.c; ++c) {
          const float ours =
              logits.as<float>()[(static_cast<size_t>(y) * logits.shape.w + x) * logits.shape.c + c];
          const int at[] = {0, c, y, x};
          worst = std::max(worst, std::abs(planes.at<float>(at) - ours));
          largest = std::max(largest, std::abs(ours));
        }
      }
    }
    EXPECT_LT(worst, 1e-4f * largest);
  }
  EXPECT_EQ(head, outputs.size());
}

}  // namespace
}  // namespace brightnet::testing
