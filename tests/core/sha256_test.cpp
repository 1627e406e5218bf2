#include "core/sha256.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

std::string sha256(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

TEST(Sha256, IsThatOfTheStandardsExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnTheParts) {
  const std::string text(300, 'x');
  for (size_t part = 1; part < 130; ++part) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part)
      hash.add(text.data() + at, std::min(part, text.size() - at));
    EXPECT_EQ(hash.hex(), sha256(text)) << part;
  }
}

TEST(Sha256, OfAFile) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "sha256.txt";
  write_atomically(file, "abc");
  EXPECT_EQ(sha256_of(file), sha256("abc"));
  std::filesystem::remove(file);
  EXPECT_THROW(sha256_of(file), InputError);
}

}  // namespace
}  // namespace brightnet
