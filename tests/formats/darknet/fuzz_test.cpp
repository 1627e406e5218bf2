// Broken configurations, the same ones every time: five thousand in the quick suite, a hundred thousand in
// the slow one. Each is imported or refused with an InputError; nothing else may happen, and what comes out
// is in proportion to what went in.
#include <fstream>

#include <gtest/gtest.h>

#include "core/files.h"
#include "formats/darknet/import.h"
#include "layers/model/reader.h"
#include "layers/model/writer.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/mutator.h"
#include "tests/paths.h"

namespace brightnet::testing {
namespace {

const char* const tokens[] = {
    "-1",
    "0",
    "1",
    "2",
    "3",
    "255",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483649",
    "1e308",
    "1e-320",
    "nan",
    "inf",
    "0x10",
    ".",
    ",",
    ",,",
    "=",
    "[",
    "]",
    "#",
    ";",
    "\n",
    "\r\n",
    "\xff",
    "[yolo]\n",
    "[route]\nlayers=-1,-1\n",
    "[route]\nlayers=-1,-1,-1,-1,-1,-1,-1,-1\n",
    "[upsample]\nstride=8\n",
    "[convolutional]\n",
    "[maxpool]\nsize=2\nstride=2\n",
    "[reorg3d]\nstride=2\n",
    "filters=65536\n",
    "groups=2\n",
    "stride=2\n",
    "random=1\n",
    "counters_per_class=1,2\n",
    "[shortcut]\nfrom=-2\n",
    "[sam]\nfrom=-2\n",
    "[avgpool]\n",
    "[local_avgpool]\nsize=3\nstride=2\n",
    "[scale_channels]\nfrom=-3\n",
    "[shortcut]\nfrom=-2,-3\nweights_type=per_channel\nweights_normalization=relu\n",
    "blur=3\n",
    "gaussian_noise=9\n",
    "[dropout]\nprobability=0\n",
    "stopbackward=1\n",
};

/// Whether it was imported; fails the test when something else than an InputError comes out.
bool try_import(const std::string& text) {
  try {
    const DarknetImport imported = import_darknet_text(text, "broken.cfg");
    EXPECT_LE(imported.model.layers.size(), text.size());
    const std::string yaml = imported.model_yaml();
    EXPECT_LE(yaml.size(), 4096 + 64 * text.size());
    const Model again = parse_model(YamlDocument::parse(yaml, "broken.cfg's YAML"), 0);
    EXPECT_TRUE(same_layers(again.layers, imported.model.layers)) << yaml;
    return true;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("broken.cfg"), std::string::npos) << error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what() << "\nfor\n" << text;
  }
  return false;
}

int imported_of(const std::string& seed, int begin, int end) {
  int imported = 0;
  for (int i = begin; i < end && !::testing::Test::HasFailure(); ++i)
    imported += try_import(Mutator(static_cast<uint64_t>(i), tokens).mutate(seed));
  return imported;
}

/// A tenth of the inputs break the configuration with every kind of section. The others break a head with one
/// convolution before it: what is small is broken at more of its places in the same time.
void import_broken(int inputs) {
  const std::string tiny_cfg = small_cfg.substr(0, small_cfg.find("[convolutional]", 400)) +
                               small_cfg.substr(small_cfg.find("[route]\nlayers=-1,-4") + 21);
  const int imported = imported_of(small_cfg, 0, inputs / 10) + imported_of(tiny_cfg, inputs / 10, inputs);
  // The mutations must leave many alive, or they would only test the first check.
  EXPECT_GT(imported, inputs / 20);
  EXPECT_LT(imported, inputs * 9 / 10);
}

// An import takes a quarter of a millisecond, most of it in writing the YAML and reading it back.
TEST(DarknetFuzz, BrokenConfigurationsAreImportedOrRefused) {
  import_broken(5000);
}

TEST(SlowDarknetFuzz, AHundredThousandBrokenConfigurationsAreImportedOrRefused) {
  import_broken(100000);
}

TEST(DarknetFuzz, DarknetsOwnFilesBrokenAreImportedOrRefused) {
  const auto suite = source_dir() / "../shared/darknet-cfg";
  if (!std::filesystem::exists(suite)) GTEST_SKIP() << "darknet's configurations are not at " << suite;
  int begin = 1000000;
  for (const auto& entry : std::filesystem::directory_iterator(suite)) {
    if (!is_darknet_cfg(entry.path())) continue;
    imported_of(read_file(entry.path()), begin, begin + 20);
    begin += 1000;
  }
}

// What grows by itself must stop at a bound, not at the end of memory.
TEST(DarknetFuzz, WhatClaimsTooMuchIsRefused) {
  const std::string head =
      "[net]\nwidth=64\nheight=64\nchannels=3\n[convolutional]\nfilters=64\nsize=3\npad=1\n";
  std::string doubling = head, wide = head, large = head, many = head, strided = head;
  for (int i = 0; i < 64; ++i) {
    doubling += "[route]\nlayers=-1,-1\n";
    wide += "[convolutional]\nfilters=65536\nsize=31\npad=1\n";
    large += "[upsample]\nstride=8\n";
    strided += "[maxpool]\nsize=8\nstride=8\n";
  }
  for (int i = 0; i < 5000; ++i) many += "[route]\nlayers=-1,-1\ngroups=2\n";
  for (const std::string& text : {doubling, wide, large, many, strided}) EXPECT_FALSE(try_import(text));
  EXPECT_FALSE(try_import(std::string(longest_darknet_cfg + 1, '\n')));
}

TEST(DarknetFuzz, AFileThatIsTooLongIsRefusedWithTheLimit) {
  const std::filesystem::path file = std::filesystem::path(::testing::TempDir()) / "too_long.cfg";
  const auto refusal_of = [&](size_t bytes) -> std::string {
    std::ofstream(file) << std::string(bytes, '\n');
    try {
      import_darknet(file, "");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  };
  const std::string too_long = refusal_of(longest_darknet_cfg + 1), empty = refusal_of(longest_darknet_cfg);
  EXPECT_NE(too_long.find("1048577 bytes, and a darknet configuration at most 1048576"), std::string::npos)
      << too_long;
  EXPECT_NE(empty, "");
  EXPECT_EQ(empty.find("at most"), std::string::npos) << empty;
}

}  // namespace
}  // namespace brightnet::testing
