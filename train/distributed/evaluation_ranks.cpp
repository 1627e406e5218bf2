#include "train/distributed/evaluation_ranks.h"

namespace brightnet {

EvaluationRanks evaluation_ranks(Communicator& communicator) {
  if (communicator.alone()) return {};
  return {{communicator.rank(), communicator.size()},
          [&communicator](std::string_view bytes) { return communicator.all_gather(bytes); }};
}

}  // namespace brightnet
