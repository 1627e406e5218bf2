#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "brightnet/answer.h"
#include "core/files.h"
#include "core/json.h"
#include "core/log.h"
#include "core/output_files.h"
#include "core/text.h"
#include "data/image/turned_boxes.h"
#include "detect/detections_json.h"
#include "detect/outputs/output.h"

namespace brightnet {
namespace {

/// A JSON list of records, a line each. `records` turns an image into its records, whose first key is
/// `first_key`. Nothing is printed before there is one.
class JsonOutput : public DetectionOutput {
 public:
  using Records = std::function<std::vector<Json>(const FoundObjects& found)>;

  JsonOutput(const std::string& file, const std::string& option, const std::string& first_key,
             Records records)
      : records_(std::move(records)) {
    check_answer_file(file, option, "[\n{\"" + first_key + "\":");
    if (file == "-") return;
    prepare_folder(std::filesystem::path(file).parent_path(), option);
    file_.emplace(file);
  }

  void add(const FoundObjects& found) override {
    for (const Json& record : records_(found)) {
      stream() << (first_ ? "[\n" : ",\n") << to_line(record);
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
  std::optional<AtomicFile> file_;
  bool first_ = true;
};

/// COCO's results, with annotations in the pixels that these refer to.
class CocoOutput : public JsonOutput {
 public:
  CocoOutput(const std::string& file, CocoIds ids)
      : JsonOutput(file, "--coco-json", "image_id",
                   [this](const FoundObjects& found) { return results(found); }),
        ids_(std::move(ids)) {}

  void check(const Frame& frame) override { ids_.image(frame); }

  void finish() override {
    JsonOutput::finish();
    if (turned_ > 0) {
      log::info("{}: the boxes of --coco-json are in the stored pixels too.",
                counted(turned_, "image is annotated without its EXIF orientation",
                        "images are annotated without their EXIF orientation"));
    }
    if (of_other_size_ > 0) {
      log::warn(
          "{}, first {}: boxes are in the pixels of the image as it is. Give --source the images that were "
          "annotated.",
          counted(of_other_size_, "image has another size than its annotations state",
                  "images have another size than their annotations state"),
          first_of_other_size_);
    }
  }

 private:
  std::vector<Json> results(const FoundObjects& found) {
    const int64_t image = ids_.image(found.frame);
    const std::optional<ImageInfo> stored = annotated_as_stored(found.frame);
    std::vector<Json> records;
    for (ScoredBox box : found.boxes) {
      if (stored) turn_box(box, turned_back(*stored));
      records.push_back(coco_result(image, ids_.category(box.class_id), box));
    }
    return records;
  }

  /// The image, where its annotations lie on its stored pixels.
  std::optional<ImageInfo> annotated_as_stored(const Frame& frame) {
    const cv::Size stated = ids_.stated_size(frame), shown = frame.image.size();
    if (stated.empty() || stated == shown) return std::nullopt;
    const std::optional<ImageInfo> image = image_info(frame.file);
    if (image && drawn_as_stored(stated, *image)) {
      ++turned_;
      return image;
    }
    if (++of_other_size_ == 1) {
      first_of_other_size_ = fmt::format("{} ({}x{} instead of {}x{})", frame.file, shown.width, shown.height,
                                         stated.width, stated.height);
    }
    return std::nullopt;
  }

  CocoIds ids_;
  uint64_t turned_ = 0, of_other_size_ = 0;  // images so far
  std::string first_of_other_size_;
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
  return std::make_unique<CocoOutput>(file, std::move(ids));
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
