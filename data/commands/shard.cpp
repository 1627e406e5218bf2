#include "data/commands/shard.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "core/unique_names.h"
#include "data/commands/convert.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t most_name = 100;

/// A member's header (POSIX.1-2008, ustar) that says nothing of who wrote it and when, so that two calls give the same bytes.
std::array<char, tar_block> tar_header(const std::string& name, uint64_t size) {
  std::array<char, tar_block> header{};
  const auto put = [&](size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), header.begin() + static_cast<ptrdiff_t>(at));
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", size));
  put(136, "00000000000");
  put(148, "        ");
  header[156] = '0';
  put(257, "ustar");
  put(263, "00");
  const auto sum = std::accumulate(header.begin(), header.end(), 0u,
                                   [](unsigned all, char c) { return all + static_cast<uint8_t>(c); });
  put(148, fmt::format("{:06o}", sum) + '\0');
  return header;
}

class TarWriter {
 public:
  explicit TarWriter(const fs::path& file) : file_(file) {}

  uint64_t bytes() const { return bytes_; }

  void add(const std::string& name, std::span<const char> content) {
    constexpr uint64_t most = uint64_t{1} << 33;  // what eleven octal digits hold
    BRIGHTNET_CHECK(name.size() <= most_name && content.size() < most, "a member fits into a header");
    write(tar_header(name, content.size()));
    write(content);
    write(std::span(zeros).first((tar_block - content.size() % tar_block) % tar_block));
  }
  void finish() {
    write(zeros);
    write(zeros);
    file_.commit();
  }

 private:
  static constexpr std::array<char, tar_block> zeros{};

  void write(std::span<const char> part) {
    file_.stream().write(part.data(), static_cast<std::streamsize>(part.size()));
    bytes_ += part.size();
  }

  AtomicFile file_;
  uint64_t bytes_ = 0;
};

/// An image's name without its extension, by which WebDataset knows a sample: without dots, short enough for a header, and
/// its split's only one.
class Keys {
 public:
  std::string of(std::string key) {
    size_t length = std::min(key.size(), most_name - 30);
    while (length < key.size() && length > 0 && (key[length] & 0xC0) == 0x80)
      --length;  // not within a character
    key.resize(length);
    std::replace(key.begin(), key.end(), '.', '_');
    return names_.of(key);
  }

 private:
  UniqueNames names_;
};

std::vector<uint32_t> order_of(const Dataset& dataset, Split split) {
  std::vector<uint32_t> order(dataset.images.size());
  std::iota(order.begin(), order.end(), 0u);
  if (split == Split::train) Random(0, Purpose::order).shuffle(order);
  return order;
}

}  // namespace

int shard_split(const Dataset& dataset, Split split, const fs::path& folder, uint64_t bytes) {
  const fs::path own = folder / enum_name(split);
  std::error_code failed;
  create_folders(own, failed);
  if (failed)
    throw InputError("this cannot be written: " + failed.message(), own.string(), "Name another folder.");
  Keys keys;
  int archives = 0;
  std::unique_ptr<TarWriter> tar;
  for (const uint32_t i : order_of(dataset, split)) {
    const ImageRecord& image = dataset.images[i];
    const std::vector<uint8_t> pixels = read_stored(image.file, 0, whole_file);
    if (pixels.empty()) throw InputError("this image cannot be read", image.file.string());
    if (!tar) tar = std::make_unique<TarWriter>(own / fmt::format("{:06}.tar", archives++));
    const ImageName name = name_by_content(image.file);
    const std::string key = keys.of(name.stem), labels = yolo_labels(image);
    tar->add(key + name.ending, {reinterpret_cast<const char*>(pixels.data()), pixels.size()});
    tar->add(key + ".txt", labels);
    if (tar->bytes() < bytes) continue;
    tar->finish();
    tar.reset();
  }
  if (tar) tar->finish();
  return archives;
}

}  // namespace brightnet
