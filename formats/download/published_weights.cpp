#include "formats/download/published_weights.h"

#include "core/cache_folder.h"
#include "core/config.h"
#include "core/error.h"
#include "core/resource_folder.h"
#include "core/sha256.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Nothing without the file.
std::optional<YamlDocument> document() {
  const fs::path file = resource_folder() / "weights.yaml";
  std::error_code failed;
  if (!fs::exists(file, failed)) return std::nullopt;
  return YamlDocument::load(file);
}

PublishedWeights read(const YamlValue& entry) {
  PublishedWeights weights;
  read_fields(entry, [&](Fields& f) {
    f("file", weights.file, "");
    f("address", weights.address, "");
    f("bytes", weights.bytes, "");
    f("sha256", weights.sha256, "");
    f("contents", weights.contents, "");
    f("cfg", weights.cfg, "");
    f("names", weights.names, "");
    f("anchors", weights.anchors, "");
  });
  return weights;
}

}  // namespace

std::vector<std::string> published_networks() {
  std::vector<std::string> networks;
  if (const auto all = document()) {
    for (const auto& entry : all->root().node) networks.push_back(entry.first.Scalar());
  }
  return networks;
}

std::vector<PublishedWeights> published_weights(const std::string& network) {
  std::vector<PublishedWeights> files;
  const auto all = document();
  if (!all) return files;
  const YAML::Node root = all->root().node, list = root[network];
  if (!list.IsDefined()) return files;
  for (const auto& entry : list) files.push_back(read({entry, all->file()}));
  return files;
}

std::optional<PublishedWeights> find_published_weights(const std::string& name) {
  for (const std::string& network : published_networks()) {
    for (const PublishedWeights& weights : published_weights(network)) {
      if (weights.file == name || network == name) return weights;
    }
  }
  return std::nullopt;
}

std::optional<PublishedWeights> recognize_published_weights(const fs::path& file) {
  std::error_code failed;
  const uint64_t bytes = fs::file_size(file, failed);
  if (failed) return std::nullopt;
  std::string hash;
  for (const std::string& network : published_networks()) {
    for (const PublishedWeights& weights : published_weights(network)) {
      if (weights.bytes != bytes) continue;
      if (hash.empty() && !weights.sha256.empty()) hash = sha256_of(file);
      if (weights.sha256.empty() ? weights.file == file.filename() : weights.sha256 == hash) return weights;
    }
  }
  return std::nullopt;
}

fs::path weights_folder() {
  const fs::path cache = cache_folder();
  if (!cache.empty()) return fs::absolute(cache / "weights").lexically_normal();
  throw InputError("there is no folder to keep downloaded weights in: neither XDG_CACHE_HOME nor HOME is set",
                   "", "Set one of them.");
}

bool is_in_weights_folder(const fs::path& file) {
  return file.has_parent_path() && !cache_folder().empty() && file.parent_path() == weights_folder();
}

}  // namespace brightnet
