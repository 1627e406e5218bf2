#include "train/run/checkpoint.h"

#include <cmath>
#include <limits>
#include <map>

#include <nlohmann/json.hpp>

#include "formats/safetensors.h"
#include "layers/model/reader.h"
#include "tests/train/small_run.h"
#include "train/run/run_folder.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

Model model_with(int classes) {
  return parse_model(YamlDocument::parse(small_model, "small"), classes);
}

fs::path temporary(const std::string& name) {
  return fs::path(::testing::TempDir()) / ("checkpoint_" + name);
}

/// A state of "layout", after so many steps.
RunState state_after(int64_t iterations) {
  RunState state;
  state.progress.iteration = iterations;
  state.layout = "layout";
  state.threads = 2;
  return state;
}

/// Everything of it that is saved.
void expect_equal(const Progress& actual, const Progress& expected) {
  EXPECT_EQ(actual.epoch, expected.epoch);
  EXPECT_EQ(actual.step, expected.step);
  EXPECT_EQ(actual.iteration, expected.iteration);
  EXPECT_EQ(actual.rate, expected.rate);
  EXPECT_EQ(actual.best_score, expected.best_score);
  EXPECT_EQ(actual.best_epoch, expected.best_epoch);
  EXPECT_EQ(actual.evaluations_since_best, expected.evaluations_since_best);
  EXPECT_EQ(actual.plans, expected.plans);
  EXPECT_EQ(actual.times.used, expected.times.used);
  EXPECT_EQ(actual.times.evaluation, expected.times.evaluation);
  EXPECT_EQ(actual.times.evaluated_at, expected.times.evaluated_at);
  EXPECT_EQ(actual.evaluation, expected.evaluation);
  EXPECT_EQ(actual.recent_scores, expected.recent_scores);
  EXPECT_EQ(actual.kept, expected.kept);
  EXPECT_EQ(actual.averaged, expected.averaged);
  EXPECT_EQ(actual.averaged_score, expected.averaged_score);
  EXPECT_EQ(actual.averaged_confidence, expected.averaged_confidence);
  EXPECT_EQ(actual.sums.images, expected.sums.images);
  EXPECT_EQ(actual.sums.seconds, expected.sums.seconds);
  EXPECT_EQ(actual.sums.waited, expected.sums.waited);
  EXPECT_EQ(actual.sums.comm_waited, expected.sums.comm_waited);
  EXPECT_EQ(actual.sums.busy, expected.sums.busy);
  const StepState &state = actual.state, &expected_state = expected.state;
  EXPECT_EQ(state.loss_scale, expected_state.loss_scale);
  EXPECT_EQ(state.good_steps, expected_state.good_steps);
  EXPECT_EQ(state.skips_in_a_row, expected_state.skips_in_a_row);
  EXPECT_EQ(state.applied, expected_state.applied);
  EXPECT_EQ(state.skipped, expected_state.skipped);
  EXPECT_EQ(state.sums.box, expected_state.sums.box);
  EXPECT_EQ(state.sums.objectness, expected_state.sums.objectness);
  EXPECT_EQ(state.sums.classes, expected_state.sums.classes);
  EXPECT_EQ(state.sums.iou, expected_state.sums.iou);
  EXPECT_EQ(state.sums.assigned, expected_state.sums.assigned);
  EXPECT_EQ(state.sums.images, expected_state.sums.images);
  EXPECT_EQ(state.sums.steps, expected_state.sums.steps);
  EXPECT_EQ(state.sums.clipped, expected_state.sums.clipped);
  EXPECT_EQ(state.sums.norm, expected_state.sums.norm);
  EXPECT_EQ(state.sums.distillation, expected_state.sums.distillation);
}

