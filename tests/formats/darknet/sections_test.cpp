// The names that darknet knows a kind of section by, and the max-pools and routes that are a pyramid.
#include <algorithm>

#include <gtest/gtest.h>

#include "formats/darknet/import.h"
#include "layers/model/writer.h"
#include "tests/formats/small_cfg.h"

namespace brightnet::testing {
namespace {

std::string renamed(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(DarknetImport, KnowsTheShortNamesOfSections) {
  const Model model = import_darknet_text(small_cfg, "small.cfg").model;
  for (const auto& [name, shorter] :
       {std::pair("[net]", "[network]"), {"[convolutional]", "[conv]"}, {"[maxpool]", "[max]"}}) {
    const Model same = import_darknet_text(renamed(small_cfg, name, shorter), "small.cfg").model;
    EXPECT_TRUE(same_layers(same.layers, model.layers)) << shorter;
    EXPECT_EQ(same.size, model.size);
  }
}

/// The kinds of the layers of a convolution, two max-pools of it, of 5 and of 9, a route that joins all three, and what
/// follows.
std::vector<std::string> kinds_of_pyramid(const std::string& joined, const std::string& more = "") {
  const std::string pool = "[maxpool]\nstride=1\nsize=";
  const Model model =
      import_darknet_text(
          "[net]\nwidth=64\nheight=64\nchannels=3\n[convolutional]\nbatch_normalize=1\nfilters=8\n"
          "size=3\nstride=4\npad=1\nactivation=leaky\n" +
              pool + "5\n[route]\nlayers=-2\n" + pool + "9\n[route]\nlayers=" + joined + '\n' + more +
              "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n"
              "[yolo]\nmask=0\nanchors=8,8\nclasses=2\nnum=1\n",
          "pyramid.cfg")
          .model;
  std::vector<std::string> kinds;
  for (const LayerDescription& layer : model.layers) kinds.push_back(Model::kind(layer));
  return kinds;
}

using Kinds = std::vector<std::string>;

// A pyramid's channels are those of the largest window first.
TEST(DarknetImport, PoolsThatAreJoinedInAnotherOrderAreNoPyramid) {
  EXPECT_EQ(kinds_of_pyramid("-1,-3,-4"), (Kinds{"conv", "spp", "conv", "yolo"}));
  EXPECT_EQ(kinds_of_pyramid("-3,-1,-4"), (Kinds{"conv", "max_pool", "max_pool", "concat", "conv", "yolo"}));
}

TEST(DarknetImport, APoolThatAnotherLayerReadsStaysOne) {
  const std::string reader =
      "[convolutional]\nbatch_normalize=1\nfilters=8\nactivation=leaky\n[shortcut]\nfrom=-5\n";
  EXPECT_EQ(kinds_of_pyramid("-1,-3,-4", reader),
            (Kinds{"conv", "max_pool", "max_pool", "concat", "conv", "shortcut", "conv", "yolo"}));
}

}  // namespace
}  // namespace brightnet::testing
