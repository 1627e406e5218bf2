#include "train/setup/finetune.h"

#include <algorithm>
#include <cmath>

#include "detect/evaluate/evaluate.h"
#include "detect/inference.h"
#include "formats/class_channels.h"
#include "formats/darknet/weights.h"
#include "formats/safetensors.h"
#include "tests/layers/models.h"
#include "tests/logged.h"
#include "tests/train/small_run.h"
#include "tests/train/small_training.h"
#include "tests/train/small_weights.h"
#include "train/loop/trainer.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

float rate_of(const Model& model, const std::string& name) {
  for (const auto& layer : model.layers) {
    if (layer.name == name) return layer.rate;
  }
  ADD_FAILURE() << "there is no layer " << name;
  return -1;
}

TEST(Finetune, FreezesTheFirstLayersOrNamedParts) {
  using Parts = std::vector<std::string>;
  Model model = shipped_model("yolov4-tiny", 3);
  TrainOptions train;
  train.freeze = Parts{"3"};
  set_rates(model, train);
  EXPECT_EQ(frozen_convolutions(model), 3);
  EXPECT_EQ(rate_of(model, "stage1.in"), 0);
  EXPECT_EQ(rate_of(model, "stage1.a"), 1);
  train.freeze = Parts{"stage1", "neck"};
  train.pretrained_rate = 0.25f;
  train.fresh = {"predict32"};
  set_rates(model, train);
  EXPECT_EQ(frozen_convolutions(model), 5);
  EXPECT_EQ(rate_of(model, "stage1.merge"), 0);
  EXPECT_EQ(rate_of(model, "stage2.merge"), 0.25f);
  EXPECT_EQ(rate_of(model, "predict32"), 1);
  train.freeze = Parts{"stge1"};
  try {
    set_rates(model, train);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("'stage1'"), std::string::npos) << e.what();
  }
  train.freeze = Parts{"999"};
  EXPECT_THROW(set_rates(model, train), InputError);
  train.freeze = Parts{std::to_string(model.layers.size())};
  EXPECT_THROW(set_rates(model, train), InputError) << "nothing would be trained";
}

TEST(Finetune, FreshBlocksLearnAtTheFullRateAndUnknownNamesAreRefused) {
  Model model = shipped_model("yolov4-tiny", 3);
  TrainOptions train;
  train.pretrained_rate = 0.25f;
  train.fresh = {"stage2", "predict32"};
  name_fresh_layers(train, model);
  set_rates(model, train);
  for (const char* layer : {"stage2.in", "stage2.merge", "predict32"}) EXPECT_EQ(rate_of(model, layer), 1);
  for (const char* layer : {"stage1.in", "predict16"}) EXPECT_EQ(rate_of(model, layer), 0.25f);
  const std::vector<std::string> layers = train.fresh;
  name_fresh_layers(train, model);
  EXPECT_EQ(train.fresh, layers) << "as it is read again from the run's folder";
  train.fresh = {"predctx"};
  try {
    name_fresh_layers(train, model);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("Did you mean 'predict"), std::string::npos) << e.what();
  }
}

TEST(Finetune, SaysThatAFrozenLayerWhichTheWeightsLackStaysRandom) {
  const SmallRun run;
  TrainOptions train;
  train.weights = write_small_weights(run).string();
  std::string yaml = small_model;
  const std::string fine = "name: fine, filters: 32, size: ";
  yaml.replace(yaml.find(fine), fine.size() + 1, fine + "1");  // not 3
  const Model model = model_of(yaml, 2);
  const ParameterLayout layout(model);
  const auto said_with_frozen = [&](const std::string& layer) {
    train.freeze = std::vector<std::string>{layer};
    train.fresh.clear();
    std::vector<float> values = initial_parameters(model, layout, 1);
    const Logged logged;
    read_pretrained(train, model, {"circle", "square"}, layout, values);
    return logged.text();
  };
  const std::string lacking = said_with_frozen("fine"), loaded = said_with_frozen("conv1");
  EXPECT_NE(lacking.find("'fine' is frozen and not in " + train.weights), std::string::npos) << lacking;
  EXPECT_EQ(loaded.find("is frozen"), std::string::npos) << loaded;
}

