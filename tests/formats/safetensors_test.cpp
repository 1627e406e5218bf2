#include "formats/safetensors.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

fs::path temporary(const std::string& name) {
  return fs::path(::testing::TempDir()) / ("safetensors_" + name);
}

// A file from its header, written independently of the writer.
fs::path write_raw(const std::string& name, const std::string& header, size_t data_bytes,
                   int64_t claimed = -1) {
  const fs::path file = temporary(name);
  std::ofstream out(file, std::ios::binary);
  const uint64_t length = claimed >= 0 ? static_cast<uint64_t>(claimed) : header.size();
  for (int i = 0; i < 8; ++i) out.put(static_cast<char>(length >> (8 * i) & 0xFF));
  out << header << std::string(data_bytes, '\x3f');
  return file;
}

std::string failure(const fs::path& file) {
  try {
    SafetensorsReader reader(file);
    for (const auto& [name, info] : reader.tensors()) reader.read(name);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const std::vector<float> a{1.5f, -2.25f, 3e-30f, 4}, b{7};
  const fs::path file = temporary("round.safetensors");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {2, 2}, a.data()}, {"b/ü", {1}, b.data()}},
                    {{"key", "value\nwith \"quotes\""}});
  SafetensorsReader reader(file);
  EXPECT_EQ(reader.metadata("key"), "value\nwith \"quotes\"");
  EXPECT_EQ(reader.tensors().at("a").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(reader.read("b/ü"), b);
  EXPECT_EQ(reader.read("a", 4), a);
  EXPECT_THROW(reader.read("a", 5), InputError);
  EXPECT_THROW(reader.read("c"), InputError);
  EXPECT_THROW(reader.metadata("none"), InputError);
}

TEST(Safetensors, LaysDataOutAsTheFormatSays) {
  const std::vector<float> a{1, 2, 3};
  const fs::path file = temporary("layout.safetensors");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {3}, a.data()}}, {});
  const std::string bytes = read_file(file);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ((8 + header) % 64, 0u) << "data must be usable in place";
  ASSERT_EQ(bytes.size(), 8 + header + 12);
  EXPECT_EQ(bytes[8], '{');
  float second = 0;
  std::memcpy(&second, bytes.data() + 8 + header + 4, 4);
  EXPECT_EQ(second, 2.0f);
}

TEST(Safetensors, RoundsThoseToHalfPrecisionThatAreAskedFor) {
  const std::vector<float> a{1.0f, 1.00048828125f, 1.00146484375f, -3.0f};  // ties go to even
  const fs::path file = temporary("half_of_them.safetensors");
  write_safetensors(file, std::vector<SafetensorsEntry>{{"a", {4}, a.data(), true}, {"b", {4}, a.data()}},
                    {});
  SafetensorsReader reader(file);
  EXPECT_EQ(reader.tensors().at("a").type, "F16");
  EXPECT_EQ(reader.tensors().at("a").end - reader.tensors().at("a").begin, 8u);
  EXPECT_EQ(reader.read("a"), (std::vector<float>{1.0f, 1.0f, 1.001953125f, -3.0f}));
  EXPECT_EQ(reader.read("b"), a);
}

TEST(Safetensors, ReadsBfloat16) {
  const fs::path file =
      write_raw("bf16.safetensors", R"({"h":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", 0);
  std::ofstream(file, std::ios::binary | std::ios::app) << std::string("\x80\x3F\x40\xC0", 4);
  EXPECT_EQ(SafetensorsReader(file).read("h"), (std::vector<float>{1, -3}));
}

TEST(Safetensors, ReadsHalfPrecision) {
  const fs::path file =
      write_raw("half.safetensors", R"({"h":{"dtype":"F16","shape":[5],"data_offsets":[0,10]}})", 0);
  {
    // 1, −2, the smallest subnormal, infinity, 65504.
    std::ofstream out(file, std::ios::binary | std::ios::app);
    for (const uint16_t bits : {0x3C00, 0xC000, 0x0001, 0x7C00, 0x7BFF}) {
      out.put(static_cast<char>(bits & 0xFF)).put(static_cast<char>(bits >> 8));
    }
  }
  SafetensorsReader reader(file);
  const auto values = reader.read("h");
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
  EXPECT_EQ(values[2], 0x1p-24f);
  EXPECT_TRUE(std::isinf(values[3]));
  EXPECT_EQ(values[4], 65504.0f);
}

