// The search for inputs that a reader does not answer as it should (scripts/fuzz): its targets, and that it finds.
#include <filesystem>

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/fuzz/targets.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

TEST(Fuzz, EveryReaderTakesItsCorpusAndRefusesSomeOfWhatIsBroken) {
  const fs::path root = fs::path(::testing::TempDir()) / "fuzz";
  size_t kept = 0;
  for (const FuzzTarget& target : fuzz_targets()) {
    SCOPED_TRACE(target.name);
    const fs::path folder = root / target.name;
    fs::create_directories(folder);
    target.prepare(folder);
    for (const std::string& content : target.corpus) {
      target.write(folder, content);
      EXPECT_NO_THROW(target.read(folder));
    }
    for (const std::string& content : target.found()) {
      ++kept;
      target.write(folder, content);
      try {
        target.read(folder);
      } catch (const InputError&) {
      } catch (const std::exception& problem) {
        ADD_FAILURE() << "one of tests/fuzz/corpus: " << problem.what();
      }
    }
    int refused = 0;
    constexpr int inputs = 100;
    for (uint64_t number = 0; number < inputs; ++number) {
      target.write(folder, target.input(number));
      try {
        target.read(folder);
      } catch (const InputError&) {
        ++refused;
      } catch (const std::exception& problem) {
        ADD_FAILURE() << "input " << number << ": " << problem.what();
      }
    }
    EXPECT_GT(refused, 0);
  }
  EXPECT_GT(kept, 0u) << "tests/fuzz/corpus was not read";
  fs::remove_all(root);
}

}  // namespace
}  // namespace brightnet::testing
