#include "train/run/evaluation_pictures.h"

#include "core/error.h"
#include "data/image/read_image.h"
#include "train/run/report/evaluation_plots.h"
#include "train/run/report/verdict_pictures.h"

namespace brightnet {
namespace {

constexpr size_t images_per_sheet = 8;

std::string sheet_name(const std::string& prefix, size_t sheet) {
  return prefix + std::to_string(sheet) + ".jpg";
}

}  // namespace

void plot_evaluation(const Metrics& metrics, const UsePicture& use) {
  const auto& [pr, f1, precision, recall, confusion] = plot_names;
  use(pr, plot_precision_recall(metrics));
  use(f1, plot_over_score(metrics, OverScore::f1));
  use(precision, plot_over_score(metrics, OverScore::precision));
  use(recall, plot_over_score(metrics, OverScore::recall));
  use(confusion, plot_confusion(metrics));
}

void picture_worst(const Dataset& dataset, const WorstImages& worst, const std::string& prefix,
                   const UsePicture& use) {
  std::vector<cv::Mat> pictures;
  size_t sheet = 0;
  for (size_t i = 0; i < worst.images().size(); ++i) {
    const JudgedImage& image = worst.images()[i];
    const ImageRecord& record = dataset.images[static_cast<size_t>(image.index)];
    try {
      pictures.push_back(
          picture_verdicts(read_image(record.file), record, image.boxes, worst.options(), dataset.classes));
    } catch (const InputError&) {  // moved away since it was evaluated; the loader reports such images
    }
    if (pictures.size() < images_per_sheet && i + 1 < worst.images().size()) continue;
    if (!pictures.empty()) use(sheet_name(prefix, sheet++), verdict_sheet(pictures, worst.options()));
    pictures.clear();
  }
}

std::vector<std::string> worst_names(size_t images, const std::string& prefix) {
  std::vector<std::string> names;
  for (size_t sheet = 0; sheet * images_per_sheet < images; ++sheet)
    names.push_back(sheet_name(prefix, sheet));
  return names;
}

}  // namespace brightnet
