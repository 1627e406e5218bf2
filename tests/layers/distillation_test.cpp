// What a network learns from another one: which heads and features are paired, and the gradient of all of its parameters.
#include "layers/distillation.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::model_of;

/// Heads at strides of 2 and 4, without a kink.
constexpr const char* student_yaml = R"(
name: pupil
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {name: fine, filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
  - conv: {name: coarse, from: fine, filters: 12, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// Wider, with other anchors, heads the other way round, and one more at a stride of 8.
constexpr const char* teacher_yaml = R"(
name: master
activation: swish
head: {anchors: [[9, 10], [20, 22], [12, 8]], new_coords: true, scale_xy: 1.2}
layers:
  - conv: {name: fine, filters: 16, size: 3, stride: 2}
  - conv: {name: coarse, filters: 20, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1, 2]}
  - conv: {from: coarse, filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [1]}
  - conv: {from: fine, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2]}
)";

TEST(Distillation, PairsHeadsByTheirStrides) {
  const Model student = model_of(student_yaml, 3), teacher = model_of(teacher_yaml, 3);
  const Distillation pair = make_distillation(student, teacher, 1, 1);
  ASSERT_EQ(pair.heads.size(), 2u);
  EXPECT_EQ(pair.heads[0].student, 2);
  EXPECT_EQ(pair.heads[0].teacher, 8);
  EXPECT_EQ(pair.heads[1].student, 5);
  EXPECT_EQ(pair.heads[1].teacher, 3);
  ASSERT_EQ(pair.student.layers.size(), student.layers.size() + 2);
  EXPECT_EQ(pair.student.layers[6].channels, 16);
  EXPECT_EQ(pair.student.layers[6].inputs[0], 0);
  EXPECT_EQ(pair.student.layers[7].channels, 20);
  EXPECT_EQ(pair.student.layers[7].inputs[0], 3);
  EXPECT_EQ(kept_outputs(pair), (std::vector<int>{0, 1}));
  EXPECT_EQ(make_distillation(student, teacher, 1, 0).student.layers.size(), student.layers.size());
}

Model two_heads_of_one_layer() {
  return model_of(R"(
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: body, filters: 8, size: 3, stride: 4}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
  - conv: {from: body, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [1]}
)",
                  2);
}

// Each of two heads at one stride learns from a head of its own.
TEST(Distillation, PairsHeadsOfOneStrideInTheirOrder) {
  const Model model = two_heads_of_one_layer();
  const Distillation pair = make_distillation(model, model, 1, 0);
  ASSERT_EQ(pair.heads.size(), 2u);
  EXPECT_EQ(pair.heads[0].teacher, 2);
  EXPECT_EQ(pair.heads[1].teacher, 4);
}

// Of heads that read one layer each adapter of its features has weights of its own, found by their name.
TEST(Distillation, AdaptersOfOneLayerHaveNamesOfTheirOwn) {
  const Model model = two_heads_of_one_layer();
  const Distillation pair = make_distillation(model, model, 1, 1);
  ASSERT_EQ(pair.student.layers.size(), 7u);
  const ParameterLayout layout(pair.student);
  for (const int adapter : {5, 6}) {
    const ParameterEntry* const weight =
        layout.find(pair.student.layers[static_cast<size_t>(adapter)].name + ".weight");
    ASSERT_NE(weight, nullptr) << adapter;
    EXPECT_EQ(weight->layer, adapter);
  }
}

