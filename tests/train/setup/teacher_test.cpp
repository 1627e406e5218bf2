// Runs with train.teacher: what they learn, keep and need, how they resume, and what they refuse.
#include "train/setup/teacher.h"

#include <regex>

#include "core/sha256.h"
#include "layers/model/reader.h"
#include "tests/logged.h"
#include "tests/train/small_training.h"
#include "tests/train/small_weights.h"
#include "train/report/metrics_csv.h"
#include "train/setup/preparation.h"
#include "train/setup/training_run.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// Wider than the small run's model, with other anchors, and with one more head.
constexpr const char* large_model = R"(
name: large
input: {size: 64, channels: 3}
activation: swish
head: {anchors: [[9, 9], [16, 12], [20, 24], [30, 36], [50, 50]]}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: 24, size: 3, stride: 2}
  - conv: {name: fine, filters: 40, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1, 2]}
  - conv: {name: coarse, from: fine, filters: 48, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3]}
  - conv: {from: coarse, filters: 16, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [4]}
)";

class TeacherTest : public ::testing::Test {
 protected:
  TeacherTest() : teacher_(write_teacher(large_model)) {}

  /// Weights that detect something everywhere.
  fs::path write_teacher(const std::string& yaml,
                         const std::vector<std::string>& classes = {"circle", "square"}) {
    TrainedModel trained;
    trained.model = parse_model(YamlDocument::parse(yaml, "teacher.yaml"), static_cast<int>(classes.size()));
    trained.classes = classes;
    trained.size = 64;
    trained.layout = ParameterLayout(trained.model);
    trained.values = initial_parameters(trained.model, trained.layout, 3);
    for (const auto& entry : trained.layout.entries()) {
      if (entry.kind == ParameterKind::bias)
        std::fill_n(trained.values.begin() + static_cast<long>(entry.offset), entry.count, 0.0f);
    }
    const fs::path file = run_.folder() / "teacher.safetensors";
    save_weights(file, trained);
    return file;
  }

  RunRequest request(const std::string& out, std::vector<std::string> more = {}, bool taught = true) const {
    RunRequest request;
    request.config = run_.config().string();
    more.insert(more.begin(), {"train.epochs=1", "head.assignment=best_anchor"});
    request.overrides = SmallRun::short_run(more);
    if (taught) request.overrides.assignments.push_back("train.teacher=" + teacher_.string());
    request.out = (run_.folder() / out).string();
    return request;
  }
  RunRequest resumed(const std::string& out, std::vector<std::string> more = {}) const {
    RunRequest request;
    request.resuming = true;
    request.resume = (run_.folder() / out).string();
    request.overrides.assignments = std::move(more);
    return request;
  }
  static RankDevice device() {
    return common_device(Communicator::solo(), [] { return "cpu"; });
  }
  /// Trains, or makes one step of it.
  static RunFolder train(const RunRequest& request, bool one_step = false) {
    std::stop_source stop;
    if (one_step) stop.request_stop();
    TrainingHost host;
    host.can_be_stopped = [&] { return stop.get_token(); };
    const TrainedRun trained = run_training(request, device(), Communicator::solo(), host);
    EXPECT_EQ(trained.end, one_step ? TrainingEnd::interrupted : TrainingEnd::finished);
    return RunFolder::open(trained.folder.string());
  }
  static void expect_refused(const RunRequest& request, const std::vector<std::string>& words) {
    try {
      train(request, true);
      ADD_FAILURE() << "not refused: " << words[0];
    } catch (const InputError& e) {
      const std::string said = e.what();
      for (const std::string& word : words) EXPECT_NE(said.find(word), std::string::npos) << said;
    }
  }
  static std::vector<double> column(const RunFolder& folder, const std::string& name) {
    const MetricsTable table = read_metrics_csv(folder.metrics());
    std::vector<double> values;
    for (const auto& row : table.rows) values.push_back(row[static_cast<size_t>(table.column(name))]);
    return values;
  }

