// brightnet config: prints the resolved configuration, including all defaults.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "core/log.h"

namespace brightnet::cli {

void add_config(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("config", "print the resolved configuration, including all defaults");
  const auto arguments = std::make_shared<Configuration>();
  take_config(*command, *arguments);
  take_model(*command, *arguments);
  take_data(*command, arguments->data);
  take_fold(*command, *arguments);
  take_precision(*command, arguments->precision);
  take_settings(*command, arguments->settings);
  command->callback([=, &action] {
    action = [arguments] {
      const ResolvedConfiguration resolved = resolve_configuration(*arguments);
      std::cout << resolved.yaml;
      for (const std::string& remark : resolved.remarks) log::warn("{}", remark);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
