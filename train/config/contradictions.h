// Options and settings of one command line that say different things of one key.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// Throws InputError where an option ("--size:train.size=96") stands behind settings that give its key another value: what the
/// user meant is not known, and one of the two would have no effect. Settings behind an option replace what it says.
void refuse_contradictions(const std::vector<std::string>& assignments);

}  // namespace brightnet
