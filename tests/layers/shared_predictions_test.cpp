// Predictions that another layer reads besides their head.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

/// Predictions that two layers read, the head as the last of them or as the first.
Model model_of_shared_predictions(bool head_is_last) {
  const std::string head = "  - yolo: {name: early, from: shared, mask: [0, 1]}\n",
                    next = "  - conv: {name: next, from: shared, filters: 8, size: 3, activation: swish}\n";
  return model_of(
      R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {name: shared, filters: 16, size: 1, batch_norm: false, activation: linear}
)" + (head_is_last ? next + head : head + next) +
          "  - conv: {from: next, filters: auto, size: 1, batch_norm: false, activation: linear}\n"
          "  - yolo: {mask: [0, 1]}\n",
      3);
}

TEST(SharedPredictions, WithALaterLayerAreRefusedInTrainingAlone) {
  const auto backend = make_cpu_backend();
  const Model model = model_of_shared_predictions(false);
  BoundNetwork infers(*backend, model, 2, 32, Precision::fp32, Mode::infer);
  give_input(infers);
  EXPECT_NO_THROW(infers.network().infer());
  BoundNetwork trains(*backend, model_of_shared_predictions(true), 2, 32, Precision::fp32, Mode::train);
  give_input(trains);
  EXPECT_TRUE(std::isfinite(trains.loss())) << "the head is the last that reads them";
  try {
    BoundNetwork(*backend, model, 2, 32, Precision::fp32, Mode::train);
    FAIL();
  } catch (const InputError& e) {
    for (const char* part :
         {"a layer after 'early' reads its predictions too", "test.yaml:7", "Put the yolo layer after it"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace brightnet
