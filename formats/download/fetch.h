// Published weights, fetched once and kept (weights_folder()).
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "brightnet/download.h"
#include "formats/download/published_weights.h"

namespace brightnet {

struct FetchOptions {
  /// A folder's address with the files by their names, in place of the published addresses; empty: $BRIGHTNET_MIRROR,
  /// if that is set.
  std::string mirror = {};
  std::function<bool()> stopped = {};  ///< returns whether to stop; asked about once a second
  double first_wait = 1;               ///< TransferOptions::first_wait, in seconds
};

/// The file in weights_folder(), which is fetched if it is not there.
///
/// It is written beside its place as FILE.part, and is renamed to its final name after verification: by its SHA-256 where
/// that is known, else by its length and as darknet's weights (a header of theirs, whole and finite numbers). The part of
/// an interrupted download is continued, without a known SHA-256 only if it is from the same address (FILE.part.from); one
/// that does not verify is fetched anew. Processes that fetch the same file wait for the first.
///
/// FILE.sha256 records the hash of a first download, with which every later use compares the file where no hash is
/// published: InputError if it has changed.
///
/// Throws what transfer() throws; InputError when the file does not verify, for a folder that cannot be written, and
/// for a mirror that is not an http or https address.
std::filesystem::path fetch_weights(const PublishedWeights& weights, const FetchOptions& options = {});

/// Fetches the weights, and the .cfg and class names that darknet reads them with, where these are published.
FetchedNetwork fetch_network(const PublishedWeights& weights, const FetchOptions& options = {});

/// The path that `weights` is kept at, once it has been fetched if it is the name of published ones; a path of a file
/// that is there, and any other text, stay as they are.
std::string fetch_if_named(const std::string& weights, const FetchOptions& options = {});

}  // namespace brightnet
