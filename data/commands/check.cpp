#include "data/commands/check.h"

#include <algorithm>
#include <exception>
#include <set>

#include <fmt/format.h>

#include "core/text.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

// Decodes every image and moves those that fail from the images to the problems.
void decode_all(Dataset& dataset) {
  std::vector<std::optional<DataProblem>> found(dataset.images.size());
  std::exception_ptr failure;  // none may leave the threads
#pragma omp parallel for schedule(dynamic, 4)
  for (size_t i = 0; i < found.size(); ++i) {
    try {
      found[i] = decoding_problem(dataset.images[i].file);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  std::vector<ImageRecord> usable;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) {
      dataset.problems.push_back(std::move(*found[i]));
    } else {
      usable.push_back(std::move(dataset.images[i]));
    }
  }
  dataset.images = std::move(usable);
}

CheckReport::SplitReport report(Split split, const Dataset& dataset) {
  CheckReport::SplitReport out;
  out.name = enum_name(split);
  out.images = dataset.images.size();
  for (const auto& image : dataset.images) {
    out.background += image.annotations.empty();
    out.boxes += image.annotations.size();
  }
  out.problems = dataset.problems;
  return out;
}

std::vector<std::string> shared_images(const Dataset& train, const Dataset& val) {
  const auto place = [](const ImageRecord& image) {
    std::error_code failed;
    const fs::path canonical = fs::canonical(image.file, failed);
    return failed ? image.file : canonical;
  };
  std::set<fs::path> known;
  for (const auto& image : train.images) known.insert(place(image));
  std::vector<std::string> shared;
  for (const auto& image : val.images) {
    if (known.contains(place(image))) shared.push_back(image.file.string());
  }
  return shared;
}

}  // namespace

bool needs_attention(Kind kind) {
  return stops_training(kind) || kind == Kind::missing_image || kind == Kind::undecodable_image ||
         kind == Kind::truncated_image || kind == Kind::unknown_ending;
}

bool CheckReport::any(bool (*which)(DataProblem::Kind)) const {
  return std::any_of(splits.begin(), splits.end(), [&](const SplitReport& split) {
    return std::any_of(split.problems.begin(), split.problems.end(),
                       [&](const DataProblem& problem) { return which(problem.kind); });
  });
}

ExitCode CheckReport::exit_code() const {
  return any(needs_attention) ? ExitCode::input : ExitCode::done;
}

std::string CheckReport::text() const {
  std::string out;
  for (const auto& split : splits) {
    out += fmt::format("{}: {} ({} without objects), {}, {}\n", split.name,
                       counted(split.images, "image", "images"), split.background,
                       counted(split.boxes, "box", "boxes"), counted(classes.size(), "class", "classes"));
    std::string summary = summarize(split.problems);
    for (size_t at = 0; at < summary.size();) {
      const size_t end = std::min(summary.find('\n', at), summary.size());
      out += fmt::format("  {}\n", summary.substr(at, end - at));
      at = end + 1;
    }
  }
  if (!in_both_splits.empty()) {
    out += fmt::format("{} in both splits, so the measured accuracy is not meaningful; the first: {}\n",
                       counted(in_both_splits.size(), "image is", "images are"), in_both_splits.front());
  }
  if (any(stops_training)) return out + "Problems found: training would stop with the errors above.\n";
  if (any(needs_attention)) return out + "Problems found: training would skip the images named above.\n";
  const bool mended = any([](Kind) { return true; });
  return out + (mended ? "No problems that stop training; the ones above are handled as stated.\n"
                       : "No problems found.\n");
}

nlohmann::json CheckReport::json() const {
  nlohmann::json out{{"ok", exit_code() == ExitCode::done},
                     {"classes", classes},
                     {"splits", nlohmann::json::array()},
                     {"in_both_splits", in_both_splits}};
  for (const auto& split : splits) {
    nlohmann::json problems = nlohmann::json::object();
    for (const auto& problem : split.problems) {
      nlohmann::json& kind = problems[std::string(enum_name(problem.kind))];
      if (kind.is_null()) kind = {{"count", 0}, {"names", nlohmann::json::array()}};
      kind["count"] = kind["count"].get<int>() + 1;
      kind["names"].push_back({{"where", problem.where}, {"detail", problem.detail}});
    }
    out["splits"].push_back({{"name", split.name},
                             {"images", split.images},
                             {"background", split.background},
                             {"boxes", split.boxes},
                             {"problems", std::move(problems)}});
  }
  return out;
}

CheckReport check_dataset(const DataOptions& options) {
  CheckReport out;
  constexpr bool lenient = true;
  Dataset train = read_dataset(options, Split::train, lenient);
  decode_all(train);
  out.classes = train.classes;
  out.splits.push_back(report(Split::train, train));
  if (given_splits(options).size() > 1) {
    Dataset val = read_dataset(options, Split::val, lenient);
    decode_all(val);
    out.in_both_splits = shared_images(train, val);
    out.splits.push_back(report(Split::val, val));
  }
  return out;
}

}  // namespace brightnet
