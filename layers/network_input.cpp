#include "layers/network_input.h"

#include <algorithm>

#include "core/alignment.h"
#include "core/log.h"

namespace brightnet {

NetworkInput::NetworkInput(Backend& backend, const Shape& image, bool training, int strokes)
    : backend_(backend),
      image_(image),
      layout_(strokes > 0 ? picture_layout(image.n, image.h, image.w, image.c, strokes) : PictureLayout()),
      places_(training && backend.works_beside_host() ? 2 : 1, Tensor{nullptr, image, DType::u8}) {}

size_t NetworkInput::bytes() const {
  return places_.size() * aligned(image_.count()) + aligned(max_truths(image_.n) * sizeof(Truth)) +
         aligned((static_cast<size_t>(image_.n) + 1) * sizeof(int)) + layout_.bytes();
}

void NetworkInput::bind(std::byte* memory) {
  // Reserved only now: a plan may be of a batch that no memory can hold.
  host_truths_.reserve(max_truths(image_.n));
  host_offsets_.reserve(static_cast<size_t>(image_.n) + 1);
  for (Tensor& place : places_) {
    place.data = memory;
    memory += aligned(image_.count());
  }
  truths_ = reinterpret_cast<Truth*>(memory);
  offsets_ = reinterpret_cast<int*>(memory + aligned(max_truths(image_.n) * sizeof(Truth)));
  pictures_ =
      reinterpret_cast<std::byte*>(offsets_) + aligned((static_cast<size_t>(image_.n) + 1) * sizeof(int));
  // Queued steps of another network may still use this memory.
  backend_.hold_uploads();
}

void NetworkInput::set_pixels(const uint8_t* pixels) {
  backend_.upload(places_[current_].data, pixels, image_.count());
  has_values_ = false;
}

void NetworkInput::set_pixels(const NetworkInput& other) {
  backend_.copy(places_[current_].data, other.places_[other.current_].data, image_.count());
  has_values_ = false;
}

void NetworkInput::set_pixels_ahead(const uint8_t* pixels) {
  current_ = (current_ + 1) % places_.size();
  backend_.upload_ahead(places_[current_].data, pixels, image_.count());
  has_values_ = false;
}

void NetworkInput::set_pictures_ahead(const Pictures& pictures) {
  BRIGHTNET_CHECK(pictures.layout == layout_, "the network was planned for other pictures");
  current_ = (current_ + 1) % places_.size();
  backend_.paint_ahead(pictures, pictures_, places_[current_]);
  has_values_ = false;
}

void NetworkInput::set_values(const float* values, const Tensor& x) {
  std::vector<float> padded;
  if (x.shape.c > image_.c) {
    padded.resize(x.count());
    for (size_t pixel = 0; pixel < image_.pixels(); ++pixel)
      std::copy_n(values + pixel * image_.c, image_.c, padded.begin() + static_cast<long>(pixel * x.shape.c));
    values = padded.data();
  }
  const void* bytes = values;
  const auto narrow = [&]<typename T>(T) {
    narrow_values_.resize(x.bytes());
    T* out = reinterpret_cast<T*>(narrow_values_.data());
    std::transform(values, values + x.count(), out, [](float value) { return T(value); });
    bytes = out;
  };
  if (x.type == DType::u8) {
    narrow_values_.resize(x.bytes());
    std::transform(values, values + x.count(), narrow_values_.begin(),
                   [](float value) { return static_cast<std::byte>(quantized(value, image_range)); });
    bytes = narrow_values_.data();
  }
  if (x.type == DType::bf16) narrow(BFloat16());
  if (x.type == DType::f16) narrow(Float16());
  backend_.upload(x.data, bytes, x.bytes());
  has_values_ = true;
}

void NetworkInput::fill(const Tensor& x) {
  const Tensor& pixels = places_[current_];
  if (!has_values_ && x.type == DType::u8) backend_.copy(x.data, pixels.data, pixels.bytes());
  if (!has_values_ && x.type != DType::u8) backend_.normalize_image(pixels, x);
  has_values_ = false;  // the plan gives x's memory to later layers
}

void NetworkInput::set_truths(std::span<const std::vector<Truth>> truths) {
  BRIGHTNET_CHECK(static_cast<int>(truths.size()) <= image_.n,
                  "more lists of ground-truth boxes than images");
  host_truths_.clear();
  host_offsets_.assign(1, 0);
  size_t left_out = 0;
  for (const auto& of_image : truths) {
    const size_t room = max_truths(image_.n) - host_truths_.size();
    host_truths_.insert(host_truths_.end(), of_image.begin(),
                        of_image.begin() + static_cast<long>(std::min(room, of_image.size())));
    left_out += of_image.size() - std::min(room, of_image.size());
    host_offsets_.push_back(static_cast<int>(host_truths_.size()));
  }
  if (left_out > 0 && !said_left_out_) {
    said_left_out_ = true;
    log::warn(
        "{} objects of a batch are ignored: there is memory for {} in {} images. Fewer mosaics "
        "(augment.mosaic, augment.mixup) reduce their number. This is reported once.",
        left_out, max_truths(image_.n), image_.n);
  }
  backend_.upload(truths_, host_truths_.data(), host_truths_.size() * sizeof(Truth));
  backend_.upload(offsets_, host_offsets_.data(), host_offsets_.size() * sizeof(int));
}

}  // namespace brightnet
