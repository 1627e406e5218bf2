// brightnet doctor: checks this machine's driver, libraries and devices, with remedies.
#include "brightnet/doctor.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

int examine(bool json) {
  const MachineReport report = examine_machine();
  std::cout << (json ? report.answer.json : report.answer.text) << std::flush;
  return static_cast<int>(report.healthy ? ExitCode::done : ExitCode::device);
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "check the driver, libraries and devices of this machine");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([=, &action] { action = [json] { return examine(*json); }; });
}

}  // namespace brightnet::cli
