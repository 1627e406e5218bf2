// brightnet doctor: checks this machine's driver, libraries and devices, with remedies.
#include "train/bench/doctor.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

int examine(bool json) {
  const Diagnosis diagnosis = diagnose();
  std::cout << (json ? to_text(to_json(diagnosis)) : to_table(diagnosis)) << std::flush;
  return static_cast<int>(diagnosis.healthy() ? ExitCode::done : ExitCode::device);
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("doctor", "check the driver, libraries and devices of this machine");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "print JSON");
  command->callback([=, &action] { action = [json] { return examine(*json); }; });
}

}  // namespace brightnet::cli