void expect_refused(const Model& student, const Model& teacher, const std::vector<std::string>& words) {
  try {
    make_distillation(student, teacher, 1, 1);
    ADD_FAILURE() << "not refused";
  } catch (const InputError& e) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(Distillation, RefusesATeacherOfOtherHeadsOrClassesNamingBoth) {
  const Model student = model_of(student_yaml, 3), teacher = model_of(teacher_yaml, 3);
  expect_refused(teacher, student,
                 {"'master' predicts at strides of 4, 8, 2", "'pupil' predicts at strides of 2, 4"});
  expect_refused(student, model_of(teacher_yaml, 2), {"'master' has 2 classes", "'pupil'", "3 and 3"});
  expect_refused(student, model_of(std::string("input: {size: 64, channels: 1}") + teacher_yaml, 3),
                 {"'master' has 3 classes and 1 channels", "'pupil'", "3 and 3"});
}

/// Sees the outputs of layers as they are computed.
struct SeenOutputs : LayerObserver {
  std::vector<std::vector<float>> outputs;
  void output(int, const Tensor& y) override {
    outputs.emplace_back(y.as<float>(), y.as<float>() + y.count());
  }
};

TEST(Distillation, TheTeachersFeaturesStayUntilTheyAreRead) {
  const auto backend = make_cpu_backend();
  const Model model = model_of(teacher_yaml, 3);
  const ParameterLayout layout(model);
  std::vector<float> values = initial_parameters(model, layout, 1);
  const Parameters parameters{.layout = &layout, .values = values.data()};
  SeenOutputs seen;
  NetworkSetup setup{.model = &model, .backend = backend.get(), .parameters = &parameters};
  setup.height = setup.width = 64;
  setup.mode = Mode::infer;
  setup.observer = &seen;
  setup.kept = {0, 1};
  Network network(setup);
  const DeviceBuffer arena(*backend, network.memory().arena());
  network.bind(arena.data());
  const std::vector<uint8_t> pixels(size_t{64} * 64 * 3, 77);
  network.set_pixels(pixels.data());
  network.infer();
  for (const int layer : setup.kept) {
    const Tensor kept = network.output(layer);
    EXPECT_EQ(std::vector<float>(kept.as<float>(), kept.as<float>() + kept.count()),
              seen.outputs[static_cast<size_t>(layer)])
        << layer;
  }
}

// An anchor's width is a fraction of the input's width, and its height of the height.
TEST(Distillation, BoxesOfARectangularInputHaveItsSides) {
  const auto backend = make_cpu_backend();
  const Distillation pair = make_distillation(model_of(student_yaml, 3), model_of(teacher_yaml, 3), 1, 0);
  const ParameterLayout layout(pair.teacher);
  std::vector<float> values = initial_parameters(pair.teacher, layout, 5);
  for (const ParameterEntry& entry : layout.entries()) {  // it sees objects
    if (entry.kind == ParameterKind::bias)
      std::fill_n(values.begin() + static_cast<long>(entry.offset), entry.count, 0.2f);
  }
  const Parameters parameters{.layout = &layout, .values = values.data()};
  NetworkSetup setup{.model = &pair.teacher, .backend = backend.get(), .parameters = &parameters};
  setup.height = 16;
  setup.width = 48;
  setup.mode = Mode::infer;
  Network teacher(setup);
  const DeviceBuffer arena(*backend, teacher.memory().arena());
  teacher.bind(arena.data());
  const std::vector<uint8_t> pixels(size_t{16} * 48 * 3, 77);
  teacher.set_pixels(pixels.data());
  teacher.infer();
  DistillationLoss loss(pair, teacher, *backend);
  const DeviceBuffer workspace(*backend, loss.workspace_bytes());
  loss.bind(workspace.data());

  YoloHead own = std::get<YoloAttributes>(pair.student.layers[5].attributes).head,
           other = std::get<YoloAttributes>(pair.teacher.layers[3].attributes).head;
  for (YoloHead* const head : {&own, &other}) {
    head->input_width = 48;
    head->input_height = 16;
  }
  Shape shape = teacher.output_shape(3);
  shape.c = own.channels();
  Random random(8, Purpose::test);
  std::vector<float> predictions(shape.count()), gradient(shape.count()), expected(shape.count());
  for (float& prediction : predictions) prediction = random.normal();
  const Tensor student{predictions.data(), shape, DType::f32};
  LossTotals totals, expected_totals;
  loss.loss(5, student, {gradient.data(), shape, DType::f32}, {}, &totals);
  backend->distill_predictions(pair_heads(own, other), {.student = student,
                                                        .teacher = teacher.output(3),
                                                        .gradient = {expected.data(), shape, DType::f32},
                                                        .scale = {},
                                                        .totals = &expected_totals,
                                                        .workspace = workspace.data()});
  EXPECT_GT(totals.distillation, 0);
  EXPECT_EQ(totals.distillation, expected_totals.distillation);
  EXPECT_EQ(gradient, expected);
}

/// A student, its teacher, and what it loses against it and the ground truth.
class TaughtNetwork {
 public:
  explicit TaughtNetwork(Backend& backend, float predictions = 0.7f, float features = 1.5f)
      : backend_(backend),
        pair_(make_distillation(model_of(student_yaml, 3), model_of(teacher_yaml, 3), predictions, features)),
        teacher_layout_(pair_.teacher),
        layout_(pair_.student),
        teacher_values_(initial_parameters(pair_.teacher, teacher_layout_, 5)),
        values(initial_parameters(pair_.student, layout_, 1)),
        gradients(layout_.trainable_floats()),
        teacher_parameters_{.layout = &teacher_layout_, .values = teacher_values_.data()},
        parameters_{.layout = &layout_, .values = values.data(), .gradients = gradients.data()},
        teacher_(setup(pair_.teacher, teacher_parameters_, Mode::infer)),
        loss_(pair_, teacher_, backend),
        student_(setup(pair_.student, parameters_, Mode::train)),
        teacher_arena_(backend, teacher_.memory().arena()),
        arena_(backend, student_.memory().arena()),
        workspace_(backend, loss_.workspace_bytes()) {
    // Without it the teacher, of the initial biases of a head, sees no objects anywhere.
    for (const ParameterEntry& entry : teacher_layout_.entries()) {
      if (entry.kind == ParameterKind::bias)
        std::fill_n(teacher_values_.begin() + static_cast<long>(entry.offset), entry.count, 0.2f);
    }
    teacher_.bind(teacher_arena_.data());
    student_.bind(arena_.data());
    loss_.bind(workspace_.data());
    Random random(3, Purpose::test);
    std::vector<uint8_t> pixels(size_t{2} * 16 * 16 * 3);
    for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    student_.set_batch(pixels.data(), std::vector<std::vector<Truth>>{{{{0.4f, 0.5f, 0.6f, 0.7f}, 1}}, {}});
    backend.finish_uploads();
    teacher_.set_pixels(student_);
    teacher_.infer();
  }

  double loss() {
    ++parameters_.version;
    LossTotals totals;
    student_.forward_backward({}, false, &totals);
    taught = totals.distillation;
    return totals.box + totals.objectness + totals.classes + totals.distillation;
  }
  const ParameterLayout& layout() const { return layout_; }

 private:
  NetworkSetup setup(const Model& model, const Parameters& parameters, Mode mode) {
    NetworkSetup setup{.model = &model, .backend = &backend_, .parameters = &parameters};
    setup.batch = 2;
    setup.height = setup.width = 16;
    setup.mode = mode;
    if (mode == Mode::infer) setup.kept = kept_outputs(pair_);
    if (mode == Mode::train) setup.output_loss = &loss_;
    return setup;
  }

  Backend& backend_;
  Distillation pair_;
  ParameterLayout teacher_layout_, layout_;
  std::vector<float> teacher_values_;

 public:
  std::vector<float> values, gradients;
  double taught = 0;

 private:
  Parameters teacher_parameters_, parameters_;
  Network teacher_;
  DistillationLoss loss_;
  Network student_;
  DeviceBuffer teacher_arena_, arena_, workspace_;
};

// As tests/layers/network_test.cpp does for the loss against the ground truth alone.
TEST(Distillation, GradientOfEveryParameterMatchesDifferences) {
  const auto backend = make_cpu_backend();
  TaughtNetwork taught(*backend);
  taught.loss();
  EXPECT_GT(taught.taught, 1);
  const std::vector<float> gradient = taught.gradients, values = taught.values;
  int adapters = 0;
  for (const ParameterEntry& entry : taught.layout().entries()) {
    if (entry.offset >= taught.layout().trainable_floats()) continue;
    adapters += entry.name.starts_with("adapter.");
    for (const bool random_signs : {false, true}) {
      Random random(6, Purpose::test, 0, entry.offset);
      std::vector<float> direction(entry.count);
      double along = 0, size = 0;
      for (size_t i = 0; i < entry.count; ++i) {
        const float value = gradient[entry.offset + i];
        direction[i] = (random_signs ? random.chance(0.5f) : value > 0) ? 1.0f : -1.0f;
        along += static_cast<double>(value) * direction[i];
        size += std::abs(static_cast<double>(value));
      }
      const auto loss_at = [&](double step) {
        for (size_t i = 0; i < entry.count; ++i)
          taught.values[entry.offset + i] =
              values[entry.offset + i] + static_cast<float>(step * direction[i]);
        return taught.loss();
      };
      const double h = size > 100 ? 2e-3 : 8e-3;
      const double wide = (loss_at(h) - loss_at(-h)) / (2 * h);
      const double narrow = (loss_at(h / 2) - loss_at(-h / 2)) / h;
      EXPECT_NEAR(along, (4 * narrow - wide) / 3, 0.02 * size + 3e-3)
          << entry.name << (random_signs ? " along random signs" : " along its own signs");
      taught.values = values;
    }
  }
  EXPECT_EQ(adapters, 4) << "a weight and a bias each";
}

TEST(Distillation, EachLossHasItsWeight) {
  const auto backend = make_cpu_backend();
  const auto taught = [&](float predictions, float features) {
    TaughtNetwork network(*backend, predictions, features);
    network.loss();
    return network.taught;
  };
  const double predictions = taught(1, 0), features = taught(0, 1);
  EXPECT_GT(predictions, 0.01);
  EXPECT_GT(features, 0.01);
  EXPECT_NEAR(taught(2, 3), 2 * predictions + 3 * features, 1e-4 * (predictions + features));
}

}  // namespace
}  // namespace brightnet
