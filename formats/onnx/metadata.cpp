// The reader walks the file's outermost fields and parses only the entries of metadata_props; the graph,
// which is nearly all of a file, is skipped.
#include "formats/onnx/metadata.h"

#include <algorithm>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <onnx/onnx_pb.h>

#include "core/enum_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"

namespace brightnet {
namespace {

using google::protobuf::internal::WireFormatLite;

constexpr const char* format_name = "brightnet onnx";
constexpr const char* format_version = "1";
constexpr size_t max_metadata_bytes = size_t{4} << 20, max_entries = 1000;
constexpr int max_side = 1 << 16;
constexpr size_t max_heads = 64;

[[noreturn]] void broken(const std::string& file, const std::string& what) {
  throw InputError("this is not a whole ONNX file: " + what, file,
                   "It may have been cut short while it was copied; export it again.");
}

[[noreturn]] void not_ours(const std::string& file, const std::string& what) {
  throw InputError("its metadata are not what `brightnet export` writes: " + what, file);
}

std::map<std::string, std::string> read_properties(google::protobuf::io::ZeroCopyInputStream& stream,
                                                   uint64_t bytes, const std::string& file) {
  if (bytes > INT32_MAX) broken(file, "it is larger than the 2 GiB that an ONNX file may have");
  google::protobuf::io::CodedInputStream input(&stream);
  const auto no_limit = input.PushLimit(static_cast<int>(bytes));
  std::map<std::string, std::string> properties;
  bool graph = false;
  size_t metadata_bytes = 0;
  while (const uint32_t tag = input.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    graph = graph || field == onnx::ModelProto::kGraphFieldNumber;
    if (field != onnx::ModelProto::kMetadataPropsFieldNumber) {
      if (!WireFormatLite::SkipField(&input, tag))
        broken(file, "it ends within a field, or is not ONNX at all");
      continue;
    }
    uint32_t length = 0;
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED ||
        !input.ReadVarint32(&length) || length > static_cast<uint32_t>(input.BytesUntilLimit()))
      broken(file, "an entry of its metadata is longer than the file");
    metadata_bytes += length;
    if (metadata_bytes > max_metadata_bytes) not_ours(file, "they are longer than 4 MiB");
    if (properties.size() >= max_entries) not_ours(file, "they have more than 1000 entries");
    std::string text;
    onnx::StringStringEntryProto entry;
    if (!input.ReadString(&text, static_cast<int>(length)) || !entry.ParseFromString(text))
      broken(file, "an entry of its metadata is damaged");
    if (!properties.emplace(entry.key(), entry.value()).second)
      not_ours(file, "the entry '" + entry.key() + "' is there twice");
  }
  // ReadTag() returns 0 both at the end and for an invalid tag.
  if (!input.ConsumedEntireMessage() || input.BytesUntilLimit() != 0)
    broken(file, "it ends within a field, or is not ONNX at all");
  input.PopLimit(no_limit);
  if (!graph) broken(file, "it has no graph");
  return properties;
}

/// One file's properties, read with every value's range checked.
class PropertyReader {
 public:
  PropertyReader(const std::map<std::string, std::string>& properties, const std::string& file)
      : properties_(properties), file_(file) {}

  const std::string& text(const std::string& key) const {
    const auto found = properties_.find(key);
    if (found == properties_.end()) not_ours(file_, "there is no entry '" + key + "'");
    return found->second;
  }

  Json json(const std::string& key) const {
    // Ours are three deep. Parsed, a file of brackets would take a hundred times its size in memory.
    const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
      if (depth > 8) not_ours(file_, "the entry '" + key + "' is nested too deeply");
      return true;
    };
    try {
      return Json::parse(text(key), limit_depth);
    } catch (const Json::exception&) {
      not_ours(file_, "the entry '" + key + "' is not JSON");
    }
  }

  const Json& member(const Json& object, const char* key) const {
    if (!object.is_object() || !object.contains(key))
      not_ours(file_, std::string("there is no '") + key + "'");
    return object.at(key);
  }

  int integer(const Json& object, const char* key, int least, int most) const {
    const Json& value = member(object, key);
    if (value.is_number_integer()) {
      const auto number = value.get<int64_t>();
      if (number >= least && number <= most) return static_cast<int>(number);
    }
    not_ours(file_, std::string("'") + key + "' is not a whole number from " + std::to_string(least) +
                        " to " + std::to_string(most));
  }

  InputSize size(const Json& input) const {
    const Json& value = member(input, "size");
    if (!value.is_array()) return integer(input, "size", 1, max_side);
    const auto side = [](const Json& number) {
      return number.is_number_integer() && number >= 1 && number <= max_side;
    };
    if (value.size() != 2 || !side(value[0]) || !side(value[1]))
      not_ours(file_, "'size' is neither a number nor [height, width]");
    return value.get<InputSize>();
  }

