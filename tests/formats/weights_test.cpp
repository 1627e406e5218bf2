#include "formats/weights.h"

#include <limits>
#include <map>

#include <fmt/format.h>

#include "formats/safetensors.h"
#include "layers/model/reader.h"
#include "tests/train/small_run.h"

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

/// The small model of two classes, each value its own offset.
TrainedModel numbered_model() {
  TrainedModel trained{
      .model = model_of(2), .classes = {"a", "b"}, .training = {}, .layout = {}, .values = {}};
  trained.layout = ParameterLayout(trained.model);
  trained.values = numbered(trained.layout);
  return trained;
}

TEST(Weights, HoldEverythingThatDetectionNeeds) {
  TrainedModel saved = numbered_model();
  saved.classes = {"naïve", "b \"quoted\""};
  saved.size = 96;
  saved.letterbox = true;
  saved.resize = Resize::darknet;
  saved.training = {{"epoch", "3"}};
  const fs::path file = temporary("whole.safetensors");
  save_weights(file, saved);
  const TrainedModel trained = load_trained_model(file);
  EXPECT_EQ(trained.classes, (std::vector<std::string>{"naïve", "b \"quoted\""}));
  EXPECT_EQ(trained.size, 96);
  EXPECT_TRUE(trained.letterbox);
  EXPECT_EQ(trained.resize, Resize::darknet);
  EXPECT_EQ(trained.training.at("epoch"), "3");
  EXPECT_EQ(trained.model.layers.size(), saved.model.layers.size());
  EXPECT_EQ(trained.model.classes, 2);
  EXPECT_EQ(trained.values, saved.values);
}

// The name of a run is that of a folder, and a name in YAML may be in Latin-1.
TEST(Weights, OfARunWhoseNameIsNotUtf8AreWrittenAndRead) {
  TrainedModel saved = numbered_model();
  saved.model.description["name"] = saved.model.name = "caf\xe9";
  saved.classes = {"b\xfbl\xe9", "b"};
  saved.training = {{"run", "dat\xe9"}};
  const fs::path file = temporary("not_utf8.safetensors");
  save_weights(file, saved);
  const TrainedModel trained = load_trained_model(file);
  EXPECT_EQ(trained.training.at("run"), "dat\ufffd");
  EXPECT_EQ(trained.model.name, "caf\ufffd");
  EXPECT_EQ(trained.classes, (std::vector<std::string>{"b\ufffdl\ufffd", "b"}));
  EXPECT_EQ(trained.values, saved.values);
}

// Files of every version so far have these names: another one would shut them all out.
TEST(Weights, NameTheirMetadataAsTheyAlwaysDid) {
  const fs::path file = temporary("names.safetensors");
  save_weights(file, numbered_model());
  const SafetensorsReader reader(file);
  std::vector<std::string> names;
  for (const auto& [name, text] : reader.metadata()) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"classes", "format", "format_version", "input", "model", "training"}));
  EXPECT_EQ(reader.metadata("format"), "brightnet weights");
  EXPECT_EQ(reader.metadata("format_version"), "1");
}

TEST(Weights, InFp16TakeHalfTheBytesAndHoldEverythingElseAsItIs) {
  TrainedModel saved = numbered_model();
  const fs::path file = temporary("half.safetensors"), whole = temporary("not_half.safetensors");
  save_weights(file, saved, true);
  save_weights(whole, saved);
  EXPECT_LT(fs::file_size(file), 0.6 * static_cast<double>(fs::file_size(whole)));
  const TrainedModel trained = load_trained_model(file);
  for (const auto& entry : saved.layout.entries()) {
    for (size_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      const float value = saved.values[i];
      ASSERT_EQ(trained.values[i],
                entry.kind == ParameterKind::weight ? static_cast<float>(Float16(value)) : value)
          << entry.name;
    }
  }
  saved.values[saved.layout.entries()[0].offset] = 65520;
  try {
    save_weights(file, saved, true);
    ADD_FAILURE() << "fp16 has no 65520";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("too large for fp16"), std::string::npos) << error.what();
  }
}

