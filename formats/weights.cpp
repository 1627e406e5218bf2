#include "formats/weights.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/dtype.h"
#include "core/enum_names.h"
#include "core/json.h"
#include "core/require_memory.h"
#include "formats/input_channels.h"
#include "formats/quantization_json.h"
#include "formats/safetensors.h"
#include "layers/model/reader.h"

namespace brightnet {
namespace {

constexpr const char* weights_format = "brightnet weights";
constexpr int weights_format_version = 1;

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t side : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(side);
  }
  return text.empty() ? "scalar" : text;
}

nlohmann::json parse_metadata(const SafetensorsReader& reader, const std::string& key) {
  try {
    return nlohmann::json::parse(reader.metadata(key));
  } catch (const nlohmann::json::exception&) {
    throw InputError("its metadata '" + key + "' is not what brightnet writes there", reader.file().string());
  }
}

/// Weights of a diverged run would detect nothing, without any error.
void check_finite(const std::filesystem::path& file, const ParameterLayout& layout,
                  const std::vector<float>& values) {
  std::string first;
  int broken = 0;
  for (const auto& entry : layout.entries()) {
    const auto begin = values.begin() + static_cast<long>(entry.offset);
    const auto finite = [](float value) { return std::isfinite(value); };
    if (std::all_of(begin, begin + static_cast<long>(entry.count), finite)) continue;
    if (broken++ == 0) first = entry.name;
  }
  if (broken == 0) return;
  throw InputError(
      std::to_string(broken) + " of its " + std::to_string(layout.entries().size()) +
          " tensors hold values that are not finite (NaN or infinite), the first of them " + first,
      file.string(),
      "The training that wrote it diverged, or the file was damaged: use other weights, or train "
      "again with a smaller optimizer.rate.");
}

/// The quantisation of the layers, by their names.
nlohmann::json quantization_to_json(const Model& model) {
  nlohmann::json all = nlohmann::json::object();
  for (size_t i = 0; i < model.quantization.size(); ++i) {
    if (model.quantization[i] != LayerQuantization()) all[model.layers[i].name] = model.quantization[i];
  }
  return all;
}

Quantization quantization_from_json(const Model& model, const nlohmann::json& all, const std::string& file) {
  Quantization quantization(model.layers.size());
  size_t known = 0;
  for (size_t i = 0; i < quantization.size(); ++i) {
    const auto found = all.find(model.layers[i].name);
    if (found == all.end()) continue;
    ++known;
    found->get_to(quantization[i]);
  }
  if (known != all.size())
    throw InputError("its metadata 'quantization' name layers that its model does not have", file);
  return quantization;
}

InputSize read_size(const nlohmann::json& json) {
  const auto side = [](const nlohmann::json& number) { return whole_number<int>(number); };
  return json.is_array() ? InputSize(side(json.at(0)), side(json.at(1))) : InputSize(side(json));
}

/// The metadata without the values and the layout.
TrainedModel read_description(const SafetensorsReader& reader) {
  const std::string file = reader.file().string();
  if (reader.metadata("format") != weights_format) {
    throw InputError(
        "its metadata call it '" + reader.metadata("format") + "' and '" + weights_format + "' was expected",
        file);
  }
  if (parse_metadata(reader, "format_version") != weights_format_version) {
    throw InputError("it is of format version " + reader.metadata("format_version") +
                         " and this program reads " + std::to_string(weights_format_version),
                     file, "Use a newer brightnet.");
  }
  TrainedModel trained;
  try {
    trained.classes = parse_metadata(reader, "classes").get<std::vector<std::string>>();
    const nlohmann::json input = parse_metadata(reader, "input");
    trained.size = read_size(input.at("size"));
    trained.letterbox = input.at("letterbox").get<bool>();
    trained.resize = parse_resize(input.value("resize", std::string(enum_name(Resize::antialiased))));
    trained.training = parse_metadata(reader, "training").get<std::map<std::string, std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw InputError("its metadata 'classes', 'input' or 'training' are not what brightnet writes there",
                     file);
  }
  const auto document = YamlDocument::parse(reader.metadata("model"), file + " (model)");
  trained.model = parse_model(document, static_cast<int>(trained.classes.size()));
  if (reader.metadata().contains("quantization")) {
    try {
      trained.model.quantization =
          quantization_from_json(trained.model, parse_metadata(reader, "quantization"), file);
    } catch (const nlohmann::json::exception&) {
      throw InputError("its metadata 'quantization' are not what brightnet writes there", file);
    }
    const std::string refusal = quantization_refusal(trained.model);
    if (!refusal.empty()) throw InputError("its quantisation does not fit its model: " + refusal, file);
  }
  return trained;
}

