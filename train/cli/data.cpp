// brightnet data: making a data set, and looking at one before it is trained on.
#include <memory>

#include "core/log.h"
#include "data/synth.h"
#include "train/cli/commands.h"

namespace brightnet::cli {
namespace {

struct SynthArguments {
  std::string folder;
  SynthOptions options;
};

void add_synth(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("synth", "generate a data set of shapes over textures, in YOLO format");
  const auto arguments = std::make_shared<SynthArguments>();
  SynthOptions& options = arguments->options;
  command->add_option("folder", arguments->folder, "where to; a folder that this command made is replaced")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--train", options.train_images, "images to train on");
  command->add_option("--val", options.val_images, "images to validate on");
  command->add_option("--size", options.size, "width and height in pixels");
  command->add_option("--classes", options.classes, "number of classes, 1 to 6");
  command->add_option("--min-objects", options.min_objects, "an image");
  command->add_option("--max-objects", options.max_objects, "an image");
  command->add_option("--seed", options.seed, "the same seed makes the same data set");
  command->callback([=, &action] {
    action = [arguments] {
      make_synthetic_dataset(arguments->options, arguments->folder);
      spdlog::info("{} training and {} validation images in {}; {}/data.yaml says how to train on them.",
                   arguments->options.train_images, arguments->options.val_images, arguments->folder,
                   arguments->folder);
      return 0;
    };
  });
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("data", "make or examine a data set");
  command->require_subcommand(1);
  add_synth(*command, action);
}

}  // namespace brightnet::cli
