#include "core/hash.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Hash, NoticesEveryFlippedBit) {
  std::string bytes(61, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
  std::set<uint64_t> seen{hash_text(bytes)};
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    seen.insert(hash_text(flipped));
  }
  EXPECT_EQ(seen.size(), 8 * bytes.size() + 1);
}

TEST(Hash, NoticesPairsOfFlippedSigns) {
  // The sign is a word's highest bit, which multiplication alone would never spread.
  std::vector<float> values(64, 1.5f);
  std::set<uint64_t> seen;
  for (size_t i = 1; i < values.size(); i += 2) {
    std::vector<float> flipped = values;
    flipped[i] = -flipped[i];
    flipped[(i + 2) % 64] = -flipped[(i + 2) % 64];
    seen.insert(hash_bytes(flipped.data(), flipped.size() * sizeof(float)));
  }
  EXPECT_EQ(seen.size(), 32u);
}

TEST(Hash, TellsLengthsAndOrderApart) {
  const std::string zeros(17, '\0');
  std::set<uint64_t> seen;
  for (size_t length = 0; length <= zeros.size(); ++length) seen.insert(hash_bytes(zeros.data(), length));
  EXPECT_EQ(seen.size(), zeros.size() + 1);
  EXPECT_NE(hash_text("b", hash_text("a")), hash_text("a", hash_text("b")));
  EXPECT_NE(hash_text("b", hash_text("a")), hash_text("", hash_text("ab")));
}

TEST(Hash, StaysWhatFilesWereWrittenWith) {
  EXPECT_EQ(hash_text(""), 0u);
  EXPECT_EQ(hash_text("brightnet"), 0x3244D8D5307CC47Fu);
}

}  // namespace
}  // namespace brightnet
