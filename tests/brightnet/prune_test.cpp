// prune(), as another program calls it: files, answers and refusals. Which channels go is tested in tests/layers/.
#include "brightnet/prune.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "brightnet/error.h"
#include "brightnet/evaluate.h"
#include "core/json.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "tests/logged.h"
#include "tests/train/small_weights.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

class Prune : public ::testing::Test {
 protected:
  PruningOptions options(double keep = 0.5) const {
    return {.weights = {.weights = weights_}, .out = run_.folder() / "small", .keep = keep};
  }
  static std::string refusal(const PruningOptions& options) {
    try {
      prune(options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  }
  static void expect_refused(const PruningOptions& options, const std::string& words) {
    const std::string said = refusal(options);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_FALSE(fs::exists(options.out)) << "nothing is written";
  }

  SmallRun run_;
  fs::path weights_ = write_small_weights(run_);
};

TEST_F(Prune, WritesTheModelAndWeightsThatNeedNothingElse) {
  const TrainedModel before = load_trained_model(weights_);
  const PrunedNetwork made = prune(options());
  const TrainedModel after = load_trained_model(made.weights);
  EXPECT_LT(after.layout.trainable_parameters(), before.layout.trainable_parameters());
  EXPECT_EQ(after.classes, before.classes);
  EXPECT_EQ(after.size, before.size);
  EXPECT_TRUE(same_layers(load_model(made.model, 0).layers, after.model.layers));
  EXPECT_EQ(load_model(made.model, 0).classes, 2);
  const Json answer = Json::parse(made.answer.json);
  EXPECT_EQ(answer["keep"], 0.5);
  EXPECT_EQ(answer["parameters_before"], before.layout.trainable_parameters());
  EXPECT_EQ(answer["parameters_after"], after.layout.trainable_parameters());
  EXPECT_DOUBLE_EQ(answer["kept"].get<double>() * answer["flop_before"].get<double>(),
                   answer["flop_after"].get<double>());
  const auto bytes_of = [](const TrainedModel& network) {
    size_t numbers = 0;
    for (const ParameterEntry& entry : network.layout.entries()) numbers += entry.count;
    return 4 * numbers;
  };
  EXPECT_EQ(answer["bytes_before"], bytes_of(before));
  EXPECT_EQ(answer["bytes_after"], bytes_of(after));
  ASSERT_EQ(answer["layers"].size(), 6u);
  EXPECT_EQ(answer["layers"][2]["name"], "fine");
  EXPECT_EQ(answer["layers"][2]["channels_before"], 32);
  EXPECT_LT(answer["layers"][2]["channels_after"], 32);
  EXPECT_EQ(answer["layers"][2]["whole"], "");
  EXPECT_EQ(answer["layers"][3]["whole"], "read by yolo1") << "it makes the predictions";
  EXPECT_NE(made.answer.text.find("fine"), std::string::npos) << made.answer.text;
  EXPECT_NE(made.fine_tuning.find(made.weights.string()), std::string::npos) << made.fine_tuning;
}

TEST_F(Prune, TakesTheGradientsOfTrainingImages) {
  PruningOptions by_gradients = options();
  by_gradients.by = "taylor";
  by_gradients.data = run_.config().string();
  const Json taylor = Json::parse(prune(by_gradients).answer.json);
  by_gradients.replace = true;
  EXPECT_EQ(Json::parse(prune(by_gradients).answer.json), taylor) << "the same again";
  by_gradients.by = "norm";
  EXPECT_EQ(Json::parse(prune(by_gradients).answer.json)["by"], "norm");
  by_gradients.by = PruningOptions().by;
  EXPECT_EQ(Json::parse(prune(by_gradients).answer.json), taylor) << "the default with data";
  by_gradients.data.clear();
  EXPECT_EQ(Json::parse(prune(by_gradients).answer.json)["by"], "scale") << "the default without";
}

// Square pictures and a wide input: stretched to it they are others than in a letterbox.
TEST_F(Prune, ShowsTheNetworkImagesAsItIsUsedWhateverTheDataSay) {
  const auto kept = [&](bool of_weights, bool of_data) {
    TrainedModel whole = load_trained_model(weights_);
    whole.size = {32, 96};
    whole.letterbox = of_weights;
    save_weights(weights_, whole);
    run_.write_config(std::string("augment: {mosaic: 0, letterbox: ") + (of_data ? "true}\n" : "false}\n"));
    PruningOptions by_gradients = options();
    by_gradients.by = "taylor";
    by_gradients.data = run_.config().string();
    by_gradients.multiple = 1;
    by_gradients.replace = true;
    return load_trained_model(prune(by_gradients).weights).values;
  };
  const std::vector<float> letterboxed = kept(true, true), stretched = kept(false, false);
  EXPECT_NE(letterboxed, stretched) << "this test cannot tell them apart";
  EXPECT_EQ(kept(true, false), letterboxed);
  EXPECT_EQ(kept(false, true), stretched);
}

TEST_F(Prune, SaysHowNearItCame) {
  const Logged logged;
  const PrunedNetwork made = prune(options(0.01));
  EXPECT_NE(logged.text().find("% of the FLOP are left, not 1 %"), std::string::npos) << logged.text();
  EXPECT_GT(Json::parse(made.answer.json)["kept"], 0.01);
}

TEST_F(Prune, TellsPeopleWhichShareIsLeft) {
  const Answer answer = prune(options(0.7)).answer;
  const Json json = Json::parse(answer.json);
  for (const std::string of : {"flop", "parameters", "bytes"}) {
    const std::string left = fmt::format(
        " {:.1f} %\n", 100 * json[of + "_after"].get<double>() / json[of + "_before"].get<double>());
    EXPECT_NE(answer.text.find(left), std::string::npos) << of << left << answer.text;
  }
}

TEST_F(Prune, RefusesWhatItCannotDo) {
  for (const double keep : {0.0, -0.5, 1.01, std::nan("")}) expect_refused(options(keep), "at most 1");
  PruningOptions wrong = options();
  wrong.multiple = 0;
  expect_refused(wrong, "at least 1");
  wrong = options();
  wrong.by = "size";
  expect_refused(wrong, "norm, scale, taylor");
  wrong.by = "taylor";
  expect_refused(wrong, "Give --data");
  wrong = options();
  wrong.weights.weights = run_.folder() / "model.yaml";
  EXPECT_NE(refusal(wrong), "accepted") << "no weights";
  wrong.weights.weights = run_.folder() / "gone.safetensors";
  EXPECT_NE(refusal(wrong), "accepted");
}

TEST_F(Prune, RefusesOtherClassesQuantisedWeightsAndFilesThatAreThere) {
  PruningOptions wrong = options();
  wrong.by = "taylor";
  wrong.data = run_.config().string();
  wrong.weights.weights = write_small_weights(run_, {"square", "circle"});
  expect_refused(wrong, "other classes");

  TrainedModel quantised = load_trained_model(write_small_weights(run_));
  quantised.model.quantization.resize(quantised.model.layers.size());
  save_weights(run_.folder() / "int8.safetensors", quantised);
  wrong = options();
  wrong.weights.weights = run_.folder() / "int8.safetensors";
  expect_refused(wrong, "quantised");

  prune(options());
  EXPECT_NE(refusal(options()).find("--force"), std::string::npos);
  wrong = options();
  wrong.replace = true;
  EXPECT_EQ(refusal(wrong), "accepted");
  wrong.weights.weights = wrong.out / "weights.safetensors";
  EXPECT_NE(refusal(wrong).find("would be overwritten"), std::string::npos);
}

TEST_F(Prune, SaysHowItIsTrainedFurtherAndForgetsTheScoresOfTheWhole) {
  TrainedModel whole = load_trained_model(weights_);
  whole.size = {32, 96};
  whole.letterbox = true;
  whole.training = {{"AP", "0.5"}, {"AP50", "0.7"}, {"run", "mine"}};
  save_weights(weights_, whole);
  const PrunedNetwork made = prune(options());
  EXPECT_EQ(made.fine_tuning, "brightnet train --model " + made.model.string() + " --weights " +
                                  made.weights.string() +
                                  " --size 32x96 --data DATA --set augment.letterbox=true");
  whole.training["tiles"] = "32,0.25";
  save_weights(weights_, whole);
  PruningOptions again = options();
  again.replace = true;
  EXPECT_TRUE(prune(again).fine_tuning.ends_with(" --set 'data.tiles={size: 32, overlap: 0.25}'"));
  const TrainedModel after = load_trained_model(made.weights);
  EXPECT_EQ(after.training.count("AP") + after.training.count("AP50"), 0u);
  EXPECT_EQ(after.training.at("run"), "mine");
  EXPECT_NE(after.training.at("pruned").find("% of the FLOP are left"), std::string::npos);
  EXPECT_EQ(after.size, whole.size);
  EXPECT_TRUE(after.letterbox);
}

TEST_F(Prune, LeavesMultiplesOfWhatItIsAsked) {
  PruningOptions sixteen = options(0.6);
  sixteen.multiple = 16;
  const Json layers = Json::parse(prune(sixteen).answer.json)["layers"];
  for (const Json& layer : layers) {
    if (layer["channels_before"] != layer["channels_after"]) {
      EXPECT_EQ(layer["channels_after"].get<int>() % 16, 0) << layer;
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
