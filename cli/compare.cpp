// brightnet compare: runs side by side.
#include "brightnet/compare.h"

#include <memory>

#include "cli/commands.h"
#include "core/log.h"

namespace brightnet::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::string json, over = "epochs";
  ComparisonOptions options;
};

int compare(CompareArguments arguments) {
  ComparisonOptions& options = arguments.options;
  options.over_minutes = arguments.over == "minutes";
  check_answer(arguments.json, "runs", files_of_comparison(options.plot));
  const Comparison comparison = compare_runs(arguments.runs, options);
  print_answer(arguments.json, comparison.answer);
  if (options.plot != comparison.page) log::result("Plot of the curves: {}", options.plot.string());
  log::result("Report with curves and tables: {}", comparison.page.string());
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("compare", "put runs side by side: scores, speed, differing keys, curves");
  const auto arguments = std::make_shared<CompareArguments>();
  command->add_option("runs", arguments->runs, "folders of runs (runs/NAME)")
      ->type_name("RUN...")
      ->required();
  command
      ->add_option(
          "--out", arguments->options.plot,
          "the plot, a .png or .jpg, with a page beside it, or a page alone, an .html; compare.png if not given")
      ->type_name("FILE");
  command->add_option("--over", arguments->over, "the plot's horizontal axis: epochs, or minutes of training")
      ->check(CLI::IsMember({"epochs", "minutes"}));
  take_json(*command, arguments->json, "the tables as JSON");
  command->add_flag("--force", arguments->options.replace,
                    "replace a plot and a page that this command did not write");
  command->callback([=, &action] { action = [arguments] { return compare(*arguments); }; });
}

}  // namespace brightnet::cli
