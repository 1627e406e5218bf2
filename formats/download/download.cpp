#include "brightnet/download.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "formats/download/fetch.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

PublishedWeights weights_of(const std::string& name) {
  if (auto found = find_published_weights(name)) return *found;
  const std::vector<std::string> known = named_weights();
  const std::string nearest = nearest_word(name, known);
  throw InputError("no weights of the name '" + name + "' are known", "",
                   (nearest.empty() ? "" : "Did you mean '" + nearest + "'? ") +
                       fmt::format("There are {}.", fmt::join(known, ", ")));
}

}  // namespace

std::vector<std::string> named_weights() {
  std::vector<std::string> names = published_networks();
  for (const std::string& network : published_networks()) {
    for (const PublishedWeights& weights : published_weights(network)) names.push_back(weights.file);
  }
  return names;
}

std::string list_published_weights() {
  std::string text = fmt::format("{:<24} {:>8}   {}\n", "name", "MiB", "contents");
  std::error_code failed;
  for (const std::string& network : published_networks()) {
    bool first = true;
    for (const PublishedWeights& weights : published_weights(network)) {
      const bool here = fs::is_regular_file(weights_folder() / weights.file, failed);
      text += fmt::format("{:<24} {:>8.1f}   {}{}\n", first ? network : weights.file,
                          static_cast<double>(weights.bytes) / (1 << 20), weights.contents,
                          here ? "; fetched" : "");
      first = false;
    }
  }
  return text + "Kept in " + weights_folder().string() +
         ". Fetch: brightnet download NAME; train, eval, detect and export take NAME as --weights too.\n";
}

void download_weights(const std::vector<std::string>& names, const DownloadOptions& options,
                      const std::function<void(const FetchedNetwork&)>& fetched) {
  std::vector<PublishedWeights> all;
  for (const std::string& name : names) all.push_back(weights_of(name));
  for (const PublishedWeights& weights : all) {
    fetched(fetch_network(
        weights, {.mirror = options.mirror, .stopped = [&] { return options.stop.stop_requested(); }}));
  }
}

}  // namespace brightnet
