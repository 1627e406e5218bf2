// Weights files that are broken in every way: a hundred thousand mutations of good ones. Each must be read or
// be refused as the user's mistake; none may crash, hang, or make the reader ask for more memory than the
// file has bytes (and a fixed allowance for messages and streams).
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "core/random.h"
#include "formats/darknet/weights.h"
#include "formats/safetensors.h"
#include "tests/layers/models.h"

namespace {

std::atomic<size_t> largest_allocation{0};

void* allocated(size_t bytes) {
  size_t seen = largest_allocation.load(std::memory_order_relaxed);
  while (bytes > seen && !largest_allocation.compare_exchange_weak(seen, bytes)) {
  }
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The test program's own, so that every allocation of the readers is seen.
void* operator new(size_t bytes) {
  return allocated(bytes);
}
void* operator new[](size_t bytes) {
  return allocated(bytes);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept try {
  return allocated(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept try {
  return allocated(bytes);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, size_t) noexcept {
  std::free(memory);
}

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* tiny_model = R"(
name: tiny_model
input: {size: 32, channels: 3}
activation: leaky
head: {anchors: [[8, 8]]}
layers:
  - conv: {filters: 2, size: 3, stride: 2}
  - conv: {filters: 3, size: 1}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)";

/// A file that is overwritten in place: creating a hundred thousand would test the file system.
class Scratch {
 public:
  explicit Scratch(const char* name) : path(fs::path(::testing::TempDir()) / name) {
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    BRIGHTNET_CHECK(file_ >= 0, "no temporary file");
  }
  ~Scratch() {
    ::close(file_);
    fs::remove(path);
  }
  void write(const std::string& bytes) const {
    const bool written =
        ::pwrite(file_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()) &&
        ::ftruncate(file_, static_cast<off_t>(bytes.size())) == 0;
    BRIGHTNET_CHECK(written, "the temporary file cannot be written");
  }

  const fs::path path;

 private:
  int file_;
};

/// One to four changes: bytes, whole words of telling values, parts removed, doubled, or cut off.
std::string mutated_weights(std::string bytes, Random& random) {
  static const uint32_t words[] = {0,           1,           0x7FFFFFFFu, 0x80000000u,
                                   0xFFFFFFFFu, 0x7F800000u, 0x7FC00000u, 0xBF800000u};
  for (uint32_t changes = 1 + random.below(4); changes > 0 && !bytes.empty(); --changes) {
    // The beginning decides most.
    const uint32_t reach = random.chance(0.5f) ? std::min<uint32_t>(64, static_cast<uint32_t>(bytes.size()))
                                               : static_cast<uint32_t>(bytes.size());
    const size_t at = random.below(reach), rest = bytes.size() - at;
    const size_t some = 1 + random.below(std::min<size_t>(rest, 200));
    switch (random.below(6)) {
      case 0: bytes[at] = static_cast<char>(random.below(256)); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
      case 2: std::memcpy(bytes.data() + at, &words[random.below(8)], std::min<size_t>(4, rest)); break;
      case 3: bytes.erase(at, some); break;
      case 4: bytes.insert(at, bytes.substr(at, some)); break;
      default: bytes.resize(at);
    }
  }
  return bytes;
}

/// Reads `count` mutations; how many were good enough to be read.
template <typename Read>
int read_mutations(const std::string& good, const Scratch& scratch, int count, Read&& read) {
  constexpr size_t allowance = 64 << 10;
  int whole = 0;
  for (int i = 0; i < count; ++i) {
    Random random(11, Purpose::test, good.size(), static_cast<uint64_t>(i));
    const std::string bytes = mutated_weights(good, random);
    scratch.write(bytes);
    largest_allocation = 0;
    try {
      read();
      ++whole;
    } catch (const InputError& e) {
      EXPECT_EQ(e.code(), ExitCode::input);
      EXPECT_GT(std::string(e.what()).size(), 20u);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "mutation " << i << ": " << e.what();
      return whole;
    }
    EXPECT_LE(largest_allocation.load(), bytes.size() + allowance) << "mutation " << i;
  }
  return whole;
}

void read_broken_darknet_weights(int mutations) {
  const Model model = model_of(tiny_model, 2);
  const ParameterLayout layout(model);
  const std::vector<float> values(layout.floats(), 0.5f);
  const Scratch scratch("weights_mutation.weights");
  save_darknet_weights(scratch.path.string() + ".good", model, layout, values);
  const std::string good = read_file(scratch.path.string() + ".good");
  fs::remove(scratch.path.string() + ".good");
  std::vector<float> into = values;
  bool partial = false;
  const int whole = read_mutations(good, scratch, mutations, [&] {
    partial = !partial;
    load_darknet_weights(scratch.path, model, layout, into, {.partial = partial});
  });
  EXPECT_GT(whole, mutations / 100) << "a reader that refuses everything proves nothing";
  EXPECT_LT(whole, mutations * 9 / 10);
}

void read_broken_safetensors(int mutations) {
  const std::vector<float> data(24, 1.5f);
  const std::vector<SafetensorsEntry> entries{{"a.weight", {2, 3, 4}, data.data()}, {"b", {5}, data.data()}};
  const Scratch scratch("weights_mutation.safetensors");
  write_safetensors(scratch.path.string() + ".good", entries, {{"format", "x"}});
  const std::string good = read_file(scratch.path.string() + ".good");
  fs::remove(scratch.path.string() + ".good");
  const int whole = read_mutations(good, scratch, mutations, [&] {
    SafetensorsReader reader(scratch.path);
    for (const auto& [name, info] : reader.tensors()) reader.read(name);
  });
  EXPECT_GT(whole, mutations / 100);
  EXPECT_LT(whole, mutations * 9 / 10);
}

TEST(WeightsMutation, DarknetsFilesAreReadOrRefused) {
  read_broken_darknet_weights(20'000);
}

TEST(SlowWeightsMutation, AHundredThousandOfDarknetsFilesAreReadOrRefused) {
  read_broken_darknet_weights(100'000);
}

TEST(WeightsMutation, SafetensorsAreReadOrRefused) {
  read_broken_safetensors(20'000);
}

TEST(SlowWeightsMutation, AHundredThousandSafetensorsAreReadOrRefused) {
  read_broken_safetensors(100'000);
}

}  // namespace
}  // namespace brightnet::testing
