#include "train/loop/training_step.h"

#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "tests/train/small_run.h"
#include "train/distributed/solo.h"
#include "train/setup/model.h"

namespace brightnet::testing {
namespace {

/// Notes what it is asked to do, a letter each: a head's loss, an update, the replay of a recording.
class NotingBackend : public cpu::CpuBackend {
 public:
  void yolo_loss(const YoloHead& head, const YoloLossPass& pass) override {
    done += 'l';
    cpu::CpuBackend::yolo_loss(head, pass);
  }
  void optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                      std::span<const ParameterRange> ranges, const StepState* state) override {
    done += 'u';
    cpu::CpuBackend::optimizer_step(rule, arrays, ranges, state);
  }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    struct Again : Recording {
      explicit Again(std::function<void()> again) : work(std::move(again)) {}
      void replay() override { work(); }
      std::function<void()> work;
    };
    if (!records) return nullptr;
    return std::make_unique<Again>([this, work] {
      done += 'R';
      work();
    });
  }

  bool records = false;
  std::string done;
};

/// One of two ranks. It notes a letter each: a sum of batch statistics and the sum of a bucket, which change nothing.
class RankOfTwo : public SoloCommunicator {
 public:
  explicit RankOfTwo(std::string& done) : collectives_(done) {}
  int size() const override { return 2; }
  DeviceCollectives& host_collectives() override { return collectives_; }

 private:
  class Collectives : public SoloCollectives {
   public:
    explicit Collectives(std::string& done) : done_(done) {}
    int parts() const override { return 2; }
    void sum(double*, size_t) override { done_ += 's'; }
    void start_all_reduce(float*, size_t, Reduction) override { done_ += 'b'; }

   private:
    std::string& done_;
  };
  Collectives collectives_;
};

/// A step with what it refers to.
struct SmallStep {
  explicit SmallStep(const RunConfig& run_config, bool as_one_of_two = false)
      : config(run_config),
        train(read_dataset(config.data, Split::train)),
        model(load_model(config, 2)),
        layout(model),
        ranks(as_one_of_two ? std::make_unique<RankOfTwo>(backend.done) : nullptr),
        step({.config = config,
              .model = model,
              .layout = layout,
              .backend = backend,
              .ranks = all().size(),
              .collectives = all().host_collectives()},
             initial_parameters(model, layout, 1)) {
    Loader::Setup loading;
    loading.dataset = &train;
    loading.batch = config.train.micro_batch;
    loading.sizes = config.input_sizes();
    loader.emplace(loading);
  }
  Communicator& all() { return ranks ? *ranks : Communicator::solo(); }
  void make() {
    step.optimizer().set_rate(0.01f);
    for (int part = 0; part < step.micro_batches(); ++part) step.pass(*loader->next(), part);
    step.update();
  }

  RunConfig config;
  Dataset train;
  Model model;
  ParameterLayout layout;
  NotingBackend backend;
  std::unique_ptr<Communicator> ranks;
  TrainingStep step;
  std::optional<Loader> loader;
};

TEST(TrainingStep, ExchangesGradientsAsConfigured) {
  TrainOptions train;
  train.bucket_mb = 1.5f;
  for (const bool yes : {true, false}) {
    train.overlap = train.sync_bn = yes;
    const GradientExchange::Options options = exchange_options(train);
    EXPECT_EQ(options.bucket_bytes, size_t{3} << 19);
    EXPECT_EQ(options.overlap, yes);
    EXPECT_EQ(options.mean_statistics, !yes);
  }
}

TEST(TrainingStep, UpdatesOnceForAllItsMicroBatches) {
  SmallRun run;
  SmallStep small(run.load());
  ASSERT_EQ(small.step.micro_batches(), 2);
  const auto before = small.step.averaged_parameters();
  small.make();
  EXPECT_EQ(small.backend.done, "llllu") << "two heads each";
  EXPECT_EQ(small.step.optimizer().state().applied, 1);
  EXPECT_EQ(small.step.optimizer().state().sums.images, 4);
  EXPECT_NE(small.step.averaged_parameters(), before);
}

