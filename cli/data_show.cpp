// brightnet data show: pictures of what the network will see.
#include <memory>

#include "brightnet/data.h"
#include "brightnet/dataset.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

struct ShowArguments {
  Configuration run;
  SampleOptions options;
};

}  // namespace

void add_data_show(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "show", "draw samples as the network will see them, with all augmentations and the ground-truth boxes");
  const auto arguments = std::make_shared<ShowArguments>();
  take_config(*command, arguments->run, "the run's YAML, or the data set itself");
  take_data(*command, arguments->run.data);
  command->add_option("--count", arguments->options.count, "number of samples (default: 16)")
      ->check(within(1, 10000));
  command
      ->add_option(
          "--out", arguments->options.folder,
          "folder for the pictures (default: runs/show); replaces only what this command wrote there")
      ->type_name("DIR");
  command->add_option("--split", arguments->options.split, "train, or another split, as evaluation sees it")
      ->check(CLI::IsMember(split_names()));
  command->add_option("--seed", arguments->options.seed, "random seed (default: train.seed)");
  command->add_flag("--plain", arguments->options.plain, "without augmentation");
  take_settings(*command, arguments->run.settings);
  command->callback([=, &action] {
    action = [arguments] {
      draw_samples(arguments->run, arguments->options);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
