#include <algorithm>
#include <functional>

#include "brightnet/compare.h"
#include "core/files.h"
#include "core/log.h"
#include "core/output_files.h"
#include "core/text.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "detect/outputs/written_files.h"
#include "train/report/comparison.h"

namespace brightnet {

namespace {

namespace fs = std::filesystem;

/// Skips what is no run, as `runs/*` may name it too, and logs that. Throws InputError where nothing is left, and for a
/// path that does not exist.
std::vector<ComparedRun> read_runs(const std::vector<std::string>& folders) {
  std::vector<ComparedRun> runs;
  std::vector<std::string> others;
  std::error_code failed;
  for (const std::string& folder : folders) {
    if (fs::exists(folder, failed) && !is_run(folder)) {
      others.push_back(folder);
      continue;
    }
    ComparedRun run = read_run(folder);
    const bool known =
        std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.name == run.name; });
    if (known) run.name = run.folder;
    runs.push_back(std::move(run));
  }
  if (runs.empty()) read_run(others.at(0));  // says what a run is
  if (!others.empty()) log::info("Skipped, as no run: {}.", enumerated(others));
  return runs;
}

}  // namespace

std::vector<fs::path> files_of_comparison(const fs::path& plot) {
  const fs::path page = fs::path(plot).replace_extension(".html");
  if (plot == page) return {page};
  return {plot, page};
}

Comparison compare_runs(const std::vector<std::string>& folders, const ComparisonOptions& options) {
  const std::vector<fs::path> written = files_of_comparison(options.plot);
  const fs::path& page = written.back();
  const bool draws = written.size() > 1;
  const std::vector<ComparedRun> runs = read_runs(folders);
  prepare_folder(options.plot.parent_path(), "--out");
  WrittenFiles files(options.plot.parent_path(), "--out, or replace it with --force", "compare");
  const auto write = [&](const fs::path& file, const std::function<void()>& work) {
    const std::string name = file.filename().string();
    files.begin(name);
    work();
    files.note(name);
  };
  if (!options.replace) {
    for (const fs::path& file : written) files.place(file.filename().string());
  }
  if (const std::string problem = typeface_problem({}); !problem.empty()) log::warn("{}", problem);
  if (draws)
    write(options.plot, [&] { write_image(options.plot, plot_comparison(runs, options.over_minutes)); });
  write(page, [&] { write_atomically(page, comparison_page(runs, options.over_minutes).html()); });
  return {{comparison_text(runs), to_text(comparison_json(runs))}, page};
}

}  // namespace brightnet