TEST(TrainingStep, RecordsItsUpdateTheSecondTime) {
  SmallRun run;
  for (const bool graph : {true, false}) {
    SmallStep small(run.load({graph ? "train.graph=true" : "train.graph=false"}));
    small.backend.records = true;
    for (int i = 0; i < 3; ++i) small.make();
    size_t replayed = 0;
    for (size_t at = 0; (at = small.backend.done.find("Ru", at)) != std::string::npos; ++at) ++replayed;
    EXPECT_EQ(replayed, graph ? 2u : 0u) << small.backend.done;
    EXPECT_EQ(small.backend.done.find("Rl") != std::string::npos, graph) << "nor its passes";
    EXPECT_EQ(small.step.optimizer().state().applied, 3);
  }
}

/// Neighbouring letters that are the same, once.
std::string without_repetitions(std::string letters) {
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  return letters;
}

TEST(TrainingStep, ReplaysTheLastPassBetweenTheSumsOfItsBuckets) {
  SmallRun run;
  struct Case {
    const char *sync_bn, *step;
  };
  for (const auto& [sync_bn, step] :
       {Case{"false", "RbRlbRbRlbRbRbRbRu"}, Case{"true", "RsRlsbRsbRlsbRsbRsbRsbRu"}}) {
    SCOPED_TRACE(std::string("sync_bn ") + sync_bn);
    SmallStep small(run.load({"train.batch=8", "train.micro_batch=4", "train.bucket_mb=0.001",
                              std::string("train.sync_bn=") + sync_bn}),
                    true);
    small.backend.records = true;
    small.make();
    const std::string first = small.backend.done;
    small.make();  // prepares what the update changed, which the first pass need not
    small.backend.done.clear();
    small.make();
    std::string replayed = small.backend.done;
    EXPECT_EQ(without_repetitions(replayed), step);
    std::erase(replayed, 'R');
    EXPECT_EQ(replayed, first) << "the same in the same order";
  }
}

TEST(TrainingStep, OfARankTakesItsPartOfTheMeanOverTheBatch) {
  SmallRun run;
  SmallStep small(run.load({"train.batch=8", "train.micro_batch=2"}), true);
  EXPECT_EQ(small.step.micro_batches(), 2);
  EXPECT_EQ(small.step.gradient_scale().constant, 1.0f / 8);
  small.make();
  EXPECT_EQ(small.step.optimizer().state().sums.images, 4);
}

TEST(TrainingStep, EvaluatesInBatchesAndAtTheSizeThatWereAskedFor) {
  SmallRun run;
  SmallStep usual(run.load()), asked(run.load({"evaluate.batch=3", "evaluate.size=96"}));
  const NetworkSetup& as_trained = usual.step.averaged_network(64).setup();
  EXPECT_EQ(as_trained.batch, 2);
  const NetworkSetup& own = asked.step.averaged_network(96).setup();
  EXPECT_EQ(own.batch, 3);
  EXPECT_EQ(own.size(), InputSize(96));
  for (const NetworkSetup* setup : {&as_trained, &own}) EXPECT_EQ(setup->mode, Mode::infer);
}

TEST(TrainingStep, TrainsAndEvaluatesInTheRunsPrecision) {
  SmallRun run;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    SmallStep small(run.load({"train.precision=" + std::string(enum_name(precision))}));
    EXPECT_EQ(small.step.network(64).setup().precision, precision);
    EXPECT_EQ(small.step.averaged_network(64).setup().precision, precision);
  }
}

TEST(TrainingStep, TellsWhatAResumedRunNeedsBack) {
  SmallRun run;
  SmallStep small(run.load({"optimizer.kind=adamw"}));
  std::vector<std::string> names;
  for (const StateArray& array : small.step.state_arrays()) names.push_back(array.name);
  EXPECT_EQ(names, (std::vector<std::string>{"values", "ema", "optimizer.first", "optimizer.second"}));
}

}  // namespace
}  // namespace brightnet::testing
