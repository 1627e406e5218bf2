// brightnet data: create, check, describe and convert data sets. data_split.cpp divides them, data_show.cpp draws
// their samples.
#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"
#include "data/commands/check.h"
#include "data/commands/convert.h"
#include "data/commands/stats.h"
#include "data/synth/synth.h"
#include "train/setup/automatic_anchors.h"
#include "train/setup/automatic_size.h"
#include "train/setup/run_model.h"

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
  command
      ->add_option("folder", arguments->folder,
                   "output folder; replaced if an earlier call of this command created it")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--train", options.train_images, "number of training images")->capture_default_str();
  command->add_option("--val", options.val_images, "number of validation images")->capture_default_str();
  command
      ->add_option("--size", options.size,
                   "width of the images in pixels, and height unless --height says another")
      ->capture_default_str();
  command->add_option("--height", options.height, "height of the images in pixels; 0: as the width")
      ->capture_default_str();
  command
      ->add_option("--object-size", options.object_size,
                   "pixels of an object, about; 0: from a ninth to a half of the image")
      ->capture_default_str();
  command->add_option("--classes", options.classes, "number of classes, 1 to 6")->capture_default_str();
  command->add_option("--min-objects", options.min_objects, "minimum number of objects per image")
      ->capture_default_str();
  command->add_option("--max-objects", options.max_objects, "maximum number of objects per image")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "random seed; the same seed generates the same data set")
      ->capture_default_str();
  command->callback([=, &action] {
    action = [arguments] {
      make_synthetic_dataset(arguments->options, arguments->folder);
      const auto folder = std::filesystem::path(arguments->folder).lexically_normal();
      log::info(
          "{} training and {} validation images in {}; {} contains the data section for training on them: brightnet "
          "train --model yolov4-tiny --data {}",
          arguments->options.train_images, arguments->options.val_images, folder.string(),
          (folder / "data.yaml").string(), folder.string());
      return 0;
    };
  });
}

struct ExamineArguments {
  CommonOptions common;
  std::string split = "train", json;
  int anchors = 0;
  InputSize size;
};

/// The arguments of a command that reads a run's data.
std::shared_ptr<ExamineArguments> examine_arguments(CLI::App& command) {
  auto arguments = std::make_shared<ExamineArguments>();
  arguments->common.add_config(command, "the run's YAML, or the data set itself");
  arguments->common.add_data(command);
  command.add_option("--json", arguments->json, "write JSON to this file; - for standard output")
      ->type_name("FILE");
  arguments->common.add_assignments(command);
  return arguments;
}

RunConfig config_of(CommonOptions common) {
  common.take_data_for_config();
  RunConfig config = load_run_config(common.config, common.overrides());
  common.say_data();
  return config;
}

/// Prints the text, unless the JSON goes to standard output, and writes the JSON if requested.
template <typename Answer>
void print_answer(const Answer& answer, const std::string& json) {
  if (json != "-") std::cout << answer.text() << std::flush;
  if (!json.empty())
    write_answer(json, answer.json().dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
}

void add_check(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "check", "decode every image and check every label; exit code 2 if training would stop or skip images");
  const auto arguments = examine_arguments(*command);
  command->callback([=, &action] {
    action = [arguments] {
      const CheckReport report = check_dataset(config_of(arguments->common).data);
      print_answer(report, arguments->json);
      return static_cast<int>(report.exit_code());
    };
  });
}

/// Names the split in the JSON.
struct SplitStats : DatasetStats {
  std::string split;
  nlohmann::json json() const {
    nlohmann::json out = DatasetStats::json();
    out["split"] = split;
    return out;
  }
};

void add_stats(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("stats", "count images and boxes, by class and size");
  const auto arguments = examine_arguments(*command);
  command->add_option("--split", arguments->split, "train, val or test")
      ->check(CLI::IsMember(enum_names<Split>()));
  command->callback([=, &action] {
    action = [arguments] {
      const Dataset dataset =
          read_split(config_of(arguments->common), enum_value<Split>(arguments->split).value());
      print_answer(SplitStats{dataset_stats(dataset), arguments->split}, arguments->json);
      return 0;
    };
  });
}

/// By default as many anchors as the model has, at its training size.
void add_anchors(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("anchors", "fit anchors to a data set");
  const auto arguments = examine_arguments(*command);
  arguments->common.add_model(*command);
  command->add_option("--count", arguments->anchors, "number of anchors; the model's if not given")
      ->check(at_least(1));
  add_input_size(*command, arguments->size, "the input in pixels; train.size if not given");
  command->callback([=, &action] {
    action = [arguments] {
      RunConfig config = config_of(arguments->common);
      const Dataset dataset = training_images(config, read_split(config, Split::train));
      if (arguments->size.given()) config.train.size = arguments->size;
      const Model model = load_model(config, static_cast<int>(dataset.classes.size()));
      choose_size(config, dataset, model);
      AnchorOptions options = anchor_options(config, model);
      if (arguments->anchors > 0) options.count = arguments->anchors;
      print_answer(find_anchors(dataset, options), arguments->json);
      return 0;
    };
  });
}

struct ConvertArguments {
  CommonOptions common;
  std::string format;
  ConvertOptions options;
};

void convert(const ConvertArguments& arguments) {
  const RunConfig config = config_of(arguments.common);
  const std::vector<Split> splits = given_splits(config.data);
  make_empty_folder(arguments.options.folder);
  std::vector<std::string> classes;
  for (const Split split : splits) {
    const Dataset dataset = read_split(config, split);
    const std::string lost = convert_split(dataset, split, arguments.options);
    if (!lost.empty()) log::warn("{}", lost);
    log::info("{}: {}", enum_name(split), counted(dataset.images.size(), "image", "images"));
    classes = dataset.classes;
  }
  write_names(classes, splits, arguments.options);
  log::info("Written: {}", arguments.options.folder.string());
}

void add_convert(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("convert", "write a data set in YOLO's or COCO's format");
  const auto arguments = std::make_shared<ConvertArguments>();
  arguments->common.add_config(*command, "the run's YAML, or the data set itself");
  arguments->common.add_data(*command);
  command->add_option("--to", arguments->format, "yolo or coco")
      ->check(CLI::IsMember(enum_names<WrittenFormat>()))
      ->required();
  command->add_option("--out", arguments->options.folder, "output folder; must not exist, or be empty")
      ->type_name("DIR")
      ->required();
  command->add_flag("--copy", arguments->options.copy, "copy the images instead of creating symbolic links");
  arguments->common.add_assignments(*command);
  command->callback([=, &action] {
    action = [arguments] {
      arguments->options.format = enum_value<WrittenFormat>(arguments->format).value();
      convert(*arguments);
      return 0;
    };
  });
}

}  // namespace

void add_data(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("data", "create, check, show, divide or convert a data set");
  command->require_subcommand(1);
  add_check(*command, action);
  add_stats(*command, action);
  add_data_show(*command, action);
  add_anchors(*command, action);
  add_convert(*command, action);
  add_data_split(*command, action);
  add_synth(*command, action);
}

}  // namespace brightnet::cli
