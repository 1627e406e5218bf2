// The keys that a struct's fields() describes (core/config.h), for whoever lists them: completion, and "did you mean".
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/config.h"

namespace brightnet {

struct ListedField {
  std::string key;  ///< the key with its section: "size", "train.size"
  std::string doc;
  /// The words that the field takes; at most `auto` where it takes other values as well.
  std::vector<std::string> values;
};

/// All fields, also those that may be left out, in the order of fields().
std::vector<ListedField> list_fields(const std::function<void(Fields&)>& visit);

template <typename Struct>
std::vector<ListedField> fields_of() {
  Struct any;
  return list_fields([&any](Fields& f) { any.fields(f); });
}

}  // namespace brightnet
