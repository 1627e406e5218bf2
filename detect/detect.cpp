#include "detect/detect.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {

DetectReport detect(InferenceNetwork& inference, FrameSource& source, const PipelineOptions& options,
                    const ObjectSink& sink, const std::stop_token& stop) {
  DetectReport report;
  Pipeline pipeline(inference.engine(), inference.fit(), options);
  const auto count = [&](FoundObjects& found) {
    if (!found.frame.failure.empty()) {
      report.skipped.push_back({found.frame.file, found.frame.failure});
      return true;
    }
    ++report.images;
    report.objects += std::ssize(found.boxes);
    return sink(found);
  };
  pipeline.run(source, count, stop);
  report.times = pipeline.times();
  return report;
}

std::vector<bool> parse_class_filter(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& names) {
  if (wanted.empty()) return {};
  std::vector<bool> filter(names.size(), false);
  for (const std::string& word : wanted) {
    bool is_name = false;  // a .names may have it twice
    for (size_t id = 0; id < names.size(); ++id) {
      if (names[id] != word) continue;
      is_name = true;
      filter[id] = true;
    }
    if (!is_name) {
      const auto number = parse_integer<size_t>(word);
      if (!number) {
        const std::string nearest = nearest_word(word, names);
        throw InputError("class '" + word + "' is not one of the model's " + std::to_string(names.size()),
                         "--classes",
                         nearest.empty() ? fmt::format("They are: {}.", fmt::join(names, ", "))
                                         : "Did you mean '" + nearest + "'?");
      }
      if (*number >= names.size()) {
        throw InputError(
            fmt::format("there is no class {}: the model has {}, counted from 0", *number, names.size()),
            "--classes");
      }
      filter[*number] = true;
    }
  }
  return filter;
}

}  // namespace brightnet
