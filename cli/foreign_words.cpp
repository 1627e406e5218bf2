#include "cli/foreign_words.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command_tree.h"
#include "cli/known_words.h"
#include "core/files.h"
#include "core/printable.h"

namespace brightnet::cli {
namespace {

constexpr ForeignWord words[] = {
    // Commands: Ultralytics, darknet, TAO.
    {"predict", "", "detect"},
    {"val", "", "eval"},
    {"validate", "", "eval"},
    {"test", "", "eval --split test"},
    {"track", "", "detect; tracking is left to libraries for it, which its --json feeds"},
    {"benchmark", "", "bench"},
    {"detector", "",
     "train X.cfg --data obj.data, eval X.cfg --data obj.data --weights F, detect --cfg X.cfg --names obj.data "
     "--weights F --source IMAGES, or data anchors --data obj.data --model X.cfg"},
    {"partial", "", "train --weights F: a complete .weights takes the place of its leading layers"},
    {"inference", "", "detect"},
    {"evaluate", "", "eval"},
    {"kmeans", "", "data anchors"},
    {"dataset_convert", "", "train: data sets are read as they are"},
    // Options.
    {"--imgsz", "", "--size"},
    {"--img", "", "--size"},
    {"--img-size", "", "--size"},
    {"--batch-size", "", "--batch"},
    {"--cfg", "train", "train X.cfg, or --model"},
    {"--model", "detect", "--weights"},
    {"--model", "eval", "--weights"},
    {"--model", "export", "--weights"},
    {"--weights", "bench", "bench WEIGHTS --inference: they take the place of the model"},
    {"--pretrained", "", "--weights"},
    {"--dynamic", "export", "--batch dynamic"},
    {"--project", "", "--out"},
    {"--name", "", "--out"},
    {"--exist-ok", "", "nothing: a run never overwrites another, the second is written to NAME-2"},
    {"--iou", "eval", "--set evaluate.nms.iou=X"},
    {"--iou-thres", "eval", "--set evaluate.nms.iou=X"},
    {"--iou", "", "--nms"},
    {"--iou-thres", "", "--nms"},
    {"--conf", "eval", "--set evaluate.nms.score=X"},
    {"--conf-thres", "", "--conf"},
    {"--thresh", "", "--conf"},
    {"-thresh", "", "--conf"},
    {"-width", "synth", "--size"},
    {"-width", "", "--size HxW, the height first"},
    {"-height", "synth", "--height"},
    {"-height", "", "--size HxW, the height first"},
    {"-num_of_clusters", "", "--count"},
    {"--half", "", "--precision fp16, or bf16 on a CPU"},
    {"--amp", "", "--precision"},
    {"--cache", "", "--set loader.cache_mb=N; decoded images are kept in memory by default"},
    {"--show", "", "detect --show"},
    {"--view-img", "", "--show"},
    {"--agnostic-nms", "eval", "--set evaluate.nms.class_agnostic=true"},
    {"--agnostic-nms", "", "--class-agnostic"},
    {"--line-thickness", "", "--line-width"},
    {"--verbose", "detect", "--scores"},
    {"--save-txt", "", "--txt"},
    {"--save-crop", "", "--save-crops"},
    {"--nosave", "", "--no-save"},
    {"--vid-stride", "", "--every"},
    {"--workers", "", "--set loader.workers=N"},
    {"--optimizer", "", "--set optimizer.kind=adamw, sgd or lion"},
    {"--lr0", "", "--set optimizer.rate=X"},
    {"--lr", "", "--set optimizer.rate=X"},
    {"--lrf", "", "--set schedule.final=X"},
    {"--momentum", "", "--set optimizer.momentum=X"},
    {"--weight-decay", "", "--set optimizer.decay=X"},
    {"--warmup-epochs", "", "--set schedule.warmup=N"},
    {"--cos-lr", "", "nothing: the rate follows a cosine by default"},
    {"--patience", "", "--set train.patience=N, in evaluations"},
    {"--seed", "", "--set train.seed=N"},
    {"--freeze", "", "--set train.freeze=[N]"},
    {"--single-cls", "", "--set data.single_class=true"},
    {"--classes", "train", "--set data.classes=[a,b]"},
    {"--multi-scale", "", "--set train.sizes=[320,416,512]"},
    {"--close-mosaic", "", "--set augment.mosaic_off=F, as a fraction of the run"},
    {"--hyp", "", "--set KEY=VALUE, or the run's YAML"},
    {"--time", "", "--set train.minutes=N"},
    {"--save-period", "", "--set train.save_epochs=N"},
    {"--fraction", "", "--set data.fraction=F"},
    {"--dont_show", "", "nothing: there is a window only with --show"},
    {"-dont_show", "", "nothing: there is a window only with --show"},
    {"-map", "", "nothing: AP is computed during training"},
    {"-clear", "", "nothing: training begins anew unless --resume is given"},
    {"--ranks", "tune", "nothing: a trial is one process; --jobs J runs several trials side by side"},
    {"-gpus", "", "--ranks N, with CUDA_VISIBLE_DEVICES=0,1"},
    {"-ext_output", "", "--json"},
    {"-out", "", "--darknet-json"},
    {"-e", "", "a YAML in the place of a specification (docs/migrate.md)"},
    {"-r", "", "--out"},
    {"-k", "", "nothing: weights have no key"},
};

/// Where an answer's own words end and what is said about them begins; a list ([a,b]) is one word.
size_t end_of_words(std::string_view ours) {
  const size_t list = ours.rfind(']');
  return ours.find_first_of(",;:", list == std::string_view::npos ? 0 : list);
}

/// Whether "--set train.seed=N" is what this command's --set takes; "KEY" stands for any key that it does.
bool takes_setting(std::string_view ours, const CLI::App& command) {
  const size_t begin = std::string_view("--set ").size();
  const std::string_view key = ours.substr(begin, ours.find('=') - begin);
  const std::vector<std::string> keys = settable_keys(command);
  return key == "KEY" ? !keys.empty() : std::find(keys.begin(), keys.end(), key) != keys.end();
}

}  // namespace

std::span<const ForeignWord> foreign_words() {
  return words;
}

std::string_view in_our_words(std::string_view word, std::string_view command) {
  std::string name(word);
  if (name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '_', '-');
  for (const std::string_view spelling : {word, std::string_view(name)}) {
    for (const ForeignWord& known : words) {
      const bool is_command = known.word[0] != '-';
      if (known.word != spelling || is_command != command.empty()) continue;
      if (known.command.empty() || known.command == command) return known.ours;
    }
  }
  return {};
}

std::string_view answer_for(std::string_view word, const CLI::App& command) {
  const std::string_view ours = in_our_words(word, command.get_name());
  const bool is_option = ours.starts_with('-'), is_program = command.get_parent() == nullptr;
  if (!is_option || is_program) return ours;
  const std::string option(ours.substr(0, ours.find_first_of(" ,;:")));
  const bool is_taken =
      option == "--set" ? takes_setting(ours, command) : command.get_option_no_throw(option) != nullptr;
  return is_taken ? ours : std::string_view();
}

std::optional<std::string> in_our_form(const std::string& name, const std::string& value,
                                       const CLI::App& command) {
  const std::string option = "--" + name;
  const bool is_ours = command.get_option_no_throw(option) != nullptr;
  const std::string_view ours = is_ours ? std::string_view(option) : answer_for(option, command);
  if (ours.empty()) return std::nullopt;
  if (!ours.starts_with('-') || value == "False" || value == "false") return "";
  const std::string form(ours.substr(0, end_of_words(ours)));
  if (value == "True" || value == "true") return form;
  if (const size_t equals = form.find('='); equals != std::string::npos)
    return form.substr(0, equals + 1) + shell_quoted(value);
  const char between = value.starts_with('-') ? '=' : ' ';  // or it would be taken for an option
  return form.find(' ') == std::string::npos ? form + between + shell_quoted(value) : form;
}

std::string in_our_options(const CommandLine& line) {
  std::string meant = "brightnet" + (line.name.empty() ? "" : ' ' + line.name), unknown;
  bool any = false, after_set = false;
  for (const auto& [word, option, is_value] : line.words) {
    const size_t equals = word.find('=');
    const bool has_value = equals != std::string::npos && equals > 0;
    if (!is_value && word.starts_with('-')) {
      if (!option || option == line.command->get_help_ptr())
        return "";  // darknet's, or one that is answered by itself
      after_set = option->check_name("--set");
    }
    if (option || is_value || !has_value || after_set || is_there(word)) {
      meant += ' ' + shell_quoted(word);
      continue;
    }
    const auto ours = in_our_form(word.substr(0, equals), word.substr(equals + 1), *line.command);
    if (ours && !ours->empty()) meant += ' ' + *ours;
    if (!ours) unknown += (unknown.empty() ? "" : ", ") + word;
    any |= ours.has_value();
  }
  if (!any) return "";
  return unknown.empty() ? meant : meant + ". It has no option for " + unknown;
}

std::string foreign_words_table() {
  std::string table = "| theirs | brightnet's |\n|---|---|\n";
  for (const ForeignWord& known : words) {
    const std::string where = known.command.empty() ? "" : fmt::format(" of `{}`", known.command);
    const size_t end = end_of_words(known.ours);
    const std::string_view ours = known.ours.substr(0, end);
    const bool is_nothing = known.ours.starts_with("nothing") || known.ours.starts_with("a YAML");
    table += fmt::format("| `{}`{} | {}{} |\n", known.word, where,
                         is_nothing ? std::string(ours) : fmt::format("`{}`", ours),
                         end == std::string_view::npos ? "" : known.ours.substr(end));
  }
  return table;
}

}  // namespace brightnet::cli
