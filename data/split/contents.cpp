#include "data/split/contents.h"

#include <exception>
#include <numeric>
#include <unordered_map>

#include "core/files.h"
#include "core/hash.h"
#include "data/image/perceptual_hash.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"
#include "data/split/hash_index.h"

namespace brightnet {
namespace {

ImageContent content_of(const std::filesystem::path& file) {
  ImageContent content;
  content.bytes = bytes_hash(file);
  constexpr int enough = 64;  // pixels: twice the perceptual hash's
  try {
    content.look = perceptual_hash(read_image(file, {enough, enough}));
  } catch (const ImageError&) {
    // An image that cannot be decoded has no look; `data check` reports it.
  }
  return content;
}

/// Disjoint sets (Galler and Fisher 1964).
class Groups {
 public:
  explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }

  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[root(a)] = root(b); }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

uint64_t bytes_hash(const std::filesystem::path& file) {
  if (archive_of(file).empty()) return hash_text(read_file(file, most_list_bytes));
  const std::vector<uint8_t> bytes = read_stored(file, 0, most_list_bytes);
  return hash_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<ImageContent> image_contents(const std::vector<ImageRecord>& images) {
  std::vector<ImageContent> contents(images.size());
  std::exception_ptr failure;  // none may leave the threads
#pragma omp parallel for schedule(dynamic, 4)
  for (size_t i = 0; i < images.size(); ++i) {
    try {
      contents[i] = content_of(images[i].file);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return contents;
}

std::vector<size_t> content_groups(std::span<const ImageContent> images, bool similar) {
  Groups groups(images.size());
  std::unordered_map<uint64_t, size_t> by_bytes;
  for (size_t i = 0; i < images.size(); ++i)
    groups.join(i, by_bytes.try_emplace(images[i].bytes, i).first->second);
  if (similar) {
    std::vector<uint64_t> hashes;  // all different hashes
    std::vector<size_t> owners;    // the first image of each
    std::unordered_map<uint64_t, size_t> by_look;
    for (size_t i = 0; i < images.size(); ++i) {
      if (!images[i].look) continue;
      const auto [first, added] = by_look.try_emplace(*images[i].look, i);
      groups.join(i, first->second);
      if (!added) continue;
      hashes.push_back(*images[i].look);
      owners.push_back(i);
    }
    const HashIndex index(hashes, similar_bits);
    for (size_t i = 0; i < hashes.size(); ++i)
      index.near(hashes[i], [&](size_t other, int) { groups.join(owners[i], owners[other]); });
  }
  std::vector<size_t> numbers(images.size());
  std::unordered_map<size_t, size_t> number_of_root;
  for (size_t i = 0; i < images.size(); ++i)
    numbers[i] = number_of_root.try_emplace(groups.root(i), number_of_root.size()).first->second;
  return numbers;
}

}  // namespace brightnet
