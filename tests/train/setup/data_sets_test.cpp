#include "train/setup/data_sets.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/logged.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

std::vector<std::string> names(const Dataset& dataset) {
  std::vector<std::string> all;
  for (const ImageRecord& image : dataset.images) all.push_back(image.file.filename().string());
  return all;
}

std::vector<std::string> trained_on(const SmallRun& run, const std::vector<std::string>& settings) {
  return names(read_run_data(load_run_config(run.config(), settings), false).training);
}

TEST(RunData, AFractionIsTheSameImagesInEveryRunAndThoseOfALargerOneToo) {
  const SmallRun run(20, 4);
  const auto all = trained_on(run, {}), half = trained_on(run, {"data.fraction=0.5"}),
             fifth = trained_on(run, {"data.fraction=0.2", "train.seed=7"});
  EXPECT_EQ(all.size(), 20u);
  ASSERT_EQ(half.size(), 10u);
  ASSERT_EQ(fifth.size(), 4u);
  EXPECT_EQ(fifth, trained_on(run, {"data.fraction=0.2"})) << "whatever else the seed draws";
  EXPECT_TRUE(std::is_sorted(half.begin(), half.end())) << "in their order";
  const std::set<std::string> known(half.begin(), half.end());
  for (const std::string& name : fifth) EXPECT_TRUE(known.contains(name)) << name;
  EXPECT_NE(half, std::vector(all.begin(), all.begin() + 10)) << "not the first";
  EXPECT_EQ(trained_on(run, {"data.fraction=0.001"}).size(), 1u);
}

TEST(RunData, AFractionDoesNotDependOnWhereTheDataAre) {
  const SmallRun run(20, 4);
  const auto here = trained_on(run, {"data.fraction=0.5"});
  std::filesystem::rename(run.folder() / "data", run.folder() / "elsewhere");
  EXPECT_EQ(trained_on(run, {"data.fraction=0.5", "data.root=" + (run.folder() / "elsewhere").string()}),
            here);
}

// As darknet's lists name them.
TEST(RunData, AFractionOfImagesThatStartInTheCurrentFolderIsNotTheFirstOfThem) {
  const SmallRun run(20, 4);
  std::string list;
  for (int i = 0; i < 20; ++i) list += fmt::format("images/train/{:06}.jpg\n", i);
  std::filesystem::create_directories(run.folder() / "lists");
  write_atomically(run.folder() / "lists/train.txt", list);
  const std::vector<std::string> settings{"data.root=" + (run.folder() / "lists").string(),
                                          "data.train=train.txt", "data.val=train.txt"};
  const auto trained = [&](const std::string& fraction) {
    std::vector<std::string> all = settings;
    all.push_back("data.fraction=" + fraction);
    return trained_on(run, all);
  };
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(run.folder() / "data");
  const auto all = trained("1"), half = trained("0.5");
  std::filesystem::current_path(before);
  ASSERT_EQ(all.size(), 20u);
  ASSERT_EQ(half.size(), 10u);
  EXPECT_NE(half, std::vector(all.begin(), all.begin() + 10));
}

TEST(RunData, AFractionLeavesValidationAlone) {
  const SmallRun run(20, 4);
  const RunConfig config = load_run_config(run.config(), {"data.fraction=0.5"});
  const Logged logged;
  const RunData data = read_run_data(config);
  EXPECT_EQ(data.validation.images.size(), 4u);
  EXPECT_NE(logged.text().find("10 of 20 training images are trained on (data.fraction)."), std::string::npos)
      << logged.text();
  EXPECT_EQ(names(read_split(config, Split::train)), names(data.training));
  EXPECT_EQ(read_split(config, Split::val).images.size(), 4u);
  EXPECT_THROW(load_run_config(run.config(), {"data.fraction=0"}), InputError);
  EXPECT_THROW(load_run_config(run.config(), {"data.fraction=1.5"}), InputError);
}

TEST(RunData, AFractionIsOfWhatAFoldTrainsOn) {
  const SmallRun run(20, 4);
  const auto fold = [&](const std::string& fraction) {
    return read_run_data(load_run_config(run.config(), {"data.fold=1/4", "data.fraction=" + fraction}),
                         false);
  };
  const RunData whole = fold("1"), half = fold("0.5");
  const size_t all = whole.training.images.size();
  ASSERT_GT(all, 4u);
  ASSERT_EQ(half.training.images.size(), (all + 1) / 2);
  const auto known = names(whole.training);
  for (const std::string& name : names(half.training))
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end()) << name;
  EXPECT_EQ(names(half.validation), names(whole.validation)) << "all of them are validated";
}

}  // namespace
}  // namespace brightnet::testing
