// The parameters of the small model, all 1, and their gradients, all 0.5.
#pragma once

#include <algorithm>
#include <memory>

#include "layers/model/reader.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {

class SmallParameters : public ::testing::Test {
 protected:
  SmallParameters()
      : model_(parse_model(YamlDocument::parse(small_model, "small"), 2)),
        layout_(model_),
        backend_(make_cpu_backend()),
        values_(*backend_, layout_.floats() * sizeof(float)),
        gradients_(*backend_, layout_.trainable_floats() * sizeof(float)) {
    fill(values_, 1.0f);
    fill(gradients_, 0.5f);
  }
  static void fill(DeviceBuffer& buffer, float value) {
    std::fill_n(buffer.floats(), buffer.bytes() / sizeof(float), value);
  }
  float& value(const std::string& name) { return values_.floats()[layout_.find(name)->offset]; }

  Model model_;
  ParameterLayout layout_;
  std::unique_ptr<Backend> backend_;
  DeviceBuffer values_, gradients_;
};

}  // namespace brightnet::testing