/// Fills a parameter channel by channel. Returns why it was left as it was; "" when it was not.
std::string read_channels(const std::vector<int>& sources, const SafetensorsReader::Info& info,
                          const std::vector<float>& read, const ParameterEntry& entry, float* values) {
  const auto same_channel = info.shape.size() == entry.shape.size() && !entry.shape.empty() &&
                            std::equal(info.shape.begin() + 1, info.shape.end(), entry.shape.begin() + 1);
  const int last = *std::max_element(sources.begin(), sources.end());
  if (!same_channel || static_cast<int64_t>(sources.size()) != entry.shape[0] || last >= info.shape[0])
    return shape_text(info.shape) + " in the file, " + shape_text(entry.shape) + " here";
  if (last < 0) return "of other classes";
  const size_t channel = entry.count / sources.size();
  for (size_t i = 0; i < sources.size(); ++i) {
    if (sources[i] < 0) continue;
    const float* from = read.data() + sources[i] * channel;
    std::copy(from, from + channel, values + i * channel);
  }
  return "";
}

/// Whether the file has for RGB what the model has for grey.
bool is_of_rgb(const SafetensorsReader::Info& info, const ParameterEntry& entry) {
  return info.shape.size() == 4 && entry.shape.size() == 4 && info.shape[3] == 3 && entry.shape[3] == 1 &&
         std::equal(info.shape.begin(), info.shape.begin() + 3, entry.shape.begin());
}

}  // namespace

Resize parse_resize(const std::string& name) {
  if (const auto resize = enum_value<Resize>(name)) return *resize;
  throw InputError("there is no resize '" + name + "'", "", "Write antialiased or darknet.");
}

void save_weights(const std::filesystem::path& file, const TrainedModel& trained, bool half) {
  BRIGHTNET_CHECK(trained.values.size() == trained.layout.floats(), "weights of another model");
  std::vector<SafetensorsEntry> entries;
  for (const auto& entry : trained.layout.entries()) {
    const float* const values = trained.values.data() + entry.offset;
    const bool narrow = half && entry.kind == ParameterKind::weight;
    const auto fits = [](float value) { return std::isfinite(static_cast<float>(Float16(value))); };
    if (narrow && !std::all_of(values, values + entry.count, fits)) {
      throw InputError("'" + entry.name + "' holds values that are too large for fp16", file.string(),
                       "Write these weights in fp32: leave --half out.");
    }
    entries.push_back({entry.name, entry.shape, values, narrow});
  }
  const nlohmann::json input{
      {"size", trained.size}, {"letterbox", trained.letterbox}, {"resize", enum_name(trained.resize)}};
  std::map<std::string, std::string> metadata{
      {"format", weights_format},      {"format_version", std::to_string(weights_format_version)},
      {"model", trained.model.yaml()}, {"classes", to_line(nlohmann::json(trained.classes))},
      {"input", input.dump()},         {"training", to_line(nlohmann::json(trained.training))}};
  if (!trained.model.quantization.empty())
    metadata["quantization"] = quantization_to_json(trained.model).dump();
  write_safetensors(file, entries, metadata);
}

