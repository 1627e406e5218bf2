// What shows that an engine adds in place, tried on kernels that do and on such as do not.
#include "kernels/cuda/in_place_sum.h"

#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

cudaStream_t stream() {
  return static_cast<cuda::CudaBackend&>(device()).stream();
}

/// A product that is there already stands for a convolution's.
struct Sum {
  explicit Sum(DType type, float addend_scale = 1, size_t count = 300007)
      : product({1, 1, 1, static_cast<int>(count)}, type),
        addend(product.shape(), type),
        part(addend.shape(), type) {
    product.randomize(1);
    addend.randomize(2, addend_scale);
  }
  void write_product() { cuda::copy_async((*part).data, (*product).data, (*part).bytes(), stream()); }
  void add_product() { cuda::add(*part, *product, *part, stream()); }
  template <typename Work>
  bool adds(Work&& sum) {
    return cuda::adds_in_place({[this] { return write_product(), true; }, [&] { return sum(), true; }},
                               *addend, *part, stream());
  }

  OwnedTensor product, addend, part;
};

TEST(CudaInPlaceSum, ASumIsSeenToBeOne) {
  for (const DType type : compute_types()) {
    for (const float scale : {0.1f, 1.0f, 10.0f}) {
      for (const size_t count : {size_t{7}, size_t{4096}, size_t{300007}}) {
        Sum sum(type, scale, count);
        const std::vector<double> before = sum.addend.values();
        EXPECT_TRUE(sum.adds([&] { sum.add_product(); })) << enum_name(type) << ' ' << scale << ' ' << count;
        EXPECT_EQ(sum.addend.values(), before) << "the addend is another's gradient";
      }
    }
  }
}

TEST(CudaInPlaceSum, WhatReadsItsAddendTooLateIsNone) {
  for (const DType type : compute_types()) {
    Sum sum(type);
    EXPECT_FALSE(sum.adds([&] { sum.write_product(); })) << "the addend was overwritten";
    EXPECT_FALSE(sum.adds([&] { sum.write_product(), sum.add_product(); })) << "written, then read";
    EXPECT_FALSE(sum.adds([&] { sum.add_product(), sum.add_product(); })) << "added twice";
    EXPECT_FALSE(sum.adds([] {})) << "nothing was done";
  }
}

TEST(CudaInPlaceSum, AHundredthOfTheTensorShows) {
  Sum sum(DType::f16);
  EXPECT_FALSE(sum.adds([&] {
    sum.add_product();
    const size_t first = sum.part.count() / 2, count = sum.part.count() / 100;
    Tensor part = *sum.part, product = *sum.product;
    part.shape.c = product.shape.c = static_cast<int>(count);
    part.data = static_cast<std::byte*>(part.data) + first / 8 * 16;
    product.data = static_cast<std::byte*>(product.data) + first / 8 * 16;
    cuda::add(part, product, part, stream());
  }));
}

TEST(CudaInPlaceSum, WhatCannotBeSeenIsNotBelieved) {
  for (const float scale : {0.0f, 1e-6f, 1e6f, INFINITY}) {
    Sum sum(DType::f32, scale);
    EXPECT_FALSE(sum.adds([&] { sum.add_product(); })) << scale;
  }
}

TEST(CudaInPlaceSum, WhatDoesNotRunIsNone) {
  Sum sum(DType::f32);
  const auto run = [&] { return sum.write_product(), true; };
  const auto fail = [] { return false; };
  EXPECT_FALSE(cuda::adds_in_place({fail, run}, *sum.addend, *sum.part, stream()));
  EXPECT_FALSE(cuda::adds_in_place({run, fail}, *sum.addend, *sum.part, stream()));
}

}  // namespace
}  // namespace brightnet::testing
