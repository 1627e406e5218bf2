// What the passes over the graph decide, on networks of a few layers.
#include "layers/graph.h"

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// The graph of these layers after the passes, with a head behind them.
Graph fused(const std::string& layers, DType type = DType::f32, bool joins = true, int frozen = 0) {
  Model model = model_of("head: {anchors: [[10, 12]]}\nlayers:\n" + layers +
                             "  - conv: {filters: auto, size: 1, batch_norm: false}\n  - yolo: {mask: [0]}\n",
                         1);
  for (int i = 0; i < frozen; ++i) model.layers[static_cast<size_t>(i)].rate = 0;
  Graph graph = make_graph(model, ParameterLayout(model), type);
  fuse(graph, model, joins);
  return graph;
}

const std::string stem = "  - conv: {name: stem, filters: 8}\n";
const std::string pair = stem +
                         "  - conv: {name: left, from: stem, filters: 8}\n"
                         "  - conv: {name: right, from: stem, filters: 16}\n"
                         "  - concat: {from: [left, right]}\n";

TEST(Graph, TwoConvolutionsOfOneInputAreTwinsWhereTheDeviceJoinsThem) {
  const Graph graph = fused(pair);
  EXPECT_EQ(graph[1].second_twin, 2);
  EXPECT_EQ(graph[2].first_twin, 1);
  EXPECT_EQ(graph[0].consumers, (std::vector<int>{1})) << "only the first reads their input";
  EXPECT_EQ(fused(pair, DType::f32, false)[1].second_twin, -1);
  EXPECT_EQ(fused(pair, DType::f32, true, 2)[1].second_twin, -1) << "the first one is frozen";
}

TEST(Graph, OutputsOfBatchNormLieInTheConcatThatReadsThem) {
  const Graph graph = fused(pair);
  EXPECT_EQ(graph[1].concat, 3);
  EXPECT_EQ(graph[2].concat, 3);
  EXPECT_EQ(graph[2].concat_channel, 8);
  EXPECT_EQ(graph[3].first_part, 1);
  EXPECT_EQ(fused(stem + "  - conv: {name: a, filters: 8, precision: fp32}\n  - concat: {from: [stem, a]}\n",
                  DType::bf16)[1]
                .concat,
            -1)
      << "its output is rounded by a pass of its own";
}

TEST(Graph, AShortcutsSumIsWrittenByTheBatchNormBeforeIt) {
  const Graph graph = fused(stem + "  - conv: {name: b, filters: 8}\n  - shortcut: {from: [b, stem]}\n");
  EXPECT_EQ(graph[1].shortcut, 2);
  EXPECT_EQ(graph[2].summand, 1);
  EXPECT_EQ(graph[2].addend, 0);
  EXPECT_EQ(graph[2].gradient_input, 0) << "and its gradient is the other input's";
  EXPECT_EQ(fused(stem + "  - conv: {name: b, filters: 8}\n"
                         "  - shortcut: {from: [b, stem], activation: mish}\n")[2]
                .summand,
            -1)
      << "the activation needs the sum";
}

TEST(Graph, AGradientIsNeededAfterTheFirstLayerThatTrains) {
  const Graph graph = fused(pair, DType::f32, true, 2);
  EXPECT_FALSE(graph[0].needs_gradient);
  EXPECT_FALSE(graph[1].needs_gradient);
  EXPECT_TRUE(graph[2].needs_gradient);
  EXPECT_TRUE(graph[3].needs_gradient);
}

}  // namespace
}  // namespace brightnet::testing
