// brightnet download: fetches published weights, with the .cfg and the class names that darknet reads them with.
#include "brightnet/download.h"

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/stop_signals.h"
#include "core/log.h"
#include "core/printable.h"

namespace brightnet::cli {
namespace {

struct DownloadArguments {
  std::vector<std::string> names;
  std::string mirror;
};

int download(const DownloadArguments& arguments) {
  if (arguments.names.empty()) {
    std::cout << list_published_weights() << std::flush;
    return 0;
  }
  const StopSignals signals;
  download_weights(arguments.names, {arguments.mirror, signals.token()}, [](const FetchedNetwork& network) {
    // For scripts: the path alone goes to standard output.
    std::cout << network.weights.string() << std::endl;
    if (!network.cfg.empty())
      log::info("Its network: {}; detect with it: brightnet detect --weights {} --source IMAGE",
                network.cfg.string(), shell_path(network.weights.filename()));
  });
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
