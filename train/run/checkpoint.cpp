#include "train/run/checkpoint.h"

#include <array>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/hash.h"
#include "detect/evaluate/metrics_json.h"
#include "formats/quantization_json.h"
#include "formats/safetensors.h"
#include "train/run/run_folder.h"

namespace brightnet {
namespace {

constexpr const char* state_format = "brightnet state";
constexpr const char* checksum_key = "checksum";

// JSON stores each double as the shortest text that reads back as the same number.
nlohmann::json to_json(const StepState& s) {
  const LossTotals& l = s.sums;
  return {{"loss_scale", s.loss_scale},
          {"good_steps", s.good_steps},
          {"skips_in_a_row", s.skips_in_a_row},
          {"applied", s.applied},
          {"skipped", s.skipped},
          {"losses", {l.box, l.objectness, l.classes, l.iou, l.assigned, l.images}},
          {"gradients", {l.steps, l.clipped, l.norm}},
          {"distillation", l.distillation}};
}

/// The numbers of an array; null, as which a number that is not finite was written, reads back as NaN.
template <size_t count>
std::array<double, count> numbers(const nlohmann::json& json) {
  std::array<double, count> all;
  for (size_t i = 0; i < count; ++i) all[i] = number_or_nan(json.at(i));
  return all;
}

StepState state_from(const nlohmann::json& json) {
  StepState s;
  s.loss_scale = json.at("loss_scale").get<float>();
  s.good_steps = whole_number<int32_t>(json.at("good_steps"));
  s.skips_in_a_row = whole_number<int32_t>(json.at("skips_in_a_row"));
  s.applied = whole_number<int64_t>(json.at("applied"));
  s.skipped = whole_number<int64_t>(json.at("skipped"));
  const auto losses = numbers<6>(json.at("losses"));
  s.sums = {losses[0], losses[1], losses[2], losses[3], losses[4], losses[5]};
  if (json.contains("gradients")) {  // earlier versions did not write it
    const auto gradients = numbers<3>(json.at("gradients"));
    s.sums.steps = gradients[0];
    s.sums.clipped = gradients[1];
    s.sums.norm = gradients[2];
  }
  if (json.contains("distillation")) s.sums.distillation = number_or_nan(json.at("distillation"));
  return s;
}

nlohmann::json to_json(const std::vector<KeptSet>& kept) {
  auto list = nlohmann::json::array();
  for (const KeptSet& one : kept) list.push_back({{"iteration", one.iteration}, {"score", one.score}});
  return list;
}

nlohmann::json to_json(const Progress& p) {
  const EpochSums& s = p.sums;
  auto plans = nlohmann::json::array();
  for (const Plan& plan : p.plans) plans.push_back({plan.made_at, plan.steps});
  // `planned` is what earlier versions read.
  const int64_t planned = p.plans.empty() ? 0 : p.plans.back().steps;
  return {{"epoch", p.epoch},
          {"step", p.step},
          {"iteration", p.iteration},
          {"rate", p.rate},
          {"best_score", p.best_score},
          {"best_epoch", p.best_epoch},
          {"evaluations_since_best", p.evaluations_since_best},
          {"last_evaluation", {p.evaluation.iteration, p.evaluation.AP, p.evaluation.AP50}},
          {"recent_scores", p.recent_scores},
          {"kept", to_json(p.kept)},
          {"averaged", p.averaged},
          {"averaged_score", p.averaged_score},
          {"averaged_confidence", p.averaged_confidence},
          {"planned", planned},
          {"sums", {s.images, s.seconds, s.waited, s.comm_waited, s.busy}},
          {"plans", plans},
          {"times", {p.times.used, p.times.evaluation, p.times.evaluated_at}},
          {"input_stage", p.input_stage},
          {"static_over", p.static_over},
          {"state", to_json(p.state)}};
}

/// Plans and times; of a state of an earlier version, the one plan that it made and kept.
void read_plans(const nlohmann::json& json, Progress& p) {
  if (!json.contains("plans")) {
    const auto planned = whole_number<int64_t>(json.at("planned"));
    if (planned == 0) return;
    p.plans = {{0, planned}};
    p.times.used = -1;
    return;
  }
  for (const auto& plan : json.at("plans"))
    p.plans.push_back({whole_number<int64_t>(plan.at(0)), whole_number<int64_t>(plan.at(1))});
  const auto times = json.at("times").get<std::array<double, 3>>();
  p.times = {times[0], times[1], times[2]};
}

Progress progress_from(const nlohmann::json& json) {
  Progress p;
  p.epoch = whole_number<uint32_t>(json.at("epoch"));  // none is negative
  p.step = whole_number<uint32_t>(json.at("step"));
  p.iteration = whole_number<int64_t>(json.at("iteration"));
  p.rate = json.value("rate", -1.0f);
  p.best_score = json.at("best_score").get<double>();
  p.best_epoch = whole_number<int>(json.at("best_epoch"));
  p.evaluations_since_best = whole_number<int>(json.at("evaluations_since_best"));
  read_plans(json, p);
  p.input_stage = json.contains("input_stage") ? whole_number<int>(json.at("input_stage")) : -1;
  p.static_over = json.value("static_over", false);
  if (json.contains("kept")) {  // earlier versions wrote none of these
    p.recent_scores = json.at("recent_scores").get<std::vector<double>>();
    for (const auto& one : json.at("kept"))
      p.kept.push_back({whole_number<int64_t>(one.at("iteration")), one.at("score").get<double>()});
    p.averaged = json.at("averaged").get<bool>();
    p.averaged_score = json.at("averaged_score").get<double>();
    p.averaged_confidence = json.value("averaged_confidence", -1.0);
  }
  if (json.contains("last_evaluation")) {  // earlier versions did not write it
    const nlohmann::json& last = json.at("last_evaluation");
    p.evaluation = {whole_number<int64_t>(last.at(0)), last.at(1).get<double>(), last.at(2).get<double>()};
  }
  const auto sums = numbers<5>(json.at("sums"));
  p.sums = {sums[0], sums[1], sums[2], sums[3], sums[4]};
  p.state = state_from(json.at("state"));
  return p;
}

nlohmann::json to_json(const SplitFingerprint& print) {
  return {{"images", print.images}, {"objects", print.objects}, {"hash", print.hash}};
}

SplitFingerprint fingerprint_from(const nlohmann::json& json) {
  return {whole_number<int64_t>(json.at("images")), whole_number<int64_t>(json.at("objects")),
          whole_number<uint64_t>(json.at("hash"))};
}

/// Hashes of the arrays by name, so that their order in the file does not matter.
using ArrayHashes = std::map<std::string, uint64_t>;

std::string checksum(const std::map<std::string, std::string>& metadata, const ArrayHashes& arrays) {
  uint64_t hash = 0;
  for (const auto& [key, value] : metadata) {
    if (key != checksum_key) hash = hash_text(value, hash_text(key, hash));
  }
  for (const auto& [name, of_array] : arrays) {
    hash = hash_bytes(&of_array, sizeof of_array, hash_text(name, hash));
  }
  return fmt::format("{:016x}", hash);
}

uint64_t hash_of(const std::vector<float>& values) {
  return hash_bytes(values.data(), values.size() * sizeof(float));
}

/// Parses the file's metadata. Throws the exceptions of nlohmann::json and std::stoi.
RunState read_metadata(const SafetensorsReader& reader) {
  RunState state;
  state.progress = progress_from(nlohmann::json::parse(reader.metadata("progress")));
  state.layout = reader.metadata("layout");
  state.threads = std::stoi(reader.metadata("threads"));
  if (reader.metadata().contains("ranks")) {  // earlier versions wrote neither
    state.ranks = std::stoi(reader.metadata("ranks"));
    state.micro_batch = std::stoi(reader.metadata("micro_batch"));
  }
  if (reader.metadata().contains("best")) state.best = metrics_from(Json::parse(reader.metadata("best")));
  if (reader.metadata().contains("data")) {
    const auto data = nlohmann::json::parse(reader.metadata("data"));
    state.train = fingerprint_from(data.at("train"));
    state.val = fingerprint_from(data.at("val"));
  }
  if (reader.metadata().contains("quantization"))
    state.quantization = nlohmann::json::parse(reader.metadata("quantization")).get<Quantization>();
  return state;
}

RunState checked_metadata(const SafetensorsReader& reader) {
  const std::string file = reader.file().string();
  if (reader.metadata("format") != state_format)
    throw InputError("this is not the state of a run", file, "Name the run's folder.");
  try {
    return read_metadata(reader);
  } catch (const std::logic_error&) {
    throw InputError("its metadata 'threads', 'ranks' or 'micro_batch' is no number", file);
  } catch (const nlohmann::json::exception&) {
    throw InputError(
        "its metadata 'progress', 'best', 'data' or 'quantization' is not what brightnet writes there", file);
  }
}

}  // namespace

RunState read_state(const std::filesystem::path& file) {
  return checked_metadata(SafetensorsReader(file));
}

std::string describe_layout(const ParameterLayout& layout) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  const auto mix = [&hash](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  };
  for (const auto& entry : layout.entries()) {
    mix(entry.name + '@' + std::to_string(entry.offset));
    for (const int64_t side : entry.shape) mix('x' + std::to_string(side));
  }
  return std::to_string(layout.entries().size()) + " tensors, " + std::to_string(layout.floats()) +
         " floats, " + std::to_string(hash);
}

