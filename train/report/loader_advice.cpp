#include "train/report/loader_advice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/host_memory.h"
#include "core/log.h"
#include "core/threads.h"

namespace brightnet {

std::string loader_advice(const LoaderSituation& situation) {
  constexpr double bearable = 0.1;
  if (situation.waited < bearable) return "";
  const std::string begin =
      fmt::format("The loader is the bottleneck: training waited for images during {:.0f} % of this epoch. ",
                  100 * situation.waited);
  const LoaderOptions& loader = situation.loader;
  const double cache = loader.cache() * 1048576.0;
  if (loader.threads() < situation.processors) {
    // Assumes that throughput grows linearly with the workers.
    const int wanted =
        static_cast<int>(std::ceil(std::max(1, loader.threads()) / (1 - std::min(0.9, situation.waited))));
    return begin + fmt::format("Raise loader.workers ({} now, of {} processors): --set loader.workers={}.",
                               loader.threads(), situation.processors,
                               std::clamp(wanted, loader.threads() + 1, situation.processors));
  }
  // What is cached stays cached: the limit is a promise of memory.
  constexpr double safe = 0.5;
  if (cache < situation.decoded_bytes && situation.decoded_bytes > cache + safe * situation.free_bytes) {
    return begin + fmt::format(
                       "All decoded images take {}, more than the memory has: store them smaller, or lower "
                       "augment.mosaic or augment.mixup.",
                       format_bytes(situation.decoded_bytes));
  }
  if (cache < situation.decoded_bytes) {
    return begin +
           fmt::format(
               "Raise loader.cache_mb ({:g} now): all decoded images take {}: --set loader.cache_mb={:.0f}.",
               loader.cache(), format_bytes(situation.decoded_bytes),
               std::ceil(situation.decoded_bytes / 1048576.0));
  }
  return begin +
         "All processors work and all images are cached: lower augment.mosaic or augment.mixup, store the "
         "images smaller, or train where there are more processors.";
}

double decoded_bytes(const Dataset& dataset) {
  double bytes = 0;
  for (const auto& image : dataset.images) bytes += 3.0 * image.width * image.height;
  return bytes;
}

LoaderAdvisor::LoaderAdvisor(const LoaderOptions& loader, const Dataset& train,
                             const Communicator& communicator)
    : loader_(loader), train_(train), communicator_(communicator) {}

void LoaderAdvisor::epoch_ended(const EpochEnded& event) {
  if (advised_) return;
  const EpochSums& sums = event.status.sums;
  const std::string advice =
      loader_advice({.waited = sums.waited / std::max(1e-9, sums.seconds),
                     .loader = loader_,
                     .processors = std::max(1, usable_processors() / communicator_.sharing_cores()),
                     .decoded_bytes = decoded_bytes(train_),
                     .free_bytes = static_cast<double>(free_host_memory()) / communicator_.local_size()});
  advised_ = !advice.empty();
  if (advised_) log::info("{}", advice);
}

}  // namespace brightnet