  SmallRun run_;
  const fs::path teacher_;
};

TEST_F(TeacherTest, IsLearntFromAndLeavesNoTraceInTheWeights) {
  const RunFolder alone = train(request("alone", {}, false)),
                  taught = train(request("taught", {"train.epochs=4"}));
  const auto own = tensors_of(alone.last()), learnt = tensors_of(taught.last());
  ASSERT_EQ(own.size(), learnt.size());
  for (const auto& [name, values] : own) EXPECT_EQ(values.size(), learnt.at(name).size()) << name;
  EXPECT_NE(own, learnt);
  EXPECT_EQ(load_trained_model(taught.best()).model.layers.size(),
            load_trained_model(alone.best()).model.layers.size());
  EXPECT_EQ(read_metrics_csv(alone.metrics()).column("distill_loss"), -1);
  const std::vector<double> loss = column(taught, "distill_loss");
  ASSERT_EQ(loss.size(), 4u);
  EXPECT_LT(loss.back(), 0.9 * loss.front());
  EXPECT_GT(loss.back(), 0);
  EXPECT_NE(read_file(taught.config()).find("teacher_sha256: " + sha256_of(teacher_)), std::string::npos);
}

TEST_F(TeacherTest, IsLookedForBesideTheConfiguration) {
  write_atomically(run_.folder() / "teacher.cfg", std::string("[net]\n"));
  run_.write_config("train: {teacher: teacher.safetensors, teacher_cfg: teacher.cfg}\n");
  const TrainOptions train = load_run_config(run_.config()).train;
  std::error_code error;
  EXPECT_TRUE(fs::equivalent(train.teacher, teacher_, error)) << train.teacher;
  EXPECT_TRUE(fs::equivalent(train.teacher_cfg, run_.folder() / "teacher.cfg", error)) << train.teacher_cfg;
}

TEST_F(TeacherTest, WeighsPredictionsAndFeaturesAsTheRunSays) {
  const Preparation run = prepare(request("out", {"train.distill=0.5", "train.distill_features=0.25"}),
                                  device(), Communicator::solo());
  ASSERT_TRUE(run.config.distillation);
  EXPECT_EQ(run.config.distillation->predictions, 0.5f);
  EXPECT_EQ(run.config.distillation->features, 0.25f);
}

TEST_F(TeacherTest, OfImagesThatAreFittedOtherwiseIsWarnedOf) {
  const auto said = [&](const std::string& letterbox) {
    const Logged logged;
    prepare(request("out", {"augment.letterbox=" + letterbox}), device(), Communicator::solo());
    return logged.text();
  };
  const std::string other = said("true"), same = said("false");
  EXPECT_NE(other.find("trained on stretched images, and sees this run's, which are letterboxed: "
                       "augment.letterbox=false"),
            std::string::npos)
      << other;
  EXPECT_EQ(same.find("stretched"), std::string::npos) << same;
}

TEST_F(TeacherTest, ResumesInTheSameWeightsToTheBit) {
  const RunFolder whole = train(request("whole", {"ema.decay=0.9"}));
  train(request("parts", {"ema.decay=0.9"}), true);
  train(resumed("parts"), true);
  const RunFolder parts = train(resumed("parts"));
  EXPECT_EQ(tensors_of(whole.last()), tensors_of(parts.last()));
  // Adapters are in the state.
  const auto state = tensors_of(whole.state());
  EXPECT_EQ(state, tensors_of(parts.state()));
  EXPECT_GT(state.at("values").size(), load_trained_model(whole.last()).values.size());
  EXPECT_EQ(column(whole, "distill_loss"), column(parts, "distill_loss"));
}

