// brightnet models: the models that a run can name, their size, and the weights that are published for them.
#include "brightnet/models.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

struct ModelsArguments {
  std::string json;
  bool names = false;
};

int list_models(const ModelsArguments& arguments) {
  if (!arguments.names) return answer(arguments.json, "models", describe_models);
  for (const std::string& name : named_models()) std::cout << name << '\n';
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("models", "list the models that can be named, and weights published for them");
  const auto arguments = std::make_shared<ModelsArguments>();
  auto* names = command->add_flag("--names", arguments->names, "print the names alone, one a line");
  take_json(*command, arguments->json, "JSON");
  names->excludes(command->get_option("--json"));
  command->callback([=, &action] { action = [arguments] { return list_models(*arguments); }; });
}

}  // namespace brightnet::cli
