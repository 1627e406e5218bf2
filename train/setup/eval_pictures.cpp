#include "train/setup/eval_pictures.h"

#include <algorithm>

#include "brightnet/evaluate.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/output_files.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "train/report/run_page.h"

namespace brightnet {
namespace {

constexpr const char* page_name = "report.html";

/// The names of what is drawn of a split, at most so many images among it.
std::vector<std::string> names_of_plots(const std::string& split, size_t images) {
  std::vector<std::string> names(plot_names.begin(), plot_names.end());
  for (size_t sheet = 0; sheet < worst_sheets(std::min(pictured_images, images)); ++sheet)
    names.push_back(worst_name(split + "_pred", sheet));
  names.emplace_back(page_name);
  return names;
}

}  // namespace

std::vector<std::filesystem::path> files_of_plots(const std::filesystem::path& folder,
                                                  const std::string& split) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : names_of_plots(split, pictured_images)) files.push_back(folder / name);
  return files;
}

EvalPictures::EvalPictures(const std::filesystem::path& folder, bool asked_for, std::string split,
                           const Dataset& dataset, bool writes)
    : folder_(without_slash(folder)), split_(std::move(split)), dataset_(dataset) {
  if (!writes) return;
  try {
    check_folder();
  } catch (const InputError& e) {
    if (asked_for) throw;
    files_.reset();
    log::warn("Nothing is drawn: {}", e.what());
  }
}

void EvalPictures::check_folder() {
  prepare_folder(folder_, "--plots");
  files_ = std::make_unique<WrittenFiles>(folder_, "--plots", "eval");
  for (const std::string& name : names_of_plots(split_, dataset_.images.size())) files_->place(name);
  if (const std::string problem = typeface_problem(dataset_.classes); !problem.empty())
    log::warn("{}", problem);
}

void EvalPictures::write(const Metrics& metrics, const std::string& title) {
  if (!files_) return;
  Page pictures("", "");
  std::vector<Json> sections;
  const auto write = [&](const std::string& name, const cv::Mat& rgb) {
    files_->write(name, [&](const std::filesystem::path& file) { write_image(file, rgb); });
  };
  plot_evaluation(metrics, write);
  for (size_t sheet = 0; sheet < worst_sheets(metrics.worst.size()); ++sheet) {
    const cv::Mat picture = picture_worst(dataset_, metrics, sheet);
    if (picture.empty()) continue;
    const std::string name = worst_name(split_ + "_pred", sheet);
    write(name, picture);
    pictures.picture(name, "", picture);
    sections.push_back(pictures.section(name));
  }
  files_->write(page_name, [&](const std::filesystem::path& file) {
    write_atomically(file, evaluation_page(title, metrics, sections).html());
  });
  files_->remove_the_rest();
  log::result("Report with plots and the worst images: {}", (folder_ / page_name).string());
}

}  // namespace brightnet
