// brightnet config: prints the resolved configuration, including all defaults.
#include <iostream>
#include <memory>

#include "train/cli/commands.h"

namespace brightnet::cli {

void add_config(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("config", "print the resolved configuration, including all defaults");
  const auto arguments = std::make_shared<CommonOptions>();
  arguments->needs_validation = true;
  arguments->add_config(*command);
  arguments->add_model(*command);
  arguments->add_data(*command);
  arguments->add_fold(*command);
  arguments->add_precision(*command);
  arguments->add_assignments(*command);
  command->callback([=, &action] {
    action = [arguments] {
      std::cout << print_config(load_run_config(arguments->config, arguments->all_assignments(), false));
      return 0;
    };
  });
}

}  // namespace brightnet::cli