/// With ranges of everything and, in 8 bits, the layer that predicts.
TrainedModel quantized_model() {
  TrainedModel trained = numbered_model();
  trained.model.quantization.assign(trained.model.layers.size(), {.output = QuantizedRange{0.1f, 7}});
  for (size_t i = 0; i < trained.model.layers.size(); ++i) {
    const auto* conv = std::get_if<ConvAttributes>(&trained.model.layers[i].attributes);
    if (!conv) continue;
    LayerQuantization& layer = trained.model.quantization[i];
    for (int c = 0; c < conv->filters; ++c) layer.weight_scales.push_back(0.01f * static_cast<float>(c + 1));
    layer.before_activation = QuantizedRange{0.3f, 128};
  }
  return trained;
}

TEST(Weights, HoldTheScalesOfInt8ToTheBit) {
  const TrainedModel saved = quantized_model();
  const fs::path file = temporary("int8.safetensors");
  save_weights(file, saved);
  EXPECT_EQ(load_trained_model(file).model.quantization, saved.model.quantization);
  save_weights(file, numbered_model());
  EXPECT_TRUE(load_trained_model(file).model.quantization.empty());
}

TEST(Weights, WhoseScalesDoNotFitTheModelAreRefused) {
  const fs::path file = temporary("false_scales.safetensors");
  const auto expect_refusal = [&](const std::string& words, auto&& change) {
    TrainedModel trained = quantized_model();
    size_t conv = 0;  // the last: it reads another layer
    for (size_t i = 0; i < trained.model.layers.size(); ++i) {
      if (!trained.model.quantization[i].weight_scales.empty()) conv = i;
    }
    change(trained, conv);
    save_weights(file, trained);
    try {
      load_trained_model(file);
      ADD_FAILURE() << "taken: " << words;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  expect_refusal("scale or a zero point",
                 [](TrainedModel& t, size_t i) { t.model.quantization[i].output->scale = 0; });
  expect_refusal("scale or a zero point",
                 [](TrainedModel& t, size_t i) { t.model.quantization[i].output->zero_point = 256; });
  expect_refusal("scale or a zero point",
                 [](TrainedModel& t, size_t i) { t.model.quantization[i].weight_scales[0] = -1; });
  expect_refusal("as many scales",
                 [](TrainedModel& t, size_t i) { t.model.quantization[i].weight_scales.pop_back(); });
  expect_refusal("has no range", [](TrainedModel& t, size_t i) {
    t.model.quantization[static_cast<size_t>(t.model.layers[i].inputs[0])].output.reset();
  });
}

TEST(Weights, WhoseScalesAreOfALayerThatTheModelLacksAreRefused) {
  const fs::path file = temporary("scales_of_another.safetensors");
  save_weights(file, quantized_model());
  auto metadata = SafetensorsReader(file).metadata();
  const std::vector<float> one{1};
  const auto rewrite = [&] {
    write_safetensors(file, std::vector<SafetensorsEntry>{{"x", {1}, one.data()}}, metadata);
  };
  rewrite();
  EXPECT_NO_THROW(describe_weights(file));
  metadata["quantization"].insert(1, R"("gone": {"output": {"scale": 0.5, "zero_point": 3}}, )");
  rewrite();
  try {
    describe_weights(file);
    ADD_FAILURE() << "taken";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("name layers that its model does not have"), std::string::npos)
        << error.what();
  }
}

TEST(Weights, OfARunsFolderAreTheBestOnesThatItHas) {
  const fs::path run = temporary("run");
  fs::remove_all(run);
  EXPECT_EQ(weights_of_run(run), run) << "as it is";
  fs::create_directories(run / "weights");
  for (const char* name : {"last", "best", "averaged"}) {
    const fs::path file = run / "weights" / (std::string(name) + ".safetensors");
    save_weights(file, numbered_model());
    EXPECT_EQ(weights_of_run(run), file);
    EXPECT_EQ(weights_of_run(file), file);
  }
}

TEST(Weights, KeepARectangularInputAndItsChannels) {
  TrainedModel saved = numbered_model();
  saved.model = parse_model(YamlDocument::parse(small_model, "small"), 2, {}, 1);
  saved.layout = ParameterLayout(saved.model);
  saved.values = numbered(saved.layout);
  saved.size = {384, 1248};
  const fs::path file = temporary("wide.safetensors");
  save_weights(file, saved);
  const TrainedModel trained = load_trained_model(file);
  EXPECT_EQ(trained.size.height, 384);
  EXPECT_EQ(trained.size.width, 1248);
  EXPECT_EQ(trained.model.channels, 1);
  EXPECT_EQ(trained.fit().channels, 1);
  EXPECT_EQ(SafetensorsReader(file).metadata("input"),
            R"({"letterbox":false,"resize":"antialiased","size":[384,1248]})");
  saved.size = 96;
  save_weights(file, saved);
  EXPECT_EQ(SafetensorsReader(file).metadata("input"),
            R"({"letterbox":false,"resize":"antialiased","size":96})")
      << "as files had it before";
}

TEST(Weights, ThatAreNotFiniteAreRefusedWithTheirNumber) {
  const fs::path file = temporary("diverged.safetensors");
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    TrainedModel trained = numbered_model();
    const auto& entries = trained.layout.entries();
    trained.values[entries[1].offset] = bad;
    trained.values[entries[2].offset + entries[2].count - 1] = bad;
    save_weights(file, trained);
    try {
      load_trained_model(file);
      FAIL();
    } catch (const InputError& e) {
      const std::string message = e.what();
      EXPECT_NE(message.find(file.string() + ": 2 of its"), std::string::npos) << message;
      EXPECT_NE(message.find(entries[1].name), std::string::npos) << message;
    }
  }
}