  float real(const Json& value, const char* what, double least, double most) const {
    if (value.is_number()) {
      const auto number = value.get<double>();
      if (number >= least && number <= most) return static_cast<float>(number);
    }
    not_ours(file_, std::string("'") + what + "' is not a number in its range");
  }

  bool boolean(const Json& object, const char* key) const {
    const Json& value = member(object, key);
    if (!value.is_boolean()) not_ours(file_, std::string("'") + key + "' is neither true nor false");
    return value.get<bool>();
  }

  std::string word(const Json& value, const char* what) const {
    if (!value.is_string()) not_ours(file_, std::string("'") + what + "' is not a text");
    return value.get<std::string>();
  }

  /// The value of an enum that `name` names; the message lists the names.
  template <NamedEnum Enum>
  Enum named(std::string_view name, const char* what) const {
    if (const std::optional<Enum> value = enum_value<Enum>(name)) return *value;
    const std::vector<std::string> names = enum_names<Enum>();
    std::string list;
    for (size_t i = 0; i < names.size(); ++i)
      list += (i == 0 ? "" : i + 1 == names.size() ? " nor " : ", ") + names[i];
    not_ours(file_, std::string("'") + what + "' is neither " + list);
  }

  void expect(bool condition, const char* otherwise) const {
    if (!condition) not_ours(file_, otherwise);
  }

 private:
  const std::map<std::string, std::string>& properties_;
  const std::string& file_;
};

OnnxHead read_head(const PropertyReader& reader, const Json& json, const InputSize& size) {
  OnnxHead head;
  head.output = reader.word(reader.member(json, "output"), "output");
  head.stride = reader.integer(json, "stride", 1, size.shorter());
  head.scale_xy = reader.real(reader.member(json, "scale_xy"), "scale_xy", 1, 4);
  head.new_coords = reader.boolean(json, "new_coords");
  const Json& anchors = reader.member(json, "anchors");
  reader.expect(anchors.is_array() && !anchors.empty() && anchors.size() <= max_anchors,
                "'anchors' is not a list of pairs");
  for (const Json& anchor : anchors) {
    reader.expect(anchor.is_array() && anchor.size() == 2, "an anchor is not a pair");
    head.anchors.emplace_back(reader.real(anchor[0], "anchors", 0, max_side),
                              reader.real(anchor[1], "anchors", 0, max_side));
  }
  return head;
}

OnnxMetadata from_properties(const std::map<std::string, std::string>& properties, const std::string& file) {
  const PropertyReader reader(properties, file);
  if (!properties.contains("format")) {
    throw InputError(
        "this ONNX network was not exported by brightnet: nothing in it says what its input and outputs mean",
        file, "Give a file that `brightnet export` has written, or the weights that it was made from.");
  }
  if (reader.text("format") != format_name)
    not_ours(file, "'format' is not '" + std::string(format_name) + "'");
  if (reader.text("format_version") != format_version) {
    throw InputError("its metadata are of version '" + reader.text("format_version") +
                         "' and this program reads version " + format_version,
                     file, "Use a newer brightnet.");
  }
  OnnxMetadata metadata;
  metadata.model = reader.text("model");
  metadata.heads = reader.named<OnnxHeads>(reader.text("outputs"), "outputs");

  const Json classes = reader.json("classes");
  reader.expect(classes.is_array() && !classes.empty(), "'classes' is not a list of names");
  for (const Json& name : classes) metadata.classes.push_back(reader.word(name, "classes"));

  const Json input = reader.json("input");
  metadata.size = reader.size(input);
  metadata.channels = reader.integer(input, "channels", 1, 4096);
  metadata.letterbox = reader.boolean(input, "letterbox");
  metadata.resize = reader.named<Resize>(reader.word(reader.member(input, "resize"), "resize"), "resize");
  metadata.fill = reader.real(reader.member(input, "fill"), "fill", 0, 1);
  const Json colors = reader.member(input, "colors");
  reader.expect(metadata.channels == 3 ? colors == "RGB" : colors.is_null(), "'colors' is not RGB");
  reader.expect(reader.member(input, "range") == Json::array({0, 1}), "'range' is not [0, 1]");
  reader.expect(reader.member(input, "layout") == "NCHW", "'layout' is not NCHW");

  const Json heads = reader.json("heads");
  reader.expect(heads.is_array() && !heads.empty() && heads.size() <= max_heads,
                "'heads' is not a list of heads");
  for (const Json& head : heads) metadata.head_list.push_back(read_head(reader, head, metadata.size));

  const Json suppression = reader.json("suppression");
  metadata.suppression =
      reader.named<NmsKind>(reader.word(reader.member(suppression, "kind"), "kind"), "kind");
  metadata.nms_beta = reader.real(reader.member(suppression, "beta"), "beta", 0, 1000);

  if (are_suppressed(metadata.heads)) {
    const Json nms = reader.json("nms");
    metadata.score = reader.real(reader.member(nms, "score"), "score", 0, 1);
    metadata.iou = reader.real(reader.member(nms, "iou"), "iou", 0, 1);
    metadata.max_detections = reader.integer(nms, "max_detections", 1, INT32_MAX);
  }
  if (properties.contains("tiles")) {  // which older files do not say
    metadata.tiles = reader.text("tiles");
    // It becomes part of a command that is advised.
    reader.expect(metadata.tiles.size() < 40 &&
                      metadata.tiles.find_first_not_of("0123456789.,e+-") == std::string::npos,
                  "'tiles' is not a size and an overlap");
  }
  return metadata;
}

}  // namespace