void save_state(const std::filesystem::path& file, const RunState& state,
                const std::vector<StateArray>& arrays, Backend& backend) {
  std::vector<std::vector<float>> host;
  std::vector<SafetensorsEntry> entries;
  ArrayHashes hashes;
  for (const auto& array : arrays) {
    auto& values = host.emplace_back(array.count);
    backend.download(values.data(), array.values, array.count * sizeof(float));
    entries.push_back({array.name, {static_cast<int64_t>(array.count)}, values.data()});
    hashes[array.name] = hash_of(values);
  }
  std::map<std::string, std::string> metadata{{"format", state_format},
                                              {"layout", state.layout},
                                              {"threads", std::to_string(state.threads)},
                                              {"progress", to_json(state.progress).dump()}};
  if (state.best) {
    // Class names may not be valid UTF-8.
    metadata["best"] = to_line(brightnet::to_json(*state.best));
  }
  if (state.train && state.val) {
    metadata["data"] = nlohmann::json{{"train", to_json(*state.train)}, {"val", to_json(*state.val)}}.dump();
  }
  if (state.ranks > 0) {
    metadata["ranks"] = std::to_string(state.ranks);
    metadata["micro_batch"] = std::to_string(state.micro_batch);
  }
  if (!state.quantization.empty()) metadata["quantization"] = nlohmann::json(state.quantization).dump();
  metadata[checksum_key] = checksum(metadata, hashes);
  write_safetensors(file, entries, metadata);
}