TEST(Weights, KeepConvolutionsInOhwi) {
  const fs::path file = temporary("ohwi.safetensors");
  save_weights(file, numbered_model());
  EXPECT_EQ(SafetensorsReader(file).tensors().at("conv1.weight").shape, (std::vector<int64_t>{8, 3, 3, 3}));
  EXPECT_EQ(SafetensorsReader(file).tensors().at("fine.weight").shape, (std::vector<int64_t>{32, 3, 3, 16}));
}

TEST(Weights, GiveWhatFitsToAModelWithOtherClasses) {
  const TrainedModel two = numbered_model();
  const ParameterLayout &from = two.layout, to(model_of(5));
  const fs::path file = temporary("two.safetensors");
  save_weights(file, two);
  std::vector<float> values(to.floats(), -1.0f);
  const MatchReport report = load_matching_weights(file, to, values);
  EXPECT_EQ(report.left.size(), 4u) << "a weight and a bias of each head";
  EXPECT_EQ(report.taken.size() + 4, to.entries().size());
  EXPECT_EQ(values[to.find("fine.weight")->offset + 1],
            static_cast<float>(from.find("fine.weight")->offset + 1));
  EXPECT_NE(report.left[0].find("in the file"), std::string::npos);
  EXPECT_THROW(load_weights(file, to), InputError);
}

TEST(Weights, OfAsManyNumbersInAnotherShapeAreLeft) {
  const Model model = model_of(2);
  const ParameterLayout layout(model);
  const fs::path file = temporary("turned.safetensors");
  // As a file with convolutions in IHWO would have it: every count is right.
  std::vector<SafetensorsEntry> entries;
  const std::vector<float> theirs = numbered(layout);
  for (const auto& entry : layout.entries())
    entries.push_back({entry.name, entry.shape, theirs.data() + entry.offset});
  for (auto& entry : entries) {
    if (entry.name == "fine.weight") entry.shape = {16, 3, 3, 32};
    if (entry.name == "conv2.weight") entry.shape = {static_cast<int64_t>(layout.find(entry.name)->count)};
  }
  entries.push_back({"gone.bias", {1}, theirs.data()});
  write_safetensors(file, entries, {});
  std::vector<float> values(layout.floats(), -1.0f);
  const MatchReport report = load_matching_weights(file, layout, values);
  EXPECT_EQ(report.left, (std::vector<std::string>{"conv2.weight (1152 in the file, 16x3x3x8 here)",
                                                   "fine.weight (16x3x3x32 in the file, 32x3x3x16 here)"}));
  EXPECT_EQ(report.taken.size() + 2, layout.entries().size());
  EXPECT_EQ(report.ignored, std::vector<std::string>{"gone.bias"});
  for (const auto& entry : layout.entries()) {
    const bool left = entry.name == "fine.weight" || entry.name == "conv2.weight";
    for (size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      ASSERT_EQ(values[i], left ? -1.0f : theirs[i]) << entry.name;
  }
  try {
    load_weights(file, layout);
    FAIL() << "a convolution was filled with another's numbers";
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("conv2.weight"), std::string::npos) << e.what();
  }
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

TEST(Weights, AreRefusedBeforeMemoryIsTakenForAModelThatTheyCannotHold) {
  const ParameterLayout layout(parse_model(
      YamlDocument::parse("head: {anchors: [[9, 9]]}\nlayers:\n  - conv: {filters: 60000, size: 3}\n"
                          "  - conv: {filters: 60000, size: 3}\n"
                          "  - conv: {filters: auto, size: 1, batch_norm: false}\n  - yolo: {mask: [0]}\n",
                          "huge.yaml"),
      1));
  ASSERT_GT(layout.floats(), size_t{30} << 30);
  const std::vector<float> one{1};
  const fs::path file = temporary("huge.safetensors");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"x", {1}, one.data()}}, {});
  try {
    load_weights(file, layout);
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("its model has 324"), std::string::npos) << e.what();
  }
}

