// docs/defaults.md says what is chosen where nothing is given: its keys are automatic, and the numbers of its rules are
// those that are chosen.
#include <algorithm>
#include <regex>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "tests/paths.h"
#include "tests/train/setup/chosen_values.h"

namespace brightnet::testing {
namespace {

std::string document() {
  return read_file(source_dir() / "docs/defaults.md");
}

/// The keys in the first cells of the table, and whether the cell or the rule names another default.
std::vector<std::pair<std::string, bool>> keys_of_the_table() {
  std::vector<std::pair<std::string, bool>> keys;
  std::istringstream text(document());
  const std::regex quoted("`([a-z]+\\.[a-z0-9_]+)`");
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find(" | ") - 2), rule = line.substr(line.find(" | ") + 3);
    const bool otherwise = cell.find("the default is") != std::string::npos || rule.starts_with("`cpu`") ||
                           rule.starts_with("`off`");
    for (std::sregex_iterator match(cell.begin(), cell.end(), quoted), none; match != none; ++match)
      keys.emplace_back((*match)[1], otherwise);
  }
  return keys;
}

TEST(DefaultsDocument, NamesKeysThatAreAutomatic) {
  const auto known = config_keys();
  const std::string text = print_config(RunConfig(), false);
  const auto keys = keys_of_the_table();
  EXPECT_GE(keys.size(), 24u);
  for (const auto& [key, otherwise] : keys) {
    EXPECT_NE(std::find(known.begin(), known.end(), key), known.end()) << key;
    if (key.starts_with("head.") || key == "train.sizes") continue;  // they are left out, and empty
    const size_t dot = key.find('.'), section = text.find('\n' + key.substr(0, dot) + ":\n");
    const size_t at = text.find("\n  " + key.substr(dot + 1) + ": ", section);
    ASSERT_NE(at, std::string::npos) << key;
    const bool automatic = text.compare(at + 5 + key.size() - dot - 1, 5, "auto\n") == 0;
    EXPECT_EQ(automatic, !otherwise) << key;
  }
}

TEST(DefaultsDocument, AndTheAdviceNameKeysThatExist) {
  const auto known = config_keys();
  const std::regex key(
      "(data|train|optimizer|schedule|ema|augment|loader|evaluate|head|input)(\\.[a-z0-9_]+)+");
  for (const char* name : {"defaults.md", "choosing.md", "low_ap.md"}) {
    const std::string text = read_file(source_dir() / "docs" / name);
    int keys = 0;
    for (std::sregex_iterator match(text.begin(), text.end(), key), none; match != none; ++match) {
      const std::string found = match->str();
      if (found.ends_with(".md")) continue;
      ++keys;
      EXPECT_TRUE(std::any_of(
          known.begin(), known.end(),
          [&](const std::string& each) { return each == found || each.starts_with(found + '.'); }))
          << name << ": " << found;
    }
    EXPECT_GT(keys, 10) << name;
  }
}

/// A run of so many steps on so many images, from scratch or not.
RunConfig of_steps(int steps, int64_t images = 300) {
  RunConfig config;
  config.train.iterations = steps;
  config.schedule.unit = ScheduleUnit::iterations;
  return chosen(facts_of(images), config);
}

TEST(DefaultsDocument, HasTheNumbersThatAreChosen) {
  const std::string text = document();
  const auto expect = [&](const std::string& words) {
    EXPECT_NE(text.find(words), std::string::npos) << words;
  };
  const auto batch = [](int64_t images) { return chosen(facts_of(images)).train.batch.value(); };
  expect(fmt::format("| {} below 500 training images, {} below 5000, {} from there on;", batch(499),
                     batch(4999), batch(5000)));
  RunFacts pretrained = facts_of(10000);
  pretrained.pretrained = true;
  RunConfig quantized;
  quantized.train.quantize = true;
  expect(
      fmt::format("at least {} epochs and at least 3000 steps; from `weights` at least {} epochs and at "
                  "least 1000 steps; with `train.quantize` {} and 200.",
                  chosen(facts_of(10000)).train.epochs.value(), chosen(pretrained).train.epochs.value(),
                  chosen(pretrained, quantized).train.epochs.value()));
  expect(fmt::format("the input grows over the first {:g} of the run", of_steps(3000).train.grow.value()));
  expect(fmt::format("for AdamW {:g} in runs from scratch of fewer than 1000 steps;",
                     of_steps(999).optimizer.rate.value()));
  expect(fmt::format("{:.5f} with `train.quantize`; {:g} otherwise",
                     chosen(pretrained, quantized).optimizer.rate.value(),
                     of_steps(1000).optimizer.rate.value()));
  expect(fmt::format("at most a tenth of the run; {:g} steps in long runs of large sets",
                     of_steps(10000, 5000).schedule.warmup.value()));
  expect(fmt::format("{:g}: the rate rises linearly; {:g} in long runs of large sets",
                     of_steps(3000).schedule.power.value(), of_steps(10000, 5000).schedule.power.value()));
  expect(fmt::format("from {:g} to {:g}; {:g} in long runs of large sets", of_steps(1).ema.decay.value(),
                     of_steps(1'000'000).ema.decay.value(), of_steps(10000, 5000).ema.decay.value()));
  expect(fmt::format("steps / 7.5, from {:g} to {:g};", of_steps(1).ema.ramp.value(),
                     of_steps(1'000'000).ema.ramp.value()));
  expect(fmt::format("| `augment.mosaic_off` | {:g}; {:g} in long runs of large sets",
                     of_steps(3000).augment.mosaic_off.value(),
                     of_steps(10000, 5000).augment.mosaic_off.value()));
  expect("for runs below 10000 steps");
  EXPECT_EQ(of_steps(9999).train.patience, 0);
  EXPECT_GT(of_steps(10000).train.patience, 0);
}

}  // namespace
}  // namespace brightnet::testing
