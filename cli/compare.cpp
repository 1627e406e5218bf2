// brightnet compare: runs side by side.
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "core/files.h"
#include "core/log.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "train/report/comparison.h"

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
  const std::filesystem::path out = arguments.out;
  const std::filesystem::path page = std::filesystem::path(out).replace_extension(".html");
  if (!arguments.force) {
    refuse_to_replace(out);
    refuse_to_replace(page);
  }
  check_answer(arguments.json, "runs");
  std::vector<ComparedRun> runs;
  for (const std::string& folder : arguments.runs) {
    ComparedRun run = read_run(folder);
    const bool known =
        std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.name == run.name; });
    if (known) run.name = run.folder;
    runs.push_back(std::move(run));
  }
  if (const std::string problem = typeface_problem({}); !problem.empty()) log::warn("{}", problem);
  const bool over_minutes = arguments.over == "minutes";
  if (out != page) write_image(out, plot_comparison(runs, over_minutes));
  write_atomically(page, comparison_page(runs, over_minutes).html());
  if (arguments.json != "-") std::cout << comparison_text(runs) << std::flush;
  if (!arguments.json.empty()) write_answer(arguments.json, to_text(comparison_json(runs)));
  if (out != page) log::info("The curves are in {}.", out.string());
  log::info("Curves and tables on one page: {}", page.string());
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
          "--out", arguments->out,
          "the plot, a .png or .jpg, with a page beside it, or a page alone, an .html; compare.png if not given")
      ->type_name("FILE");
  command->add_option("--over", arguments->over, "the plot's horizontal axis: epochs, or minutes of training")
      ->check(CLI::IsMember({"epochs", "minutes"}));
  command
      ->add_option("--json", arguments->json, "write the tables as JSON to this file; - for standard output")
      ->type_name("FILE");
  command->add_flag("--force", arguments->force, "replace an existing plot and page");
  command->callback([=, &action] { action = [arguments] { return compare_runs(*arguments); }; });
}

}  // namespace brightnet::cli
