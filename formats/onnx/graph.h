// Builds an ONNX graph operator by operator (private to formats). Every operator takes values and
// returns one; a value is the name of its tensor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

namespace brightnet {

class OnnxGraph {
 public:
  using Value = std::string;
  using Ints = std::vector<int64_t>;
  struct Attribute {
    const char* name;
    std::variant<int64_t, float, std::string, Ints> value;
  };

  explicit OnnxGraph(onnx::GraphProto& graph) : graph_(graph) {}

  /// Appends an operator whose result is called `name`, which must be new.
  Value add(const std::string& name, const char* op, const std::vector<Value>& inputs,
            const std::vector<Attribute>& attributes = {});

  /// Constants.
  Value floats(const std::string& name, const Ints& shape, std::span<const float> values);
  Value ints(const std::string& name, const Ints& values);
  Value scalar(const std::string& name, float value);
  /// Adds a constant of int8_t, uint8_t or int32_t.
  template <typename Integer>
  Value integers(const std::string& name, const Ints& shape, std::span<const Integer> values);

  /// Takes the elements [first, last) along an axis.
  Value slice(const std::string& name, const Value& x, int64_t axis, int64_t first, int64_t last);
  /// Changes the shape. In `shape` 0 keeps the input's size and −1 is inferred.
  Value reshape(const std::string& name, const Value& x, const Ints& shape);
  Value transpose(const std::string& name, const Value& x, const Ints& order);
  Value concat(const std::string& name, const std::vector<Value>& parts, int64_t axis);

 private:
  onnx::TensorProto& constant(const std::string& name, int type, const Ints& shape);

  onnx::GraphProto& graph_;
};

}  // namespace brightnet
