// What the gradient and the loss of a step are: means over the images of its batch, of this step alone.
#include <gtest/gtest.h>

#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

/// A run on a single image, again and again, with weights that do not move. Without batch-norm, whose statistics
/// belong to a micro-batch.
struct OneImage {
  OneImage() {
    std::string model = small_model;
    for (size_t at = 0; (at = model.find("size: 3, ", at)) != std::string::npos; at += 28)
      model.insert(at, "batch_norm: false, ");
    write_atomically(run.folder() / "model.yaml", model);
  }
  struct Seen {
    std::vector<double> norms;
    MetricsTable table;
    double at(size_t epoch, const char* column) const {
      return table.rows.at(epoch)[static_cast<size_t>(table.column(column))];
    }
  };
  /// Of three epochs of a step each.
  Seen train(std::vector<std::string> options) const {
    options.insert(options.end(),
                   {"train.epochs=3", "optimizer.rate=1e-20", "optimizer.decay=0", "optimizer.clip=0",
                    "augment.mosaic=0", "augment.flip=0", "augment.jitter=0", "augment.hue=0",
                    "augment.saturation=1", "augment.exposure=1", "train.average=0"});
    SeenWork seen;
    SmallTraining training(run.load(options), run.folder() / "out", false,
                           std::make_unique<WatchedBackend>(seen));
    training.watched_by = WatchedBy::all;
    EXPECT_EQ(training.make().run(), TrainingEnd::finished);
    const Seen all{seen.norms, read_metrics_csv(training.folder.metrics())};
    std::filesystem::remove_all(training.folder.path());
    return all;
  }

  SmallRun run{1, 1};
};

TEST(TrainerGradient, IsTheMeanOverTheBatchInEachStepAnew) {
  const OneImage image;
  const OneImage::Seen alone = image.train({"train.batch=1", "train.micro_batch=1"});
  ASSERT_EQ(alone.norms.size(), 3u);
  ASSERT_GT(alone.norms[0], 0);
  for (const auto& options : {std::vector<std::string>{"train.batch=1", "train.micro_batch=1"},
                              {"train.batch=4", "train.micro_batch=4"},
                              {"train.batch=4", "train.micro_batch=1"}}) {
    SCOPED_TRACE(options[0] + ", " + options[1]);
    const OneImage::Seen seen = image.train(options);
    ASSERT_EQ(seen.norms.size(), 3u);
    for (size_t step = 0; step < 3; ++step) {
      EXPECT_NEAR(seen.norms[step], alone.norms[0], 1e-4 * alone.norms[0]) << "step " << step;
      for (const char* part : {"loss", "box_loss", "objectness_loss", "class_loss"})
        EXPECT_NEAR(seen.at(step, part), alone.at(0, part), 1e-4 * alone.at(0, part)) << part;
    }
  }
}

TEST(TrainerGradient, WeighsTheClassesAsTheRunSays) {
  const OneImage image;
  const auto seen = [&](const char* weights) {
    return image.train(
        {"train.batch=1", "train.micro_batch=1", std::string("head.class_weights=") + weights});
  };
  const OneImage::Seen off = seen("off"), two = seen("[2, 2]"), three = seen("[3, 3]");
  const double of_objects = two.at(0, "class_loss") - off.at(0, "class_loss");
  EXPECT_GT(of_objects, 0.1 * off.at(0, "class_loss"));
  EXPECT_NEAR(three.at(0, "class_loss") - off.at(0, "class_loss"), 2 * of_objects, 1e-4 * of_objects);
  EXPECT_NE(two.norms[0], off.norms[0]);
  for (size_t epoch = 1; epoch < 3; ++epoch) {
    EXPECT_NEAR(two.at(epoch, "class_loss"), two.at(0, "class_loss"), 1e-5)
        << "also after an evaluation, which uses the same memory";
  }
  EXPECT_GT(two.at(0, "val_class"), off.at(0, "val_class")) << "the loss of validation has them as well";
}

}  // namespace
}  // namespace brightnet::testing
