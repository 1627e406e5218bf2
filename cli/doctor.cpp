// brightnet doctor: checks this machine's driver, libraries and devices, with remedies.
#include "brightnet/doctor.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

int examine(bool json, bool gpus) {
  const MachineReport report = examine_machine();
  if (gpus) {
    std::cout << report.gpus;
    for (const int gpu : report.working_gpus) std::cout << ' ' << gpu;
    std::cout << std::endl;
    return static_cast<int>(ExitCode::done);
  }
  std::cout << (json ? report.answer.json : report.answer.text) << std::flush;
  return static_cast<int>(report.healthy ? ExitCode::done : ExitCode::device);
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "check the driver, libraries and devices of this machine");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  // For `train --restarts`, which never opens a GPU itself: how many there are, and the indices of those that work.
  const auto gpus = std::make_shared<bool>(false);
  command->add_flag("--gpus", *gpus)->group("");
  command->callback([=, &action] { action = [json, gpus] { return examine(*json, *gpus); }; });
}

}  // namespace brightnet::cli
