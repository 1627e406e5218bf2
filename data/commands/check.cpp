#include "data/commands/check.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text.h"
#include "data/image/perceptual_hash.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

// Decodes every image, moves those that fail from the images to the problems, and returns what the others contain.
std::vector<ImageContent> decode_all(Dataset& dataset, uint64_t max_pixels) {
  std::vector<std::optional<DataProblem>> found(dataset.images.size());
  std::vector<ImageContent> contents(dataset.images.size());
  std::exception_ptr failure;  // none may leave the threads
#pragma omp parallel for schedule(dynamic, 4)
  for (size_t i = 0; i < found.size(); ++i) {
    try {
      const fs::path& file = dataset.images[i].file;
      found[i] = decoding_problem(file, max_pixels,
                                  [&](const cv::Mat& image) { contents[i].look = perceptual_hash(image); });
      if (!found[i]) contents[i].bytes = bytes_hash(file);
    } catch (...) {
#pragma omp critical
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  std::vector<ImageRecord> usable;
  std::vector<ImageContent> usable_contents;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i]) {
      dataset.problems.push_back(std::move(*found[i]));
    } else {
      usable.push_back(std::move(dataset.images[i]));
      usable_contents.push_back(contents[i]);
    }
  }
  dataset.images = std::move(usable);
  return usable_contents;
}

CheckReport::SplitReport report(Split split, const Dataset& dataset,
                                const std::vector<ImageContent>& contents) {
  CheckReport::SplitReport out;
  out.name = enum_name(split);
  out.images = dataset.images.size();
  for (const auto& image : dataset.images) {
    out.background += image.annotations.empty();
    out.boxes += image.annotations.size();
    for (const Annotation& a : image.annotations) out.crowds += a.crowd;
  }
  std::unordered_map<uint64_t, size_t> first;
  for (size_t i = 0; i < contents.size(); ++i) {
    const auto [at, is_new] = first.try_emplace(contents[i].bytes, i);
    if (!is_new) out.copies.emplace_back(dataset.images[i].file, dataset.images[at->second].file);
  }
  out.problems = dataset.problems;
  return out;
}

std::vector<std::string> without_objects(const Dataset& dataset) {
  std::vector<bool> has(dataset.classes.size());
  for (const auto& image : dataset.images) {
    for (const Annotation& a : image.annotations) {
      if (!a.crowd) has[a.class_id] = true;  // of crowds nothing is learnt
    }
  }
  std::vector<std::string> names;
  for (size_t c = 0; c < has.size(); ++c) {
    if (!has[c]) names.push_back(dataset.classes[c]);
  }
  return names;
}

/// Remarks on what is well-formed and yet worth knowing.
std::string remarks(const CheckReport::SplitReport& split) {
  std::string out;
  const auto remark = [&](const std::vector<std::string>& pictures, const char* one, const char* many) {
    constexpr size_t most_named = 3;
    if (pictures.empty()) return;
    const size_t named = std::min(most_named, pictures.size());
    out += fmt::format("  {} in {}, so these pictures count more than once: {}",
                       counted(pictures.size(), one, many), split.name,
                       fmt::join(pictures.begin(), pictures.begin() + static_cast<ptrdiff_t>(named), ", "));
    if (pictures.size() > named) out += fmt::format(" and {} more", pictures.size() - named);
    out += '\n';
  };
  std::vector<std::string> copies, again;
  for (const auto& [file, of] : split.copies) {
    if (file == of) {
      again.push_back(file.string());
    } else {
      copies.push_back(fmt::format("{} (of {})", file.string(), of.string()));
    }
  }
  remark(copies, "image is a copy of another", "images are copies of others");
  remark(again, "image is listed again", "images are listed again");
  if (split.crowds > 0)
    out += fmt::format("  {} of a crowd (iscrowd), which is not trained on\n",
                       counted(split.crowds, "box is", "boxes are"));
  return out;
}

std::string how_alike(const SharedImage& image) {
  switch (image.sameness) {
    case Sameness::file: return "the same file";
    case Sameness::bytes: return "the same bytes";
    case Sameness::look: return fmt::format("looks alike, {} of 64 bits differ", image.bits);
  }
  return "";
}

