// darknet's weights as they are written, and that they come back the same.
#include <algorithm>
#include <array>
#include <cstring>

#include <gtest/gtest.h>

#include "core/files.h"
#include "formats/darknet/export.h"
#include "formats/darknet/import.h"
#include "formats/darknet/trained.h"
#include "layers/model/writer.h"
#include "tests/formats/darknet/loaded_weights.h"
#include "tests/layers/models.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

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

// darknet writes 0.2.0, AlexeyAB's fork 0.2.5.
TEST(DarknetWeights, OfAnExportAreTheFileThatWasImported) {
  const Model model = model_of(two_heads, 3);
  const ParameterLayout layout(model);
  const fs::path folder = fs::path(::testing::TempDir()) / "darknet_weights_same_file";
  fs::create_directories(folder);
  write_atomically(folder / "given.cfg", write_darknet_cfg(model));
  const auto exported = [&](const DarknetHeader& header, DarknetNumbers numbers) {
    save_darknet_weights(folder / "given.weights", model, layout, uneven_values(layout), header);
    save_weights(
        folder / "net.safetensors",
        read_darknet_trained({.cfg = folder / "given.cfg", .weights = folder / "given.weights", .names = {}})
            .trained);
    const TrainedModel trained = load_trained_model(folder / "net.safetensors");
    return read_file(export_darknet(folder, "net", trained, numbers).weights);
  };
  for (const DarknetHeader& header :
       {DarknetHeader{0, 2, 0, 64000}, DarknetHeader{0, 2, 5, 7}, DarknetHeader{1, 0, 0, 5000000123}}) {
    const std::string again = exported(header, DarknetNumbers::kept);
    EXPECT_TRUE(again == read_file(folder / "given.weights"))
        << header.major << '.' << header.minor << '.' << header.revision;
  }
  const std::string ours{0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0};
  EXPECT_EQ(exported({0, 1, 0, 64000}, DarknetNumbers::kept).substr(0, 12), ours) << "its count has 32 bits";
  EXPECT_EQ(exported({0, 2, 0, 64000}, DarknetNumbers::scaled).substr(0, 12), ours);
  fs::remove_all(folder);
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