// Such tensors are not ours, but a file may have them beside ours.
TEST(Safetensors, KnowsTheSizeOfEveryType) {
  for (const auto& [type, bytes] : {std::pair("F64", 8),
                                    {"F32", 4},
                                    {"F16", 2},
                                    {"BF16", 2},
                                    {"I64", 8},
                                    {"I32", 4},
                                    {"I16", 2},
                                    {"I8", 1},
                                    {"U64", 8},
                                    {"U32", 4},
                                    {"U16", 2},
                                    {"U8", 1},
                                    {"BOOL", 1},
                                    {"F8_E4M3", 1},
                                    {"F8_E5M2", 1}}) {
    const std::string header = R"({"a":{"dtype":")" + std::string(type) +
                               R"(","shape":[3],"data_offsets":[0,)" + std::to_string(3 * bytes) + "]}}";
    const SafetensorsReader reader(write_raw("types.safetensors", header, static_cast<size_t>(3 * bytes)));
    EXPECT_EQ(reader.tensors().at("a").type, type);
    EXPECT_EQ(reader.tensors().at("a").count(), 3u);
  }
}

TEST(Safetensors, RefusesAFileThatIsCutShortAnywhere) {
  const std::vector<float> a(100, 1.0f);
  const fs::path whole = temporary("whole.safetensors"), cut = temporary("cut.safetensors");
  write_safetensors(whole, std::vector<SafetensorsEntry>{{"a", {100}, a.data()}}, {{"m", "v"}});
  const std::string bytes = read_file(whole);
  for (size_t length = 0; length < bytes.size(); length += 7) {
    write_atomically(cut, bytes.substr(0, length));
    EXPECT_NE(failure(cut).find("not a whole safetensors file"), std::string::npos) << length;
  }
  EXPECT_EQ(failure(whole), "");
}

TEST(Safetensors, RefusesAWholeFileWithALongHeaderByTheLimit) {
  const auto refusal_of = [](size_t header) {  // of a file that has a hole in the place of its header
    const fs::path file = write_raw("long.safetensors", "", 0, static_cast<int64_t>(header));
    fs::resize_file(file, 8 + header);
    return failure(file);
  };
  const std::string long_header = refusal_of(100'000'001), zeros = refusal_of(100'000'000);
  EXPECT_NE(long_header.find("its header has 100000001 bytes, and at most 100000000 are read"),
            std::string::npos)
      << long_header;
  EXPECT_EQ(long_header.find("cut short"), std::string::npos) << long_header;
  EXPECT_NE(zeros.find("its header is not JSON"), std::string::npos) << zeros;
}

struct BrokenHeader {
  const char* name;
  const char* header;
  size_t data;
  const char* says;

  friend std::ostream& operator<<(std::ostream& out, const BrokenHeader& broken) {
    return out << broken.name;
  }
};

class BrokenSafetensors : public ::testing::TestWithParam<BrokenHeader> {};

TEST_P(BrokenSafetensors, IsRefusedWithTheReason) {
  const auto& broken = GetParam();
  const std::string message =
      failure(write_raw(std::string(broken.name) + ".safetensors", broken.header, broken.data));
  EXPECT_NE(message.find(broken.says), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Headers, BrokenSafetensors,
    ::testing::Values(
        BrokenHeader{"json", "{nonsense", 0, "not JSON"}, BrokenHeader{"list", "[1]", 0, "not a JSON object"},
        BrokenHeader{"overlap",
                     R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                     R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                     12, "inside those of another tensor"},
        BrokenHeader{"gap",
                     R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                     12, "after a gap"},
        BrokenHeader{"shape", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
                     "needs 12 bytes"},
        BrokenHeader{"past_end", R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8,
                     "there are 8"},
        BrokenHeader{"backwards", R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[8,0]}})", 8,
                     "ends at byte 0"},
        BrokenHeader{"negative", R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", 0,
                     "negative side"},
        BrokenHeader{"huge", R"({"a":{"dtype":"F32","shape":[4611686018427387904,8],"data_offsets":[0,0]}})",
                     0, "larger than any file"},
        BrokenHeader{"type", R"({"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", 4,
                     "unknown type 'F31'"},
        BrokenHeader{"missing", R"({"a":{"dtype":"F32","shape":[1]}})", 4,
                     "lacks dtype, shape or data_offsets"},
        BrokenHeader{"offsets", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})", 4, "no pair"},
        BrokenHeader{"surplus", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8,
                     "8 follow the header"},
        BrokenHeader{"twice",
                     R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                     4, "names 'a' twice"},
        BrokenHeader{"metadata", R"({"__metadata__":{"k":1}})", 0, "'k' is not a text"},
        BrokenHeader{"integers", R"({"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}})", 4,
                     "is of type I32"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Safetensors, RefusesAHeaderLongerThanTheFileWithoutReadingIt) {
  EXPECT_NE(failure(write_raw("long.safetensors", "{}", 0, 1000)).find("header of 1000 bytes"),
            std::string::npos);
  const std::string longer = failure(write_raw("longer.safetensors", "{}", 0, INT64_MAX));
  EXPECT_NE(longer.find("no length of a header"), std::string::npos) << longer;
  EXPECT_EQ(longer.find("cut short"), std::string::npos) << longer;
}

}  // namespace
}  // namespace brightnet
