// An open file, which is closed with its owner.
#pragma once

#include <utility>

#include <unistd.h>

namespace brightnet {

/// What open() has answered: a file that is closed, and loses its lock, when this object goes; or none, a negative number.
class Descriptor {
 public:
  explicit Descriptor(int opened = -1) : number_(opened) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace brightnet
