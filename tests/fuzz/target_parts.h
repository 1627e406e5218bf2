// What the lists of targets have in common, and these lists.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace brightnet::testing {

/// What the Mutator inserts.
extern const std::span<const char* const> words;

void put(const std::filesystem::path& file, const std::string& content);
void prepare_image(const std::filesystem::path& file);
/// All of these; that one refuses the file keeps none of the others from reading it.
void read_each(const std::vector<std::function<void()>>& reads);
/// All of these, of which any may refuse the file: it need not fit them.
void try_each(const std::vector<std::function<void()>>& reads);

void add_network_targets(std::vector<FuzzTarget>& targets);
void add_data_targets(std::vector<FuzzTarget>& targets);
void add_run_targets(std::vector<FuzzTarget>& targets);

}  // namespace brightnet::testing
