#include "brightnet/dataset.h"

#include <utility>

#include "core/enum_names.h"
#include "core/error.h"
#include "data/loader/loader.h"
#include "train/setup/data_sets.h"
#include "train/setup/heeded_keys.h"
#include "train/setup/named_run.h"

namespace brightnet {
namespace {

/// There is neither a network nor a device, and all batches have one size.
const HeededKeys& keys_of_batches() {
  constexpr const char* size = "Give the size beside the settings.";
  static const HeededKeys keys{.by = "batches for another trainer",
                               .keys = {"data.", "augment.", "input.", "loader.workers", "loader.prefetch",
                                        "loader.cache_mb", "loader.shuffle_buffer", "train.seed"},
                               .remedies = {{"train.size", size},
                                            {"train.batch", "Give the batch beside the settings."},
                                            {"train.epochs", "Give the epochs beside the settings."}}};
  return keys;
}

}  // namespace

std::vector<std::string> split_names() {
  return enum_names<Split>();
}

LabeledImages read_images(const std::string& data, const std::string& split) {
  const Split wanted = parse_split(split);
  Dataset dataset = read_split(NamedRun(configuration_at(data, {})).load(), wanted, false);
  LabeledImages read{.classes = std::move(dataset.classes)};
  for (ImageRecord& record : dataset.images) {
    LabeledImage image{std::move(record.file), record.height, record.width, {}};
    for (const Annotation& a : record.annotations)
      image.boxes.push_back({a.x1, a.y1, a.x2, a.y2, a.class_id, a.crowd, a.difficult});
    read.images.push_back(std::move(image));
  }
  for (const DataProblem& problem : dataset.problems)
    read.problems.push_back(problem.where + ": " + problem.detail);
  return read;
}

class TrainingBatches::Implementation {
 public:
  explicit Implementation(const TrainingBatchOptions& options) {
    const RunConfig config = NamedRun(configuration_at(options.data, options.settings)).load();
    keys_of_batches().refuse_others(options.settings, "settings");
    dataset_ = training_images(config, read_run_data(config, false).training, false);
    Loader::Setup setup;
    setup.dataset = &dataset_;
    setup.augment = config.augment;
    setup.loader = config.loader;
    setup.batch = options.batch;
    setup.sizes = {InputSize(options.height, options.width)};
    setup.channels = config.input.channels > 0 ? config.input.channels : 3;
    setup.seed = config.train.seed;
    setup.epochs = options.epochs;
    loader_ = std::make_unique<Loader>(setup);
  }

  const TrainingBatch* next() {
    may_be_kept_ = false;
    const Batch* batch = loader_->next();
    may_be_kept_ = batch != nullptr;
    if (!batch) return nullptr;
    batch_ = {.pixels = batch->pixels,
              .count = batch->count,
              .height = batch->height,
              .width = batch->width,
              .channels = batch->channels,
              .truths = {},
              .epoch = batch->epoch,
              .step = batch->step};
    for (int image = 0; image < batch->count; ++image) {
      for (const auto& [box, class_id] : batch->truths[image])
        batch_.truths.push_back({image, class_id, box.x, box.y, box.w, box.h});
    }
    return &batch_;
  }
  std::shared_ptr<uint8_t> keep_pixels() {
    if (!std::exchange(may_be_kept_, false)) {
      throw InputError("there is no batch whose pixels are not kept yet", "TrainingBatches::keep_pixels()",
                       "Call it once after each batch that next() gives.");
    }
    return loader_->keep_pixels();
  }
  const std::vector<std::string>& classes() const { return dataset_.classes; }
  uint64_t steps_per_epoch() const { return loader_->steps_per_epoch(); }

 private:
  Dataset dataset_;
  std::unique_ptr<Loader> loader_;
  TrainingBatch batch_;
  bool may_be_kept_ = false;  ///< there is a batch, and its pixels were not kept
};

TrainingBatches::TrainingBatches(const TrainingBatchOptions& options) {
  if (options.batch < 1 || options.height < 1 || options.width < 1 || options.epochs < 1)
    throw InputError("batch, height, width and epochs must be at least 1", "TrainingBatchOptions");
  implementation_ = std::make_unique<Implementation>(options);
}

TrainingBatches::~TrainingBatches() = default;
TrainingBatches::TrainingBatches(TrainingBatches&&) noexcept = default;
TrainingBatches& TrainingBatches::operator=(TrainingBatches&&) noexcept = default;

const TrainingBatch* TrainingBatches::next() {
  return implementation_->next();
}
std::shared_ptr<uint8_t> TrainingBatches::keep_pixels() {
  return implementation_->keep_pixels();
}
const std::vector<std::string>& TrainingBatches::classes() const {
  return implementation_->classes();
}
uint64_t TrainingBatches::steps_per_epoch() const {
  return implementation_->steps_per_epoch();
}

}  // namespace brightnet
