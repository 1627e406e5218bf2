// One input at a time for libFuzzer, which watches what it reaches; scripts/fuzz --guided starts it.
//
//   BRIGHTNET_FUZZ_TARGET=coco guided_program FILE...   reads these files, for a debugger
//
// BRIGHTNET_FUZZ_FOLDER is where the reader's files are written, best in memory; without it a new one in /dev/shm.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

#include "core/error.h"
#include "tests/fuzz/targets.h"

// Of the compiler's runtime library, where coverage is measured.
extern "C" void __llvm_profile_reset_counters(void) __attribute__((weak));

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

struct Search {
  const FuzzTarget* target = nullptr;
  fs::path folder;
};

fs::path new_folder() {
  if (const char* given = std::getenv("BRIGHTNET_FUZZ_FOLDER")) {
    fs::create_directories(given);
    return given;
  }
  std::string name = "/dev/shm/brightnet-fuzz-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) throw InputError("this folder cannot be made", name);
  return name;
}

const Search& search() {
  static const Search one = [] {
    const char* name = std::getenv("BRIGHTNET_FUZZ_TARGET");
    if (!name)
      throw InputError("no reader is named", "BRIGHTNET_FUZZ_TARGET", "fuzz_program --list names them.");
    Search made{&fuzz_target(name), new_folder()};
    made.target->prepare(made.folder);
    // What is reached by making the files is not what reading them reaches.
    if (__llvm_profile_reset_counters) __llvm_profile_reset_counters();
    return made;
  }();
  return one;
}

}  // namespace
}  // namespace brightnet::testing

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  try {
    brightnet::testing::search();
  } catch (const brightnet::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto& [target, folder] = brightnet::testing::search();
  target->write(folder, std::string(reinterpret_cast<const char*>(bytes), size));
  try {
    target->read(folder);
  } catch (const brightnet::InputError&) {  // the right answer to a broken file
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "not an InputError: %s\n", problem.what());
    std::abort();
  }
  return 0;
}
