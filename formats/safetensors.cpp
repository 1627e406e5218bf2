#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "core/dtype.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace brightnet {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian");

// The reference implementation has the same limit: a broken length must not become a huge allocation.
constexpr uint64_t max_header_bytes = 100'000'000;
constexpr uint64_t data_alignment = 64;

const std::map<std::string, size_t>& type_sizes() {
  static const std::map<std::string, size_t> sizes{
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},  {"I32", 4},     {"I16", 2},    {"I8", 1},
      {"U64", 8}, {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  return sizes;
}

[[noreturn]] void broken(const std::filesystem::path& file, const std::string& what) {
  throw InputError("this is not a whole safetensors file: " + what, file.string(),
                   "It may have been cut short while it was copied or downloaded; fetch it again.");
}

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t side : shape) count *= side;
  return count;
}

nlohmann::json parse_header(const std::filesystem::path& file, const std::string& text) {
  std::set<std::string> names;
  const auto callback = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1 && !names.insert(value).second) {
      broken(file, "the header names '" + value.get<std::string>() + "' twice");
    }
    return true;
  };
  nlohmann::json header;
  try {
    header = nlohmann::json::parse(text, callback);
  } catch (const nlohmann::json::exception&) {
    broken(file, "its header is not JSON");
  }
  if (!header.is_object()) broken(file, "its header is not a JSON object");
  return header;
}

SafetensorsReader::Info parse_entry(const std::filesystem::path& file, const std::string& name,
                                    const nlohmann::json& entry, uint64_t data_bytes) {
  SafetensorsReader::Info info;
  try {
    info.type = entry.at("dtype").get<std::string>();
    info.shape = entry.at("shape").get<std::vector<int64_t>>();
    const auto& offsets = entry.at("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned()) {
      broken(file, "'" + name + "' has no pair of data_offsets");
    }
    info.begin = offsets[0].get<uint64_t>();
    info.end = offsets[1].get<uint64_t>();
  } catch (const nlohmann::json::exception&) {
    broken(file,
           "the entry of '" + name + "' lacks dtype, shape or data_offsets, or has them of a wrong type");
  }
  const auto size = type_sizes().find(info.type);
  if (size == type_sizes().end()) broken(file, "'" + name + "' has the unknown type '" + info.type + "'");
  uint64_t bytes = size->second;
  for (const int64_t side : info.shape) {
    if (side < 0) broken(file, "'" + name + "' has a negative side");
    const auto unsigned_side = static_cast<uint64_t>(side);
    if (unsigned_side != 0 && bytes > std::numeric_limits<uint64_t>::max() / unsigned_side) {
      broken(file, "the shape of '" + name + "' is larger than any file");
    }
    bytes *= unsigned_side;
  }
  if (info.end < info.begin || info.end > data_bytes) {
    broken(file, "'" + name + "' ends at byte " + std::to_string(info.end) + " of the data, and there are " +
                     std::to_string(data_bytes));
  }
  if (info.end - info.begin != bytes) {
    broken(file, "the shape of '" + name + "' needs " + std::to_string(bytes) +
                     " bytes and its data_offsets give " + std::to_string(info.end - info.begin));
  }
  return info;
}

}  // namespace

