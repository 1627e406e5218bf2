// Runs with train.quantize: what they start from, what they train by, and what they refuse.
#include "train/setup/quantized_start.h"

#include "layers/model/reader.h"
#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "tests/train/small_weights.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class QuantizedStart : public ::testing::Test {
 protected:
  QuantizedStart() : weights_(write_small_weights(run_)) {}

  RunRequest request(std::vector<std::string> more = {}) const {
    RunRequest request;
    request.config = run_.config().string();
    request.overrides = SmallRun::short_run({"train.quantize=true"});
    for (const std::string& one : more) request.overrides.assignments.push_back(one);
    request.weights = weights_.string();
    return request;
  }
  static RankDevice device() {
    return common_device(Communicator::solo(), [] { return "cpu"; });
  }
  static Preparation prepared(const RunRequest& request) {
    return prepare(request, device(), Communicator::solo());
  }
  static void expect_refused(const RunRequest& request, const std::string& words) {
    try {
      prepared(request);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  }

  SmallRun run_;
  const fs::path weights_;
};

TEST_F(QuantizedStart, IsTheCalibratedNetworkWithoutBatchNorm) {
  const Preparation run = prepared(request());
  ASSERT_EQ(run.model.quantization.size(), run.model.layers.size());
  EXPECT_EQ(quantization_refusal(run.model), "");
  size_t quantized = 0;
  for (size_t i = 0; i < run.model.layers.size(); ++i) {
    const auto* conv = std::get_if<ConvAttributes>(&run.model.layers[i].attributes);
    if (!conv) continue;
    EXPECT_FALSE(conv->batch_norm);
    quantized += !run.model.quantization[i].weight_scales.empty();
  }
  EXPECT_EQ(quantized, 4u) << "all but those that predict";
  EXPECT_EQ(run.initial.size(), run.layout->floats());
  // The run's folder keeps the model as it was named: a run that is begun again finds its weights' batch-norm in it.
  const Model described = parse_model(YamlDocument::parse(run.model_yaml, "model.yaml"), 2);
  EXPECT_TRUE(std::get<ConvAttributes>(described.layers[0].attributes).batch_norm);
}

// Square pictures of an upright input: either drawn out or with grey bars.
TEST_F(QuantizedStart, IsCalibratedOnImagesAsTheRunSeesThem) {
  const auto scales = [&](const std::string& letterbox) {
    return prepared(request({"train.size=64x32", "augment.letterbox=" + letterbox})).model.quantization;
  };
  const Quantization letterboxed = scales("true");
  EXPECT_EQ(letterboxed, scales("true"));
  EXPECT_NE(letterboxed, scales("false"));
}

TEST_F(QuantizedStart, TrainsInFp32UnlessToldOtherwise) {
  RunRequest automatic = request();
  std::erase(automatic.overrides.assignments, "train.precision=fp32");
  run_.write_config("train: {patience: 0}\n");
  EXPECT_EQ(prepared(automatic).config.train.precision.value(), Precision::fp32);
  expect_refused(request({"train.precision=bf16"}), "train.quantize rounds to 8 bits in fp32");
}

TEST_F(QuantizedStart, IsRefusedWithoutATrainedNetwork) {
  RunRequest without = request();
  without.weights.clear();
  expect_refused(without, "fine-tunes a network that is trained already");
  write_small_weights(run_, {"cat", "dog"});
  expect_refused(request(), "these weights lack layers");
}

TEST_F(QuantizedStart, IsRefusedForQuantisedWeights) {
  const Preparation run = prepared(request());
  save_weights(weights_, {.model = run.model,
                          .classes = {"circle", "square"},
                          .size = 64,
                          .training = {},
                          .layout = ParameterLayout(run.model),
                          .values = run.initial});
  expect_refused(request(), "quantised already");
  RunRequest other = request();
  std::erase(other.overrides.assignments, "train.quantize=true");
  expect_refused(other, "batch-norm is a part of their convolutions");
}

TEST_F(QuantizedStart, WhatOnlyPlansARunHasNoScales) {
  RunConfig config = run_.load({"train.quantize=true"});
  const Model model = model_of_run(config, 2);
  EXPECT_THROW(plan_run(config, model, *make_cpu_backend(), 2), InputError);
}

TEST_F(QuantizedStart, EndsInTheSameWeightsWhenItWasInterrupted) {
  const auto train = [&](RunRequest asked, bool stopped) {
    std::stop_source stop;
    if (stopped) stop.request_stop();  // after one step
    return run_training(asked, device(), Communicator::solo(),
                        {.can_be_stopped = [&] { return stop.get_token(); }});
  };
  RunRequest whole = request(), parts = request();
  whole.out = (run_.folder() / "whole").string();
  parts.out = (run_.folder() / "parts").string();
  const TrainedRun uninterrupted = train(whole, false);
  ASSERT_EQ(uninterrupted.end, TrainingEnd::finished);
  ASSERT_EQ(train(parts, true).end, TrainingEnd::interrupted);
  RunRequest resumed;
  resumed.resuming = true;
  resumed.resume = parts.out;
  // Resuming needs the state alone.
  fs::remove(fs::path(parts.out) / "weights/last.safetensors");
  ASSERT_EQ(train(resumed, false).end, TrainingEnd::finished);
  {
    const Logged said;
    train(resumed, false);
    const std::string advice = "To start a new run from its first weights: --weights " + weights_.string();
    EXPECT_NE(said.text().find(advice), std::string::npos) << said.text();
  }
  const fs::path last = "weights/last.safetensors";
  EXPECT_EQ(tensors_of(whole.out / last), tensors_of(parts.out / last));
  const TrainedModel trained = load_trained_model(parts.out / last);
  EXPECT_EQ(trained.model.quantization, load_trained_model(whole.out / last).model.quantization);
  // The scales are those of the start, and the weights are not.
  const Preparation start = prepared(request());
  EXPECT_EQ(trained.model.quantization, start.model.quantization);
  EXPECT_NE(trained.values, start.initial);
}

}  // namespace
}  // namespace brightnet::testing