/// A network of the small model in training, with these parts frozen and a batch of two.
std::unique_ptr<BoundNetwork> network_with_frozen(Backend& backend, const std::vector<std::string>& freeze) {
  Model model = model_of(small_model, 2);
  TrainOptions train;
  train.freeze = freeze;
  set_rates(model, train);
  auto bound = std::make_unique<BoundNetwork>(backend, model, 2, 64, Precision::fp32, Mode::train);
  std::vector<uint8_t> pixels(2 * 64 * 64 * 3);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i % 251);
  const std::vector<std::vector<Truth>> truths{{{{0.4f, 0.5f, 0.3f, 0.4f}, 1}},
                                               {{{0.7f, 0.2f, 0.2f, 0.2f}, 0}}};
  bound->network().set_batch(pixels.data(), truths);
  return bound;
}

TEST(Finetune, AFrozenLayerNormalisesByItsRunningStatisticsAsInInference) {
  const auto backend = make_cpu_backend();
  const auto loss_with = [&](const std::vector<std::string>& freeze, const std::string& moved) {
    const auto bound = network_with_frozen(*backend, freeze);
    if (const ParameterEntry* entry = bound->layout().find(moved)) {
      std::vector<float> values = bound->values();
      for (size_t i = 0; i < entry->count; ++i) values[entry->offset + i] += 0.5f;
      bound->set_values(values);
    }
    return bound->loss();
  };
  const double trained = loss_with({}, ""), frozen = loss_with({"fine"}, "");
  for (const char* name : {"fine.running_mean", "fine.running_variance"}) {
    EXPECT_EQ(loss_with({}, name), trained) << name;
    EXPECT_GT(std::abs(loss_with({"fine"}, name) - frozen), 1e-3 * frozen) << name;
  }
}

TEST(Finetune, AFrozenLayerHasNoGradientAndPassesItOn) {
  const auto backend = make_cpu_backend();
  // Both heads read `fine`: the first layers' gradient comes through it.
  const auto bound = network_with_frozen(*backend, {"fine"});
  bound->loss();
  const std::vector<float> gradients = bound->gradients(), values = bound->values();
  for (const char* name : {"conv1.weight", "conv2.weight", "conv2.scale", "conv2.shift"}) {
    // Finite differences along the gradient give its length, whose every element counts.
    const ParameterEntry* entry = bound->layout().find(name);
    double squares = 0;
    for (size_t i = entry->offset; i < entry->offset + entry->count; ++i)
      squares += static_cast<double>(gradients[i]) * gradients[i];
    const double length = std::sqrt(squares);
    ASSERT_GT(length, 0) << name;
    const auto loss_at = [&](double distance) {
      std::vector<float> moved = values;
      for (size_t i = entry->offset; i < entry->offset + entry->count; ++i)
        moved[i] += static_cast<float>(distance * gradients[i] / length);
      bound->set_values(moved);
      return bound->loss();
    };
    constexpr double step = 1e-3;
    const double numeric = (loss_at(step) - loss_at(-step)) / (2 * step);
    EXPECT_NEAR(numeric, length, 0.01 * length) << name;
  }
  for (const char* name : {"fine.weight", "fine.scale", "fine.shift"}) {
    const ParameterEntry* entry = bound->layout().find(name);
    for (size_t i = 0; i < entry->count; ++i) EXPECT_EQ(gradients[entry->offset + i], 0) << name;
  }
}

TEST(Finetune, BelowTheLowestTrainableLayerThereIsNoGradientAndLessMemory) {
  const auto backend = make_cpu_backend();
  const auto frozen = network_with_frozen(*backend, {"conv1", "conv2", "fine"}),
             trained = network_with_frozen(*backend, {});
  EXPECT_LT(frozen->network().memory().step, trained->network().memory().step);
  EXPECT_EQ(frozen->loss(), frozen->loss());
  const std::vector<float> gradients = frozen->gradients();
  for (const auto& entry : frozen->layout().entries()) {
    if (entry.offset >= frozen->layout().trainable_floats()) continue;
    const auto begin = gradients.begin() + static_cast<long>(entry.offset);
    const bool any =
        std::any_of(begin, begin + static_cast<long>(entry.count), [](float g) { return g != 0; });
    const bool below = entry.rate == 0;
    EXPECT_EQ(any, !below) << entry.name;
  }
}

