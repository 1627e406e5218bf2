// brightnet data: create, check, describe and convert data sets. data_split.cpp divides them, data_show.cpp draws
// their samples.
#include "brightnet/data.h"

#include <memory>

#include "brightnet/dataset.h"
#include "cli/commands.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"

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
      const auto folder = without_slash(arguments->folder);
      log::result(
          "{0} training and {1} validation images written to {2}. Train on them with: brightnet train --model yolov4-tiny "
          "--data {3}",
          arguments->options.train_images, arguments->options.val_images, folder.string(),
          shell_path(folder));
      return 0;
    };
  });
}

struct ExamineArguments {
  Configuration run;
  std::string split = "train", json;
  int anchors = 0, height = 0, width = 0;
};

/// The arguments of a command that reads a run's data.
std::shared_ptr<ExamineArguments> examine_arguments(CLI::App& command) {
  auto arguments = std::make_shared<ExamineArguments>();
  take_config(command, arguments->run, "the run's YAML, or the data set itself");
  take_data(command, arguments->run.data);
  take_json(command, arguments->json, "JSON");
  take_settings(command, arguments->run.settings);
  return arguments;
}

void add_check(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "check", "decode every image and check every label; exit code 2 if training would stop or skip images");
  const auto arguments = examine_arguments(*command);
  command->callback([=, &action] {
    action = [arguments] {
      check_answer(arguments->json, "classes");
      const DataCheck check = check_data(arguments->run);
      print_answer(arguments->json, check.answer);
      return static_cast<int>(check.usable ? ExitCode::done : ExitCode::input);
    };
  });
}

void add_stats(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("stats", "count images and boxes, by class and size");
  const auto arguments = examine_arguments(*command);
  command->add_option("--split", arguments->split, "train, val or test")->check(CLI::IsMember(split_names()));
  command->callback([=, &action] {
    action = [arguments] {
      return answer(arguments->json, "background",
                    [&] { return count_data(arguments->run, arguments->split); });
    };
  });
}

/// By default as many anchors as the model has, or yolov4-tiny where none is named, at the run's training size, or the model's
/// own size where no configuration is named.
void add_anchors(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("anchors", "fit anchors to a data set");
  const auto arguments = examine_arguments(*command);
  take_model(*command, arguments->run);
  command
      ->add_option("--count", arguments->anchors,
                   "number of anchors; the model's (yolov4-tiny's where none is named) if not given")
      ->check(at_least(1));
  take_size(*command, arguments->height, arguments->width,
            "the input in pixels; the configuration's train.size, or else the model's own, if not given");
  command->callback([=, &action] {
    action = [arguments] {
      return answer(arguments->json, "anchors", [&] {
        return fit_anchors(arguments->run, arguments->anchors, arguments->height, arguments->width);
      });
    };
  });
}

struct ConvertArguments {
  Configuration run;
  std::string format, folder;
  bool copy = false;
};

void add_convert(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand("convert", "write a data set in YOLO's or COCO's format");
  const auto arguments = std::make_shared<ConvertArguments>();
  take_config(*command, arguments->run, "the run's YAML, or the data set itself");
  take_data(*command, arguments->run.data);
  command->add_option("--to", arguments->format, "yolo or coco")
      ->check(CLI::IsMember(written_formats()))
      ->required();
  command->add_option("--out", arguments->folder, "output folder; must not exist, or be empty")
      ->type_name("DIR")
      ->required();
  command->add_flag("--copy", arguments->copy, "copy the images instead of creating symbolic links");
  take_settings(*command, arguments->run.settings);
  command->callback([=, &action] {
    action = [arguments] {
      convert_data(arguments->run, arguments->format, arguments->folder, arguments->copy);
      return 0;
    };
  });
}

struct ShardArguments {
  Configuration run;
  std::string folder;
  uint64_t megabytes = 256;
};

void add_shard(CLI::App& data, Action& action) {
  auto* command = data.add_subcommand(
      "shard", "write a data set as .tar archives, for disks on which opening many files is slow");
  const auto arguments = std::make_shared<ShardArguments>();
  take_config(*command, arguments->run, "the run's YAML, or the data set itself");
  take_data(*command, arguments->run.data);
  command->add_option("--out", arguments->folder, "output folder; must not exist, or be empty")
      ->type_name("DIR")
      ->required();
  command->add_option("--size-mb", arguments->megabytes, "megabytes of an archive, about (default: 256)")
      ->type_name("N")
      ->check(within(1, 1000000));
  take_settings(*command, arguments->run.settings);
  command->callback([=, &action] {
    action = [arguments] {
      shard_data(arguments->run, arguments->folder, arguments->megabytes * 1'000'000);
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
  add_shard(*command, action);
  add_data_split(*command, action);
  add_synth(*command, action);
}

}  // namespace brightnet::cli