RunState load_state(const std::filesystem::path& file, const std::vector<StateArray>& arrays,
                    const std::string& layout, Backend& backend) {
  SafetensorsReader reader(file);
  RunState state = checked_metadata(reader);
  if (reader.metadata("layout") != layout) {
    throw InputError("this state belongs to another model: it has " + reader.metadata("layout") + " and " +
                         layout + " was expected",
                     file.string(), "Resume with the run's own config.yaml and model.yaml.");
  }
  if (reader.tensors().size() != arrays.size()) {
    throw InputError("this state has " + std::to_string(reader.tensors().size()) + " arrays and " +
                         std::to_string(arrays.size()) + " were expected",
                     file.string(), "Resume with the optimizer and ema settings that the run began with.");
  }
  ArrayHashes hashes;
  for (const auto& array : arrays) {
    const std::vector<float> values = reader.read(array.name, array.count);
    hashes[array.name] = hash_of(values);
    backend.upload(array.values, values.data(), array.count * sizeof(float));
  }
  const auto written = reader.metadata().find(checksum_key);
  if (written != reader.metadata().end() && written->second != checksum(reader.metadata(), hashes)) {
    throw InputError("this state is damaged: what is in it does not match its checksum", file.string(),
                     "Put back a copy of it, or " +
                         RunFolder::at(file.parent_path().parent_path()).new_run() + " instead.");
  }
  return state;
}

}  // namespace brightnet