TEST(State, ComesBackToTheLastBit) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{0.1f, -2e-39f, 3}, b{4};
  // No two numbers are equal, and none is what it is without being read.
  const Progress progress{
      .epoch = 3,
      .step = 7,
      .iteration = 1234567890123,
      .rate = 0.1f,
      .best_score = 0.1 + 0.2,
      .best_epoch = 2,
      .evaluations_since_best = 4,
      .evaluation = {.iteration = 1234567890121, .AP = 0.1 + 0.6, .AP50 = 0.1 + 0.3},
      .plans = {{20, 1234567890455}, {21, 1234567890456}},
      .times = {.used = 0.1 + 0.5, .evaluation = 11.6, .evaluated_at = 12.7},
      .recent_scores = {0.1, 0.7},
      .kept = {{11, 0.3}, {13, 0.1 + 0.2}},
      .averaged = true,
      .averaged_score = 0.3,
      .averaged_confidence = 0.1 + 0.8,
      .sums = {.images = 60.5, .seconds = 70.1, .waited = 8.2, .comm_waited = 9.3, .busy = 10.4},
      .state = {.loss_scale = 0.1f,
                .good_steps = 1999,
                .skips_in_a_row = 5,
                .applied = 1234567890120,
                .skipped = 9,
                .sums = {.box = 1.0 / 3,
                         .objectness = 2.0 / 3,
                         .classes = 3.1,
                         .iou = 4.1,
                         .assigned = 5.1,
                         .images = 6.5,
                         .steps = 7.5,
                         .clipped = 2.5,
                         .norm = 0.1,
                         .distillation = 0.3},
                .pending = {}}};
  Metrics best;
  best.AP = 0.1 + 0.7;
  best.truths = 12;
  ClassMetrics& one = best.per_class.emplace_back();
  one.name = "caf\xe9";
  one.AP50 = 1.0 / 3;
  one.best.recall = 0.3;
  const SplitFingerprint train{24, 60, ~0ull}, val{3, 4, 5};
  const fs::path file = temporary("state.safetensors");
  save_state(file, {progress, "layout", 2, best, train, val, {}, 4, 8},
             {{"a", a.data(), 3}, {"b", b.data(), 1}}, *backend);
  std::vector<float> c(3), d(1);
  const RunState state = load_state(file, {{"b", d.data(), 1}, {"a", c.data(), 3}}, "layout", *backend);
  EXPECT_EQ(c, a);
  EXPECT_EQ(d, b);
  EXPECT_EQ(state.layout, "layout");
  EXPECT_EQ(state.threads, 2);
  EXPECT_EQ(state.ranks, 4);
  EXPECT_EQ(state.micro_batch, 8);
  expect_equal(state.progress, progress);
  EXPECT_EQ(state.train, train);
  EXPECT_EQ(state.val, val);
  ASSERT_TRUE(state.best.has_value());
  EXPECT_EQ(state.best->AP, best.AP);
  EXPECT_EQ(state.best->AR, no_truths);
  EXPECT_EQ(state.best->truths, 12);
  ASSERT_EQ(state.best->per_class.size(), 1u);
  EXPECT_EQ(state.best->per_class[0].AP50, 1.0 / 3);
  EXPECT_EQ(state.best->per_class[0].best.recall, 0.3);
}

// JSON has no NaN: a state with one could never be read again.
TEST(State, WithLossesThatAreNotFiniteIsRead) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1};
  RunState state = state_after(5);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  state.progress.state.sums = {
      .box = infinite, .objectness = 2, .norm = std::nan(""), .distillation = infinite};
  state.progress.sums.waited = std::nan("");
  state.best.emplace();
  state.best->loss = MeanLoss{std::nan(""), 3, 4};
  const fs::path file = temporary("not_finite.safetensors");
  save_state(file, state, {{"a", a.data(), 1}}, *backend);
  const RunState read = load_state(file, {{"a", a.data(), 1}}, "layout", *backend);
  EXPECT_TRUE(std::isnan(read.progress.state.sums.box));
  EXPECT_EQ(read.progress.state.sums.objectness, 2);
  EXPECT_TRUE(std::isnan(read.best->loss->box));
  EXPECT_EQ(read.best->loss->objectness, 3);
}

TEST(State, OfAnotherModelOrOptimizerIsRefused) {
  const auto backend = make_cpu_backend();
  std::vector<float> a(3);
  const fs::path file = temporary("other_state.safetensors");
  save_state(file, state_after(0), {{"a", a.data(), 3}}, *backend);
  EXPECT_THROW(load_state(file, {{"a", a.data(), 3}}, "another", *backend), InputError);
  EXPECT_THROW(load_state(file, {{"a", a.data(), 2}}, "layout", *backend), InputError);
  EXPECT_THROW(load_state(file, {{"b", a.data(), 3}}, "layout", *backend), InputError);
  EXPECT_THROW(load_state(file, {{"a", a.data(), 3}, {"b", a.data(), 3}}, "layout", *backend), InputError);
}

