// brightnet data split: train, val and test by what the images contain.
#include <memory>

#include "brightnet/data.h"
#include "cli/commands.h"
#include "core/log.h"
#include "core/printable.h"

namespace brightnet::cli {
namespace {

struct SplitArguments {
  Configuration run;
  SplitOptions options;
  bool exact = false;
  std::string json;
};

void split(SplitArguments arguments) {
  arguments.options.similar = !arguments.exact;
  check_answer(arguments.json, "groups", files_of_division(arguments.run, arguments.options.folder));
  const DividedData divided = divide_data(arguments.run, arguments.options);
  print_answer(arguments.json, divided.answer);
  log::result("Written: {}. Train on it with: brightnet train {}{}", arguments.options.folder.string(),
              shell_path(divided.config), divided.has_model ? "" : " --model yolov4-tiny");
}

}  // namespace

void add_data_split(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "split", "divide a data set into train, val and test; images that look alike stay together");
  const auto arguments = std::make_shared<SplitArguments>();
  take_config(*command, arguments->run, "the run's YAML, or the data set itself, such as a folder");
  take_data(*command, arguments->run.data);
  command
      ->add_option("--out", arguments->options.folder,
                   "folder for the lists and the YAML; must not exist, or be empty")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--ratios", arguments->options.ratios,
                   "of train, val and test; two of them: no test (default 0.8,0.1,0.1)")
      ->type_name("A,B[,C]")
      ->expected(1, -1)
      ->allow_extra_args(false)
      ->delimiter(',');
  command->add_option("--seed", arguments->options.seed, "random seed; another seed is another division");
  command->add_flag("--exact", arguments->exact,
                    "keep only files with the same bytes together, not images that look alike");
  take_json(*command, arguments->json, "JSON");
  take_settings(*command, arguments->run.settings);
  command->callback([=, &action] {
    action = [arguments] {
      split(*arguments);
      return 0;
    };
  });
}

}  // namespace brightnet::cli
