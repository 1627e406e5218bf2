// JSON for `--json` output and saved states.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace brightnet {

/// Keeps keys in insertion order.
using Json = nlohmann::ordered_json;

/// Indented, ending in a newline. Bytes that are not UTF-8 (in file names, for example) are replaced.
std::string to_text(const Json& json);

/// The shortest decimal number that reads back as the same float: 0.87, where the float's double would print
/// as 0.8700000047683716.
double shortest(float value);

}  // namespace brightnet
