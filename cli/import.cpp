// brightnet import: converts a darknet .cfg to a model YAML and a training configuration, and its .weights to
// the safetensors file that `eval`, `detect` and `export` read.
#include "brightnet/import.h"

#include <memory>

#include "cli/commands.h"

namespace brightnet::cli {

void add_import(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("import", "convert a darknet .cfg to a model YAML and a training configuration");
  const auto arguments = std::make_shared<ImportOptions>();
  command->add_option("--cfg", arguments->cfg, "the darknet .cfg")->type_name("X.cfg")->required();
  command
      ->add_option("--out", arguments->out,
                   "output model YAML; the training configuration MODEL-train.yaml is written next to it")
      ->type_name("MODEL.yaml")
      ->required();
  command
      ->add_option("--weights", arguments->weights,
                   "darknet's .weights of that .cfg; converted to MODEL.safetensors next to it")
      ->type_name("X.weights");
  command->add_option("--names", arguments->names, "class names: a .names file or an obj.data")
      ->type_name("FILE");
  command->add_flag("--weights-partial", arguments->partial,
                    "load the leading layers of a .weights file that matches only up to a point");
  command->add_flag("--force", arguments->replace, "replace existing files");
  command->callback([=, &action] {
    action = [arguments] {
      import_network(*arguments);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