std::map<std::string, std::string> to_properties(const OnnxMetadata& metadata) {
  // A name may contain any bytes; invalid UTF-8 is replaced.
  const auto text = [](const Json& json) { return to_line(json); };
  Json heads = Json::array();
  for (const OnnxHead& head : metadata.head_list) {
    Json anchors = Json::array();
    for (const auto& [w, h] : head.anchors) anchors.push_back(Json::array({shortest(w), shortest(h)}));
    heads.push_back({{"output", head.output},
                     {"stride", head.stride},
                     {"anchors", anchors},
                     {"scale_xy", shortest(head.scale_xy)},
                     {"new_coords", head.new_coords}});
  }
  const Json input{{"size", metadata.size},
                   {"channels", metadata.channels},
                   {"layout", "NCHW"},
                   {"colors", metadata.channels == 3 ? Json("RGB") : Json()},
                   {"range", Json::array({0, 1})},
                   {"letterbox", metadata.letterbox},
                   {"resize", enum_name(metadata.resize)},
                   {"fill", shortest(metadata.fill)}};
  std::map<std::string, std::string> properties{
      {"format", format_name},
      {"format_version", format_version},
      {"model", metadata.model},
      {"outputs", std::string(enum_name(metadata.heads))},
      {"classes", text(metadata.classes)},
      {"input", text(input)},
      {"heads", text(heads)},
      {"suppression",
       text({{"kind", enum_name(metadata.suppression)}, {"beta", shortest(metadata.nms_beta)}})}};
  if (are_suppressed(metadata.heads)) {
    properties["nms"] = text({{"score", shortest(metadata.score)},
                              {"iou", shortest(metadata.iou)},
                              {"max_detections", metadata.max_detections}});
  }
  if (!metadata.tiles.empty()) properties["tiles"] = metadata.tiles;
  return properties;
}

OnnxMetadata parse_onnx_metadata(std::string_view content, const std::string& name) {
  if (content.size() > INT32_MAX) broken(name, "it is larger than the 2 GiB that an ONNX file may have");
  google::protobuf::io::ArrayInputStream stream(content.data(), static_cast<int>(content.size()));
  return from_properties(read_properties(stream, content.size(), name), name);
}

OnnxMetadata read_onnx_metadata(const std::filesystem::path& file) {
  refuse_irregular(file);
  uint64_t bytes = 0;
  std::ifstream in = open_sized(file, bytes);
  google::protobuf::io::IstreamInputStream stream(&in);
  return from_properties(read_properties(stream, bytes, file.string()), file.string());
}

int onnx_batch(const std::filesystem::path& file) {
  std::ifstream in = open_regular(file);
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&in)) broken(file.string(), "its graph is damaged");
  const bool is_shaped =
      model.graph().input_size() == 1 && model.graph().input(0).type().tensor_type().shape().dim_size() == 4;
  if (!is_shaped) not_ours(file.string(), "the graph has not one input of four dimensions");
  const auto& batch = model.graph().input(0).type().tensor_type().shape().dim(0);
  if (!batch.has_dim_value()) return 0;
  if (batch.dim_value() < 1 || batch.dim_value() > max_side)
    not_ours(file.string(), "its batch is no number of images");
  return static_cast<int>(batch.dim_value());
}

bool is_quantized_onnx(const std::filesystem::path& file) {
  std::ifstream in = open_regular(file);
  onnx::ModelProto model;
  if (!model.ParseFromIstream(&in)) return false;
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const onnx::NodeProto& node) { return node.op_type() == "QuantizeLinear"; });
}

}  // namespace brightnet
