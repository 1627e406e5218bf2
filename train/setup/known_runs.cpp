#include "train/setup/known_runs.h"

#include <cstdlib>

#include "core/cache_folder.h"
#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_runs = 200;
constexpr char between = '\t';

/// Empty without a home.
fs::path list_file() {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / "runs.txt";
}

struct ListedRun {
  std::string usual, folder;
};

std::vector<ListedRun> read_list() {
  std::vector<ListedRun> runs;
  std::error_code ignored;
  const fs::path file = list_file();
  if (file.empty() || !fs::exists(file, ignored)) return runs;
  try {
    for (const TextLine& line : read_lines(file)) {
      const size_t tab = line.text.find(between);
      if (tab != std::string::npos) runs.push_back({line.text.substr(0, tab), line.text.substr(tab + 1)});
    }
  } catch (const InputError&) {  // as if there were none
  }
  return runs;
}

/// The list with this run at its end, without those that are gone; of too many, those without a state make room first.
std::vector<ListedRun> list_with(const ListedRun& newest) {
  std::vector<ListedRun> runs = read_list();
  std::erase_if(runs, [&](const ListedRun& run) {
    std::error_code ignored;
    return run.folder == newest.folder || !fs::exists(run.folder, ignored);
  });
  for (auto run = runs.begin(); runs.size() >= most_runs && run != runs.end();)
    run = RunFolder::at(run->folder).saved() ? run + 1 : runs.erase(run);
  runs.push_back(newest);
  if (runs.size() > most_runs) runs.erase(runs.begin(), runs.end() - most_runs);
  return runs;
}

std::string absolute_name(const fs::path& path) {
  // weakly_canonical() alone leaves a path relative whose first folder does not exist.
  const fs::path absolute = fs::absolute(path).lexically_normal();
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(absolute, error);
  return (error ? absolute : whole).string();
}

}  // namespace

std::vector<RunFolder> listed_runs(const fs::path& usual) {
  std::vector<RunFolder> found;
  const std::string place = absolute_name(usual);
  for (const ListedRun& run : read_list()) {
    const RunFolder folder = RunFolder::at(run.folder);
    if (run.usual == place && folder.begun() && !folder.lost_state()) found.push_back(folder);
  }
  return found;
}

void list_run(const fs::path& usual, const RunFolder& folder) {
  const std::string place = absolute_name(usual), own = absolute_name(folder.path());
  const fs::path file = list_file();
  if (std::getenv(unlisted_variable)) return;
  if (file.empty() || (place + own).find_first_of("\t\n\r") != std::string::npos) return;
  try {
    fs::create_directories(file.parent_path());
    const Descriptor turn = lock_folder(file.parent_path());  // or another run that begins now would be lost
    std::string text;
    for (const ListedRun& run : list_with({place, own})) text += run.usual + between + run.folder + '\n';
    write_atomically(file, text);
  } catch (const std::exception&) {  // --resume then needs the folder's name
  }
}

}  // namespace brightnet
