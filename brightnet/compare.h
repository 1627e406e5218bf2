// Runs side by side.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"

namespace brightnet {

struct ComparisonOptions {
  /// A .png or .jpg, beside which a page of the same name is written, or an .html: the page alone.
  std::filesystem::path plot = "compare.png";
  bool over_minutes = false;  ///< the plot's horizontal axis is minutes of training, not epochs
  bool replace = false;       ///< files of others as well
};

struct Comparison {
  Answer answer = {};  ///< scores, speed, and the settings that differ
  std::filesystem::path page = {};
};

/// The files that compare_runs() writes where ComparisonOptions::plot is this one: the plot, unless it is an .html, and the page.
BRIGHTNET_PUBLIC std::vector<std::filesystem::path> files_of_comparison(const std::filesystem::path& plot);

/// Compares the runs in these folders by what each has: a damaged or unfinished run too. What is there and no run is skipped,
/// which is logged. Throws InputError where no run is left, for a folder that is not there, and for a file that is there and
/// that an earlier comparison has not written.
BRIGHTNET_PUBLIC Comparison compare_runs(const std::vector<std::string>& folders,
                                         const ComparisonOptions& options = {});

}  // namespace brightnet
