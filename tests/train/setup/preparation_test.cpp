#include "train/setup/preparation.h"

#include <cmath>

#include "core/threads.h"
#include "formats/darknet/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "tests/formats/small_cfg.h"
#include "tests/logged.h"
#include "tests/train/distributed/thread_ranks.h"
#include "tests/train/small_run.h"
#include "tests/train/small_weights.h"
#include "train/distributed/agreement.h"
#include "train/distributed/solo.h"
#include "train/loop/device_memory.h"
#include "train/run/checkpoint.h"

namespace brightnet::testing {
namespace {

RunRequest request_of(const SmallRun& run) {
  RunRequest request;
  request.config = run.config().string();
  return request;
}

Preparation prepared(const RunRequest& request) {
  Communicator& alone = Communicator::solo();
  return prepare(request, common_device(alone, [] { return "cpu"; }), alone);
}

std::string said_about(const SmallRun& run) {
  const testing::Logged logged;
  prepared(request_of(run));
  return logged.text();
}

TEST(Preparation, WarnsOfAValidationSplitOfFewImages) {
  const char* warning = "by which the best weights are chosen";
  const std::string few = said_about(SmallRun(12, 9));
  EXPECT_NE(few.find("The validation split has 9 images"), std::string::npos) << few;
  EXPECT_NE(few.find(warning), std::string::npos) << few;
  const std::string enough = said_about(SmallRun(12, 10));
  EXPECT_EQ(enough.find(warning), std::string::npos) << enough;
}

TEST(Preparation, WarnsOfABatchOfMoreImagesThanThereAre) {
  SmallRun run(12, 10);
  const auto said_with = [&](const std::string& batch) {
    run.write_config("train: {precision: fp32, size: 64, batch: " + batch + "}\n");
    return said_about(run);
  };
  const std::string many = said_with("18"), enough = said_with("12");
  EXPECT_NE(
      many.find("train.batch is 18 and there are 12 training images: each step sees every image 1.5 times"),
      std::string::npos)
      << many;
  EXPECT_EQ(enough.find("each step sees"), std::string::npos) << enough;
}

TEST(Preparation, WarnsOfAnInputThatIsFarLargerThanTheImages) {
  SmallRun run(12, 10);
  const auto said_with = [&](const std::string& size) {
    run.write_config("train: {precision: fp32, size: " + size + "}\n");
    return said_about(run);
  };
  const std::string far = said_with("1088"), large = said_with("1024");
  EXPECT_NE(far.find("has a side of 1088 pixels and the largest training image has 64"), std::string::npos)
      << far;
  EXPECT_EQ(large.find("the largest training image"), std::string::npos) << large;
}

// The .cfg has burn_in=100, max_batches = 2000 and steps=1600,1800.
TEST(Preparation, WarnsOfAScheduleMadeForAMuchLongerRun) {
  const SmallRun run;
  write_atomically(run.folder() / "small.cfg", small_cfg);
  const auto said_with = [&](const std::vector<std::string>& more) {
    RunRequest request;
    request.config = (run.folder() / "small.cfg").string();
    request.overrides.assignments = {"data.format=yolo",
                                     "data.root=" + (run.folder() / "data").string(),
                                     "data.train=images/train",
                                     "data.val=images/val",
                                     "data.classes=[circle, square]",
                                     "train.precision=fp32"};
    request.overrides.assignments.insert(request.overrides.assignments.end(), more.begin(), more.end());
    const testing::Logged logged;
    prepared(request);
    return logged.text();
  };
  const auto warns = [](const std::string& said, const std::string& of) {
    return said.find(of) != std::string::npos;
  };
  const char *warmup = "The warm-up (schedule.warmup)", *steps = "The first of schedule.steps";
  const std::string own = said_with({});
  EXPECT_FALSE(warns(own, warmup) || warns(own, steps)) << own;

  const std::string shortened = said_with({"train.iterations=12"});
  EXPECT_TRUE(warns(shortened, "takes 100 steps and the run has 12 steps")) << shortened;
  EXPECT_TRUE(warns(shortened, "is step 1600 and the run has 12 steps")) << shortened;
  for (const char* remedy : {"--set schedule.warmup=auto", "--set schedule.kind=cosine"})
    EXPECT_TRUE(warns(shortened, remedy)) << shortened;
  const std::string remedied =
      said_with({"train.iterations=12", "schedule.warmup=auto", "schedule.kind=cosine"});
  EXPECT_FALSE(warns(remedied, warmup) || warns(remedied, steps)) << remedied;

  EXPECT_TRUE(warns(said_with({"train.iterations=199"}), warmup));
  EXPECT_FALSE(warns(said_with({"train.iterations=200"}), warmup)) << "half of the run";
  EXPECT_TRUE(warns(said_with({"train.iterations=1600"}), steps));
  EXPECT_FALSE(warns(said_with({"train.iterations=1601"}), steps));
  // 12 images in batches of 8: two steps an epoch.
  EXPECT_TRUE(warns(said_with({"train.iterations=0", "train.epochs=6"}), "the run has 12 steps"));
}

TEST(Preparation, ChoosingConvolutionsTakesATenthOfAShortRun) {
  TrainOptions train;
  EXPECT_EQ(engine_choice(train).timing_seconds, 60);
  EXPECT_FALSE(engine_choice(train).deterministic);
  train.deterministic = true;
  train.minutes = 0.5;
  EXPECT_DOUBLE_EQ(engine_choice(train).timing_seconds, 3);
  EXPECT_TRUE(engine_choice(train).deterministic);
  train.minutes = 600;
  EXPECT_EQ(engine_choice(train).timing_seconds, 60);
}

// The order of a run's samples, of archives, depends on it.
TEST(Preparation, RanksHaveOneShuffleBuffer) {
  const SmallRun run;
  Preparation one = prepared(request_of(run)), other = prepared(request_of(run));
  one.config.train.micro_batch = other.config.train.micro_batch = 1;
  other.config.loader.workers = 3;
  const auto compare = [&] {
    return on_ranks(2, [&](Communicator& ranks) -> std::string {
      try {
        compare_ranks(ranks, ranks.leads() ? one : other);
        return "the same";
      } catch (const SharedError& error) {
        return error.what();
      }
    })[1];
  };
  EXPECT_EQ(compare(), "the same");
  other.config.loader.shuffle_buffer = 16;
  EXPECT_NE(compare().find("configuration"), std::string::npos) << compare();
}

TEST(Preparation, CountsTheThreadsOfAllRanks) {
  for (const std::string& threads : on_ranks(3, [](Communicator& ranks) {
         omp_set_num_threads(2 + ranks.rank());  // of this rank's thread
         return std::to_string(common_device(ranks, [] { return "cpu"; }).threads);
       }))
    EXPECT_EQ(threads, "9") << "2, 3 and 4";
}

// Machines have different amounts of free memory.
TEST(Preparation, RanksHaveTheSmallestMicroBatchOfAll) {
  const SmallRun run;
  Preparation one = prepared(request_of(run)), other = prepared(request_of(run));
  one.config.train.micro_batch = 4;
  one.choices.push_back({"train.micro_batch", "4", "it fits"});
  other.config.train.micro_batch = 2;
  const auto all = on_ranks(2, [&](Communicator& ranks) -> std::string {
    Preparation& own = ranks.leads() ? one : other;
    compare_ranks(ranks, own);
    return std::to_string(own.config.train.micro_batch.value());
  });
  EXPECT_EQ(all[0] + all[1], "22");
  EXPECT_EQ(one.choices.back().value, "2") << "as it is said";
}

TEST(Preparation, DrawsTheWeightsOfTheSeed) {
  const SmallRun run;
  const auto initial = [&](const char* seed) {
    RunRequest request = request_of(run);
    request.overrides.assignments = {std::string("train.seed=") + seed};
    return prepared(request).initial;
  };
  const std::vector<float> one = initial("1");
  EXPECT_EQ(initial("1"), one);
  EXPECT_NE(initial("0"), one);
}

TEST(Preparation, PutsTheWeightsOfTheClassesIntoEveryHead) {
  SmallRun run;
  for (const char* weights : {"auto", "[1, 2.5]"}) {
    run.write_config("head: {class_weights: " + std::string(weights) + "}\n");
    const Preparation prepared = brightnet::testing::prepared(request_of(run));
    const HeadClassWeights* chosen = value_of(prepared.config.head.class_weights);
    ASSERT_TRUE(chosen);
    ASSERT_EQ(chosen->list.size(), 2u);
    for (const YoloAttributes* yolo : yolo_heads(prepared.model))
      EXPECT_EQ(yolo->class_weights, chosen->list);
    EXPECT_NE(prepared.model_yaml.find("class_weights"), std::string::npos) << "of the run's folder";
  }
}

TEST(Preparation, EvaluatesALargeValidationSplitLessOften) {
  SmallRun run(12, 120);
  run.write_config("train: {precision: fp32, size: 64, epochs: 100}\n");
  // An evaluation takes as long as 3.3 epochs: there are five.
  EXPECT_EQ(prepared(request_of(run)).config.evaluate.every, 20);
}

TEST(Preparation, WarnsOfValidationImagesThatAreTrainedOn) {
  const char* warning = "validation images are training images";
  SmallRun run(12, 10);
  EXPECT_EQ(said_about(run).find(warning), std::string::npos);
  const auto said_with = [&](const std::string& val) {
    write_atomically(run.config(),
                     "model: model.yaml\ndata: {format: yolo, root: data, train: images/train, val: " + val +
                         ", classes: [circle, square]}\ntrain: {precision: fp32}\n");
    return said_about(run);
  };
  const std::string same = said_with("images/train");
  EXPECT_NE(same.find("12 of the 12 " + std::string(warning)), std::string::npos) << same;
  EXPECT_NE(same.find("brightnet data split"), std::string::npos) << same;
  // By another name for one of the files.
  std::filesystem::path first = *std::filesystem::directory_iterator(run.folder() / "data/images/train");
  std::filesystem::create_symlink(first, run.folder() / "data/images/val/link" += first.extension());
  write_atomically(run.folder() / "data/labels/val/link.txt", std::string());
  const std::string one = said_with("images/val");
  EXPECT_NE(one.find("1 of the 11 validation images is a training image"), std::string::npos) << one;
  EXPECT_NE(one.find("link"), std::string::npos) << one;
}

TEST(Preparation, OfARunWhoseLayersKeptValuesOfTheirOwnKeepsThem) {
  // As an earlier version wrote it: the run was trained with 1.2, whatever its `head:` says.
  const SmallRun run;
  const RunFolder folder = RunFolder::create(run.folder() / "runs/old");
  std::string model = small_model;
  model.replace(model.find("mask: [0, 1]"), 12, "mask: [0, 1], scale_xy: 1.2");
  model.replace(model.find("scale_xy: 1.05"), 14, "scale_xy: 2");
  write_atomically(folder.model(), model);
  write_atomically(folder.config(),
                   "model: model.yaml\nhead: {scale_xy: 2}\ndata: {format: yolo, root: " +
                       (run.folder() / "data").string() +
                       ", train: images/train, val: images/val, classes: [circle, square]}\n");
  save_state(folder.state(), RunState{}, {}, *make_cpu_backend());
  RunRequest request;
  request.resuming = true;
  request.resume = folder.path().string();
  const Preparation resumed = prepared(request);
  std::vector<float> scales;
  for (const YoloAttributes* yolo : yolo_heads(resumed.model)) scales.push_back(yolo->head.scale_xy);
  EXPECT_EQ(scales, (std::vector<float>{1.2f, 2}));
}

TEST(Preparation, KeepsWhatWeightsForOtherClassesKnowOfBoxes) {
  SmallRun run;
  const std::filesystem::path file = write_small_weights(run, {"x", "y", "z"}),
                              darknet = run.folder() / "three.weights";
  const TrainedModel trained = load_trained_model(file);
  save_darknet_weights(darknet, trained.model, trained.layout, trained.values);
  const float* weight = trained.values.data() + trained.layout.find("conv3.weight")->offset;
  for (const auto& weights : {file, darknet}) {
    SCOPED_TRACE(weights);
    run.write_config("train: {precision: fp32, size: 64, epochs: 1, weights: " + weights.string() + "}\n");
    const Preparation prepared = brightnet::testing::prepared(request_of(run));
    EXPECT_EQ(prepared.config.train.fresh, (std::vector<std::string>{"conv3", "conv5"}));
    const YoloHead& head = yolo_heads(prepared.model)[0]->head;
    ASSERT_EQ(head.scale_xy, 2);
    const float* bias = prepared.initial.data() + prepared.layout->find("conv3.bias")->offset;
    const float* own = prepared.initial.data() + prepared.layout->find("conv3.weight")->offset;
    const float sides[] = {8, 14};  // of the anchors of the weights, whose biases are 0
    for (int a = 0; a < 2; ++a) {
      EXPECT_FLOAT_EQ(bias[a * 7 + 2], std::log(sides[a] / head.anchors[a].w));
      EXPECT_FLOAT_EQ(bias[a * 7 + 3], std::log(sides[a] / head.anchors[a].h));
      EXPECT_FLOAT_EQ(bias[a * 7 + 4], std::log(0.01f / 0.99f)) << "objectness is initialised";
      EXPECT_FLOAT_EQ(own[(a * 7 + 0) * 32 + 5], weight[(a * 8 + 0) * 32 + 5] * (1.05f / 2));
      EXPECT_FLOAT_EQ(own[(a * 7 + 3) * 32 + 5], weight[(a * 8 + 3) * 32 + 5]);
    }
  }
}

TEST(Preparation, FreezesTheFirstConvolutionUnderNewPredictionLayers) {
  SmallRun run;
  const auto rates = [&](const std::vector<std::string>& classes, const std::string& more) {
    const std::filesystem::path file = write_small_weights(run, classes);
    run.write_config("train: {precision: fp32, size: 64, epochs: 1, weights: " + file.string() + more +
                     "}\n");
    const Preparation prepared = brightnet::testing::prepared(request_of(run));
    return std::pair(prepared.layout->find("conv1.weight")->rate,
                     prepared.layout->find("conv2.weight")->rate);
  };
  using Rates = std::pair<float, float>;
  EXPECT_EQ(rates({"x", "y", "z"}, ""), Rates(0, 1));
  EXPECT_EQ(rates({"x", "y", "z"}, ", freeze: auto"), Rates(0, 1));
  EXPECT_EQ(rates({"x", "y", "z"}, ", freeze: []"), Rates(1, 1));
  EXPECT_EQ(rates({"x", "y", "z"}, ", freeze: [conv2]"), Rates(1, 0));
  EXPECT_EQ(rates({"circle", "square"}, ""), Rates(1, 1)) << "the prediction layers are pretrained, too";
}

TEST(Preparation, WarnsOfWhatIsAskedOfPretrainedLayersWithoutWeights) {
  SmallRun run;
  const auto said_with = [&](const std::string& more) {
    run.write_config("train: {precision: fp32, size: 64, epochs: 1" + more + "}\n");
    return said_about(run);
  };
  const std::string frozen = said_with(", freeze: [conv1]"), slow = said_with(", pretrained_rate: 0.5"),
                    neither = said_with("");
  EXPECT_NE(frozen.find("train.freeze keeps layers that were never trained"), std::string::npos) << frozen;
  EXPECT_EQ(frozen.find("train.pretrained_"), std::string::npos) << frozen;
  EXPECT_NE(slow.find("train.pretrained_rate applies to layers loaded with --weights"), std::string::npos)
      << slow;
  EXPECT_EQ(slow.find("train.freeze"), std::string::npos) << slow;
  EXPECT_EQ(slow.find("train.pretrained_warmup"), std::string::npos) << slow;
  EXPECT_EQ(neither.find("layers loaded with --weights"), std::string::npos) << neither;
}

TEST(Preparation, RefusesFreshLayersThatTheModelDoesNotHave) {
  const SmallRun run;
  RunRequest request = request_of(run);
  request.overrides = {"train.fresh=[conv3]"};
  EXPECT_EQ(prepared(request).config.train.fresh, std::vector<std::string>{"conv3"});
  request.overrides = {"train.fresh=[conf3]"};
  try {
    prepared(request);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean 'conv3'?"), std::string::npos) << error.what();
  }
}

/// A CPU with as much free memory as a test wants.
class SmallBackend : public cpu::CpuBackend {
 public:
  explicit SmallBackend(size_t free) : free_(free) {}
  size_t free_bytes() const override { return free_; }