TEST(State, IsRefusedWhenAnyOfItIsDamaged) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1, 2, 3, 4};
  const fs::path file = temporary("damaged_state.safetensors");
  save_state(file, state_after(12345), {{"a", a.data(), 4}}, *backend);
  const std::string whole = read_file(file);
  const auto refusal = [&](const std::string& content) -> std::string {
    write_atomically(file, content);
    try {
      load_state(file, {{"a", a.data(), 4}}, "layout", *backend);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(refusal(whole), "");
  std::string damaged = whole;
  damaged[whole.size() - 6] = static_cast<char>(damaged[whole.size() - 6] ^ 0x10);
  EXPECT_NE(refusal(damaged).find("checksum"), std::string::npos) << "a bit of a number";
  damaged = whole;
  damaged.replace(damaged.size() - 8, 8, 8, '\0');
  EXPECT_NE(refusal(damaged).find("checksum"), std::string::npos) << "zeros for the second half";
  damaged = whole;
  damaged.replace(damaged.find("12345"), 5, "12346");
  EXPECT_NE(refusal(damaged).find("checksum"), std::string::npos) << "a digit of the place";
}

TEST(State, ThatIsDamagedNamesTheWeightsOfItsRun) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1, 2, 3, 4};
  fs::remove_all(temporary("damaged_run"));
  const RunFolder folder = RunFolder::create(temporary("damaged_run"));
  save_state(folder.state(), state_after(12345), {{"a", a.data(), 4}}, *backend);
  std::string bytes = read_file(folder.state());
  bytes.back() = static_cast<char>(bytes.back() ^ 0x10);
  write_atomically(folder.state(), bytes);
  const auto refusal = [&]() -> std::string {
    try {
      load_state(folder.state(), {{"a", a.data(), 4}}, "layout", *backend);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  };
  EXPECT_NE(refusal().find("or start a new run instead."), std::string::npos) << refusal();
  write_atomically(folder.last(), std::string("weights"));
  const std::string advice = "or start a new run with --weights " + folder.last().string() + " instead.";
  EXPECT_NE(refusal().find(advice), std::string::npos) << refusal();
}

TEST(State, OfSomethingElseIsRefusedWithWhatIsWrong) {
  const auto backend = make_cpu_backend();
  const std::vector<float> a{1};
  const fs::path file = temporary("foreign_state.safetensors");
  const auto refusal = [&](const std::map<std::string, std::string>& metadata) -> std::string {
    write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {1}, a.data()}}, metadata);
    try {
      read_state(file);
      return "";
    } catch (const InputError& e) {
      return e.what();
    }
  };
  EXPECT_NE(refusal({{"format", "brightnet weights"}}).find("this is not the state of a run. Name the run's"),
            std::string::npos);
  std::map<std::string, std::string> metadata{
      {"format", "brightnet state"}, {"layout", "x"}, {"threads", "2"}};
  metadata["progress"] = "{}";
  EXPECT_NE(refusal(metadata).find("its metadata 'progress', 'best', 'data' or 'quantization' is not what"),
            std::string::npos)
      << refusal(metadata);
}

TEST(State, OfAVersionWithoutChecksumIsRead) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1, 2}, b(2);
  const fs::path file = temporary("older_state.safetensors");
  save_state(file, state_after(7), {{"a", a.data(), 2}}, *backend);
  auto metadata = SafetensorsReader(file).metadata();
  ASSERT_EQ(metadata.erase("checksum"), 1u);
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {2}, a.data()}}, metadata);
  const RunState state = load_state(file, {{"a", b.data(), 2}}, "layout", *backend);
  EXPECT_EQ(b, a);
  EXPECT_EQ(state.progress.iteration, 7);
  EXPECT_FALSE(state.best || state.train || state.val);
}

