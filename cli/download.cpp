// brightnet download: fetches published weights, with the .cfg and the class names that darknet reads them with.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"
#include "formats/download/fetch.h"

namespace brightnet::cli {
namespace {

namespace fs = std::filesystem;

struct DownloadArguments {
  std::vector<std::string> names;
  std::string mirror;
};

void list() {
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
  std::cout
      << text << "Kept in " << weights_folder().string()
      << ". Fetch: brightnet download NAME; train, eval, detect and export take NAME as --weights too.\n"
      << std::flush;
}

PublishedWeights weights_of(const std::string& name) {
  if (auto found = find_published_weights(name)) return *found;
  std::vector<std::string> known = published_networks();
  for (const std::string& network : published_networks()) {
    for (const PublishedWeights& weights : published_weights(network)) known.push_back(weights.file);
  }
  const std::string nearest = nearest_word(name, known);
  throw InputError("no weights of the name '" + name + "' are known", "",
                   (nearest.empty() ? "" : "Did you mean '" + nearest + "'? ") +
                       fmt::format("There are {}.", fmt::join(known, ", ")));
}

int download(const DownloadArguments& arguments) {
  if (arguments.names.empty()) {
    list();
    return 0;
  }
  std::vector<PublishedWeights> all;
  for (const std::string& name : arguments.names) all.push_back(weights_of(name));
  const StopSignals signals;
  for (const PublishedWeights& weights : all) {
    const FetchedNetwork network =
        fetch_network(weights, {.mirror = arguments.mirror, .stopped = [&] { return signals.received(); }});
    // For scripts: the path alone goes to standard output.
    std::cout << network.weights.string() << std::endl;
    if (!network.cfg.empty())
      log::info("Its network: {}; detect with it: brightnet detect --weights {} --source IMAGE",
                network.cfg.string(), weights.file);
  }
  return 0;
}

}  // namespace

void add_download(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("download", "fetch the weights that darknet's authors publish");
  const auto arguments = std::make_shared<DownloadArguments>();
  command
      ->add_option("names", arguments->names,
                   "what to fetch, for example yolov4-tiny or yolov4-tiny.conv.29; without a name: list them")
      ->type_name("NAME");
  command
      ->add_option(
          "--mirror", arguments->mirror,
          "address of a folder with the files, in place of the published ones (default: $BRIGHTNET_MIRROR)")
      ->type_name("URL");
  command->callback([=, &action] { action = [arguments] { return download(*arguments); }; });
}

}  // namespace brightnet::cli