TEST(Finetune, FrozenLayersAreBitIdenticalAfterTrainingAndTheRestIsNot) {
  const SmallRun small;
  for (const char* kind : {"optimizer={kind: sgd, rate: 0.02}", "optimizer={kind: adamw, rate: 0.01}"}) {
    const RunConfig config = small.load({kind, "train.freeze=[conv1, fine]", "train.epochs=2"});
    SmallTraining run(config, small.folder() / "out");
    std::vector<float> initial = initial_parameters(run.model, run.layout, 5);
    Trainer trainer = run.make(initial);
    EXPECT_EQ(run.backend->allocated_bytes(),
              plan_run(config, run.model, *run.backend, config.train.micro_batch).memory.peak());
    trainer.run();
    const auto last = tensors_of(run.folder.last());
    for (const auto& entry : run.layout.entries()) {
      const std::vector<float> before(initial.begin() + static_cast<long>(entry.offset),
                                      initial.begin() + static_cast<long>(entry.offset + entry.count));
      const bool frozen = entry.name.rfind("conv1.", 0) == 0 || entry.name.rfind("fine.", 0) == 0;
      EXPECT_EQ(last.at(entry.name) == before, frozen) << entry.name;
    }
  }
}

TEST(Finetune, AFineTunedRunIsResumedToTheSameWeights) {
  const SmallRun small;
  const auto options = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"train.freeze=[conv1]", "train.pretrained_rate=0.1",
                             "train.pretrained_warmup=0.5", "train.fresh=[conv3, conv5]"});
    return small.load(more);
  };
  SmallTraining whole(options({"train.epochs=2"}), small.folder() / "whole");
  EXPECT_EQ(rate_of(whole.model, "conv3"), 1);
  EXPECT_EQ(rate_of(whole.model, "conv2"), 0.1f);
  const std::vector<float> initial = initial_parameters(whole.model, whole.layout, 5);
  whole.make(initial).run();
  const fs::path parts = small.folder() / "parts";
  {
    SmallTraining first(options({"train.epochs=2"}), parts);
    std::stop_source stop;
    stop.request_stop();
    ASSERT_EQ(first.make(initial).run(stop.get_token()), TrainingEnd::interrupted);
  }
  // The folder's own configuration says which layers are slow and which stand still.
  SmallTraining second(load_run_config(parts / "config.yaml"), parts, true);
  Trainer trainer = second.make(initial);
  trainer.resume();
  ASSERT_EQ(trainer.run(), TrainingEnd::finished);
  EXPECT_EQ(tensors_of(whole.folder.last()), tensors_of(parts / "weights/last.safetensors"));
}

TEST(Finetune, LayersThatCameWithTheWeightsLearnMoreSlowly) {
  const SmallRun small;
  const auto moved = [&](const char* rate) {
    SmallTraining run(
        small.load({rate, "train.fresh=[conv3]", "train.iterations=1", "ema.decay=0", "schedule.warmup=0",
                    "optimizer={kind: sgd, rate: 0.001, decay: 0, clip: 0}"}),
        small.folder() / "out");
    const std::vector<float> initial = initial_parameters(run.model, run.layout, 5);
    run.make(initial).run();
    const auto last = tensors_of(run.folder.last());
    const auto distance = [&](const std::string& name) {
      const ParameterEntry* entry = run.layout.find(name);
      double sum = 0;
      for (size_t i = 0; i < entry->count; ++i)
        sum += std::abs(last.at(name)[i] - initial[entry->offset + i]);
      return sum;
    };
    return std::pair(distance("conv2.weight"), distance("conv3.weight"));
  };
  const auto fast = moved("train.pretrained_rate=1"), slow = moved("train.pretrained_rate=0.125");
  EXPECT_NEAR(slow.first / fast.first, 0.125, 1e-3);
  EXPECT_NEAR(slow.second / fast.second, 1, 1e-6);
}

