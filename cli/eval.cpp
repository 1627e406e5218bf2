// brightnet eval: the metrics of trained weights on a split of a data set.
#include <memory>

#include "brightnet/dataset.h"
#include "brightnet/evaluate.h"
#include "brightnet/ranks.h"
#include "cli/commands.h"

namespace brightnet::cli {
namespace {

struct EvalArguments {
  std::string json;
  int ranks = 0;
  WeightsReportOptions options;
};

/// The plots that the user asks for.
std::vector<std::filesystem::path> files_of(const WeightsReportOptions& options) {
  if (options.no_plots || options.plots.empty()) return {};
  return files_of_plots(options.plots, options.split);
}

int evaluate_weights(const EvalArguments& arguments) {
  if (must_launch(arguments.ranks)) return launch(arguments.ranks);
  use_opencv_threads(arguments.options.weights);
  Ranks ranks(arguments.ranks);
  return ranks.run([&] {
    ranks.prepare([&] {
      if (ranks.leads()) check_answer(arguments.json, "AP", files_of(arguments.options));
    });
    const Answer answer = report_weights(arguments.options, ranks);
    if (ranks.leads()) print_answer(arguments.json, answer);
    return 0;
  });
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("eval", "compute the metrics of trained weights on a data set");
  const auto arguments = std::make_shared<EvalArguments>();
  WeightsReportOptions& options = arguments->options;
  take_config(*command, options.run);
  take_data(*command, options.run.data);
  take_weights(*command, options.weights, "an exported .onnx, ");
  command->add_option("--split", options.split, "val (default), train or test")
      ->check(CLI::IsMember(split_names()));
  take_json(*command, arguments->json, "the metrics as JSON");
  auto* plots = command->add_option(
      "--plots", options.plots,
      "folder for plots, the worst images and report.html; runs/eval/NAME-SPLIT if not given. Replaces only what "
      "this command wrote there");
  plots->type_name("DIR");
  command->add_flag("--no-plots", options.no_plots, "draw nothing")->excludes(plots);
  command->add_option("--batch", options.batch, "batch size (default: 8)")->check(at_least(1));
  take_size(*command, options.height, options.width,
            "the input in pixels (default: as recorded in the weights)", 0);
  auto* rect = command->add_flag(
      "--rect", options.rect,
      "rectangular batches: images letterboxed, of like shapes together, with the least padding");
  command
      ->add_flag(
          "--augment", options.augment,
          "see each image at three sizes, mirrored as well, and merge the boxes of one object (six passes)")
      ->excludes(rect);
  take_tiles(*command, options.tiles)->excludes(rect);
  take_fold(*command, options.run);
  take_ranks(*command, arguments->ranks);
  take_device(*command, options.device);
  take_precision(*command, options.run.precision);
  command->get_option("--precision")
      ->description("fp32, tf32, bf16 or fp16, or int8 with weights of `export --int8`");
  take_settings(*command, options.run.settings);
  command->callback([=, &action] { action = [arguments] { return evaluate_weights(*arguments); }; });
}

}  // namespace brightnet::cli
