#include <fmt/format.h>

#include "brightnet/data.h"
#include "core/files.h"
#include "core/log.h"
#include "core/option_ranges.h"
#include "core/output_files.h"
#include "core/text.h"
#include "core/threads.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "detect/outputs/written_files.h"
#include "train/loop/length.h"
#include "train/report/sample_pictures.h"
#include "train/setup/automatic_facts.h"
#include "train/setup/automatic_size.h"
#include "train/setup/data_config.h"
#include "train/setup/data_sets.h"
#include "train/setup/model.h"

namespace brightnet {
namespace {

constexpr const char* sheet_name = "sheet.jpg";
/// More would be too small on one sheet.
constexpr size_t most_on_sheet = 64;

/// Whole images are the last part of a run, and not of what is shown of it: a short run is shown to its end.
void find_epoch_and_last_part(const RunConfig& config, const Dataset& training,
                              SamplePictureOptions& options) {
  RunConfig run = config;
  choose_automatic(run, run_facts(run, nullptr, training, {"", {}, compute_threads()}, Communicator::solo()));
  const RunLength length(run.train, static_cast<int64_t>(training.images.size()));
  const auto batch = static_cast<uint64_t>(run.train.batch.value());
  options.epoch_samples = batch * static_cast<uint64_t>(length.steps_per_epoch());
  options.plain_from = batch * static_cast<uint64_t>(length.last_part(run.augment.whole_images(), {}));
}

std::vector<std::string> file_names(const Dataset& dataset, const LoaderOptions& loader,
                                    const SamplePictureOptions& options) {
  std::vector<std::string> names;
  for (const int image : sample_images(dataset, loader, options)) {
    const std::string stem = dataset.images[image].file.stem().string();
    names.push_back(fmt::format("{:03}_{}.jpg", names.size(), stem));
  }
  return names;
}

}  // namespace

void draw_samples(const Configuration& data, const SampleOptions& options) {
  OptionRanges("SampleOptions").within(1, 10000, "count", options.count);
  RunConfig config = data_config(data);
  SamplePictureOptions samples{.split = parse_split(options.split),
                               .count = options.count,
                               .seed = options.seed.value_or(config.train.seed),
                               .plain = options.plain};
  Dataset dataset = read_split(config, samples.split);
  const Model model = config.model.empty() ? Model() : load_model(config, 0);
  if (config.input.channels == 0) config.input.channels = model.channels;
  if (samples.split == Split::train) dataset = training_images(config, std::move(dataset));
  if (!config.train.size.has_value()) {
    choose_size(
        config,
        samples.split == Split::train ? dataset : training_images(config, read_split(config, Split::train)),
        model);
  }
  if (samples.augmented()) find_epoch_and_last_part(config, dataset, samples);
  if (const std::string problem = typeface_problem(dataset.classes); !problem.empty())
    log::warn("{}", problem);

  const auto folder = without_slash(options.folder);
  prepare_folder(folder, "--out");
  WrittenFiles files(folder, "--out", "data show");
  const std::vector<std::string> names = file_names(dataset, config.loader, samples);
  for (const std::string& name : names) files.place(name);  // all of them before the first is written
  files.place(sheet_name);
  const auto write = [&](const std::string& name, const cv::Mat& rgb) {
    files.write(name, [&](const std::filesystem::path& file) { write_image(file, rgb); });
  };
  std::vector<cv::Mat> on_sheet;
  size_t objects = 0;
  picture_samples(dataset, config, samples, [&](int number, const SamplePicture& sample) {
    write(names[number], sample.rgb);
    objects += sample.objects;
    if (on_sheet.size() >= most_on_sheet) return;
    on_sheet.push_back(with_caption(sample.rgb, names[number]));
  });
  write(sheet_name, tile(on_sheet));
  files.remove_the_rest();
  log::result("{} with {}, {}: {}; all on one sheet: {}", counted(names.size(), "sample", "samples"),
              counted(objects, "object", "objects"),
              samples.augmented() ? "as training augments them" : "without augmentation", folder.string(),
              (folder / sheet_name).string());
}

}  // namespace brightnet
