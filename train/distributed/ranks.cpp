#include "brightnet/ranks.h"

#include "train/distributed/agreement.h"
#include "train/distributed/launched_rank.h"

namespace brightnet {

bool is_launched_rank() {
  return launched_rank().is_rank;
}

Ranks::Ranks(int expected) : communicator_(open_communicator()), expected_(expected) {}
Ranks::~Ranks() = default;

bool Ranks::alone() const {
  return communicator_->alone();
}
bool Ranks::leads() const {
  return communicator_->leads();
}
int Ranks::run(const std::function<int()>& work) {
  return run_as_rank(*communicator_, work);
}
void Ranks::prepare(const std::function<void()>& prepare) {
  prepare_together(*communicator_, prepare);
}

}  // namespace brightnet