TEST(Finetune, ListsTheLayersThatAWeightsFileHasNothingFor) {
  const Model eighty = model_of(small_model, 80);
  const ParameterLayout theirs(eighty);
  const std::vector<float> ones(theirs.floats(), 1.0f);
  const fs::path file = fs::path(::testing::TempDir()) / "finetune_eighty.weights";
  save_darknet_weights(file, eighty, theirs, ones);
  const Model model = model_of(small_model, 2);
  const ParameterLayout layout(model);
  std::vector<float> values(layout.floats(), 0.0f);
  TrainOptions train;
  train.weights = file.string();
  read_pretrained(train, model, {"circle", "square"}, layout, values);
  EXPECT_EQ(train.fresh, (std::vector<std::string>{"conv3", "conv5"}));
  EXPECT_EQ(values[layout.find("fine.scale")->offset], 1);
  EXPECT_EQ(values[layout.find("conv5.bias")->offset], 0);
  fs::remove(file);
}

/// Three classes, and weights that detect something everywhere.
class ThreeClasses : public ::testing::Test {
 protected:
  ThreeClasses() {
    SynthOptions options;
    options.train_images = 6;
    options.val_images = 6;
    options.size = 64;
    options.classes = 3;
    make_synthetic_dataset(options, run_.folder() / "three");
    DataOptions options_of_data = run_.load().data;
    options_of_data.root = (run_.folder() / "three").string();
    options_of_data.classes = {"a", "b", "c"};
    data_ = read_dataset(options_of_data, Split::val);
    train_.weights = write_small_weights(run_, data_.classes).string();
  }

  /// The data with its classes in this order.
  Dataset listed_as(const std::vector<std::string>& classes) const {
    Dataset other = data_;
    const ClassMatch match = match_classes(classes, data_.classes);
    other.classes = classes;
    for (ImageRecord& image : other.images) {
      for (Annotation& object : image.annotations) object.class_id = match.source.at(object.class_id);
    }
    return other;
  }
  TrainedModel taken_for(const std::vector<std::string>& classes) {
    TrainedModel model{.model = load_model(run_.folder() / "model.yaml", static_cast<int>(classes.size())),
                       .classes = classes,
                       .size = 64,
                       .training = {},
                       .layout = {},
                       .values = {}};
    model.layout = ParameterLayout(model.model);
    model.values.assign(model.layout.floats(), -7.0f);
    read_pretrained(train_, model.model, classes, model.layout, model.values);
    return model;
  }
  Metrics score(TrainedModel model, const Dataset& data) {
    InferenceNetwork network(std::move(model), *backend_, {.batch = 2, .size = 64});
    return *evaluate(network.engine(), data, network.fit(), {.nms = {.score = 0.001f}});
  }
  /// The values of a parameter's output channel.
  static std::vector<float> channel(const TrainedModel& model, const std::string& name, int index) {
    const ParameterEntry& entry = *model.layout.find(name);
    const size_t size = entry.count / static_cast<size_t>(entry.shape[0]);
    const auto begin =
        model.values.begin() + static_cast<long>(entry.offset + size * static_cast<size_t>(index));
    return {begin, begin + static_cast<long>(size)};
  }

  SmallRun run_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  Dataset data_;
  TrainOptions train_;
};

TEST_F(ThreeClasses, InAnotherOrderScoreExactlyTheSame) {
  const Metrics before = score(load_trained_model(train_.weights), data_);
  ASSERT_GT(before.AP50, 0);
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"a", "b", "c"}, {"c", "a", "b"}, {"b", "c", "a"}, {"b", "a", "c"}}) {
    const Metrics after = score(taken_for(order), listed_as(order));
    EXPECT_TRUE(train_.fresh.empty());
    for (size_t i = 0; i < order.size(); ++i) {
      const auto& was = before.per_class[static_cast<size_t>(order[i][0] - 'a')];
      EXPECT_EQ(after.per_class[i].name, was.name);
      EXPECT_EQ(after.per_class[i].truths, was.truths);
      EXPECT_EQ(after.per_class[i].AP, was.AP) << was.name;
      EXPECT_EQ(after.per_class[i].AP50, was.AP50) << was.name;
    }
    EXPECT_DOUBLE_EQ(after.AP, before.AP) << "a sum in another order";
  }
}

