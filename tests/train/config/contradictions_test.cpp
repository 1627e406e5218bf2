#include "train/config/contradictions.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"

namespace brightnet {
namespace {

/// What is wrong with these; empty: nothing.
std::string contradiction_in(const std::vector<std::string>& assignments) {
  try {
    refuse_contradictions(assignments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Contradictions, NameTheOptionAndTheSetting) {
  const auto expect = [](const std::vector<std::string>& assignments, const std::string& words) {
    const std::string said = contradiction_in(assignments);
    EXPECT_NE(said.find(words + " contradict each other"), std::string::npos) << said;
  };
  expect({"train.size=128", "--size:train.size=96"}, "--size (train.size=96) and --set train.size=128");
  expect({"train={size: [96, 128]}", "--size:train.size=96"},
         "--size (train.size=96) and --set train.size=[96, 128]");
  expect({"train.epochs=-1", "--epochs:train.epochs=1"},
         "--epochs (train.epochs=1) and --set train.epochs=-1");
  expect({"train.iterations=50", "--epochs:train.epochs=1", "--epochs:train.iterations=0"},
         "--epochs (train.iterations=0) and --set train.iterations=50");
  expect({"data.fold=2/3", "--fold:data.fold=\"1/3\""}, "--set data.fold=2/3");
  expect({"model=yolov4", "--model:model=\"demo\""}, "--set model=yolov4");
  expect({"train.size=96", "train.size=128", "--size:train.size=96"}, "--set train.size=128");
}

TEST(Contradictions, AreNotTheSameValueInOtherWords) {
  const std::vector<std::vector<std::string>> harmless{
      {"train.size=128", "train.size=96", "--size:train.size=96"},
      {"train.size=[96, 96]", "--size:train.size=96"},
      {"train={size: 64x96}", "--size:train.size=[64, 96]"},
      {"train.size=auto", "--size:train.size=auto"},
      {"train.size=417x", "--size:train.size=417x"},  // refused where it is read
      {"train.graph=no", "--no-graph:train.graph=false"},
      {"data.fold=1/3", "--fold:data.fold=\"1/3\""},
      {"model=demo", "--model:model=\"demo\""},
      {"train.size=128", "train={batch: 4}", "--size:train.size=96"},  // the later section has no size
      {"train.batch=4", "--size:train.size=96"},
      {"--size:train.size=96", "train.size=128"},  // a setting behind it replaces it
      {"--size:train.size=96", "--size:train.size=128"},
      {}};
  for (const auto& assignments : harmless) EXPECT_EQ(contradiction_in(assignments), "");
}

TEST(Contradictions, AreNoneWhereBothNameOneFile) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "contradictions";
  std::filesystem::create_directories(folder);
  write_atomically(folder / "a.yaml", std::string("a"));
  write_atomically(folder / "b.yaml", std::string("b"));
  const std::string option = "--model:model=\"" + (folder / "a.yaml").string() + '"';
  EXPECT_EQ(contradiction_in({"model=" + (folder / "." / "a.yaml").string(), option}), "");
  EXPECT_NE(contradiction_in({"model=" + (folder / "b.yaml").string(), option}), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace brightnet
