#include "data/formats/classes.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;
using Names = std::vector<std::string>;

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "Did you mean 'car'? The data set has car, truck."
std::string remedy(const std::string& name, const Names& own) {
  constexpr size_t listed = 20;
  const std::string nearest = nearest_word(name, own);
  return fmt::format("{}The data set has {}{}.", nearest.empty() ? "" : "Did you mean '" + nearest + "'? ",
                     fmt::join(own.begin(), own.begin() + std::min<ptrdiff_t>(listed, std::ssize(own)), ", "),
                     own.size() > listed ? ", …" : "");
}

/// What the data set itself calls its classes is what is trained on.
bool takes_all(const DataOptions& options) {
  return options.classes.empty() && options.map.empty() && options.target_class_mapping.empty();
}

}  // namespace

ChosenClasses::ChosenClasses(const DataOptions& options, const Names& declared,
                             const std::function<Names()>& in_labels)
    : drops_unmapped_(!options.target_class_mapping.empty()),
      is_list_(!options.classes.empty()),
      is_declared_(!declared.empty()),
      map_(options.map) {
  for (const auto& [type, name] : options.target_class_mapping) map_[lower_case(type)] = name;
  Names own = declared;
  if (own.empty() && (!options.map.empty() || takes_all(options))) own = in_labels();
  check_map(options, own);
  if (is_list_) {
    check_list(options, declared);
    chosen_ = options.classes;
  } else if (drops_unmapped_) {
    std::set<std::string> values;
    for (const auto& [type, name] : map_) values.insert(name);
    values.erase("");
    chosen_ = {values.begin(), values.end()};
  } else {
    for (const std::string& name : own) {
      const std::string to = mapped(name);
      if (!to.empty() && !has(chosen_, to)) chosen_.push_back(to);
    }
  }
  names_ = ClassNames(chosen_, is_list_ ? "data.classes" : options.root).names();
  if (options.single_class && names_.size() > 1) names_ = {"object"};
}

void ChosenClasses::check_map(const DataOptions& options, const Names& own) const {
  if (drops_unmapped_ && !options.map.empty()) {
    throw InputError("data.map and data.target_class_mapping are both set", "",
                     "Keep one: data.map keeps the classes that it does not name, data.target_class_mapping "
                     "drops them.");
  }
  const char* key = drops_unmapped_ ? "data.target_class_mapping" : "data.map";
  for (const auto& [from, to] : map_) {
    if (!drops_unmapped_ && !has(own, from))
      throw InputError(fmt::format("{} names the class '{}', which the data set does not have", key, from),
                       "", remedy(from, own));
    if (!is_list_ || to.empty() || has(options.classes, to)) continue;
    throw InputError(
        fmt::format("{} makes '{}' the class '{}', which is not in data.classes", key, from, to), "",
        "List it there, or leave data.classes out: then the mapping says which classes there are.");
  }
}

/// A data set that lists its classes tells a typing error from a class that has no objects.
void ChosenClasses::check_list(const DataOptions& options, const Names& declared) const {
  Names reachable;
  for (const std::string& name : declared) reachable.push_back(mapped(name));
  for (const std::string& name : options.classes) {
    if (has(reachable, name)) continue;
    const std::string nearest = nearest_word(name, reachable);
    if (nearest.empty() || has(options.classes, nearest)) continue;
    throw InputError(fmt::format("data.classes lists '{}', which the data set does not have", name), "",
                     remedy(name, declared));
  }
}

std::string ChosenClasses::mapped(const std::string& name) const {
  const auto found = map_.find(drops_unmapped_ ? lower_case(name) : name);
  return found == map_.end() ? name : found->second;
}

std::optional<int> ChosenClasses::find(const LabelledBox& box, ProblemLog& log) const {
  const std::string& name = box.class_name;
  const bool is_mapped = map_.contains(drops_unmapped_ ? lower_case(name) : name);
  const std::string to = mapped(name);
  if (drops_unmapped_ && !is_mapped) {
    if (!box.only_if_named) log.add(Kind::unmapped_class, box.where, name);
    return std::nullopt;
  }
  const auto found = std::find(chosen_.begin(), chosen_.end(), to);
  if (found != chosen_.end())
    return names_.size() < chosen_.size() ? 0 : static_cast<int>(found - chosen_.begin());
  if (box.only_if_named) return std::nullopt;
  const std::string nearest = nearest_word(name, chosen_);
  if (to.empty() || (is_list_ && (is_declared_ || nearest.empty()))) {
    log.add(Kind::unlisted_class, box.where, name);
    return std::nullopt;
  }
  log.add(Kind::unknown_class, box.where,
          fmt::format("class '{}' is not one of the {}", name, counted(chosen_.size(), "class", "classes")),
          nearest.empty()
              ? "Correct the label or add the name to data.classes."
              : fmt::format("Did you mean '{}'? If it is a class of its own, list it under data.classes, or "
                            "leave it out: --set data.map.{}=.",
                            nearest, name));
  return std::nullopt;
}

std::optional<Names> known_classes(const DataOptions& options) {
  const Names& names = options.classes.empty() ? options.names : options.classes;
  const bool told = !options.classes.empty() || (takes_all(options) && !options.names.empty());
  if (!told || (options.single_class && names.size() > 1)) return std::nullopt;
  return names;
}

void count_dropped(std::vector<DataProblem>& problems) {
  std::map<std::pair<Kind, std::string>, size_t> counts;
  std::vector<DataProblem> kept;
  const auto dropped = [](Kind kind) { return kind == Kind::unmapped_class || kind == Kind::unlisted_class; };
  for (DataProblem& problem : problems) {
    if (!dropped(problem.kind) || ++counts[{problem.kind, problem.detail}] == 1)
      kept.push_back(std::move(problem));
  }
  for (DataProblem& problem : kept) {
    if (!dropped(problem.kind)) continue;
    const size_t count = counts[{problem.kind, problem.detail}];
    problem.detail = fmt::format("'{}', {}", problem.detail, counted(count, "object", "objects"));
  }
  problems = std::move(kept);
}

}  // namespace brightnet
