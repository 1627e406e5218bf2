// The hyper-parameters that `brightnet tune` can search: the range of each, and how a trial changes it. This
// table is their only list.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/config/config.h"

namespace brightnet {

/// How a value is changed by a normally distributed z.
enum class KeyKind : uint8_t {
  factor,   ///< value · exp(spread · z): what is above 0 and matters by its ratio; 0 stays 0
  share,    ///< value + spread · z: probabilities and shares, which may be 0
  integer,  ///< a factor, rounded
};

/// Whether values differ by factors.
constexpr bool is_ratio(KeyKind kind) {
  switch (kind) {
    case KeyKind::factor:
    case KeyKind::integer: return true;
    case KeyKind::share: return false;
  }
  return false;
}

struct TunedKey {
  std::string_view name;  ///< "optimizer.rate"
  KeyKind kind = KeyKind::factor;
  double low = 0, high = 1;  ///< the search stays within these, and within the configured value
  double spread = 0;         ///< standard deviation of one change
  bool usual = false;        ///< searched unless the user names the keys
};

/// All keys that can be searched.
std::span<const TunedKey> tunable_keys();

/// The keys of these names, in the table's order; those marked `usual` when there are none. Throws InputError,
/// with the nearest known one, for an unknown name, and for a name that is given twice.
std::vector<TunedKey> choose_keys(const std::vector<std::string>& names);

/// The values of a prepared run, in which nothing is automatic. `model` has those of the `head.` keys.
std::vector<double> configured_values(const RunConfig& config, const Model& model,
                                      const std::vector<TunedKey>& keys);
/// Throws InputError for a key that this model's loss does not read.
void refuse_without_effect(const Model& model, const std::vector<TunedKey>& keys);

/// The value in the form in which trials, tables and YAML have it: four significant digits.
std::string tuned_text(double value);
/// The value that its text means.
double rounded(const TunedKey& key, double value);

}  // namespace brightnet