TEST_F(ThreeClasses, ThatAreSharedKeepTheirChannelsAndOthersStartFresh) {
  const TrainedModel theirs = load_trained_model(train_.weights), ours = taken_for({"new", "c", "b", "more"});
  EXPECT_TRUE(train_.fresh.empty());
  for (const char* layer : {"conv3", "conv5"}) {
    for (const char* part : {".weight", ".bias"}) {
      const std::string name = std::string(layer) + part;
      const auto fresh = std::vector<float>(channel(ours, name, 0).size(), -7.0f);
      for (int anchor = 0; anchor < 2; ++anchor) {
        const int from = anchor * 8, to = anchor * 9;
        for (int i = 0; i < 5; ++i) EXPECT_EQ(channel(ours, name, to + i), channel(theirs, name, from + i));
        EXPECT_EQ(channel(ours, name, to + 5), fresh);
        EXPECT_EQ(channel(ours, name, to + 6), channel(theirs, name, from + 7));
        EXPECT_EQ(channel(ours, name, to + 7), channel(theirs, name, from + 6));
        EXPECT_EQ(channel(ours, name, to + 8), fresh);
      }
    }
  }
}

TEST_F(ThreeClasses, NoneOfWhichTheWeightsHaveStartThePredictionLayersFresh) {
  const TrainedModel ours = taken_for({"x", "y", "z"});
  EXPECT_EQ(train_.fresh, (std::vector<std::string>{"conv3", "conv5"}));
  for (const char* name : {"conv3.weight", "conv3.bias", "conv5.weight", "conv5.bias"})
    EXPECT_EQ(ours.values[ours.layout.find(name)->offset], -7.0f) << name;
  EXPECT_NE(ours.values[ours.layout.find("fine.weight")->offset], -7.0f);
}

TEST_F(ThreeClasses, NoneOfWhichTheWeightsHaveAreRefusedWithBoxesThatAreNotFinite) {
  TrainedModel trained = load_trained_model(train_.weights);
  trained.values[trained.layout.find("conv5.bias")->offset] = NAN;
  save_weights(train_.weights, trained);
  try {
    taken_for({"x", "y", "z"});
    FAIL() << "their boxes would be kept";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("conv5"), std::string::npos) << e.what();
  }
}

TEST_F(ThreeClasses, OfWeightsThatNumberThemAreTakenInOrder) {
  train_.weights = write_small_weights(run_, {"class 0", "class 1", "class 2"}).string();
  const TrainedModel theirs = load_trained_model(train_.weights), ours = taken_for({"x", "y", "z"});
  EXPECT_TRUE(train_.fresh.empty());
  for (const ParameterEntry& entry : ours.layout.entries()) {
    for (int i = 0; i < entry.shape[0]; ++i)
      ASSERT_EQ(channel(ours, entry.name, i), channel(theirs, entry.name, i)) << entry.name;
  }
}

TEST_F(ThreeClasses, AreSaidWithTheirHeadsWhenTheseDecodeOtherwise) {
  const auto model = [&](const char* head) {
    std::string yaml = small_model;
    yaml.replace(yaml.find("scale_xy: 1.05"), 14, head);
    return model_of(yaml, 3);
  };
  EXPECT_EQ(describe_other_heads(train_, model("scale_xy: 1.05")), "");
  const std::string other = describe_other_heads(train_, model("scale_xy: 2, new_coords: true"));
  for (const char* words : {"conv3: scale_xy 1.05 in the weights, 2 here", "conv5: new_coords false"})
    EXPECT_NE(other.find(words), std::string::npos) << words << " in: " << other;
  std::string yaml = small_model;
  yaml.replace(yaml.find("[8, 8]"), 6, "[9, 8]");
  const std::string anchors = describe_other_heads(train_, model_of(yaml, 3));
  EXPECT_NE(anchors.find("conv3: anchors 8x8 14x14 in the weights, 9x8 14x14 here"), std::string::npos)
      << anchors;
  EXPECT_EQ(anchors.find("conv5"), std::string::npos) << anchors;
  train_.fresh = {"conv3"};
  EXPECT_EQ(describe_other_heads(train_, model_of(yaml, 3)), "")
      << "a fresh layer was trained with no anchors";
}

}  // namespace
}  // namespace brightnet::testing