 private:
  size_t free_;
};

// Several GPUs are connected between the two, which takes memory of each.
TEST(Preparation, TheMicroBatchIsChosenByWhatIsFreeAtLast) {
  const SmallRun small;
  Preparation run = prepared(request_of(small));
  EXPECT_FALSE(run.config.train.micro_batch.has_value());
  const int batch = run.config.train.batch;
  ASSERT_GT(batch, 1);
  const size_t needed = plan_run(run.config, run.model, *run.backend, batch).memory.peak();
  run.config.train.memory_fraction = 1;
  run.backend = std::make_unique<SmallBackend>(needed);
  fit_into_memory(run, Communicator::solo());
  EXPECT_EQ(run.config.train.micro_batch, batch);
  run.config.train.micro_batch = {};
  run.backend = std::make_unique<SmallBackend>(needed - 1);
  fit_into_memory(run, Communicator::solo());
  EXPECT_LT(run.config.train.micro_batch, batch);
  EXPECT_EQ(run.choices.back().key, "train.micro_batch");
}

// What is behind a global pool, and a map that is as small as can be.
TEST(Preparation, ABatchNormThatWouldSeeOneValueOfAChannelIsRefused) {
  const SmallRun small;
  const auto refusal = [&](const std::string& layers, std::vector<std::string> more, int ranks = 1) {
    struct Ranks : SoloCommunicator {
      explicit Ranks(int count) : count_(count) {}
      int size() const override { return count_; }
      int count_;
    } communicator(ranks);
    write_atomically(small.folder() / "model.yaml",
                     "head: {anchors: [[8, 8]]}\nlayers:\n  - conv: {name: whole, filters: 8, stride: 32}\n" +
                         layers +
                         "  - conv: {filters: auto, size: 1, batch_norm: false}\n  - yolo: {mask: [0]}\n");
    RunRequest request = request_of(small);
    request.overrides.assignments = SmallRun::short_run(std::move(more));
    Preparation run = prepared(request);
    try {
      fit_into_memory(run, communicator);
      return std::string();
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  const std::string one = "train.micro_batch=1", pool =
                                                     "  - global_average_pool: {}\n"
                                                     "  - conv: {name: gates, filters: 8, size: 1}\n"
                                                     "  - scale_channels: {from: [whole, gates]}\n";
  const std::string pooled = refusal(pool, {one});
  EXPECT_NE(pooled.find("batch-norm of 'gates'"), std::string::npos) << pooled;
  EXPECT_NE(pooled.find("model.yaml:5"), std::string::npos) << pooled;
  EXPECT_EQ(pooled.find("train.size"), std::string::npos) << pooled;
  const std::string small_map = refusal("", {one, "train.size=32"});
  EXPECT_NE(small_map.find("batch-norm of 'whole'"), std::string::npos) << small_map;
  EXPECT_NE(small_map.find("take a larger train.size"), std::string::npos) << small_map;
  EXPECT_NE(refusal("", {one, "train.size=64", "train.sizes=[32, 64]"}), "");
  const std::string ranks = refusal(pool, {one, "train.batch=4"}, 2);
  EXPECT_NE(ranks.find("train.sync_bn"), std::string::npos) << ranks;

  EXPECT_EQ(refusal(pool, {"train.micro_batch=2"}), "");
  EXPECT_EQ(refusal(pool, {one, "train.sync_bn=true"}, 2), "");
  EXPECT_NE(refusal(pool, {one, "train.sync_bn=true"}), "") << "there is one rank";
  EXPECT_EQ(refusal("", {one, "train.size=64"}), "");
  const std::string without = pool.substr(0, pool.find("size: 1}")) + "size: 1, batch_norm: false}\n" +
                              pool.substr(pool.find("  - scale_channels"));
  EXPECT_EQ(refusal(without, {one}), "");
}

// One of them takes a single image for lack of memory: an error of all, which is said once.
TEST(Preparation, ABatchNormOfOneValueIsRefusedByAllRanksTogether) {
  const SmallRun small;
  write_atomically(small.folder() / "model.yaml",
                   "head: {anchors: [[8, 8]]}\nlayers:\n  - conv: {name: whole, filters: 8, stride: 32}\n"
                   "  - conv: {filters: auto, size: 1, batch_norm: false}\n  - yolo: {mask: [0]}\n");
  RunRequest request = request_of(small);
  request.overrides.assignments = SmallRun::short_run({"train.size=32"});
  Preparation one = prepared(request), other = prepared(request);
  one.config.train.micro_batch = 2;
  other.config.train.micro_batch = 1;
  const auto all = on_ranks(2, [&](Communicator& ranks) -> std::string {
    try {
      compare_ranks(ranks, ranks.leads() ? one : other);
      return "";
    } catch (const SharedError& error) {
      return error.what();
    } catch (const InputError& error) {
      return "of one rank: " + std::string(error.what());
    }
  });
  EXPECT_EQ(all[0].rfind("of one rank", 0), std::string::npos) << all[0];
  EXPECT_NE(all[0].find("batch-norm of 'whole'"), std::string::npos) << all[0];
  EXPECT_EQ(all[1], all[0]);
}

TEST(Preparation, RanksOfAMachineShareItsMemory) {
  struct OneOfTwoHere : SoloCommunicator {
    int local_size() const override { return 2; }
  } ranks;
  const SmallRun small;
  Preparation run = prepared(request_of(small));
  const int batch = run.config.train.batch;
  const size_t needed = plan_run(run.config, run.model, *run.backend, batch).memory.peak();
  run.config.train.memory_fraction = 1;
  run.backend = std::make_unique<SmallBackend>(2 * needed);
  fit_into_memory(run, ranks);
  EXPECT_EQ(run.config.train.micro_batch, batch);
  run.config.train.micro_batch = {};
  run.backend = std::make_unique<SmallBackend>(2 * needed - 2);
  fit_into_memory(run, ranks);
  EXPECT_LT(run.config.train.micro_batch, batch);
}

}  // namespace
}  // namespace brightnet::testing
