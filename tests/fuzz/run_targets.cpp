// Files of runs and searches, and what commands keep for themselves.
#include <memory>

#include "core/error.h"
#include "core/files.h"
#include "core/resource_folder.h"
#include "detect/outputs/written_files.h"
#include "detect/sources/source.h"
#include "formats/download/fetch.h"
#include "formats/download/published_weights.h"
#include "tests/environment.h"
#include "tests/formats/small_cfg.h"
#include "tests/fuzz/contents.h"
#include "tests/fuzz/target_parts.h"
#include "tests/paths.h"
#include "train/config/config.h"
#include "train/report/metrics_csv.h"
#include "train/report/page.h"
#include "train/run/checkpoint.h"
#include "tune/search_folder.h"
#include "tune/trial.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

/// What a run writes, of which an older table lacks some.
const std::vector<std::string> metrics_columns{"loss",         "AP",      "AP50",
                                               "input_height", "seconds", "images_per_s"};

/// The data set of a --data.
DataOptions given_data() {
  DataOptions data;
  read_config(YamlDocument::parse(data_section, "data.yaml").root(), data);
  return data;
}

/// The folder of a run or of a search.
void add_run_files(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"state", "run.state", states(), words, nothing, [](const fs::path& folder) {
                       read_state(folder / "run.state");
                       static const std::unique_ptr<Backend> backend = make_cpu_backend();
                       static std::vector<float> values(16);
                       load_state(folder / "run.state", {{"values", values.data(), 16}}, "1234", *backend);
                     }});
  targets.push_back({"run", "run.yaml", run_yamls(), words,
                     [](const fs::path& folder) {
                       put(folder / "net.cfg", small_cfg);
                       prepare_image(folder / "set/images/a.png");
                       put(folder / "set/labels/a.txt", "0 0.5 0.5 0.25 0.25\n");
                     },
                     [](const fs::path& folder) {
                       const RunConfig config = load_run_config(folder / "run.yaml", {}, false);
                       config.where("train.batch");
                       put(folder / "again.yaml", print_config(config));
                       compare(config, load_run_config(folder / "again.yaml", {}, false));
                       if (config.train.size.has_value()) config.input_sizes();
                       check_batch(config.train, 2);
                     }});
  targets.push_back({"metrics", "metrics.csv", {metrics_csv}, words, nothing, [](const fs::path& folder) {
                       const MetricsTable table = read_metrics_csv(folder / "metrics.csv");
                       for (const std::vector<double>& row : table.rows) table.value(row, "AP");
                       table.comparable_after();
                       MetricsCsv(folder / "metrics.csv", metrics_columns, 1);
                     }});
  targets.push_back({"search",
                     "state/search.json",
                     {search_json},
                     words,
                     [](const fs::path& folder) { put(folder / "trials.csv", trials_csv()); },
                     [](const fs::path& folder) {
                       const SearchPlan plan = read_plan(folder);
                       SearchFolder(folder, plan, "model: demo\ntrain: {}\n");
                     }});
  targets.push_back({"trials", "trials.csv", {trials_csv()}, words, nothing, [](const fs::path& folder) {
                       const std::vector<Trial> trials = read_trials(folder / "trials.csv", searched_keys());
                       scored(trials);
                       best_of(trials);
                     }});
}

/// Instead of the project's configs/.
class ResourceFolder {
 public:
  explicit ResourceFolder(const fs::path& folder) { set_resource_folder(folder); }
  ~ResourceFolder() { set_resource_folder(before_); }

 private:
  const fs::path before_ = resource_folder();
};

/// What commands keep for themselves, in folders that may come from somebody else.
void add_own_files(std::vector<FuzzTarget>& targets) {
  const auto nothing = [](const fs::path&) {};
  targets.push_back({"overrides",
                     "start",
                     {"train.epochs=3\noptimizer.rate=0.5\n"},
                     words,
                     [](const fs::path& folder) { put(folder / "run.yaml", run_yamls()[0]); },
                     [](const fs::path& folder) {
                       Overrides overrides;
                       for (const TextLine& line : read_lines(folder / "start"))
                         overrides.assignments.push_back(line.text);
                       load_run_config(folder / "run.yaml", overrides);
                       overrides.data = given_data();
                       overrides.fold = validation_fold;
                       load_run_config(folder / "run.yaml", overrides);
                       load_run_config("", overrides);
                     }});
  targets.push_back({"written",
                     ".brightnet-detect",
                     {"- a.jpg\n- b/c.txt\n- a.jpg\n"},
                     words,
                     [](const fs::path&) {},
                     [](const fs::path& folder) {
                       put(folder / "a.jpg",
                           "as it was written");  // it is removed where its hash is in the list
                       WrittenFiles files(folder, "--out");
                       files.place("a.jpg");
                       files.remove_the_rest();
                     }});
  targets.push_back({"page", "report.html", {page()}, words, nothing, [](const fs::path& folder) {
                       const Page read = Page::read(read_file(folder / "report.html"));
                       read.html();
                       if (read.section("Classes").is_null()) throw InputError("not what was written");
                     }});
  targets.push_back(
      {"sha256",
       "brightnet/weights/net.weights.sha256",
       {"0ca932b9ae8e9affe4ee774307405ccd858deb0c2c271244ed50025c05131d1b  net.weights\n"},
       words,
       [](const fs::path& folder) { put(folder / "brightnet/weights/net.weights", "not quite weights"); },
       [](const fs::path& folder) {
         Environment environment;
         environment.set("XDG_CACHE_HOME", folder.string());
         PublishedWeights weights;
         weights.file = "net.weights";
         weights.address = "http://127.0.0.1:9/";
         fetch_weights(weights);
       }});
  targets.push_back({"published",
                     "weights.yaml",
                     {read_file(source_dir() / "configs/weights.yaml")},
                     words,
                     [](const fs::path& folder) { put(folder / "net.weights", "some"); },
                     [](const fs::path& folder) {
                       const ResourceFolder here(folder);
                       find_published_weights("net");
                       recognize_published_weights(folder / "net.weights");
                     }});
  targets.push_back({"sources",
                     "list.txt",
                     {"a.png\nb.mp4\n./a.png\n"},
                     words,
                     [](const fs::path& folder) { prepare_image(folder / "a.png"); },
                     [](const fs::path& folder) {
                       const auto source = open_source((folder / "list.txt").string());
                       for (Frame frame; source->next(frame);) {
                       }
                     }});
}

}  // namespace

void add_run_targets(std::vector<FuzzTarget>& targets) {
  add_run_files(targets);
  add_own_files(targets);
}

}  // namespace brightnet::testing
