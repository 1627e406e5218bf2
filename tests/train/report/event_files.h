// Reads TensorBoard's event files, by decoders of their formats that know nothing of the writer's.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/files.h"

namespace brightnet::testing {

/// CRC-32C bit by bit, from its polynomial.
inline uint32_t slow_crc32c(const std::string& bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (unsigned char byte : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool odd = (crc ^ (byte >> bit)) & 1;
      crc = (crc >> 1) ^ (odd ? 0x82F63B78 : 0);
    }
  }
  return ~crc;
}

inline uint32_t masked(const std::string& bytes) {
  const uint32_t crc = slow_crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8;
}

template <typename T>
T take(std::string_view& bytes) {
  T value;
  if (bytes.size() < sizeof(T)) throw std::runtime_error("cut short");
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.remove_prefix(sizeof(T));
  return value;
}

/// A field's value by its number: numbers as their bits, everything else as bytes. A decoder of the wire
/// format that knows nothing about the messages.
struct Fields {
  std::map<int, uint64_t> numbers;
  std::map<int, std::string> bytes;

  explicit Fields(std::string_view message) {
    const auto varint = [&] {
      uint64_t value = 0;
      for (int shift = 0;; shift += 7) {
        const auto byte = take<uint8_t>(message);
        value |= uint64_t(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
      }
    };
    while (!message.empty()) {
      const uint64_t key = varint();
      const int field = static_cast<int>(key >> 3);
      switch (key & 7) {
        case 0: numbers[field] = varint(); break;
        case 1: numbers[field] = take<uint64_t>(message); break;
        case 5: numbers[field] = take<uint32_t>(message); break;
        case 2: {
          const uint64_t size = varint();
          bytes[field] = std::string(message.substr(0, size));
          message.remove_prefix(size);
          break;
        }
        default: throw std::runtime_error("a wire type that is not used");
      }
    }
  }
};

/// The events of a file, with every checksum verified.
inline std::vector<Fields> read_events(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  std::string_view rest = content;
  std::vector<Fields> events;
  while (!rest.empty()) {
    const std::string length(rest.substr(0, 8));
    const auto size = take<uint64_t>(rest);
    EXPECT_EQ(take<uint32_t>(rest), masked(length));
    const std::string data(rest.substr(0, size));
    rest.remove_prefix(size);
    EXPECT_EQ(take<uint32_t>(rest), masked(data));
    events.emplace_back(data);
  }
  return events;
}

/// The steps and values of a scalar that TensorBoard shows of a folder. It reads the files in the order of their names, and
/// where a session starts (SessionLog.START) it keeps the earlier events of smaller steps alone (`_Purge` of its
/// event_accumulator.py).
inline std::vector<std::pair<int64_t, float>> shown_curve(const std::filesystem::path& folder,
                                                          const std::string& tag) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("events.")) files.push_back(entry.path().string());
  }
  // By length first: a test program may write its tenth file in the same second as its ninth.
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  std::vector<std::pair<int64_t, float>> curve;
  for (const std::string& file : files) {
    for (const Fields& event : read_events(file)) {
      const auto number = event.numbers.find(2);
      const int64_t step = number == event.numbers.end() ? 0 : static_cast<int64_t>(number->second);
      if (event.bytes.contains(7) && Fields(event.bytes.at(7)).numbers.at(1) == 1)
        std::erase_if(curve, [&](const auto& point) { return point.first >= step; });
      if (!event.bytes.contains(5)) continue;
      const Fields value(Fields(event.bytes.at(5)).bytes.at(1));
      if (value.bytes.at(1) == tag)
        curve.emplace_back(step, std::bit_cast<float>(static_cast<uint32_t>(value.numbers.at(2))));
    }
  }
  return curve;
}

}  // namespace brightnet::testing