std::string describe(const std::vector<SharedImage>& shared) {
  if (shared.empty()) return "";
  constexpr size_t named = 10;
  std::string out = fmt::format("{} in two splits, so the accuracy measured there is not meaningful:\n",
                                counted(shared.size(), "image is", "images are"));
  for (size_t i = 0; i < std::min(named, shared.size()); ++i) {
    const SharedImage& image = shared[i];
    out += fmt::format("  {} {}, {} {} ({})\n", enum_name(image.split), image.file.string(),
                       enum_name(image.other_split), image.other.string(), how_alike(image));
  }
  if (shared.size() > named) out += fmt::format("  and {} more\n", shared.size() - named);
  return out +
         "  `brightnet data split` divides the images so that those that look alike are in one split.\n";
}

}  // namespace

bool needs_attention(Kind kind) {
  return stops_training(kind) || kind == Kind::missing_image || kind == Kind::too_large_image ||
         kind == Kind::undecodable_image || kind == Kind::truncated_image || kind == Kind::unknown_ending;
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
    out += remarks(split);
  }
  const bool remarked = std::any_of(splits.begin(), splits.end(), [](const SplitReport& split) {
    return !split.copies.empty() || split.crowds > 0;
  });
  if (!classes_without_objects.empty()) {
    out += fmt::format(
        "{} no object in train ({}): the network has outputs for them that learn nothing; data.classes chooses the "
        "others.\n",
        counted(classes_without_objects.size(), "class has", "classes have"),
        fmt::join(classes_without_objects, ", "));
  }
  out += describe(shared);
  if (any(stops_training)) return out + "Problems found: training would stop with the errors above.\n";
  if (any(needs_attention)) return out + "Problems found: training would skip the images named above.\n";
  if (!shared.empty())
    return out +
           "No problems that stop training, but images in two splits make the accuracy look better than it "
           "is.\n";
  const bool mended = remarked || !classes_without_objects.empty() || any([](Kind) { return true; });
  return out + (mended ? "No problems that stop training; the ones above are handled as stated.\n"
                       : "No problems found.\n");
}

nlohmann::json CheckReport::json() const {
  nlohmann::json out{{"ok", exit_code() == ExitCode::done},
                     {"classes", classes},
                     {"classes_without_objects", classes_without_objects},
                     {"splits", nlohmann::json::array()},
                     {"in_both_splits", nlohmann::json::array()},
                     {"shared", nlohmann::json::array()}};
  for (const SharedImage& image : shared) {
    if (image.sameness == Sameness::file) out["in_both_splits"].push_back(image.file.string());
    out["shared"].push_back({{"split", enum_name(image.split)},
                             {"file", image.file.string()},
                             {"other_split", enum_name(image.other_split)},
                             {"other", image.other.string()},
                             {"same", enum_name(image.sameness)},
                             {"bits", image.bits}});
  }
  for (const auto& split : splits) {
    nlohmann::json copies = nlohmann::json::array();
    for (const auto& [file, of] : split.copies)
      copies.push_back({{"file", file.string()}, {"of", of.string()}});
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
                             {"crowds", split.crowds},
                             {"copies", std::move(copies)},
                             {"problems", std::move(problems)}});
  }
  return out;
}

CheckReport check_dataset(const DataOptions& options) {
  CheckReport out;
  constexpr bool lenient = true;
  std::vector<std::unique_ptr<const Dataset>> datasets;
  std::vector<SplitContents> contents;
  for (const Split split : given_splits(options)) {
    Dataset dataset = read_dataset(options, split, lenient);
    std::vector<ImageContent> found = decode_all(dataset, options.max_pixels);
    out.splits.push_back(report(split, dataset, found));
    if (split == Split::train) out.classes_without_objects = without_objects(dataset);
    datasets.push_back(std::make_unique<const Dataset>(std::move(dataset)));
    contents.push_back({split, datasets.back()->images, std::move(found)});
  }
  out.classes = datasets.front()->classes;
  out.shared = find_shared_images(contents);
  return out;
}

}  // namespace brightnet
