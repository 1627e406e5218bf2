// brightnet memory: the memory that a run will need, without running it.
#include "brightnet/memory.h"

#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {
namespace {

struct MemoryArguments {
  std::string json;
  MemoryOptions options;
};

int print_memory(const MemoryArguments& arguments) {
  return answer(arguments.json, "model", [&] { return plan_memory(arguments.options); });
}

}  // namespace

void add_memory(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("memory", "print how much memory a model or a run needs");
  const auto arguments = std::make_shared<MemoryArguments>();
  MemoryOptions& options = arguments->options;
  command->add_option("model", options.run.config, "a model's name, or the YAML of a model or of a run")
      ->type_name("NAME|MODEL.yaml")
      ->required();
  take_data(*command, options.run.data);
  command
      ->add_option("--batch", options.batch,
                   "images per pass (default: the micro-batch that a run would choose)")
      ->check(at_least(1));
  take_size(*command, options.height, options.width, "the input in pixels");
  command->add_option("--classes", options.classes, "number of classes; the file's if not given")
      ->check(at_least(1));
  command
      ->add_option("--device-memory", options.device_memory,
                   "print the largest batch that fits in this much memory")
      ->type_name("8GiB");
  take_json(*command, arguments->json, "the plan as JSON");
  take_device(*command, options.device);
  take_precision(*command, options.run.precision);
  take_settings(*command, options.run.settings);
  command->callback([=, &action] { action = [arguments] { return print_memory(*arguments); }; });
}

}  // namespace brightnet::cli
