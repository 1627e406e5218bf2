// The weights that darknet's authors publish, fetched once and kept.
#pragma once

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "brightnet/public.h"

namespace brightnet {

/// A table of what is published, and whether it has been fetched. Throws InputError where no folder can keep them.
BRIGHTNET_PUBLIC std::string list_published_weights();

/// The names that can be fetched: networks, each for the weights of all its layers, and files. Empty where the list of them is
/// not found.
BRIGHTNET_PUBLIC std::vector<std::string> named_weights();

/// Files in the folder that keeps them; `cfg` and `names`, with which darknet reads the weights, are empty where they are
/// not published.
struct FetchedNetwork {
  std::filesystem::path weights = {}, cfg = {}, names = {};
};

struct DownloadOptions {
  /// The address of a folder with the files, in place of the published addresses; empty: $BRIGHTNET_MIRROR, if it is set.
  std::string mirror = {};
  std::stop_token stop = {};
};

/// Fetches what is not there yet: of "yolov4-tiny" the weights of all layers, or a file by its own name. `fetched` is called
/// after each. Throws InputError for an unknown name, before anything is fetched, and when a file cannot be fetched or is not
/// the published one; Error with ExitCode::interrupted when it was stopped, and the next call continues.
BRIGHTNET_PUBLIC void download_weights(const std::vector<std::string>& names, const DownloadOptions& options,
                                       const std::function<void(const FetchedNetwork&)>& fetched);

}  // namespace brightnet
