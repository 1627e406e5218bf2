// Packing against oneDNN's own reorders, for the layouts that its primitives ask for.
#include "kernels/cpu/weight_layout.h"

#include <cstring>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/device.h"

namespace brightnet {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

struct Case {
  memory::dims dims;  ///< OIHW
  Tag tag;
  DType type;
};

/// The test's name: without it the parameters' bytes, addresses among them, would be.
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.dims[0] << 'x' << c.dims[1] << 'x' << c.dims[2] << " tag " << static_cast<int>(c.tag) << ' '
             << enum_name(c.type);
}

class WeightLayoutTest : public ::testing::TestWithParam<Case> {
 protected:
  WeightLayoutTest()
      : engine_(dnnl::engine::kind::cpu, 0),
        stream_(engine_),
        plain_({GetParam().dims, memory::data_type::f32, Tag::ohwi}, engine_),
        blocked_({GetParam().dims,
                  GetParam().type == DType::bf16 ? memory::data_type::bf16 : memory::data_type::f32,
                  GetParam().tag},
                 engine_) {
    const auto& d = GetParam().dims;
    count_ = static_cast<size_t>(d[0] * d[1] * d[2] * d[3]);
    const auto values = testing::random_values(count_, 1);
    std::copy(values.begin(), values.end(), static_cast<float*>(plain_.get_data_handle()));
    dnnl::reorder(plain_, blocked_).execute(stream_, plain_, blocked_);
    stream_.wait();
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  memory plain_, blocked_;
  size_t count_;
};

TEST_P(WeightLayoutTest, PacksAsOneDnnDoes) {
  const size_t bytes = blocked_.get_desc().get_size();
  std::vector<unsigned char> packed(bytes, 0xFF);
  cpu::pack_weights(cpu::WeightLayout(blocked_.get_desc()), static_cast<float*>(plain_.get_data_handle()),
                    GetParam().type, packed.data());
  EXPECT_EQ(std::memcmp(packed.data(), blocked_.get_data_handle(), bytes), 0);
}

/// Gradients are fp32: there is no way back from bf16.
class GradientLayoutTest : public WeightLayoutTest {};

TEST_P(GradientLayoutTest, UnpacksWhatWasPacked) {
  const auto* plain = static_cast<const float*>(plain_.get_data_handle());
  const auto* blocked = static_cast<const float*>(blocked_.get_data_handle());
  const cpu::WeightLayout layout(blocked_.get_desc());
  std::vector<float> back(count_, std::numeric_limits<float>::quiet_NaN());
  cpu::unpack_weights(layout, blocked, back.data(), false);
  for (size_t i = 0; i < count_; ++i) ASSERT_EQ(back[i], plain[i]);
  cpu::unpack_weights(layout, blocked, back.data(), true);
  for (size_t i = 0; i < count_; ++i) ASSERT_EQ(back[i], 2 * plain[i]);
}

const std::vector<Case> fp32_layouts{
    {{64, 48, 3, 3}, Tag::Acdb32a, DType::f32},    {{255, 40, 1, 1}, Tag::Acdb64a, DType::f32},
    {{32, 3, 3, 3}, Tag::Acdb32a, DType::f32},     {{48, 32, 3, 3}, Tag::OIhw16i16o, DType::f32},
    {{40, 24, 5, 5}, Tag::OIhw16o16i, DType::f32}, {{32, 64, 1, 1}, Tag::IOhw16o16i, DType::f32},
    {{24, 17, 3, 3}, Tag::oihw, DType::f32},       {{24, 17, 3, 3}, Tag::ohwi, DType::f32}};

INSTANTIATE_TEST_SUITE_P(Fp32, WeightLayoutTest, ::testing::ValuesIn(fp32_layouts));
INSTANTIATE_TEST_SUITE_P(Bf16, WeightLayoutTest,
                         ::testing::Values(Case{{255, 33, 3, 3}, Tag::OIhw8i16o2i, DType::bf16},
                                           Case{{64, 30, 1, 1}, Tag::OIhw8o16i2o, DType::bf16}));
INSTANTIATE_TEST_SUITE_P(Fp32, GradientLayoutTest, ::testing::ValuesIn(fp32_layouts));

}  // namespace
}  // namespace brightnet
