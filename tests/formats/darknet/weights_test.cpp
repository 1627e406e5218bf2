#include "formats/darknet/weights.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

#include "core/files.h"
#include "formats/darknet/export.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "layers/model/writer.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* two_heads = R"(
name: two-heads
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 8], [14, 14], [22, 22], [32, 32]]}
layers:
  - conv: {name: stem, filters: 4, size: 3, stride: 2}
  - conv: {name: fine, filters: 6, size: 3, stride: 2}
  - conv: {name: predict1, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {name: coarse, from: fine, filters: 5, size: 1}
  - conv: {name: predict2, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3]}
)";

/// A value that identifies its position in the file and is valid as a running variance everywhere.
float numbered(size_t position) {
  return 1.0f + static_cast<float>(position);
}

/// A .weights file of `floats` numbers, written by hand.
class File {
 public:
  explicit File(size_t floats, int minor = 2, uint64_t seen = 64000) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path = fs::path(::testing::TempDir()) / (std::string("darknet_weights_") + test->name() + ".weights");
    for (const int32_t version : {0, minor, 5}) append(version);
    if (minor < 2) {
      append(static_cast<uint32_t>(seen));
    } else {
      append(seen);
    }
    header = bytes.size();
    for (size_t i = 0; i < floats; ++i) append(numbered(i));
    write();
  }
  ~File() { fs::remove(path); }

  template <typename Value>
  void append(Value value) {
    const auto* begin = reinterpret_cast<const char*>(&value);
    bytes.append(begin, sizeof value);
  }
  void set(size_t position, float value) {
    std::memcpy(bytes.data() + header + 4 * position, &value, 4);
    write();
  }
  void resize(size_t size) {
    bytes.resize(size);
    write();
  }
  void write() const { std::ofstream(path, std::ios::binary) << bytes; }

  fs::path path;
  std::string bytes;
  size_t header = 0;
};

