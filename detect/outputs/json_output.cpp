#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include "brightnet/answer.h"
#include "core/files.h"
#include "core/output_files.h"
#include "detect/detections_json.h"
#include "detect/outputs/output.h"

namespace brightnet {
namespace {

/// A JSON list of records, a line each. `records` turns an image into its records, whose first key is
/// `first_key`. Nothing is printed before there is one.
class JsonOutput : public DetectionOutput {
 public:
  using Records = std::function<std::vector<Json>(const FoundObjects& found)>;

  /// `refuse` throws InputError for an image or video of which there can be no records; empty: there is none.
  JsonOutput(const std::string& file, const std::string& option, const std::string& first_key,
             Records records, std::function<void(const Frame&)> refuse = {})
      : records_(std::move(records)), refuse_(std::move(refuse)) {
    check_answer_file(file, option, "[\n{\"" + first_key + "\":");
    if (file == "-") return;
    prepare_folder(std::filesystem::path(file).parent_path(), option);
    file_.emplace(file);
  }

  void check(const Frame& frame) override {
    if (refuse_) refuse_(frame);
  }

  void add(const FoundObjects& found) override {
    for (const Json& record : records_(found)) {
      stream() << (first_ ? "[\n" : ",\n") << record.dump(-1, ' ', false, Json::error_handler_t::replace);
      first_ = false;
    }
  }

  void finish() override {
    stream() << (first_ ? "[\n]\n" : "\n]\n") << std::flush;
    if (file_) file_->commit();
  }

 private:
  std::ostream& stream() { return file_ ? file_->stream() : std::cout; }

  Records records_;
  std::function<void(const Frame&)> refuse_;
  std::optional<AtomicFile> file_;
  bool first_ = true;
};

}  // namespace

std::unique_ptr<DetectionOutput> json_output(const std::string& file, std::vector<std::string> class_names) {
  return std::make_unique<JsonOutput>(
      file, "--json", "file", [names = std::move(class_names)](const FoundObjects& found) {
        Json record =
            to_json(found.frame.file, found.frame.image.cols, found.frame.image.rows, found.boxes, names);
        if (found.frame.clip) record["frame"] = found.frame.number;
        return std::vector<Json>{std::move(record)};
      });
}

std::unique_ptr<DetectionOutput> coco_json_output(const std::string& file, CocoIds ids) {
  const auto shared = std::make_shared<const CocoIds>(std::move(ids));
  return std::make_unique<JsonOutput>(
      file, "--coco-json", "image_id",
      [shared](const FoundObjects& found) {
        const int64_t image = shared->image(found.frame);
        std::vector<Json> records;
        for (const ScoredBox& box : found.boxes)
          records.push_back(coco_result(image, shared->category(box.class_id), box));
        return records;
      },
      [shared](const Frame& frame) { shared->image(frame); });
}

std::unique_ptr<DetectionOutput> darknet_json_output(const std::string& file,
                                                     std::vector<std::string> class_names) {
  return std::make_unique<JsonOutput>(
      file, "--darknet-json", "frame_id", [names = std::move(class_names)](const FoundObjects& found) {
        return std::vector<Json>{darknet_result(found.frame.place, found.frame.file, found.frame.image.cols,
                                                found.frame.image.rows, found.uncut, names)};
      });
}

}  // namespace brightnet
