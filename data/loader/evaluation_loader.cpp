#include "data/loader/evaluation_loader.h"

#include <algorithm>

#include "core/error.h"
#include "data/image/darknet_image.h"
#include "data/image/grey.h"
#include "data/loader/batch_queue.h"
#include "data/loader/image_cache.h"
#include "data/loader/paint.h"
#include "data/loader/recent_pictures.h"

namespace brightnet {
namespace {

constexpr int batches_ahead = 2;

}  // namespace

class EvaluationLoader::Implementation {
 public:
  Implementation(const Dataset& dataset, std::vector<int> order, int batch, const InputFit& fit, int workers,
                 std::vector<InputSize> sizes)
      : dataset_(dataset),
        order_(std::move(order)),
        sizes_(std::move(sizes)),
        batch_(batch),
        fit_(fit),
        cache_(dataset, 0, cv::Size(fit.size.width, fit.size.height), fit.channels),
        painters_(static_cast<size_t>(std::max(1, workers)), Painter(dataset, cache_)),
        slots_(workers == 0 ? 1 : batches_ahead + 1),
        pictures_(std::max(1, workers) + 1) {
    cache_.share_pictures(std::max(1, workers) + 1);
    BatchQueue::Work work;
    const size_t step = static_cast<size_t>(batch);
    work.batches = (order_.size() + step - 1) / step;
    work.open = [this](uint64_t number, int slot) { return open(number, slots_[static_cast<size_t>(slot)]); };
    work.make = [this](int slot, int item, int worker) {
      make(slots_[static_cast<size_t>(slot)], item, worker);
    };
    queue_ = std::make_unique<BatchQueue>(std::move(work), static_cast<int>(slots_.size()), workers);
  }

  const Images* next() {
    const int slot = queue_->next();
    return slot < 0 ? nullptr : &slots_[static_cast<size_t>(slot)].images;
  }

 private:
  struct Slot {
    std::vector<uint8_t> pixels;
    std::vector<float> values;
    Images images;
  };

  size_t image_values(const InputSize& size) const {
    return static_cast<size_t>(fit_.channels) * static_cast<size_t>(size.pixels());
  }

  int open(uint64_t number, Slot& slot) {
    const size_t begin = number * static_cast<size_t>(batch_);
    const size_t end = std::min(order_.size(), begin + static_cast<size_t>(batch_));
    slot.images.size = sizes_.empty() ? fit_.size : sizes_[number];
    const size_t values = image_values(slot.images.size) * static_cast<size_t>(batch_);
    if (as_darknet(fit_.resize)) {
      slot.values.resize(values);
      slot.images.values = slot.values.data();
    } else {
      slot.pixels.resize(values);
      slot.images.pixels = slot.pixels.data();
    }
    slot.images.indices.assign(order_.begin() + static_cast<ptrdiff_t>(begin),
                               order_.begin() + static_cast<ptrdiff_t>(end));
    slot.images.count = static_cast<int>(end - begin);
    return slot.images.count;
  }

  void make(Slot& slot, int item, int worker) {
    const int image = slot.images.indices[static_cast<size_t>(item)];
    const ImageRecord& record = dataset_.images[static_cast<size_t>(image)];
    const size_t first = static_cast<size_t>(item) * image_values(slot.images.size);
    InputFit fit = fit_;
    fit.size = slot.images.size;
    if (as_darknet(fit_.resize)) {
      fill_darknet_input(darknet_image(record), fit.size, fit.letterbox, slot.values.data() + first);
      return;
    }
    const InputSize& size = fit.size;
    const PixelBlock out = dense_block(slot.pixels.data() + first, size.width, size.height, fit_.channels);
    painters_[static_cast<size_t>(worker)](image, place(record.width, record.height, fit),
                                           {0, 0, size.width, size.height}, {}, out);
  }

  cv::Mat darknet_image(const ImageRecord& record) {
    const auto read = [&] { return read_darknet_image(record.file, fit_.channels); };
    if (!record.tile) return read();
    const ImageTile& tile = record.tile;
    const cv::Mat picture = pictures_.get(record.file, read);
    return picture(cv::Rect(tile.x, tile.y, tile.width, tile.height)).clone();
  }

  const Dataset& dataset_;
  const std::vector<int> order_;
  const std::vector<InputSize> sizes_;  // the size of each batch; empty: all fit_.size
  const int batch_;
  const InputFit fit_;
  ImageCache cache_;
  std::vector<Painter> painters_;  // one for each worker
  std::vector<Slot> slots_;
  RecentPictures pictures_;            // decoded as darknet does
  std::unique_ptr<BatchQueue> queue_;  // last: its threads end before what they use
};

EvaluationLoader::EvaluationLoader(const Dataset& dataset, std::vector<int> order, int batch,
                                   const InputFit& fit, int workers, std::vector<InputSize> sizes) {
  BRIGHTNET_CHECK(batch > 0 && fit.size.given() && workers >= 0, "no such batch, size or number of workers");
  for (const int image : order)
    BRIGHTNET_CHECK(image >= 0 && static_cast<size_t>(image) < dataset.images.size(), "no such image");
  const size_t batches = (order.size() + static_cast<size_t>(batch) - 1) / static_cast<size_t>(batch);
  BRIGHTNET_CHECK(sizes.empty() || sizes.size() == batches, "a size for each batch, or none");
  implementation_ =
      std::make_unique<Implementation>(dataset, std::move(order), batch, fit, workers, std::move(sizes));
}

EvaluationLoader::~EvaluationLoader() = default;

const EvaluationLoader::Images* EvaluationLoader::next() {
  return implementation_->next();
}

}  // namespace brightnet
