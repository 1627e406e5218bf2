// Safetensors: a file of named tensors. Eight bytes with the header's length, a JSON header, then the data
// (github.com/huggingface/safetensors, "Format"). The reader checks everything that a file claims against the
// file's length before using it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace brightnet {

/// A tensor to be written.
struct SafetensorsEntry {
  std::string name;
  std::vector<int64_t> shape;
  const float* data = nullptr;
  bool half = false;  ///< write fp16, rounded to nearest even
};

/// Writes tensors and metadata atomically. Throws InputError when the file cannot be written.
void write_safetensors(const std::filesystem::path& file, std::span<const SafetensorsEntry> tensors,
                       const std::map<std::string, std::string>& metadata);

class SafetensorsReader {
 public:
  struct Info {
    std::string type;  ///< "F32", "BF16", …
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;  ///< place in bytes, from the start of the data

    size_t count() const;
  };

  /// Reads and checks the header. Throws InputError, saying what was expected, for a file that cannot be
  /// read, is truncated, or whose header violates the format (overlaps and gaps included).
  explicit SafetensorsReader(const std::filesystem::path& file);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The value; InputError when there is none.
  const std::string& metadata(const std::string& key) const;
  const std::map<std::string, Info>& tensors() const { return tensors_; }

  /// F32, BF16 or F16 values as fp32. Throws InputError for a missing tensor or another type.
  std::vector<float> read(const std::string& name);
  /// Reads values as fp32, whose count must be `expected`.
  std::vector<float> read(const std::string& name, size_t expected);

  const std::filesystem::path& file() const { return file_; }

 private:
  void check_extents(uint64_t data_bytes) const;

  std::filesystem::path file_;
  std::ifstream in_;
  uint64_t data_start_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Info> tensors_;
};

}  // namespace brightnet
