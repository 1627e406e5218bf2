#include "formats/onnx/graph.h"

#include <bit>
#include <type_traits>

#include "core/error.h"

namespace brightnet {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

void set(onnx::AttributeProto& attribute, int64_t value) {
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}
void set(onnx::AttributeProto& attribute, float value) {
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}
void set(onnx::AttributeProto& attribute, const std::string& value) {
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}
void set(onnx::AttributeProto& attribute, const std::vector<int64_t>& values) {
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const int64_t value : values) attribute.add_ints(value);
}

}  // namespace

OnnxGraph::Value OnnxGraph::add(const std::string& name, const char* op, const std::vector<Value>& inputs,
                                const std::vector<Attribute>& attributes) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(name);
  node.set_op_type(op);
  for (const Value& input : inputs) node.add_input(input);
  node.add_output(name);
  for (const Attribute& given : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(given.name);
    std::visit([&](const auto& value) { set(attribute, value); }, given.value);
  }
  return name;
}

onnx::TensorProto& OnnxGraph::constant(const std::string& name, int type, const Ints& shape) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const int64_t side : shape) tensor.add_dims(side);
  return tensor;
}

OnnxGraph::Value OnnxGraph::floats(const std::string& name, const Ints& shape,
                                   std::span<const float> values) {
  size_t count = 1;
  for (const int64_t side : shape) count *= side;
  BRIGHTNET_CHECK(count == values.size(), "a constant of another shape");
  constant(name, onnx::TensorProto::FLOAT, shape).set_raw_data(values.data(), values.size_bytes());
  return name;
}

OnnxGraph::Value OnnxGraph::ints(const std::string& name, const Ints& values) {
  constant(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())})
      .set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return name;
}

OnnxGraph::Value OnnxGraph::scalar(const std::string& name, float value) {
  return floats(name, {}, {&value, 1});
}

template <typename Integer>
OnnxGraph::Value OnnxGraph::integers(const std::string& name, const Ints& shape,
                                     std::span<const Integer> values) {
  const int type = std::is_same_v<Integer, int8_t>    ? onnx::TensorProto::INT8
                   : std::is_same_v<Integer, uint8_t> ? onnx::TensorProto::UINT8
                                                      : onnx::TensorProto::INT32;
  constant(name, type, shape).set_raw_data(values.data(), values.size_bytes());
  return name;
}
template OnnxGraph::Value OnnxGraph::integers(const std::string&, const Ints&, std::span<const int8_t>);
template OnnxGraph::Value OnnxGraph::integers(const std::string&, const Ints&, std::span<const uint8_t>);
template OnnxGraph::Value OnnxGraph::integers(const std::string&, const Ints&, std::span<const int32_t>);

OnnxGraph::Value OnnxGraph::slice(const std::string& name, const Value& x, int64_t axis, int64_t first,
                                  int64_t last) {
  return add(name, "Slice",
             {x, ints(name + "/first", {first}), ints(name + "/last", {last}), ints(name + "/axis", {axis})});
}

OnnxGraph::Value OnnxGraph::reshape(const std::string& name, const Value& x, const Ints& shape) {
  return add(name, "Reshape", {x, ints(name + "/shape", shape)});
}

OnnxGraph::Value OnnxGraph::transpose(const std::string& name, const Value& x, const Ints& order) {
  return add(name, "Transpose", {x}, {{"perm", order}});
}

OnnxGraph::Value OnnxGraph::concat(const std::string& name, const std::vector<Value>& parts, int64_t axis) {
  return add(name, "Concat", parts, {{"axis", axis}});
}

}  // namespace brightnet
