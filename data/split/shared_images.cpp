#include "data/split/shared_images.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "core/files.h"
#include "data/image/perceptual_hash.h"
#include "data/split/hash_index.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The images of one split by all that another split's may have in common with them.
class Lookup {
 public:
  explicit Lookup(const SplitContents& split)
      : split_(split), index_(hashes_of(split.contents, owners_), similar_bits) {
    for (size_t i = 0; i < split.images.size(); ++i) {
      by_path_.try_emplace(real_path(split.images[i].file), i);
      by_bytes_.try_emplace(split.contents[i].bytes, i);
    }
  }

  std::optional<SharedImage> find(Split split, const ImageRecord& image, const ImageContent& content) const {
    const auto shared = [&](size_t other, Sameness sameness, int bits) {
      return SharedImage{split, image.file, split_.split, split_.images[other].file, sameness, bits};
    };
    if (const auto same = by_path_.find(real_path(image.file)); same != by_path_.end())
      return shared(same->second, Sameness::file, 0);
    if (const auto same = by_bytes_.find(content.bytes); same != by_bytes_.end())
      return shared(same->second, Sameness::bytes, 0);
    if (!content.look) return std::nullopt;
    std::optional<std::pair<int, size_t>> nearest;
    index_.near(*content.look, [&](size_t hash, int bits) {
      const std::pair found{bits, owners_[hash]};
      if (!nearest || found < *nearest) nearest = found;
    });
    if (!nearest) return std::nullopt;
    return shared(nearest->second, Sameness::look, nearest->first);
  }

 private:
  /// The different looks; `owners` are the first images that have them.
  static std::vector<uint64_t> hashes_of(const std::vector<ImageContent>& contents,
                                         std::vector<size_t>& owners) {
    std::unordered_map<uint64_t, size_t> first;
    std::vector<uint64_t> hashes;
    for (size_t i = 0; i < contents.size(); ++i) {
      if (!contents[i].look || !first.try_emplace(*contents[i].look, i).second) continue;
      hashes.push_back(*contents[i].look);
      owners.push_back(i);
    }
    return hashes;
  }

  const SplitContents& split_;
  std::map<fs::path, size_t> by_path_;
  std::unordered_map<uint64_t, size_t> by_bytes_;
  std::vector<size_t> owners_;
  HashIndex index_;
};

}  // namespace

std::string describe_trained_on(const Dataset& training, const Dataset& validation) {
  std::set<fs::path> listed, trained;  // a picture has as many records as it has tiles
  for (const ImageRecord& image : training.images) {
    if (listed.insert(image.file).second) trained.insert(real_path(image.file));
  }
  constexpr size_t named = 3;
  size_t count = 0;
  std::string names;
  for (const ImageRecord& image : validation.images) {
    if (!trained.contains(real_path(image.file)) || ++count > named) continue;
    names += (count > 1 ? ", " : "") + image.file.string();
  }
  if (count == 0) return "";
  if (count > named) names += fmt::format(" and {} more", count - named);
  return fmt::format(
      "{} of the {} validation images {} ({}): scores on them measure memorization, not what is found in new images. "
      "`brightnet data split` divides a data set; without data.val, `train` takes a tenth of the images.",
      count, validation.images.size(), count == 1 ? "is a training image" : "are training images", names);
}

std::vector<SharedImage> find_shared_images(const std::vector<SplitContents>& splits) {
  std::vector<SharedImage> shared;
  std::vector<std::unique_ptr<Lookup>> earlier;
  for (const SplitContents& split : splits) {
    for (size_t i = 0; i < split.images.size(); ++i) {
      std::optional<SharedImage> most;
      for (const auto& lookup : earlier) {
        const auto found = lookup->find(split.split, split.images[i], split.contents[i]);
        if (found &&
            (!most || std::pair(found->sameness, found->bits) < std::pair(most->sameness, most->bits)))
          most = found;
      }
      if (most) shared.push_back(std::move(*most));
    }
    earlier.push_back(std::make_unique<Lookup>(split));
  }
  return shared;
}

}  // namespace brightnet
