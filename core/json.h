// JSON that programs read: `--json` answers and saved states.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace brightnet {

/// JSON that keeps keys in the order they are documented in.
using Json = nlohmann::ordered_json;

/// Text for people and programs: indented, ending in a newline. Text that is not UTF-8 (a file name may be
/// anything) has the offending bytes replaced.
std::string to_text(const Json& json);

/// The shortest decimal number that reads back as the same float: 0.87, where the float's double would print
/// as 0.8700000047683716.
double shortest(float value);

}  // namespace brightnet