void write_safetensors(const std::filesystem::path& file, std::span<const SafetensorsEntry> tensors,
                       const std::map<std::string, std::string>& metadata) {
  Json header;
  header["__metadata__"] = Json::object();
  for (const auto& [key, text] : metadata) header["__metadata__"][key] = written_text(text);
  uint64_t offset = 0;
  for (const auto& tensor : tensors) {
    BRIGHTNET_CHECK(!header.contains(tensor.name), "the tensor '" + tensor.name + "' was given twice");
    const uint64_t bytes = count_of(tensor.shape) * (tensor.half ? sizeof(Float16) : sizeof(float));
    header[tensor.name] = {{"dtype", tensor.half ? "F16" : "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();  // the tensors' names as they are: they are read back by them
  // Spaces after the JSON, as the format allows, align the data so that it can be memory-mapped.
  text.resize((text.size() + 8 + data_alignment - 1) / data_alignment * data_alignment - 8, ' ');
  const uint64_t length = text.size();

  write_atomically(file, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    const auto write = [&](const auto* values, size_t count) {
      out.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(count * sizeof *values));
    };
    for (const auto& tensor : tensors) {
      const size_t count = count_of(tensor.shape);
      if (tensor.half) {
        const std::vector<Float16> rounded(tensor.data, tensor.data + count);
        write(rounded.data(), count);
      } else {
        write(tensor.data, count);
      }
    }
  });
}

size_t SafetensorsReader::Info::count() const {
  return count_of(shape);
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& file) : file_(file) {
  uint64_t file_bytes = 0, length = 0;
  in_ = open_sized(file, file_bytes);
  if (file_bytes < sizeof length || !in_.read(reinterpret_cast<char*>(&length), sizeof length)) {
    broken(file, "it has " + std::to_string(file_bytes) + " bytes, and the header's length alone takes 8");
  }
  if (length > file_bytes - sizeof length && length > max_header_bytes) {
    throw InputError("this is not a safetensors file: its first 8 bytes are no length of a header",
                     file.string(),
                     "Check whether it is the right file, and of the format that its name says.");
  }
  if (length > file_bytes - sizeof length) {
    broken(file, "its first 8 bytes announce a header of " + std::to_string(length) +
                     " bytes, and the file has " + std::to_string(file_bytes));
  }
  if (length > max_header_bytes) {
    throw InputError("its header has " + std::to_string(length) + " bytes, and at most " +
                         std::to_string(max_header_bytes) + " are read",
                     file.string(), "Save the tensors with shorter metadata.");
  }
  std::string text(length, '\0');
  if (!in_.read(text.data(), static_cast<std::streamsize>(length))) broken(file, "its header is cut short");
  data_start_ = sizeof length + length;
  const uint64_t data_bytes = file_bytes - data_start_;

  const nlohmann::json header = parse_header(file, text);
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      tensors_[name] = parse_entry(file, name, entry, data_bytes);
      continue;
    }
    if (!entry.is_object()) broken(file, "its metadata is not a JSON object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) broken(file, "its metadata '" + key + "' is not a text");
      metadata_[key] = value.get<std::string>();
    }
  }
  check_extents(data_bytes);
}

void SafetensorsReader::check_extents(uint64_t data_bytes) const {
  std::vector<const std::pair<const std::string, Info>*> order;
  for (const auto& entry : tensors_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  uint64_t end = 0;
  for (const auto* entry : order) {
    if (entry->second.begin != end) {
      broken(
          file_,
          "the data of '" + entry->first + "' begin at byte " + std::to_string(entry->second.begin) +
              (entry->second.begin < end ? ", inside those of another tensor"
                                         : ", after a gap: byte " + std::to_string(end) + " was expected"));
    }
    end = entry->second.end;
  }
  if (end != data_bytes) {
    broken(file_, "its tensors take " + std::to_string(end) + " bytes, and " + std::to_string(data_bytes) +
                      " follow the header");
  }
}

const std::string& SafetensorsReader::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  if (found == metadata_.end()) {
    throw InputError(
        "its metadata have no '" + key + "'", file_.string(),
        "Weights that brightnet wrote have one; give one of those (weights/best.safetensors of a run).");
  }
  return found->second;
}

std::vector<float> SafetensorsReader::read(const std::string& name) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw InputError("there is no tensor '" + name + "'", file_.string());
  const Info& info = found->second;
  std::vector<float> values(info.count());
  const auto fetch = [&](void* to) {
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(data_start_ + info.begin));
    if (!in_.read(static_cast<char*>(to), static_cast<std::streamsize>(info.end - info.begin))) {
      broken(file_, "the data of '" + name + "' cannot be read");
    }
  };
  if (info.type == "F32") {
    fetch(values.data());
  } else if (info.type == "BF16" || info.type == "F16") {
    std::vector<uint16_t> bits(values.size());
    fetch(bits.data());
    const bool half = info.type == "F16";
    std::transform(bits.begin(), bits.end(), values.begin(), [half](uint16_t b) {
      return half ? static_cast<float>(std::bit_cast<Float16>(b))
                  : static_cast<float>(std::bit_cast<BFloat16>(b));
    });
  } else {
    throw InputError(
        "the tensor '" + name + "' is of type " + info.type + " and F32, BF16 or F16 was expected",
        file_.string());
  }
  return values;
}

std::vector<float> SafetensorsReader::read(const std::string& name, size_t expected) {
  std::vector<float> values = read(name);
  if (values.size() != expected) {
    throw InputError("the tensor '" + name + "' has " + std::to_string(values.size()) + " numbers and " +
                         std::to_string(expected) + " were expected",
                     file_.string());
  }
  return values;
}

}  // namespace brightnet
