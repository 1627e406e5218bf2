#include "bench/kernel_benchmark.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

constexpr KernelWorkload small{.input = 64, .parameters = 330 * 16};

std::vector<KernelBenchmark> measure(Precision precision) {
  const auto backend = make_cpu_backend();
  return measure_kernels(*backend, precision, 2, small);
}

TEST(KernelBenchmark, MeasuresEveryOperationAtEveryShapeOnceAfterACopyOfThatShape) {
  const std::set<std::string> of_layers{"copy",
                                        "batch_norm forward",
                                        "batch_norm apply",
                                        "batch_norm backward",
                                        "bias_gradient",
                                        "activation forward",
                                        "activation backward",
                                        "add",
                                        "multiply",
                                        "multiply +=",
                                        "cast to fp32",
                                        "cast from fp32",
                                        "normalize_image",
                                        "copy_channels",
                                        "copy_channels +=",
                                        "max_pool forward",
                                        "max_pool backward",
                                        "max_pool backward +=",
                                        "upsample forward",
                                        "upsample backward",
                                        "upsample backward +=",
                                        "space_to_depth forward",
                                        "space_to_depth backward",
                                        "space_to_depth backward +="};
  const std::map<std::string, std::set<std::string>> expected{
      {"2x32x32x64", of_layers},
      {"2x8x8x256", of_layers},
      {"2x2x2x2048",
       {"copy", "spatial_pyramid forward", "spatial_pyramid backward", "spatial_pyramid backward +="}},
      {"2x8x8x255", {"copy", "yolo_loss", "yolo_detect", "yolo_detect pre-selection"}},
      {"1x1x1x5280",
       {"copy", "check_step", "sgd_step with EMA", "adamw_step with EMA", "lion_step with EMA"}}};
  std::map<std::string, std::set<std::string>> measured;
  for (const auto& kernel : measure(Precision::bf16)) {
    if (kernel.name == "bias and activation") continue;  // not there where convolutions do them on the way
    auto& of_shape = measured[to_string(kernel.shape)];
    EXPECT_EQ(of_shape.empty(), kernel.name == "copy") << kernel.name;
    EXPECT_TRUE(of_shape.insert(kernel.name).second) << kernel.name;
    EXPECT_GT(kernel.seconds, 0) << kernel.name;
    EXPECT_GT(kernel.copy_ratio, 0) << kernel.name;
  }
  EXPECT_EQ(measured, expected);
}

TEST(KernelBenchmark, CountsWhatEachOperationMustReadAndWrite) {
  std::map<std::string, KernelBenchmark> largest;  // of each name: the first shape
  for (const auto& kernel : measure(Precision::fp32)) largest.insert({kernel.name, kernel});
  const double count = 2 * 32 * 32 * 64, parameters = small.parameters, predictions = 2 * 8 * 8 * 3;
  const std::map<std::string, double> expected{{"copy", 8 * count},
                                               {"batch_norm backward", 20 * count},
                                               {"activation forward", 8 * count},
                                               {"activation backward", 12 * count},
                                               {"add", 12 * count},
                                               {"multiply", 12 * count},
                                               {"multiply +=", 16 * count},
                                               {"normalize_image", 5 * 3 * 2 * 32 * (32 * 64 / 3)},
                                               {"copy_channels", 4 * count},
                                               {"copy_channels +=", 6 * count},
                                               {"max_pool forward", 5.25 * count},
                                               {"max_pool backward", 5.25 * count},
                                               {"max_pool backward +=", 9.25 * count},
                                               {"upsample forward", 5 * count},
                                               {"upsample backward", 5 * count},
                                               {"upsample backward +=", 6 * count},
                                               {"space_to_depth forward", 8 * count},
                                               {"space_to_depth backward", 8 * count},
                                               {"space_to_depth backward +=", 12 * count},
                                               {"spatial_pyramid forward", (20 + 3) * 2 * 2 * 2 * 512},
                                               {"spatial_pyramid backward +=", (24 + 3) * 2 * 2 * 2 * 512},
                                               {"yolo_loss", predictions * (32 + 4 * 85)},
                                               {"yolo_detect", predictions * 32},
                                               {"yolo_detect pre-selection", predictions * 32},
                                               {"check_step", 4 * parameters},
                                               {"sgd_step with EMA", 28 * parameters},
                                               {"adamw_step with EMA", 36 * parameters},
                                               {"lion_step with EMA", 28 * parameters}};
  for (const auto& [name, bytes] : expected) EXPECT_EQ(largest[name].bytes, bytes) << name;
  EXPECT_EQ(largest.count("cast to fp32"), 0u);
  EXPECT_EQ(largest["copy"].copy_ratio, 1);
}

}  // namespace
}  // namespace brightnet
