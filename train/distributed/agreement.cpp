#include "train/distributed/agreement.h"

#include <algorithm>
#include <exception>

#include <unistd.h>

#include "core/hash.h"
#include "core/log.h"

namespace brightnet {
namespace {

/// A failed rank's report: its exit code (one digit) and host on one line, then its message.
std::string report(ExitCode code, const std::string& message) {
  return std::to_string(static_cast<int>(code)) + host_name() + '\n' + message;
}

std::string attempt(const std::function<void()>& prepare) {
  try {
    prepare();
    return "0";
  } catch (const Error& e) {
    return report(e.code(), e.what());
  } catch (const std::exception& e) {
    return report(code_of_internal(e), describe_internal(e));
  }
}

}  // namespace

std::string host_name() {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

void prepare_together(Communicator& communicator, const std::function<void()>& prepare) {
  if (communicator.alone()) return prepare();
  const std::vector<std::string> reports = communicator.all_gather(attempt(prepare));
  const auto failed = std::find_if(reports.begin(), reports.end(), [](const auto& r) { return r != "0"; });
  if (failed == reports.end()) return;
  const auto message = [](const std::string& text) {
    return text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  };
  const bool on_all = std::all_of(reports.begin(), reports.end(), [&](const auto& r) {
    return r[0] == (*failed)[0] && message(r) == message(*failed);
  });
  std::string text = message(*failed);
  if (!on_all) {
    const std::string host = failed->substr(1, failed->find('\n') - 1);
    text = "rank " + std::to_string(failed - reports.begin()) + " (on host " + host + "): " + text;
  }
  throw SharedError(static_cast<ExitCode>((*failed)[0] - '0'), text);
}

void require_same(Communicator& communicator, const std::string& what, std::string_view text) {
  if (communicator.alone()) return;
  const auto all = communicator.all_gather(std::to_string(hash_text(text)) + ' ' + host_name());
  const auto hash = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (hash(all[rank]) == hash(all[0])) continue;
    throw SharedError(ExitCode::input, "rank " + std::to_string(rank) + " (on host " +
                                           all[rank].substr(all[rank].find(' ') + 1) + ") has another " +
                                           what + " than rank 0. Give every machine the same files.");
  }
}

int run_as_rank(Communicator& communicator, const std::function<int()>& work) {
  if (communicator.alone()) return work();
  log_as_rank(communicator.rank());
  std::string message;
  ExitCode code = ExitCode::internal;
  try {
    return work();
  } catch (const SharedError& e) {
    if (communicator.leads()) log::error("{}", e.what());
    return static_cast<int>(e.code());
  } catch (const Error& e) {
    message = e.what();
    code = e.code();
  } catch (const std::exception& e) {
    message = describe_internal(e);
    code = code_of_internal(e);
  }
  communicator.fail(message, static_cast<int>(code));
  return static_cast<int>(code);  // g++ does not see that a virtual function never returns
}

}  // namespace brightnet
