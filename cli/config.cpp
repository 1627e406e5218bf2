// brightnet config: prints the resolved configuration, including all defaults.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "core/log.h"
#include "train/setup/run_request.h"

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
      const RunConfig config = load_run_config(arguments->config, arguments->overrides(), false);
      check_config(config);
      std::cout << print_config(config);
      if (config.data.train.empty()) {
        log::warn("No training images are named (data.train): `brightnet train` needs them.");
      } else if (std::error_code ignored; !std::filesystem::is_directory(config.data.root, ignored)) {
        log::warn("{} is not there yet: `brightnet train` needs it.", config.data.root);
      }
      return 0;
    };
  });
}

}  // namespace brightnet::cli
