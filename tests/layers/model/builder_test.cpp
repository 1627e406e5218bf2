// Models whose names or aliases would do harm later.
#include "layers/model/builder.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// The error of a model with these blocks and layers before its head.
std::string error_of_layers(const std::string& layers) {
  try {
    model_of(
        "head: {anchors: [[10, 10]]}\nblocks:\n  blk: {layers: [{conv: {name: c, filters: 8}}]}\nlayers:\n" +
            layers + "  - conv: {filters: auto, batch_norm: false}\n  - yolo: {mask: [0]}\n",
        2);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// They would share the parameters of the first, until the first save fails.
TEST(ModelBuilder, RefusesTwoLayersWithOneFullName) {
  EXPECT_EQ(error_of_layers("  - blk: {name: a}\n  - blk: {name: b}\n"), "");
  for (const auto& [layers, name] :
       {std::pair{"  - conv: {name: a.c, filters: 8}\n  - blk: {name: a}\n", "'a.c'"},
        {"  - blk: {name: a, repeat: 2}\n  - blk: {name: a.1}\n", "'a.1.c'"},
        {"  - blk: {name: a.1}\n  - blk: {name: a, repeat: 2}\n", "'a.1.c'"}}) {
    const std::string said = error_of_layers(layers);
    EXPECT_NE(said.find("two layers named " + std::string(name)), std::string::npos) << layers << said;
  }
}

TEST(ModelBuilder, RefusesALayerOfAliasesOfAliases) {
  std::string lists = "  - conv: {filters: 8, from: [&a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]";
  for (char name = 'a'; name < 'h'; ++name) {
    lists += std::string(", &") + static_cast<char>(name + 1) + " [";
    for (int i = 0; i < 10; ++i) lists += (i ? ", *" : "*") + std::string(1, name);
    lists += "]";
  }
  const std::string said = error_of_layers(lists + "]}\n");
  EXPECT_NE(said.find("a layer has more than 100000 values"), std::string::npos) << said;
}

}  // namespace
}  // namespace brightnet::testing
