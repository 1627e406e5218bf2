// One fold of a k-fold cross-validation: which part of the data is validated.
#pragma once

#include <string>

namespace brightnet {

struct Fold {
  int part = 0;   ///< number of the part that is validated, from 1
  int count = 0;  ///< number of parts; 0: no cross-validation
  explicit operator bool() const { return count > 0; }
  bool operator==(const Fold&) const = default;
};

/// The part that validates where a data set has no validation images: a tenth of the training images, chosen
/// by content, and at least one group of them.
constexpr Fold validation_fold{1, 10};

/// "2/5": the second of five parts; "" is none. Throws InputError for anything else; `where` is its location.
Fold parse_fold(const std::string& text, const std::string& where);

/// The fold as text that parse_fold() reads.
std::string to_text(const Fold& fold);

}  // namespace brightnet
