#include "train/distributed/evaluation_ranks.h"

#include "train/distributed/agreement.h"

namespace brightnet {

EvaluationRanks evaluation_ranks(Communicator& communicator, bool share_errors) {
  if (communicator.alone()) return {};
  EvaluationRanks ranks{.part = {communicator.rank(), communicator.size()}};
  ranks.all_gather = [&communicator](std::string_view bytes) { return communicator.all_gather(bytes); };
  if (share_errors) {
    ranks.together = [&communicator](const std::function<void()>& work) {
      prepare_together(communicator, work);
    };
  }
  return ranks;
}

}  // namespace brightnet
