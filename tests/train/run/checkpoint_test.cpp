#include "train/run/checkpoint.h"

#include "layers/model/reader.h"
#include "tests/train/small_run.h"
#include "train/formats/safetensors.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

Model model_of(int classes) {
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

TEST(State, ComesBackToTheLastBit) {
  const auto backend = make_cpu_backend();
  std::vector<float> a{0.1f, -2e-39f, 3}, b{4};
  Progress progress;
  progress.epoch = 3;
  progress.step = 7;
  progress.iteration = 1234567890123;
  progress.best_score = 0.1 + 0.2;
  progress.best_epoch = 2;
  progress.evaluations_since_best = 4;
  progress.sums = {.images = 6, .seconds = 7, .waited = 8};
  progress.state.sums = {
      .box = 1.0 / 3, .objectness = 2, .classes = 3, .iou = 4, .assigned = 5, .images = 6.5};
  progress.state.loss_scale = 0.1f;
  progress.state.good_steps = 1999;
  progress.state.skips_in_a_row = 3;
  progress.state.applied = 1234567890120;
  progress.state.skipped = 9;
  Metrics best;
  best.AP = 0.1 + 0.7;
  best.truths = 12;
  ClassMetrics& one = best.per_class.emplace_back();
  one.name = "caf\xe9";
  one.AP50 = 1.0 / 3;
  one.best.recall = 0.3;
  const SplitFingerprint train{24, 60, ~0ull}, val{3, 4, 5};
  const fs::path file = temporary("state.safetensors");
  save_state(file, {progress, "layout", 2, best, train, val}, {{"a", a.data(), 3}, {"b", b.data(), 1}},
             *backend);
  std::vector<float> c(3), d(1);
  const RunState state = load_state(file, {{"b", d.data(), 1}, {"a", c.data(), 3}}, "layout", *backend);
  EXPECT_EQ(c, a);
  EXPECT_EQ(d, b);
  EXPECT_EQ(state.threads, 2);
  EXPECT_EQ(state.progress.epoch, 3u);
  EXPECT_EQ(state.progress.step, 7u);
  EXPECT_EQ(state.progress.iteration, 1234567890123);
  EXPECT_EQ(state.progress.best_score, 0.1 + 0.2);
  EXPECT_EQ(state.progress.state.sums.box, 1.0 / 3);
  EXPECT_EQ(state.progress.state.sums.images, 6.5);
  EXPECT_EQ(state.progress.state.loss_scale, 0.1f);
  EXPECT_EQ(state.progress.state.good_steps, 1999);
  EXPECT_EQ(state.progress.state.skips_in_a_row, 3);
  EXPECT_EQ(state.progress.state.applied, 1234567890120);
  EXPECT_EQ(state.progress.state.skipped, 9);
  EXPECT_EQ(state.progress.sums.waited, 8);
  EXPECT_EQ(state.progress.evaluations_since_best, 4);
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

TEST(State, KnowsModelsApart) {
  EXPECT_EQ(describe_layout(ParameterLayout(model_of(2))), describe_layout(ParameterLayout(model_of(2))));
  EXPECT_NE(describe_layout(ParameterLayout(model_of(2))), describe_layout(ParameterLayout(model_of(3))));
}

}  // namespace
}  // namespace brightnet::testing
