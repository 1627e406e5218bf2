#include "formats/darknet/weights.h"

#include <cstring>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "core/files.h"
#include "formats/darknet/trained.h"
#include "tests/formats/darknet/loaded_weights.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

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
}

TEST(DarknetWeights, AreRefusedWithAdviceThatTheCommandCanFollow) {
  Loaded loaded(model_of(two_heads, 3));
  File cut(whole(3)), damaged(whole(3));
  cut.resize(cut.header + 4 * (stem + 100));
  std::string refused = loaded.refusal(cut.path);
  EXPECT_EQ(refused.find("--weights-partial"), std::string::npos) << refused;
  EXPECT_NE(refused.find("the file was cut short or damaged"), std::string::npos) << refused;
  refused = loaded.refusal(cut.path, {.may_be_partial = true});
  EXPECT_NE(refused.find("--weights-partial"), std::string::npos) << refused;

  damaged.set(stem + 3 * 6 + 1, -0.5f);
  refused = loaded.refusal(damaged.path);
  EXPECT_EQ(refused.find("--weights-partial"), std::string::npos) << refused;
  refused = loaded.refusal(damaged.path, {.may_be_partial = true});
  EXPECT_NE(refused.find("--weights-partial"), std::string::npos) << refused;
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

// Shapes alone say what fits: the .weights of a network with `leaky` are a start for one with `hardswish`.
TEST(DarknetWeights, FillAModelThatDarknetCouldNotHave) {
  std::string text = two_heads;
  text.replace(text.find("activation: leaky"), 17, "activation: hardswish");
  Loaded loaded(model_of(text, 3)), leaky(model_of(two_heads, 3));
  File file(whole(3));
  leaky.load(file.path);
  EXPECT_TRUE(loaded.load(file.path).whole());
  EXPECT_EQ(loaded.values, leaky.values);
  file.resize(file.header + 4 * (stem + fine));
  EXPECT_EQ(loaded.load(file.path, {.partial = true}).summary(), "2 of 5 convolutions");
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

TEST(DarknetNames, AreReadWithoutAByteOrderMark) {
  const fs::path file = fs::path(::testing::TempDir()) / "byte_order_mark.names";
  write_atomically(file,
                   "\xEF\xBB\xBF"
                   "cat\r\n\ndog\n");
  EXPECT_EQ(read_darknet_names(file), (std::vector<std::string>{"cat", "dog"}));
}

}  // namespace
}  // namespace brightnet::testing