TEST_F(TeacherTest, TakesExactlyThePlannedMemory) {
  size_t before = 0;
  for (const bool taught : {false, true}) {
    Preparation run = prepare(request("out", {"train.sizes=[64, 96]", "train.precision=bf16"}, taught),
                              device(), Communicator::solo());
    fit_into_memory(run, Communicator::solo());
    const size_t planned =
        plan_run(run.config, run.model, *run.backend, run.config.train.micro_batch).memory.peak();
    EXPECT_EQ(run.backend->peak_bytes(), 0u) << "planning must allocate nothing";
    const TrainingStep step(
        {.config = run.config, .model = run.model, .layout = *run.layout, .backend = *run.backend},
        run.initial);
    EXPECT_EQ(run.backend->allocated_bytes(), planned);
    EXPECT_GT(planned, before);
    before = planned;
  }
}

TEST_F(TeacherTest, TeachesInputsThatGrowOrVaryInEveryPrecisionAndWithScalesOf8Bits) {
  const fs::path weights = write_small_weights(run_);
  const std::vector<std::vector<std::string>> runs{
      {"train.sizes=[64, 96]", "train.size_every=1"},
      {"train.sizes=[32, 64]", "train.grow=0.5", "train.precision=bf16"},
      {"train.quantize=true", "train.weights=" + weights.string()}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<double> loss = column(train(request(std::to_string(i), runs[i])), "distill_loss");
    for (const double value : loss) EXPECT_TRUE(std::isfinite(value) && value > 0) << runs[i][0];
  }
}

TEST_F(TeacherTest, TeachesTheSameWhateverIsRecomputedOrAccumulated) {
  const auto stored = tensors_of(train(request("stored")).last());
  EXPECT_EQ(stored, tensors_of(train(request("recomputed", {"train.recompute=activations"})).last()));
  // Without batch-norm's statistics, which belong to a micro-batch, the split must not matter.
  write_atomically(
      run_.folder() / "model.yaml",
      std::regex_replace(std::string(small_model), std::regex("size: 3, "), "size: 3, batch_norm: false, "));
  std::vector<double> losses;
  for (const char* part : {"1", "4"}) {
    const RunRequest divided =
        request(part, {"train.micro_batch=" + std::string(part), "train.iterations=1"});
    losses.push_back(column(train(divided), "distill_loss")[0]);
  }
  EXPECT_NEAR(losses[0], losses[1], 1e-4 * losses[0]);
}

TEST_F(TeacherTest, IsRefusedWhereItCannotTeach) {
  write_teacher(large_model, {"square", "circle"});
  expect_refused(request("a"), {"square, circle", "circle, square", "teacher.safetensors"});
  write_teacher(std::regex_replace(std::string(large_model), std::regex("stride: 2"), "stride: 1"));
  expect_refused(request("b"),
                 {"'small' predicts at strides of 8, 16", "'large' predicts at strides of 1, 1, 1"});
  expect_refused(request("c", {"train.distill=0", "train.distill_features=0"}), {"nothing is learnt"});
  fs::remove(teacher_);
  RunRequest missing = request("d");
  expect_refused(missing, {"teacher.safetensors", "does not exist"});
}

TEST_F(TeacherTest, RunsAreResumedWithTheFileThatTheyBeganWith) {
  train(request("run"), true);
  train(request("alone", {}, false), true);
  expect_refused(resumed("run", {"train.teacher=\"\""}),
                 {"cannot be resumed without it",
                  "--weights " + (run_.folder() / "run/weights/last.safetensors").string() + ' '});
  expect_refused(resumed("alone", {"train.teacher=" + teacher_.string()}), {"began without a teacher"});
  const fs::path moved = run_.folder() / "moved.safetensors";
  fs::rename(teacher_, moved);
  expect_refused(resumed("run"), {"teacher.safetensors", "does not exist", "--set train.teacher=FILE"});
  write_small_weights(run_);
  fs::rename(run_.folder() / "weights.safetensors", teacher_);
  expect_refused(resumed("run"), {"another SHA-256"});
  train(resumed("run", {"train.teacher=" + moved.string()}));
}

}  // namespace
}  // namespace brightnet::testing
