// brightnet compare: runs side by side.
#include <algorithm>
#include <iostream>
#include <memory>

#include "core/log.h"
#include "train/cli/commands.h"
#include "train/run/comparison.h"
#include "train/run/report/draw.h"

namespace brightnet::cli {
namespace {

struct CompareArguments {
  std::vector<std::string> runs;
  std::string out = "compare.png", json, over = "epochs";
  bool force = false;
};

void refuse_to_replace(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return;
  throw InputError("a file of this name already exists", file.string(),
                   "Name another with --out, or replace it with --force.");
}

int compare_runs(const CompareArguments& arguments) {
  if (!arguments.force) refuse_to_replace(arguments.out);
  check_answer(arguments.json, "runs");
  std::vector<ComparedRun> runs;
  for (const std::string& folder : arguments.runs) {
    ComparedRun run = read_run(folder);
    const bool known =
        std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.name == run.name; });
    if (known) run.name = run.folder;
    runs.push_back(std::move(run));
  }
  write_image(arguments.out, plot_comparison(runs, arguments.over == "minutes"));
  if (arguments.json != "-") std::cout << comparison_text(runs) << std::flush;
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(comparison_json(runs)));
  spdlog::info("The curves are in {}.", arguments.out);
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
  command->add_option("--out", arguments->out, "the plot, a .png or .jpg; compare.png if not given")
      ->type_name("FILE");
  command->add_option("--over", arguments->over, "the plot's horizontal axis: epochs, or minutes of training")
      ->check(CLI::IsMember({"epochs", "minutes"}));
  command
      ->add_option("--json", arguments->json, "write the tables as JSON to this file; - for standard output")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace an existing plot");
  command->callback([=, &action] { action = [arguments] { return compare_runs(*arguments); }; });
}

}  // namespace brightnet::cli
