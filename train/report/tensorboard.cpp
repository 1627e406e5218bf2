// Two nested formats. The file is a sequence of TFRecords: length (u64), checksum of the length
// (u32), data, checksum of the data (u32), all little-endian; a checksum is a CRC-32C, rotated right by 15
// bits plus a constant. The data of each is a protobuf message Event. The few fields needed are encoded by
// hand (field numbers from tensorboard's event.proto and summary.proto), without TensorFlow's definitions.
#include "train/report/tensorboard.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <opencv2/imgproc.hpp>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "data/image/jpeg.h"

namespace brightnet {
namespace {

static_assert(std::endian::native == std::endian::little, "the event file's numbers are little-endian");

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82F63B78u : 0);
    table[byte] = crc;
  }
  return table;
}();

uint32_t masked_crc32c(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (char c : bytes) crc = crc_table[(crc ^ static_cast<uint8_t>(c)) & 0xFF] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xA282EAD8u;
}

template <typename T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// A protobuf message under construction.
class Message {
 public:
  Message& integer(int field, int64_t value) {
    key(field, 0);
    varint(static_cast<uint64_t>(value));
    return *this;
  }
  Message& real64(int field, double value) {
    key(field, 1);
    bytes_ += raw(value);
    return *this;
  }
  Message& real32(int field, float value) {
    key(field, 5);
    bytes_ += raw(value);
    return *this;
  }
  /// A string, bytes, or a nested message.
  Message& text(int field, const std::string& value) {
    key(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void key(int field, int wire_type) { varint(static_cast<uint64_t>(field) << 3 | wire_type); }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

enum EventField { wall_time = 1, step_number = 2, file_version = 3, summary = 5, session_log = 7 };
enum SummaryField { summary_value = 1 };
enum ValueField { value_tag = 1, simple_value = 2, value_image = 4, value_tensor = 8, value_metadata = 9 };
enum MetadataField { plugin_data = 1 };
enum PluginField { plugin_name = 1 };
enum TensorField { tensor_type = 1, tensor_shape = 2, tensor_string = 8 };
enum ShapeField { shape_dimension = 2 };
enum DimensionField { dimension_size = 1 };
constexpr int string_type = 7;
enum ImageField { image_height = 1, image_width = 2, image_colorspace = 3, image_bytes = 4 };
enum SessionField { session_status = 1 };
constexpr int session_started = 1;

std::string summary_of(const Message& value) {
  return Message().text(summary, Message().text(summary_value, value.bytes()).bytes()).bytes();
}

std::string event_file_name() {
  static std::atomic<int> count{0};
  char host[256] = "localhost";
  gethostname(host, sizeof(host) - 1);
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  return fmt::format("events.out.tfevents.{:010d}.{}.{}.{}", seconds.count(), host, getpid(), count++);
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(const std::filesystem::path& folder, int64_t first_step)
    : file_(folder / event_file_name()) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  add_event(Message().text(file_version, "brain.Event:2").bytes(), 0);
  if (first_step > 0) {
    const Message started = Message().integer(session_status, session_started);
    add_event(Message().text(session_log, started.bytes()).bytes(), first_step);
  }
}

void TensorBoardWriter::scalar(const std::string& tag, float value, int64_t step) {
  add_event(summary_of(Message().text(value_tag, tag).real32(simple_value, value)), step);
}

void TensorBoardWriter::text(const std::string& tag, const std::string& markdown, int64_t step) {
  const Message plugin = Message().text(plugin_data, Message().text(plugin_name, "text").bytes());
  const Message shape = Message().text(shape_dimension, Message().integer(dimension_size, 1).bytes());
  Message tensor;
  tensor.integer(tensor_type, string_type).text(tensor_shape, shape.bytes()).text(tensor_string, markdown);
  Message value;
  value.text(value_tag, tag).text(value_tensor, tensor.bytes()).text(value_metadata, plugin.bytes());
  add_event(summary_of(value), step);
}

size_t TensorBoardWriter::image(const std::string& tag, const cv::Mat& rgb, int64_t step) {
  BRIGHTNET_CHECK(rgb.type() == CV_8UC3 && !rgb.empty(), "an event file takes 8-bit RGB images");
  if (failing_) return 0;  // it would be kept in memory
  cv::Mat shown = rgb;
  if (const int side = std::max(rgb.rows, rgb.cols); side > picture_side) {
    const double scale = static_cast<double>(picture_side) / side;
    cv::resize(rgb, shown, {}, scale, scale, cv::INTER_AREA);
  }
  const std::vector<uint8_t> jpeg = encode_jpeg(shown, 85);
  Message picture;
  picture.integer(image_height, shown.rows).integer(image_width, shown.cols).integer(image_colorspace, 3);
  picture.text(image_bytes, std::string(jpeg.begin(), jpeg.end()));
  add_event(summary_of(Message().text(value_tag, tag).text(value_image, picture.bytes())), step);
  return jpeg.size();
}

void TensorBoardWriter::flush() {
  failing_ = true;
  append_to_file(file_, unwritten_);
  failing_ = false;
  unwritten_.clear();
}

void TensorBoardWriter::add_event(const std::string& payload, int64_t step) {
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string data = Message().real64(wall_time, now).integer(step_number, step).bytes() + payload;
  const std::string length = raw(static_cast<uint64_t>(data.size()));
  unwritten_ += length + raw(masked_crc32c(length)) + data + raw(masked_crc32c(data));
}

}  // namespace brightnet
