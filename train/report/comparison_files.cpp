#include <algorithm>

#include "brightnet/compare.h"
#include "core/files.h"
#include "core/log.h"
#include "core/output_files.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "train/report/comparison.h"

namespace brightnet {

Comparison compare_runs(const std::vector<std::string>& folders, const ComparisonOptions& options) {
  const std::filesystem::path page = std::filesystem::path(options.plot).replace_extension(".html");
  if (!options.replace) {
    refuse_to_replace(options.plot);
    refuse_to_replace(page);
  }
  std::vector<ComparedRun> runs;
  for (const std::string& folder : folders) {
    ComparedRun run = read_run(folder);
    const bool known =
        std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.name == run.name; });
    if (known) run.name = run.folder;
    runs.push_back(std::move(run));
  }
  if (const std::string problem = typeface_problem({}); !problem.empty()) log::warn("{}", problem);
  if (options.plot != page) write_image(options.plot, plot_comparison(runs, options.over_minutes));
  write_atomically(page, comparison_page(runs, options.over_minutes).html());
  return {{comparison_text(runs), to_text(comparison_json(runs))}, page};
}

}  // namespace brightnet
