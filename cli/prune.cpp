// brightnet prune: removes channels of a trained network.
#include "brightnet/prune.h"

#include <memory>

#include "cli/commands.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

struct PruneArguments {
  std::string json;
  PruningOptions options;
};

int prune_weights(const PruneArguments& arguments) {
  check_answer(arguments.json, "keep", files_of_pruning(arguments.options.out));
  const PrunedNetwork made = prune(arguments.options);
  print_answer(arguments.json, made.answer);
  log::result("The smaller network: {}, {}", made.model.string(), made.weights.string());
  log::result("Fine-tune it, as it detects less until then: {}", made.fine_tuning);
  return 0;
}

}  // namespace

void add_prune(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("prune", "remove channels of a trained network: a smaller, faster one");
  const auto arguments = std::make_shared<PruneArguments>();
  PruningOptions& options = arguments->options;
  take_weights(*command, options.weights);
  command->add_option("--out", options.out, "folder for model.yaml and weights.safetensors")
      ->type_name("DIR")
      ->required();
  command->add_option("--keep", options.keep, "share of the FLOP that is left, above 0 and at most 1")
      ->capture_default_str()
      ->type_name("SHARE");
  std::vector<std::string> importances = channel_importances();
  importances.insert(importances.begin(), options.by);
  command
      ->add_option(
          "--by", options.by,
          "what says how much a channel matters. norm: its filters' L2 norm; scale: batch-norm's scale; taylor: "
          "weights times gradients on training images of --data; auto: taylor with --data, else scale")
      ->capture_default_str()
      ->check(CLI::IsMember(importances));
  take_data(*command, options.data);
  command
      ->add_option("--multiple", options.multiple,
                   "the channels that are left of a layer are a multiple of this; 16 suits AMX")
      ->capture_default_str()
      ->type_name("N")
      ->check(within(1, 1024));
  command->add_flag("--force", options.replace, "replace existing files");
  take_json(*command, arguments->json, "the tables as JSON");
  command->callback([=, &action] { action = [arguments] { return prune_weights(*arguments); }; });
}

}  // namespace brightnet::cli
