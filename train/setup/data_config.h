// What the commands of `brightnet data` have in common (private to train/setup/).
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "brightnet/answer.h"
#include "core/json.h"
#include "train/setup/named_run.h"

namespace brightnet {

/// The configuration of a run on these data, or of the data alone. Logs what they were recognized as.
RunConfig data_config(const Configuration& data);

/// An answer of text and JSON. Bytes that are not UTF-8 (in file names, for example) are replaced.
inline Answer answer_of(std::string text, const nlohmann::json& json) {
  return {std::move(text), to_text(json)};
}

}  // namespace brightnet
