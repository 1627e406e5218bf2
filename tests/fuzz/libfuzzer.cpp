// The targets of fuzz_program for libFuzzer, which keeps the inputs that reach code that no other has reached:
//
//   FUZZ_TARGET=voc fuzz_coverage CORPUS [-max_total_time=60]...
//
// The target's own files are put into the folder CORPUS first.
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/hash.h"
#include "tests/fuzz/mutator.h"
#include "tests/fuzz/targets.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

const FuzzTarget* target = nullptr;
fs::path scratch;

const FuzzTarget* chosen_target() {
  const char* name = std::getenv("FUZZ_TARGET");
  for (const FuzzTarget& one : fuzz_targets()) {
    if (name && one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace
}  // namespace brightnet::testing

using namespace brightnet::testing;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  target = chosen_target();
  if (!target) {
    std::cerr << "FUZZ_TARGET names no target; fuzz_program --list names them\n";
    std::exit(2);
  }
  scratch = fs::temp_directory_path() / fmt::format("fuzz-{}-{}", target->name, ::getpid());
  fs::create_directories(scratch);
  target->prepare(scratch);
  for (int i = 1; i < *count; ++i) {
    if ((*arguments)[i][0] == '-') continue;
    fs::create_directories((*arguments)[i]);
    for (const std::string& text : target->corpus) {
      FuzzTarget seed = *target;
      seed.file = fmt::format("seed-{:016x}", brightnet::hash_text(text, 0));
      seed.write((*arguments)[i], text);
    }
    break;
  }
  return 0;
}

/// Half of the time as fuzz_program changes files, which knows words and lines.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  const std::string text =
      Mutator(seed, target->tokens).mutate({reinterpret_cast<const char*>(data), size}).substr(0, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target->write(scratch, {reinterpret_cast<const char*>(data), size});
  try {
    target->read(scratch);
  } catch (const brightnet::InputError&) {  // the right answer to a broken file
  }
  return 0;
}
