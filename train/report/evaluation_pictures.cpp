#include "train/report/evaluation_pictures.h"

#include <algorithm>

#include "core/error.h"
#include "data/image/read_image.h"
#include "train/report/evaluation_plots.h"
#include "train/report/verdict_pictures.h"

namespace brightnet {
namespace {

constexpr size_t images_per_sheet = 8;

}  // namespace

void plot_evaluation(const Metrics& metrics, const UsePicture& use) {
  const auto& [pr, f1, precision, recall, confusion] = plot_names;
  use(pr, plot_precision_recall(metrics));
  use(f1, plot_over_score(metrics, OverScore::f1));
  use(precision, plot_over_score(metrics, OverScore::precision));
  use(recall, plot_over_score(metrics, OverScore::recall));
  use(confusion, plot_confusion(metrics));
}

cv::Mat picture_worst(const Dataset& dataset, const Metrics& metrics, size_t sheet) {
  const VerdictOptions& options = metrics.confusion.thresholds;
  std::vector<cv::Mat> pictures;
  const size_t end = std::min(metrics.worst.size(), (sheet + 1) * images_per_sheet);
  for (size_t i = sheet * images_per_sheet; i < end; ++i) {
    const JudgedImage& image = metrics.worst[i];
    const auto record = std::find_if(dataset.images.begin(), dataset.images.end(),
                                     [&](const ImageRecord& one) { return one.id == image.id; });
    BRIGHTNET_CHECK(record != dataset.images.end(), "an image of another data set was evaluated");
    try {
      pictures.push_back(
          picture_verdicts(read_image(record->file), *record, image.boxes, options, dataset.classes));
    } catch (const InputError&) {  // moved away since it was evaluated; the loader reports such images
    }
  }
  return pictures.empty() ? cv::Mat() : verdict_sheet(pictures, options);
}

size_t worst_sheets(size_t images) {
  return (images + images_per_sheet - 1) / images_per_sheet;
}

std::string worst_name(const std::string& prefix, size_t sheet) {
  return prefix + std::to_string(sheet) + ".jpg";
}

}  // namespace brightnet
