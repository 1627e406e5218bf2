// brightnet data show: pictures of what the network will see.
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "core/log.h"
#include "core/text.h"
#include "data/drawing/draw.h"
#include "data/drawing/typeface.h"
#include "detect/outputs/output.h"
#include "detect/outputs/written_files.h"
#include "train/report/sample_pictures.h"
#include "train/setup/automatic_size.h"
#include "train/setup/run_model.h"

namespace brightnet::cli {
namespace {

constexpr const char* sheet_name = "sheet.jpg";
/// More would be too small on one sheet.
constexpr size_t most_on_sheet = 64;

struct ShowArguments {
  CommonOptions common;
  std::string split = "train", out = "runs/show";
  uint64_t seed = 0;
  bool has_seed = false;
  SamplePictureOptions options;
};

std::vector<std::string> file_names(const Dataset& dataset, const SamplePictureOptions& options) {
  std::vector<std::string> names;
  for (const int image : sample_images(dataset, options)) {
    const std::string stem = dataset.images[static_cast<size_t>(image)].file.stem().string();
    names.push_back(fmt::format("{:03}_{}.jpg", names.size(), stem));
  }
  return names;
}

int show(const ShowArguments& arguments) {
  CommonOptions common = arguments.common;
  common.take_data_for_config();
  RunConfig config = load_run_config(common.config, common.overrides());
  common.say_data();
  SamplePictureOptions options = arguments.options;
  options.split = enum_value<Split>(arguments.split).value();
  options.seed = arguments.has_seed ? arguments.seed : config.train.seed;
  Dataset dataset = read_split(config, options.split);
  const Model model = config.model.empty() ? Model() : load_model(config, 0);
  if (config.input.channels == 0) config.input.channels = model.channels;
  if (options.split == Split::train) dataset = training_images(config, std::move(dataset));
  if (!config.train.size.has_value()) {
    choose_size(
        config,
        options.split == Split::train ? dataset : training_images(config, read_split(config, Split::train)),
        model);
  }
  if (const std::string problem = typeface_problem(dataset.classes); !problem.empty())
    log::warn("{}", problem);

  const auto folder = (std::filesystem::path(arguments.out) / "").lexically_normal().parent_path();
  prepare_folder(folder, "--out");
  WrittenFiles files(folder, "--out", "data show");
  const std::vector<std::string> names = file_names(dataset, options);
  for (const std::string& name : names) files.place(name);  // all of them before the first is written
  files.place(sheet_name);
  const auto write = [&](const std::string& name, const cv::Mat& rgb) {
    files.begin(name);
    write_image(files.place(name), rgb);
    files.note(name);
  };
  std::vector<cv::Mat> on_sheet;
  size_t objects = 0;
  picture_samples(dataset, config, options, [&](int number, const SamplePicture& sample) {
    write(names[static_cast<size_t>(number)], sample.rgb);
    objects += sample.objects;
    if (on_sheet.size() >= most_on_sheet) return;
    on_sheet.push_back(with_caption(sample.rgb, names[static_cast<size_t>(number)]));
  });
  write(sheet_name, tile(on_sheet));
  files.remove_the_rest();
  log::info("{} with {}, {}: {}; all on one sheet: {}", counted(names.size(), "sample", "samples"),
            counted(objects, "object", "objects"),
            options.augmented() ? "as training augments them" : "without augmentation", folder.string(),
            (folder / sheet_name).string());
  return 0;
}

}  // namespace

void add_data_show(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "show", "draw samples as the network will see them, with all augmentations and the ground-truth boxes");
  const auto arguments = std::make_shared<ShowArguments>();
  arguments->common.add_config(*command, "the run's YAML, or the data set itself");
  arguments->common.add_data(*command);
  command->add_option("--count", arguments->options.count, "number of samples (default: 16)")
      ->check(within(1, 10000));
  command
      ->add_option(
          "--out", arguments->out,
          "folder for the pictures (default: runs/show); replaces only what this command wrote there")
      ->type_name("DIR");
  command->add_option("--split", arguments->split, "train, or another split, as evaluation sees it")
      ->check(CLI::IsMember(enum_names<Split>()));
  auto* seed = command->add_option("--seed", arguments->seed, "random seed (default: train.seed)");
  command->add_flag("--plain", arguments->options.plain, "without augmentation");
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    arguments->has_seed = seed->count() > 0;
    action = [arguments] { return show(*arguments); };
  });
}

}  // namespace brightnet::cli