TEST(Weights, RefuseFilesOfSomethingElseAndSayWhatIsWrong) {
  const std::vector<float> one{1};
  const fs::path file = temporary("other.safetensors");
  using Metadata = std::map<std::string, std::string>;
  const auto refusal = [&](const Metadata& metadata) -> std::string {
    write_safetensors(file, std::vector<SafetensorsEntry>{{"x", {1}, one.data()}}, metadata);
    try {
      load_trained_model(file);
    } catch (const InputError& e) {
      return e.what();
    }
    return "accepted";
  };
  const auto expect = [&](const Metadata& metadata, const std::string& words) {
    const std::string said = refusal(metadata);
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find(file.string()), std::string::npos) << said;
  };
  expect({}, "its metadata have no 'format'");
  expect({{"format", "pt"}}, "its metadata call it 'pt' and 'brightnet weights' was expected");
  const ParameterLayout layout(model_of(2));
  std::vector<float> values(layout.floats());
  EXPECT_THROW(load_matching_weights(file, layout, values), InputError);

  Metadata metadata{{"format", "brightnet weights"}, {"format_version", "99"}};
  expect(metadata, "it is of format version 99 and this program reads 1. Use a newer brightnet.");
  metadata["format_version"] = "one";
  expect(metadata, "its metadata 'format_version' is not what brightnet writes there");
  metadata["format_version"] = "1";
  expect(metadata, "its metadata have no 'classes'");
  metadata["classes"] = "[1";
  expect(metadata, "its metadata 'classes' is not what brightnet writes there");
  metadata["classes"] = "[1, 2]";
  metadata["input"] = R"({"size": 64, "letterbox": true})";
  metadata["training"] = "{}";
  expect(metadata, "its metadata 'classes', 'input' or 'training' are not what brightnet writes there");
  metadata["classes"] = R"(["a", "b"])";
  metadata["input"] = R"({"size": 64})";
  expect(metadata, "'input' or 'training' are not what brightnet writes there");
  for (const char* size : {"1e300", "[64, 1e300]", "4294967360", "64.5", "[64]", "null"}) {
    metadata["input"] = fmt::format(R"({{"size": {}, "letterbox": true}})", size);
    expect(metadata, "'input' or 'training' are not what brightnet writes there");
  }
  metadata["input"] = R"({"size": 64, "letterbox": true, "resize": "sharp"})";
  EXPECT_NE(refusal(metadata).find("there is no resize 'sharp'. Write antialiased or darknet."),
            std::string::npos)
      << refusal(metadata);
  metadata["input"] = R"({"size": 64, "letterbox": true})";
  metadata["model"] =
      "input: {size: 64, channels: 3}\nhead: {anchors: [[8, 8]]}\nlayers:\n  - conv: {filters: auto, size: 1, "
      "batch_norm: false, activation: linear}\n  - yolo: {mask: [0]}\n";
  metadata["quantization"] = R"({"nowhere": {}})";
  expect(metadata, "its metadata 'quantization' name layers that its model does not have");
}

}  // namespace
}  // namespace brightnet::testing
