#include "train/weights.h"

#include <cmath>
#include <limits>

#include "tests/train/small_run.h"
#include "train/safetensors.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

Model model_of(int classes) {
  return parse_model(YamlDocument::parse(small_model, "small"), classes);
}

fs::path temporary(const std::string& name) {
  return fs::path(::testing::TempDir()) / ("weights_" + name);
}

std::vector<float> numbered(const ParameterLayout& layout) {
  std::vector<float> values(layout.floats(), 0.0f);
  for (const auto& entry : layout.entries()) {
    for (size_t i = 0; i < entry.count; ++i) values[entry.offset + i] = static_cast<float>(entry.offset + i);
  }
  return values;
}

TEST(Weights, HoldEverythingThatDetectionNeeds) {
  const Model model = model_of(2);
  const ParameterLayout layout(model);
  const fs::path file = temporary("whole.safetensors");
  save_weights(file, {model, {"naïve", "b \"quoted\""}, 96, true, {{"epoch", "3"}}}, layout,
               numbered(layout));
  const TrainedModel trained = load_trained_model(file);
  EXPECT_EQ(trained.classes, (std::vector<std::string>{"naïve", "b \"quoted\""}));
  EXPECT_EQ(trained.size, 96);
  EXPECT_TRUE(trained.letterbox);
  EXPECT_EQ(trained.training.at("epoch"), "3");
  EXPECT_EQ(trained.model.layers.size(), model.layers.size());
  EXPECT_EQ(trained.model.classes, 2);
  EXPECT_EQ(load_weights(file, ParameterLayout(trained.model)), numbered(layout));
}

TEST(Weights, ThatAreNotFiniteAreRefusedWithTheirNumber) {
  const Model model = model_of(2);
  const ParameterLayout layout(model);
  const fs::path file = temporary("diverged.safetensors");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = numbered(layout);
    values[layout.entries()[1].offset] = bad;
    values[layout.entries()[2].offset + layout.entries()[2].count - 1] = bad;
    save_weights(file, {model, {"a", "b"}, 64, false, {}}, layout, values);
    try {
      load_trained_network(file);
      FAIL();
    } catch (const InputError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find(file.string() + ": 2 of its"), std::string::npos) << message;
      EXPECT_NE(message.find(layout.entries()[1].name), std::string::npos) << message;
    }
  }
}

TEST(Weights, KeepConvolutionsInOhwi) {
  const Model model = model_of(2);
  const ParameterLayout layout(model);
  const fs::path file = temporary("ohwi.safetensors");
  save_weights(file, {model, {"a", "b"}, 64, false, {}}, layout, numbered(layout));
  EXPECT_EQ(SafetensorsReader(file).tensors().at("conv1.weight").shape, (std::vector<int64_t>{8, 3, 3, 3}));
  EXPECT_EQ(SafetensorsReader(file).tensors().at("fine.weight").shape, (std::vector<int64_t>{32, 3, 3, 16}));
}

TEST(Weights, GiveWhatFitsToAModelWithOtherClasses) {
  const Model two = model_of(2), five = model_of(5);
  const ParameterLayout from(two), to(five);
  const fs::path file = temporary("two.safetensors");
  save_weights(file, {two, {"a", "b"}, 64, false, {}}, from, numbered(from));
  std::vector<float> values(to.floats(), -1.0f);
  const MatchReport report = load_matching_weights(file, to, values);
  EXPECT_EQ(report.left.size(), 4u) << "a weight and a bias of each head";
  EXPECT_EQ(report.taken.size() + 4, to.entries().size());
  EXPECT_EQ(values[to.find("fine.weight")->offset + 1],
            static_cast<float>(from.find("fine.weight")->offset + 1));
  EXPECT_NE(report.left[0].find("in the file"), std::string::npos);
  EXPECT_THROW(load_weights(file, to), InputError);
}

TEST(Weights, AreRefusedByTheNameOfTheOneParameterThatTheyLack) {
  const ParameterLayout layout(model_of(2));
  const std::vector<float> values = numbered(layout);
  std::vector<SafetensorsEntry> entries;
  for (const auto& entry : layout.entries())
    entries.push_back({entry.name, entry.shape, values.data() + entry.offset});
  const std::string last = entries.back().name;
  entries.pop_back();
  const fs::path file = temporary("short.safetensors");
  write_safetensors(file, entries, {});
  try {
    load_weights(file, layout);
    FAIL();
  } catch (const InputError& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("lacks 1 of"), std::string::npos) << message;
    EXPECT_NE(message.find(last), std::string::npos) << message;
  }
}

TEST(Weights, RefuseFilesOfSomethingElse) {
  const std::vector<float> one{1};
  const fs::path file = temporary("other.safetensors");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"x", {1}, one.data()}}, {});
  EXPECT_THROW(load_trained_model(file), InputError);
  const ParameterLayout layout(model_of(2));
  std::vector<float> values(layout.floats());
  EXPECT_THROW(load_matching_weights(file, layout, values), InputError);
  write_safetensors(file, std::vector<SafetensorsEntry>{{"x", {1}, one.data()}},
                    {{"format", "brightnet weights"}, {"format_version", "99"}});
  EXPECT_THROW(load_trained_model(file), InputError);
}

}  // namespace
}  // namespace brightnet::testing