struct Loaded {
  explicit Loaded(Model made) : model(std::move(made)), layout(model), values(layout.floats(), -7.0f) {}
  DarknetWeightsReport load(const fs::path& file, const DarknetWeightsOptions& options = {}) {
    return load_darknet_weights(file, model, layout, values, options);
  }
  float value(const std::string& name, size_t index) const {
    return values[layout.find(name)->offset + index];
  }
  std::string refusal(const fs::path& file, const DarknetWeightsOptions& options = {}) {
    try {
      load(file, options);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  Model model;
  ParameterLayout layout;
  std::vector<float> values;
};

// stem: 4·4 + 4·27 = 124; fine: 4·6 + 6·36 = 240; predict1 with c classes: n + 6n, n = 2·(5 + c); coarse: 4·5
// + 5·6 = 50; predict2: n + 5n.
constexpr size_t stem = 124, fine = 240, coarse = 50;
constexpr size_t predictions(size_t classes, size_t inputs) {
  return 2 * (5 + classes) * (1 + inputs);
}
constexpr size_t whole(size_t classes) {
  return stem + fine + predictions(classes, 6) + coarse + predictions(classes, 5);
}

TEST(DarknetWeights, LieWhereDarknetWritesThem) {
  Loaded loaded(model_of(two_heads, 3));
  const File file(whole(3));
  const DarknetWeightsReport report = loaded.load(file.path);
  EXPECT_TRUE(report.whole());
  EXPECT_EQ(report.header.seen, 64000u);
  EXPECT_TRUE(report.match.left.empty());
  EXPECT_EQ(report.match.taken.size(), loaded.layout.entries().size());
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(loaded.value("stem.shift", c), numbered(c));
    EXPECT_EQ(loaded.value("stem.scale", c), numbered(4 + c));
    EXPECT_EQ(loaded.value("stem.running_mean", c), numbered(8 + c));
    EXPECT_EQ(loaded.value("stem.running_variance", c), numbered(12 + c));
  }
  // Ours are output, row, column, input; darknet's output, input, row, column.
  for (size_t o = 0; o < 6; ++o) {
    for (size_t i = 0; i < 4; ++i) {
      for (size_t y = 0; y < 3; ++y) {
        for (size_t x = 0; x < 3; ++x) {
          EXPECT_EQ(loaded.value("fine.weight", ((o * 3 + y) * 3 + x) * 4 + i),
                    numbered(stem + 24 + ((o * 4 + i) * 3 + y) * 3 + x));
        }
      }
    }
  }
  EXPECT_EQ(loaded.value("predict1.bias", 15), numbered(stem + fine + 15));
  EXPECT_EQ(loaded.value("predict1.weight", 0), numbered(stem + fine + 16));
  EXPECT_EQ(loaded.value("predict2.weight", 16 * 5 - 1), numbered(whole(3) - 1));
}

TEST(DarknetWeights, MeanTheSameInEveryVersionOfTheHeader) {
  for (const int minor : {1, 2, 3}) {
    Loaded loaded(model_of(two_heads, 3));
    const File file(whole(3), minor, 123456);
    ASSERT_EQ(file.header, minor < 2 ? 16u : 20u);
    const DarknetWeightsReport report = loaded.load(file.path);
    EXPECT_EQ(report.header.seen, 123456u);
    EXPECT_EQ(report.header.minor, minor);
    EXPECT_EQ(loaded.value("stem.shift", 0), numbered(0));
    EXPECT_EQ(loaded.value("predict2.bias", 0), numbered(whole(3) - predictions(3, 5)));
  }
}

TEST(DarknetWeights, OfVersionOneCountImagesIn64Bits) {
  Loaded loaded(model_of(two_heads, 3));
  File file(whole(3), 2, (uint64_t{1} << 40) + 7);
  const int32_t version[] = {1, 0, 0};
  std::memcpy(file.bytes.data(), version, sizeof version);
  file.write();
  const DarknetWeightsReport report = loaded.load(file.path);
  EXPECT_EQ(report.header.seen, (uint64_t{1} << 40) + 7);
  EXPECT_EQ(report.header.major, 1);
  EXPECT_EQ(loaded.value("stem.shift", 0), numbered(0));
}

TEST(DarknetWeights, OfAnExportSayHowManyImagesTheNetworkHasSeen) {
  const Loaded made(model_of(two_heads, 3));
  TrainedModel trained{.model = made.model,
                       .classes = {"a", "b b", "c"},
                       .size = 64,
                       .training = {{"images_seen", "5000000123"}},
                       .layout = made.layout,
                       .values = made.values};
  const fs::path folder = fs::path(::testing::TempDir()) / "darknet_weights_seen";
  const auto header_of = [&] {
    const DarknetFiles files = export_darknet(folder, "net", trained, DarknetNumbers::kept);
    EXPECT_EQ(read_file(files.names), "a\nb b\nc\n");
    std::string bytes = read_file(files.weights).substr(0, 24);
    std::pair<std::array<int32_t, 3>, uint64_t> header{};
    std::memcpy(header.first.data(), bytes.data(), 12);
    std::memcpy(&header.second, bytes.data() + 12, 8);
    float first = 0;
    std::memcpy(&first, bytes.data() + 20, 4);
    EXPECT_EQ(first, -7.0f);
    return header;
  };
  EXPECT_EQ(header_of().first, (std::array<int32_t, 3>{0, 2, 5}));
  EXPECT_EQ(header_of().second, 5000000123u);
  trained.training.clear();
  EXPECT_EQ(header_of().second, 0u) << "it was trained here";
  fs::remove_all(folder);
}

TEST(DarknetWeights, CutBehindALayerFillTheLayersBefore) {
  Loaded loaded(model_of(two_heads, 3));
  const File file(stem + fine);
  const DarknetWeightsReport report = loaded.load(file.path);
  EXPECT_EQ(report.convolutions, 2);
  EXPECT_EQ(report.all_convolutions, 5);
  EXPECT_EQ(report.layers, 2);
  EXPECT_EQ(report.match.left.size(), 2u + 5u + 2u);
  EXPECT_EQ(report.match.left[0], "predict1.bias (not in the file)");
  EXPECT_EQ(loaded.value("fine.weight", 0), numbered(stem + 24));
  EXPECT_EQ(loaded.value("predict1.bias", 0), -7.0f);
}

TEST(DarknetWeights, OfAnotherNumberOfClassesFillAllButThePredictions) {
  for (const size_t classes : {1, 2, 80}) {
    Loaded loaded(model_of(two_heads, 3));
    const File file(whole(classes));
    const DarknetWeightsReport report = loaded.load(file.path);
    EXPECT_TRUE(report.whole());
    EXPECT_EQ(report.classes, static_cast<int>(classes));
    EXPECT_EQ(report.match.left.size(), 4u);
    EXPECT_EQ(loaded.value("predict1.bias", 0), -7.0f);
    EXPECT_EQ(loaded.value("coarse.shift", 0), numbered(stem + fine + predictions(classes, 6)));
    EXPECT_EQ(loaded.value("predict2.weight", 3), -7.0f);
    ASSERT_EQ(report.predictions.size(), 2u) << "handed over instead";
    const DarknetPrediction& first = report.predictions[0];
    EXPECT_EQ(first.layer, "predict1");
    EXPECT_EQ(first.bias.front(), numbered(stem + fine));
    EXPECT_EQ(first.weight.back(), numbered(stem + fine + predictions(classes, 6) - 1));
    EXPECT_EQ(first.bias.size() + first.weight.size(), predictions(classes, 6));
  }
}

TEST(DarknetWeights, ThatFitNoNumberOfClassesAreRefusedWithWhatWasExpected) {
  Loaded loaded(model_of(two_heads, 3));
  File file(whole(3));
  file.resize(file.header + 4 * (stem + 100));
  EXPECT_NE(loaded.refusal(file.path).find("it has 916 bytes"), std::string::npos)
      << loaded.refusal(file.path);
  EXPECT_NE(loaded.refusal(file.path).find("take " + std::to_string(20 + 4 * whole(3))), std::string::npos);
  EXPECT_NE(loaded.refusal(file.path).find("inside the 2nd of 5 convolutions, 'fine'"), std::string::npos);
  file.resize(file.header + 4 * (stem + fine) - 1);
  EXPECT_NE(loaded.refusal(file.path).find("inside the 2nd"), std::string::npos)
      << "half a number is missing";
  for (const float value : loaded.values) ASSERT_EQ(value, -7.0f) << "a refused file must change nothing";

  const File longer(whole(3) + 1);
  EXPECT_NE(loaded.refusal(longer.path).find("4 bytes follow its last convolution"), std::string::npos)
      << loaded.refusal(longer.path);
  EXPECT_NE(loaded.refusal(longer.path).find("--weights-partial"), std::string::npos);
}

TEST(DarknetWeights, PartialTakesWholeConvolutionsThatAreSurelyRight) {
  Loaded loaded(model_of(two_heads, 3));
  File file(whole(3));
  // The first head is complete, but nothing after it confirms that it has three classes.
  file.resize(file.header + 4 * (stem + fine + predictions(3, 6) + 3));
  DarknetWeightsReport report = loaded.load(file.path, {.partial = true});
  EXPECT_EQ(report.convolutions, 2);
  file = File(whole(3));
  file.resize(file.header + 4 * (stem + fine + predictions(3, 6) + coarse + 3));
  report = loaded.load(file.path, {.partial = true});
  EXPECT_EQ(report.convolutions, 4);
  EXPECT_EQ(report.match.left.size(), 2u);
  EXPECT_EQ(loaded.load(File(whole(3) + 5).path, {.partial = true}).convolutions, 4) << "too long";
  file.resize(file.header + 4 * (stem - 1));
  EXPECT_NE(loaded.refusal(file.path, {.partial = true}).find("nothing in it fits"), std::string::npos);
}

TEST(DarknetWeights, OfAnotherNetworkAreKnownByTheirRunningVariance) {
  Loaded loaded(model_of(two_heads, 3));
  for (const float bad : {-0.5f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    File file(whole(3));
    file.set(stem + 3 * 6 + 1, bad);
    EXPECT_NE(loaded.refusal(file.path).find("where the 2nd of 5 convolutions is expected, 'fine'"),
              std::string::npos)
        << loaded.refusal(file.path);
    EXPECT_EQ(loaded.load(file.path, {.partial = true}).convolutions, 1);
  }
  File file(whole(3));
  file.set(stem + 24, std::nanf(""));
  EXPECT_NE(loaded.refusal(file.path).find("a number that is nan"), std::string::npos);
}

TEST(DarknetWeights, AreReadByTheShapesOfTheirOwnConfiguration) {
  Loaded loaded(model_of(two_heads, 3));
  // Truncated after `coarse`, with five classes: its length alone proves nothing.
  const File file(stem + fine + predictions(5, 6) + coarse);
  EXPECT_FALSE(loaded.refusal(file.path).empty());
  const Model five = model_of(two_heads, 5);
  const DarknetWeightsReport report = loaded.load(file.path, {.network = &five});
  EXPECT_EQ(report.convolutions, 4);
  EXPECT_EQ(loaded.value("coarse.shift", 0), numbered(stem + fine + predictions(5, 6)));
  EXPECT_EQ(loaded.value("predict1.bias", 0), -7.0f);

  std::string text = two_heads;
  text.replace(text.find("filters: 5"), 10, "filters: 9");
  const Model other = model_of(text, 3);
  const File of_other(whole(3) + 4 * (4 + 6) + 4 * 16);
  EXPECT_NE(loaded.refusal(of_other.path, {.network = &other})
                .find("the 4th convolution is 9x1x1x6 with batch-norm"),
            std::string::npos)
      << loaded.refusal(of_other.path, {.network = &other});
}

TEST(DarknetWeights, AreToldFromOtherFiles) {
  Loaded loaded(model_of(two_heads, 3));
  const File file(whole(3));
  EXPECT_TRUE(is_darknet_weights(file.path));
  const fs::path other = fs::path(::testing::TempDir()) / "darknet_weights_other";
  save_weights(other, {.model = loaded.model,
                       .classes = {"a", "b", "c"},
                       .training = {},
                       .layout = loaded.layout,
                       .values = loaded.values});
  EXPECT_FALSE(is_darknet_weights(other));
  write_atomically(other, std::string("\x89PNG and so on and so on and so on"));
  EXPECT_NE(loaded.refusal(other).find("not darknet's weights"), std::string::npos);
  write_atomically(other, std::string("\0\0\0", 3));
  EXPECT_NE(loaded.refusal(other).find("it has 3 bytes"), std::string::npos);
  fs::remove(other);
  EXPECT_NE(loaded.refusal(other).find("cannot be read"), std::string::npos);
}

/// Numbers with nothing in common, positive where they are variances.
std::vector<float> uneven_values(const ParameterLayout& layout) {
  std::vector<float> values(layout.floats(), 0.0f);
  for (const auto& entry : layout.entries()) {
    for (size_t i = 0; i < entry.count; ++i) {
      const auto bits = static_cast<uint32_t>((entry.offset + i) * 2654435761u);
      const float value = static_cast<float>(bits >> 4) / 3e7f;
      values[entry.offset + i] = entry.kind != ParameterKind::running_variance && bits % 2 ? -value : value;
    }
  }
  return values;
}

// What darknet's own file of such a network holds: groups have the inputs of a group, and the weights of a sum
// stand where the sum does, without a bias.
TEST(DarknetWeights, HoldGroupsAndWeightsOfSums) {
  Loaded loaded(model_of(R"(
head: {anchors: [[8, 8]]}
layers:
  - conv: {filters: 4, size: 3, stride: 2}
  - conv: {name: grouped, filters: 4, size: 3, groups: 2}
  - weighted_sum: {name: sum, from: [grouped, conv1], normalization: relu}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                         2));
  const std::vector<float> values = uneven_values(loaded.layout);
  const fs::path file = fs::path(::testing::TempDir()) / "darknet_weights_groups";
  save_darknet_weights(file, loaded.model, loaded.layout, values);
  const std::string bytes = read_file(file);
  const size_t first = 4 * 4 + 4 * 3 * 9, grouped = 4 * 4 + 4 * 2 * 9, sum = 2 * 4, head = 7 + 7 * 4;
  ASSERT_EQ(bytes.size(), 20 + 4 * (first + grouped + sum + head));
  const auto number = [&](size_t at) {
    float value;
    std::memcpy(&value, bytes.data() + 20 + 4 * at, sizeof value);
    return value;
  };
  const ParameterEntry &weight = *loaded.layout.find("grouped.weight"),
                       &of_sum = *loaded.layout.find("sum.weight");
  // Filter 3, input 1 of its group, row 2, column 0: OIHW there, OHWI here.
  EXPECT_EQ(number(first + 16 + (3 * 2 + 1) * 9 + 6), values[weight.offset + ((3 * 3 + 2) * 3 + 0) * 2 + 1]);
  for (size_t i = 0; i < sum; ++i) EXPECT_EQ(number(first + grouped + i), values[of_sum.offset + i]);
  loaded.load(file);
  for (const ParameterEntry& entry : loaded.layout.entries()) {
    for (size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      ASSERT_EQ(loaded.values[i], values[i]) << entry.name;
  }
}

TEST(DarknetWeights, OfTheShippedModelsAreCutWhereDarknetCutsThem) {
  for (const auto& [name, layers, last] :
       {std::tuple("yolov4", 137, "p3.out"), {"yolov4-tiny", 29, "conv3"}}) {
    Loaded loaded(shipped_model(name, 80));
    std::vector<float> ones(loaded.layout.floats(), 1.0f);
    const fs::path file = fs::path(::testing::TempDir()) / "darknet_weights_cut";
    save_darknet_weights(file, loaded.model, loaded.layout, ones);
    size_t floats = 0;
    for (size_t i = 0; i < loaded.model.layers.size(); ++i) {
      for (const auto& entry : loaded.layout.entries())
        floats += entry.layer == static_cast<int>(i) ? entry.count : 0;
      if (loaded.model.layers[i].name == last) break;
    }
    fs::resize_file(file, 20 + 4 * floats);
    Loaded other(shipped_model(name, 3));
    const DarknetWeightsReport report = other.load(file);
    EXPECT_EQ(report.layers, layers) << report.summary();
    EXPECT_FALSE(report.whole());
    fs::remove(file);
  }
}

/// The configurations of ../shared.
std::vector<fs::path> configurations() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(source_dir() / "../shared/darknet-cfg")) {
    if (entry.path().extension() == ".cfg") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool have_configurations() {
  return fs::exists(source_dir() / "../shared/darknet-cfg");
}

/// What comes of exporting an imported model and importing that.
Model exported_and_imported(const Model& model) {
  return import_darknet_text(write_darknet_cfg(model, {.size = model.size}), model.name + ".cfg").model;
}

void expect_weights_survive(const Model& model) {
  const ParameterLayout layout(model);
  const std::vector<float> values = uneven_values(layout);
  const fs::path file = fs::path(::testing::TempDir()) / ("darknet_weights_round_" + model.name);
  save_darknet_weights(file, model, layout, values);
  Loaded again(exported_and_imported(model));
  EXPECT_TRUE(again.load(file).whole());
  for (size_t i = 0; i < layout.entries().size(); ++i) {
    const ParameterEntry &before = layout.entries()[i], &after = again.layout.entries()[i];
    ASSERT_EQ(after.shape, before.shape);
    ASSERT_EQ(
        std::memcmp(again.values.data() + after.offset, values.data() + before.offset, 4 * before.count), 0)
        << before.name;
  }
  const std::string first = read_file(file, most_list_bytes);
  save_darknet_weights(file, again.model, again.layout, again.values);
  EXPECT_TRUE(read_file(file, most_list_bytes) == first) << "out again, it must be the same file";
  fs::remove(file);
}

TEST(DarknetExport, IsTheSameNetworkAgainForEveryConfiguration) {
  if (!have_configurations()) GTEST_SKIP() << "darknet's configurations are not in ../shared";
  int files = 0;
  for (const fs::path& file : configurations()) {
    SCOPED_TRACE(file.filename().string());
    const Model model = import_darknet(file).model, again = exported_and_imported(model);
    const std::string cfg = write_darknet_cfg(model, {.size = model.size});
    EXPECT_EQ(parse_darknet_cfg(cfg, "exported.cfg").sections.size(),
              parse_darknet_cfg(read_file(file, most_list_bytes), file.string()).sections.size());
    EXPECT_TRUE(same_layers(again.layers, model.layers));
    EXPECT_TRUE(write_darknet_cfg(again, {.size = again.size}) == cfg);
    ++files;
  }
  EXPECT_GE(files, 14);
}

TEST(DarknetNames, AreReadWithoutAByteOrderMark) {
  const fs::path file = fs::path(::testing::TempDir()) / "byte_order_mark.names";
  write_atomically(file,
                   "\xEF\xBB\xBF"
                   "cat\r\n\ndog\n");
  EXPECT_EQ(read_darknet_names(file), (std::vector<std::string>{"cat", "dog"}));
}

TEST(DarknetExport, KeepsEveryBitOfATinyModelsWeights) {
  if (!have_configurations()) GTEST_SKIP() << "darknet's configurations are not in ../shared";
  for (const fs::path& file : configurations()) {
    SCOPED_TRACE(file.filename().string());
    if (file.filename().string().find("tiny") != std::string::npos)
      expect_weights_survive(import_darknet(file).model);
  }
}

TEST(SlowDarknetExport, KeepsEveryBitOfEveryModelsWeights) {
  if (!have_configurations()) GTEST_SKIP() << "darknet's configurations are not in ../shared";
  for (const fs::path& file : configurations()) {
    SCOPED_TRACE(file.filename().string());
    expect_weights_survive(import_darknet(file).model);
  }
}

}  // namespace
}  // namespace brightnet::testing
