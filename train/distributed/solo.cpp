#include "train/distributed/solo.h"

#include <cstdlib>

#include "core/log.h"

namespace brightnet {

void SoloCommunicator::fail(const std::string& message, int exit_code) {
  log::error("{}", message);
  std::exit(exit_code);
}

Communicator& Communicator::solo() {
  static SoloCommunicator communicator;
  return communicator;
}

}  // namespace brightnet
