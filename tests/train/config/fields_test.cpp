// That each key of a run's YAML is read into the field of its name, and what a run has that says nothing.
#include <set>

#include <gtest/gtest.h>

#include "train/config/config.h"

namespace brightnet {
namespace {

/// What this section says: of each of its keys another value than the default, and numbers that no two keys share.
RunConfig read(const std::string& text) {
  RunConfig config;
  read_config(YamlDocument::parse(text, "run.yaml").root(), config);
  std::set<std::string> changed;
  for (const ConfigDifference& difference : compare({}, config)) changed.insert(difference.key);
  const std::string section = text.substr(0, text.find(':')) + '.';
  for (const std::string& key : config_keys()) {
    EXPECT_TRUE(!key.starts_with(section) || changed.contains(key)) << "no value of '" << key << "' is tried";
  }
  return config;
}

constexpr const char* training = R"(train:
  {size: 352, sizes: [320, 384], grow: 0.25, size_every: 3, static_assignment: 0.375, batch: 24, micro_batch: 6,
   memory_fraction: 0.75, recompute: activations, graph: false, deterministic: true, epochs: 7, iterations: 70,
   minutes: 1.5, precision: bf16, seed: 11, sync_bn: true, quantize: true, patience: 9, average: 4, weights: w,
   weights_partial: true, weights_cfg: c, teacher: t, teacher_cfg: tc, teacher_sha256: h, distill: 0.5,
   distill_features: 2.5, freeze: [conv1], pretrained_rate: 0.125, pretrained_warmup: 0.2, fresh: [conv2],
   save_every: 33, save_epochs: 5, log_every: 17, bucket_mb: 12, overlap: false, comm_timeout: 90, restarts: 2})";

TEST(ConfigFields, OfTheLengthAndTheBatchesOfATraining) {
  const TrainOptions train = read(training).train;
  EXPECT_EQ(train.size, 352);
  EXPECT_EQ(train.sizes, (std::vector<InputSize>{320, 384}));
  EXPECT_EQ(train.grow, 0.25f);
  EXPECT_EQ(train.size_every, 3);
  EXPECT_EQ(train.static_assignment, 0.375f);
  EXPECT_EQ(train.batch, 24);
  EXPECT_EQ(train.micro_batch, 6);
  EXPECT_EQ(train.memory_fraction, 0.75f);
  EXPECT_EQ(train.recompute, Recompute::activations);
  EXPECT_FALSE(train.graph);
  EXPECT_TRUE(train.deterministic);
  EXPECT_EQ(train.epochs, 7);
  EXPECT_EQ(train.iterations, 70);
  EXPECT_EQ(train.minutes, 1.5f);
  EXPECT_EQ(train.precision, Precision::bf16);
  EXPECT_EQ(train.seed, 11u);
  EXPECT_TRUE(train.sync_bn);
  EXPECT_TRUE(train.quantize);
  EXPECT_EQ(train.patience, 9);
  EXPECT_EQ(train.average, 4);
  EXPECT_EQ(train.distill, 0.5f);
  EXPECT_EQ(train.distill_features, 2.5f);
  EXPECT_EQ(train.pretrained_rate, 0.125f);
  EXPECT_EQ(train.pretrained_warmup, 0.2f);
}

// Values do not tell flags apart: each is read alone.
TEST(ConfigFields, OfAFlagAreThatFlagAlone) {
  const auto flags = [](const std::string& text) {
    RunConfig config;
    if (!text.empty()) read_config(YamlDocument::parse(text, "run.yaml").root(), config);
    const TrainOptions& train = config.train;
    std::string all;
    for (const bool flag : {train.graph, train.deterministic, train.sync_bn, train.quantize,
                            train.weights_partial, train.overlap, config.optimizer.nesterov})
      all += flag ? '1' : '0';
    return all;
  };
  EXPECT_EQ(flags(""), "1000010");
  EXPECT_EQ(flags("train: {graph: false}"), "0000010");
  EXPECT_EQ(flags("train: {deterministic: true}"), "1100010");
  EXPECT_EQ(flags("train: {sync_bn: true}"), "1010010");
  EXPECT_EQ(flags("train: {quantize: true}"), "1001010");
  EXPECT_EQ(flags("train: {weights_partial: true}"), "1000110");
  EXPECT_EQ(flags("train: {overlap: false}"), "1000000");
  EXPECT_EQ(flags("optimizer: {nesterov: true}"), "1000011");
}

TEST(ConfigFields, OfTheFilesAndTheSecondsOfATraining) {
  const TrainOptions train = read(training).train;
  EXPECT_EQ(train.weights, "w");
  EXPECT_TRUE(train.weights_partial);
  EXPECT_EQ(train.weights_cfg, "c");
  EXPECT_EQ(train.teacher, "t");
  EXPECT_EQ(train.teacher_cfg, "tc");
  EXPECT_EQ(train.teacher_sha256, "h");
  EXPECT_EQ(train.freeze.value(), std::vector<std::string>{"conv1"});
  EXPECT_EQ(train.fresh, std::vector<std::string>{"conv2"});
  EXPECT_EQ(train.save_every, 33);
  EXPECT_EQ(train.save_epochs, 5);
  EXPECT_EQ(train.log_every, 17);
  EXPECT_EQ(train.bucket_mb, 12);
  EXPECT_EQ(train.comm_timeout, 90);
  EXPECT_EQ(train.restarts, 2);
}

TEST(ConfigFields, OfTheOptimizerItsScheduleAndItsAverage) {
  const OptimizerOptions optimizer = read(R"(optimizer:
  {kind: sgd, rate: 0.03, momentum: 0.8, nesterov: true, decay: 0.07, decay_kind: decoupled, beta1: 0.85, beta2: 0.95,
   epsilon: 0.001, clip: 3, max_skips: 13, loss_scale: 256, loss_scale_growth: 77})")
                                         .optimizer;
  EXPECT_EQ(optimizer.kind, OptimizerKind::sgd);
  EXPECT_EQ(optimizer.rate, 0.03f);
  EXPECT_EQ(optimizer.momentum, 0.8f);
  EXPECT_EQ(optimizer.decay, 0.07f);
  EXPECT_EQ(optimizer.decay_kind, DecayKind::decoupled);
  EXPECT_EQ(optimizer.beta1, 0.85f);
  EXPECT_EQ(optimizer.beta2, 0.95f);
  EXPECT_EQ(optimizer.epsilon, 0.001f);
  EXPECT_EQ(optimizer.clip, 3);
  EXPECT_EQ(optimizer.max_skips, 13);
  EXPECT_EQ(optimizer.loss_scale, 256);
  EXPECT_EQ(optimizer.loss_scale_growth, 77);
  const ScheduleOptions schedule = read(R"(schedule:
  {kind: linear, unit: iterations, warmup: 5, power: 2, final: 0.2, steps: [3, 4], scales: [0.5, 0.25]})")
                                       .schedule;
  EXPECT_EQ(schedule.kind, ScheduleKind::linear);
  EXPECT_EQ(schedule.unit, ScheduleUnit::iterations);
  EXPECT_EQ(schedule.warmup, 5);
  EXPECT_EQ(schedule.power, 2);
  EXPECT_EQ(schedule.final, 0.2f);
  EXPECT_EQ(schedule.steps, (std::vector<float>{3, 4}));
  EXPECT_EQ(schedule.scales, (std::vector<float>{0.5f, 0.25f}));
  const EmaOptions ema = read("ema: {decay: 0.75, ramp: 6}").ema;
  EXPECT_EQ(ema.decay, 0.75f);
  EXPECT_EQ(ema.ramp, 6);
}

TEST(ConfigFields, OfItsEvaluationsItsLoaderAndItsInput) {
  const EvaluateOptions evaluate = read(R"(evaluate:
  {every: 3, start: 4, batch: 5, size: 96, best_by: AP50, smooth: 6,
   nms: {kind: diou, iou: 0.55, beta: 0.7, score: 0.02, max_detections: 44, class_agnostic: true}})")
                                       .evaluate;
  EXPECT_EQ(evaluate.every, 3);
  EXPECT_EQ(evaluate.start, 4);
  EXPECT_EQ(evaluate.batch, 5);
  EXPECT_EQ(evaluate.size, 96);
  EXPECT_EQ(evaluate.best_by, BestBy::AP50);
  EXPECT_EQ(evaluate.smooth, 6);
  EXPECT_EQ(evaluate.nms.kind, NmsMethod::diou);
  EXPECT_EQ(evaluate.nms.iou, 0.55f);
  EXPECT_EQ(evaluate.nms.beta, 0.7f);
  EXPECT_EQ(evaluate.nms.score, 0.02f);
  EXPECT_EQ(evaluate.nms.max_detections, 44);
  EXPECT_TRUE(evaluate.nms.class_agnostic);
  const LoaderOptions loader =
      read("loader: {workers: 2, prefetch: 5, cache_mb: 64, paint: cpu, decode: gpu, shuffle_buffer: 99}")
          .loader;
  EXPECT_EQ(loader.workers, 2);
  EXPECT_EQ(loader.prefetch, 5);
  EXPECT_EQ(loader.cache_mb, 64);
  EXPECT_EQ(loader.paint, LoaderDevice::cpu);
  EXPECT_EQ(loader.decode, LoaderDevice::gpu);
  EXPECT_EQ(loader.shuffle_buffer, 99);
  EXPECT_EQ(read("input: {channels: 1}").input.channels, 1);
}

TEST(ConfigFields, OfItsAugmentation) {
  const AugmentOptions augment = read(R"(augment:
  {mosaic: 0.11, mixup: 0.12, flip: 0.13, jitter: 0.14, resize: 1.15, hue: 0.016, saturation: 1.17, exposure: 1.18,
   letterbox: true, min_visible: 0.19, mosaic_off: 0.21, vertical_flip: 0.22, quarter_turns: 0.23, rotate: 24,
   scale: 0.25, translate: 0.26, shear: 27, perspective: 0.00028, warped_boxes: corners, blur: 0.29,
   blur_sigma: [1, 2], blur_background: 0.31, blur_background_sigma: [3, 4], noise: 0.32, noise_sigma: [5, 6],
   grey: 0.33, cutout: 0.34, cutout_count: 35, cutout_size: [0.36, 0.37], cutout_covered: 0.38, cutmix: 0.39,
   cutmix_size: [0.41, 0.42], copy_paste: 0.43, copy_paste_count: 44, copy_paste_overlap: 0.45})")
                                     .augment;
  const std::pair<float, double> numbers[] = {{augment.mosaic, 0.11},
                                              {augment.mixup, 0.12},
                                              {augment.flip, 0.13},
                                              {augment.jitter, 0.14},
                                              {augment.resize, 1.15},
                                              {augment.hue, 0.016},
                                              {augment.saturation, 1.17},
                                              {augment.exposure, 1.18},
                                              {augment.min_visible, 0.19},
                                              {augment.mosaic_off, 0.21},
                                              {augment.vertical_flip, 0.22},
                                              {augment.quarter_turns, 0.23},
                                              {augment.rotate, 24},
                                              {augment.scale, 0.25},
                                              {augment.translate, 0.26},
                                              {augment.shear, 27},
                                              {augment.perspective, 28e-5},
                                              {augment.blur, 0.29},
                                              {augment.blur_sigma.low, 1},
                                              {augment.blur_sigma.high, 2},
                                              {augment.blur_background, 0.31},
                                              {augment.noise, 0.32},
                                              {augment.noise_sigma.low, 5},
                                              {augment.noise_sigma.high, 6},
                                              {augment.grey, 0.33},
                                              {augment.cutout, 0.34},
                                              {augment.cutout_size.low, 0.36},
                                              {augment.cutout_size.high, .37},
                                              {augment.cutout_covered, .38},
                                              {augment.cutmix, 0.39},
                                              {augment.cutmix_size.low, 0.41},
                                              {augment.copy_paste, 0.43},
                                              {augment.copy_paste_overlap, 0.45}};
  for (const auto& [value, expected] : numbers) EXPECT_FLOAT_EQ(value, static_cast<float>(expected));
  EXPECT_EQ(augment.blur_background_sigma.low, 3);
  EXPECT_EQ(augment.blur_background_sigma.high, 4);
  EXPECT_EQ(augment.cutmix_size.high, 0.42f);
  EXPECT_TRUE(augment.letterbox);
  EXPECT_EQ(augment.warped_boxes, WarpedBoxes::corners);
  EXPECT_EQ(augment.cutout_count, 35);
  EXPECT_EQ(augment.copy_paste_count, 44);
}

/// What `brightnet config` prints of this section where nothing is said.
std::string unsaid(const std::string& section) {
  const std::string text = print_config(RunConfig(), false);
  const size_t begin = text.find('\n' + section + ":\n") + section.size() + 3;
  size_t end = begin;
  while (end < text.size() && text[end] == ' ') end = text.find('\n', end) + 1;
  return text.substr(begin, end - begin);
}

// As docs/defaults.md, docs/choosing.md, docs/augmentation.md and docs/resume.md name them.
TEST(ConfigDefaults, OfATraining) {
  EXPECT_EQ(
      unsaid("train"),
      "  size: 416\n  sizes: []\n  grow: auto\n  size_every: 10\n  static_assignment: auto\n  batch: auto\n"
      "  micro_batch: auto\n  memory_fraction: 0\n  recompute: none\n  graph: true\n"
      "  deterministic: false\n  epochs: auto\n  iterations: 0\n  minutes: 0\n  precision: auto\n"
      "  seed: 0\n  sync_bn: false\n  quantize: false\n  patience: auto\n  average: 3\n"
      "  weights: \"\"\n  weights_partial: false\n  weights_cfg: \"\"\n  teacher: \"\"\n"
      "  teacher_cfg: \"\"\n  teacher_sha256: \"\"\n  distill: 1\n  distill_features: 1\n"
      "  freeze: auto\n  pretrained_rate: 1\n  pretrained_warmup: 0\n  fresh: []\n  save_every: 30\n"
      "  save_epochs: 0\n  log_every: 10\n  bucket_mb: 8\n  overlap: true\n  comm_timeout: 120\n"
      "  restarts: 0\n");
}

TEST(ConfigDefaults, OfTheOptimizerItsScheduleAndItsAverage) {
  EXPECT_EQ(unsaid("optimizer"),
            "  kind: adamw\n  rate: auto\n  momentum: 0.9\n  nesterov: false\n  decay: 0.05\n"
            "  decay_kind: l2\n  beta1: 0.9\n  beta2: 0.999\n  epsilon: 1e-08\n  clip: 10\n  max_skips: 20\n"
            "  loss_scale: 0\n  loss_scale_growth: 2000\n");
  EXPECT_EQ(unsaid("schedule"),
            "  kind: cosine\n  unit: epochs\n  warmup: auto\n  power: auto\n  final: 0.01\n  steps: []\n"
            "  scales: []\n");
  EXPECT_EQ(unsaid("ema"), "  decay: auto\n  ramp: auto\n");
  const OptimizerOptions sgd = OptimizerOptions::of(OptimizerKind::sgd);
  EXPECT_EQ(sgd.rate, 0.01f);
  EXPECT_EQ(sgd.decay, 0.0005f);
  EXPECT_EQ(sgd.momentum, 0.9f);
  EXPECT_EQ(sgd.decay_kind, DecayKind::l2);
}

TEST(ConfigDefaults, OfTheAugmentationTheLoaderAndTheEvaluations) {
  EXPECT_EQ(unsaid("augment"),
            "  mosaic: 0.5\n  mixup: 0\n  flip: 0.5\n  jitter: 0.2\n  resize: 1\n  hue: 0.015\n"
            "  saturation: 1.3\n  exposure: 1.3\n  letterbox: false\n  min_visible: 0.2\n  mosaic_off: auto\n"
            "  vertical_flip: 0\n  quarter_turns: 0\n  rotate: 0\n  scale: 0\n  translate: 0\n  shear: 0\n"
            "  perspective: 0\n  warped_boxes: ellipse\n  blur: 0\n  blur_sigma: [0.5, 1.5]\n"
            "  blur_background: 0\n  blur_background_sigma: [2, 3]\n  noise: 0\n  noise_sigma: [2, 10]\n"
            "  grey: 0\n  cutout: 0\n  cutout_count: 4\n  cutout_size: [0.05, 0.2]\n  cutout_covered: 0.6\n"
            "  cutmix: 0\n  cutmix_size: [0.3, 0.6]\n  copy_paste: 0\n  copy_paste_count: 3\n"
            "  copy_paste_overlap: 0.1\n");
  EXPECT_EQ(unsaid("loader"),
            "  workers: auto\n  prefetch: 3\n  cache_mb: auto\n  paint: auto\n  decode: cpu\n"
            "  shuffle_buffer: 4096\n");
  EXPECT_EQ(unsaid("evaluate"),
            "  every: auto\n  start: 1\n  batch: 0\n  size: 0\n  best_by: AP\n  smooth: 3\n  nms:\n"
            "    kind: model\n    iou: 0.45\n    beta: 0.6\n    score: 0.001\n    max_detections: 300\n"
            "    class_agnostic: false\n");
}

TEST(ConfigFields, OfTheScheduleAreDescribedWithTheirChoices) {
  size_t found = 0;
  for (const ConfigKey& key : describe_config_keys()) {
    if (key.name != "schedule.kind" && key.name != "schedule.unit") continue;
    ++found;
    EXPECT_GE(key.values.size(), 2u);
    for (const std::string& value : key.values)
      EXPECT_NE(key.about.find(value), std::string::npos) << key.name << ": " << value;
  }
  EXPECT_EQ(found, 2u);
}

}  // namespace
}  // namespace brightnet