std::filesystem::path weights_of_run(const std::filesystem::path& given) {
  std::error_code failed;
  for (const char* name : {"averaged", "best", "last"}) {
    const auto file = given / "weights" / (std::string(name) + ".safetensors");
    if (std::filesystem::is_regular_file(file, failed)) return file;
  }
  return given;
}

TrainedModel load_trained_model(const std::filesystem::path& file) {
  TrainedModel trained = read_description(SafetensorsReader(file));
  trained.layout = ParameterLayout(trained.model);
  trained.values = load_weights(file, trained.layout);
  return trained;
}

std::optional<TrainedModel> describe_weights(const std::filesystem::path& file) {
  const SafetensorsReader reader(file);
  if (!reader.metadata().contains("format")) return std::nullopt;
  return read_description(reader);
}

std::vector<float> load_weights(const std::filesystem::path& file, const ParameterLayout& layout) {
  // Before any memory is taken: a description may ask for more than the machine has.
  uintmax_t count = 0;
  for (const auto& entry : layout.entries()) count += entry.count;
  const uintmax_t bytes = std::filesystem::file_size(file);
  if (count > bytes / sizeof(BFloat16)) {
    throw InputError(
        fmt::format("its model has {} parameters, which a file of {} bytes cannot hold", count, bytes),
        file.string(), "The file was cut short, or its description is not that of its weights.");
  }
  require_memory(fmt::format("'{}' has {} parameters: a copy of them in fp32", file.string(), count),
                 layout.floats() * sizeof(float), free_memory_of_host(),
                 [] { return "Free some memory, or use a machine with more."; });
  std::vector<float> values(layout.floats(), 0.0f);
  const MatchReport report = load_matching_weights(file, layout, values);
  if (!report.left.empty()) {
    throw InputError("it lacks " + std::to_string(report.left.size()) +
                         " of the model's parameters, among them " + report.left[0],
                     file.string(), "These weights belong to another model.");
  }
  return values;
}

MatchReport load_matching_weights(const std::filesystem::path& file, const ParameterLayout& layout,
                                  std::vector<float>& values, const ChannelSources& sources,
                                  const std::set<std::string>& summed) {
  BRIGHTNET_CHECK(values.size() == layout.floats(), "values of another model");
  SafetensorsReader reader(file);
  MatchReport report;
  for (const auto& entry : layout.entries()) {
    const auto found = reader.tensors().find(entry.name);
    if (found == reader.tensors().end()) {
      report.left.push_back(entry.name + " (not in the file)");
    } else if (const auto channels = sources.find(entry.name); channels != sources.end()) {
      const std::string why = read_channels(channels->second, found->second, reader.read(entry.name), entry,
                                            values.data() + entry.offset);
      if (why.empty()) {
        report.taken.push_back(entry.name);
      } else {
        report.left.push_back(entry.name + " (" + why + ')');
      }
    } else if (summed.contains(entry.name) && is_of_rgb(found->second, entry)) {
      sum_channels(reader.read(entry.name), 3, values.data() + entry.offset);
      report.taken.push_back(entry.name);
      report.summed.push_back(entry.name);
    } else if (found->second.shape != entry.shape) {
      report.left.push_back(entry.name + " (" + shape_text(found->second.shape) + " in the file, " +
                            shape_text(entry.shape) + " here)");
    } else {
      const std::vector<float> read = reader.read(entry.name);
      std::copy(read.begin(), read.end(), values.begin() + static_cast<long>(entry.offset));
      report.taken.push_back(entry.name);
    }
  }
  for (const auto& [name, info] : reader.tensors()) {
    if (!layout.find(name)) report.ignored.push_back(name);
  }
  if (report.taken.empty()) {
    throw InputError("none of its " + std::to_string(reader.tensors().size()) +
                         " tensors has the name and shape of a parameter of the model",
                     file.string(), "These weights belong to another model.");
  }
  check_finite(file, layout, values);
  return report;
}

}  // namespace brightnet
