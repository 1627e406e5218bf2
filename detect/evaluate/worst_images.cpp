#include "detect/evaluate/worst_images.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "core/error.h"

namespace brightnet {
namespace {

struct Header {
  int64_t index;
  double badness;
  uint64_t boxes;
};

template <typename T>
void put(std::string& bytes, const T* values, size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <typename T>
void take(std::string_view& bytes, T* values, size_t count) {
  BRIGHTNET_CHECK(count <= bytes.size() / sizeof(T), "judged images from another rank are cut short");
  if (count > 0) std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

}  // namespace

void WorstImages::add(int index, std::span<const ScoredBox> boxes, std::span<const Annotation> truths) {
  JudgedImage image{index, judge(boxes, truths, options_).badness(boxes), {}};
  for (const ScoredBox& box : boxes) {
    if (box.score >= options_.score) image.boxes.push_back(box);
  }
  insert(std::move(image));
}

void WorstImages::insert(JudgedImage image) {
  const auto worse = [](const JudgedImage& a, const JudgedImage& b) {
    return std::tie(b.badness, a.index) < std::tie(a.badness, b.index);
  };
  images_.insert(std::upper_bound(images_.begin(), images_.end(), image, worse), std::move(image));
  if (images_.size() > count_) images_.pop_back();
}

std::string WorstImages::serialize() const {
  std::string bytes;
  for (const JudgedImage& image : images_) {
    const Header header{image.index, image.badness, image.boxes.size()};
    put(bytes, &header, 1);
    put(bytes, image.boxes.data(), image.boxes.size());
  }
  return bytes;
}

void WorstImages::merge(std::string_view serialized) {
  while (!serialized.empty()) {
    Header header{};
    take(serialized, &header, 1);
    BRIGHTNET_CHECK(header.boxes <= serialized.size() / sizeof(ScoredBox), "judged images are cut short");
    JudgedImage image{static_cast<int>(header.index), header.badness, std::vector<ScoredBox>(header.boxes)};
    take(serialized, image.boxes.data(), image.boxes.size());
    insert(std::move(image));
  }
}

}  // namespace brightnet
