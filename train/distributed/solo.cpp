#include "train/distributed/solo.h"

#include "core/error.h"

namespace brightnet {

void SoloCommunicator::fail(const std::string& message, int exit_code) {
  throw Error(static_cast<ExitCode>(exit_code), message, "", "");
}

Communicator& Communicator::solo() {
  static SoloCommunicator communicator;
  return communicator;
}

}  // namespace brightnet
