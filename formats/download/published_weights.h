// The weights that are published for known networks (configs/weights.yaml), and where a machine keeps them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace brightnet {

/// A file of darknet's authors.
struct PublishedWeights {
  std::string file, address;
  std::string contents;    ///< "the first 29 layers, to start a training from"
  uint64_t bytes = 0;      ///< 0: not known
  std::string sha256;      ///< empty: not known
  std::string cfg, names;  ///< addresses of what darknet reads it with; empty: not known
  /// The anchors that each prediction layer was trained with, in the order of the .cfg: width, height, width,
  /// … in pixels. Empty: not known.
  std::vector<std::vector<float>> anchors;
};

/// The networks, in the order of the file. Empty when it is not found.
std::vector<std::string> published_networks();

/// The files of one network, the one of all its layers first.
std::vector<PublishedWeights> published_weights(const std::string& network);

/// The file of this name: a network's ("yolov4-tiny" for its first), or its own ("yolov4-tiny.conv.29").
std::optional<PublishedWeights> find_published_weights(const std::string& name);

/// Recognizes a published file by its SHA-256, or by its name and length where none is known. Reads the file
/// only if its length is that of one.
std::optional<PublishedWeights> recognize_published_weights(const std::filesystem::path& file);

/// The folder in which fetched files are kept: cache_folder()/weights. Throws InputError without a home.
std::filesystem::path weights_folder();

/// Whether a file of this path lies in weights_folder(), there or not: what a run's YAML names where it was given the name of
/// published weights.
bool is_in_weights_folder(const std::filesystem::path& file);

}  // namespace brightnet