// A conversion of such numbers has no defined result, and gives the smallest one on x86.
TEST(State, WithNumbersThatAreNotWholeOrDoNotFitIsRefused) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1};
  const fs::path file = temporary("other_numbers.safetensors");
  save_state(file, state_after(7), {{"a", a.data(), 1}}, *backend);
  const auto metadata = SafetensorsReader(file).metadata();
  for (const char* place :
       {"/epoch", "/step", "/iteration", "/best_epoch", "/evaluations_since_best", "/input_stage",
        "/state/good_steps", "/state/skips_in_a_row", "/state/applied", "/state/skipped"}) {
    for (const double number : {1e300, 0.5}) {
      auto changed = metadata;
      auto progress = nlohmann::json::parse(changed.at("progress"));
      progress.at(nlohmann::json::json_pointer(place)) = number;
      changed["progress"] = progress.dump();
      changed.erase("checksum");
      write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {1}, a.data()}}, changed);
      EXPECT_THROW(read_state(file), InputError) << place << ' ' << number;
    }
  }
}

/// What a version that planned once wrote.
RunState state_of_one_plan(int64_t planned) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1};
  const fs::path file = temporary("planned_once.safetensors");
  save_state(file, state_after(7), {{"a", a.data(), 1}}, *backend);
  auto metadata = SafetensorsReader(file).metadata();
  auto progress = nlohmann::json::parse(metadata["progress"]);
  progress.erase("plans");
  progress.erase("times");
  progress["planned"] = planned;
  metadata["progress"] = progress.dump();
  metadata.erase("checksum");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {1}, a.data()}}, metadata);
  return load_state(file, {{"a", a.data(), 1}}, "layout", *backend);
}

TEST(State, OfAVersionThatPlannedOnceKeepsItsPlan) {
  const Progress planned = state_of_one_plan(30).progress;
  EXPECT_EQ(planned.plans, (std::vector<Plan>{{0, 30}}));
  EXPECT_LT(planned.times.used, 0) << "nobody knows";
  const Progress before = state_of_one_plan(0).progress;
  EXPECT_TRUE(before.plans.empty());
  EXPECT_EQ(before.times.used, 0) << "it has all its minutes";
}

TEST(State, OfAVersionThatKeptNoScoresIsRead) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1, 2}, b(2);
  const fs::path file = temporary("state_without_scores.safetensors");
  RunState before = state_after(7);
  before.progress.kept = {{1, 0.5}};
  before.progress.state.sums.norm = 3;
  save_state(file, before, {{"a", a.data(), 2}}, *backend);
  auto metadata = SafetensorsReader(file).metadata();
  auto progress = nlohmann::json::parse(metadata.at("progress"));
  for (const char* key : {"kept", "recent_scores", "averaged", "averaged_score", "last_evaluation"})
    ASSERT_EQ(progress.erase(key), 1u) << key;
  ASSERT_EQ(progress.at("state").erase("gradients"), 1u);
  metadata["progress"] = progress.dump();
  metadata.erase("checksum");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {2}, a.data()}}, metadata);
  const RunState state = load_state(file, {{"a", b.data(), 2}}, "layout", *backend);
  EXPECT_EQ(state.progress.iteration, 7);
  EXPECT_TRUE(state.progress.kept.empty());
  EXPECT_EQ(state.progress.state.sums.norm, 0);
}

TEST(State, OfAVersionThatKeptNoConfidenceOfItsAverageIsRead) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{1};
  const fs::path file = temporary("state_without_confidence.safetensors");
  RunState before = state_after(7);
  before.progress.averaged_score = 0.5;
  before.progress.averaged_confidence = 0.25;
  save_state(file, before, {{"a", a.data(), 1}}, *backend);
  auto metadata = SafetensorsReader(file).metadata();
  auto progress = nlohmann::json::parse(metadata.at("progress"));
  ASSERT_EQ(progress.erase("averaged_confidence"), 1u);
  metadata["progress"] = progress.dump();
  metadata.erase("checksum");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {1}, a.data()}}, metadata);
  const Progress read = read_state(file).progress;
  EXPECT_EQ(read.averaged_score, 0.5);
  EXPECT_EQ(read.averaged_confidence, -1);
}

TEST(State, KnowsModelsApart) {
  EXPECT_EQ(describe_layout(ParameterLayout(model_with(2))), describe_layout(ParameterLayout(model_with(2))));
  EXPECT_NE(describe_layout(ParameterLayout(model_with(2))), describe_layout(ParameterLayout(model_with(3))));
}

}  // namespace
}  // namespace brightnet::testing
