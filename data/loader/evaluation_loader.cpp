#include "data/loader/evaluation_loader.h"

#include <algorithm>

#include "core/error.h"
#include "data/image/darknet_image.h"
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
  Implementation(const Dataset& dataset, std::vector<int> order, int batch, const InputFit& fit, int workers)
      : dataset_(dataset),
        order_(std::move(order)),
        batch_(batch),
        fit_(fit),
        cache_(dataset, 0, cv::Size(fit.size, fit.size)),
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

  size_t image_values() const { return 3 * static_cast<size_t>(fit_.size) * static_cast<size_t>(fit_.size); }

  int open(uint64_t number, Slot& slot) {
    const size_t begin = number * static_cast<size_t>(batch_);
    const size_t end = std::min(order_.size(), begin + static_cast<size_t>(batch_));
    const size_t values = image_values() * static_cast<size_t>(batch_);
    if (fit_.resize == Resize::darknet) {
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
    const size_t first = static_cast<size_t>(item) * image_values();
    if (fit_.resize == Resize::darknet) {
      fill_darknet_input(darknet_image(record), fit_.size, fit_.letterbox, slot.values.data() + first);
      return;
    }
    const int size = fit_.size;
    const PixelBlock out{slot.pixels.data() + first, 3 * static_cast<size_t>(size), size, size};
    painters_[static_cast<size_t>(worker)](image, place(record.width, record.height, fit_),
                                           {0, 0, size, size}, {}, out);
  }

  cv::Mat darknet_image(const ImageRecord& record) {
    if (!record.tile) return read_darknet_image(record.file);
    const ImageTile& tile = record.tile;
    const cv::Mat picture = pictures_.get(record.file, [&] { return read_darknet_image(record.file); });
    return picture(cv::Rect(tile.x, tile.y, tile.width, tile.height)).clone();
  }

  const Dataset& dataset_;
  const std::vector<int> order_;
  const int batch_;
  const InputFit fit_;
  ImageCache cache_;
  std::vector<Painter> painters_;  // one a worker
  std::vector<Slot> slots_;
  RecentPictures pictures_;  // as darknet decodes them
  std::unique_ptr<BatchQueue> queue_;  // last: its threads end before what they use
};

EvaluationLoader::EvaluationLoader(const Dataset& dataset, std::vector<int> order, int batch,
                                   const InputFit& fit, int workers) {
  BRIGHTNET_CHECK(batch > 0 && fit.size > 0 && workers >= 0, "no such batch, size or number of workers");
  for (const int image : order)
    BRIGHTNET_CHECK(image >= 0 && static_cast<size_t>(image) < dataset.images.size(), "no such image");
  implementation_ = std::make_unique<Implementation>(dataset, std::move(order), batch, fit, workers);
}

EvaluationLoader::~EvaluationLoader() = default;

const EvaluationLoader::Images* EvaluationLoader::next() {
  return implementation_->next();
}

}  // namespace brightnet
