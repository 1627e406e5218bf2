// What shows that an engine adds in place, tried on kernels that do and on such as do not.
#include "kernels/cuda/in_place_sum.h"

#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

cudaStream_t own_stream() {
  return static_cast<cuda::CudaBackend&>(device()).stream();
}

using cuda::InPlace;

/// A product that is there already stands for a convolution's.
struct Sum {
  explicit Sum(DType type, float scale = 1, size_t count = 300007)
      : product({1, 1, 1, static_cast<int>(count)}, type), part(product.shape(), type) {
    product.randomize(1, scale);
  }
  void write_product() { cuda::copy_async((*part).data, (*product).data, (*part).bytes(), own_stream()); }
  void add_product() { cuda::add(*part, *product, *part, own_stream()); }
  template <typename Work>
  InPlace seen(Work&& sum) {
    return cuda::check_in_place({[this] { return write_product(), true; }, [&] { return sum(), true; }},
                                *part, own_stream());
  }

  OwnedTensor product, part;
};

TEST(CudaInPlaceSum, ASumIsSeenToBeOne) {
  for (const DType type : compute_types()) {
    for (const float scale : {1e-3f, 1.0f, 100.0f}) {
      for (const size_t count : {size_t{7}, size_t{4096}, size_t{300007}}) {
        Sum sum(type, scale, count);
        EXPECT_EQ(sum.seen([&] { sum.add_product(); }), InPlace::adds)
            << enum_name(type) << ' ' << scale << ' ' << count;
      }
    }
  }
}

// The first gradient of a run is often zero or infinite, and says nothing about the engine.
TEST(CudaInPlaceSum, WhatTheTensorHeldBeforeDoesNotMatter) {
  for (const float before : {0.0f, INFINITY, NAN}) {
    Sum sum(DType::f16);
    sum.part.fill(before);
    EXPECT_EQ(sum.seen([&] { sum.add_product(); }), InPlace::adds) << before;
    EXPECT_EQ(sum.seen([&] { sum.write_product(); }), InPlace::fails) << before;
  }
}

TEST(CudaInPlaceSum, WhatReadsItsAddendTooLateIsNone) {
  for (const DType type : compute_types()) {
    Sum sum(type);
    EXPECT_EQ(sum.seen([&] { sum.write_product(); }), InPlace::fails) << "the addend was overwritten";
    EXPECT_EQ(sum.seen([&] { sum.write_product(), sum.add_product(); }), InPlace::fails)
        << "written, then read";
    EXPECT_EQ(sum.seen([&] { sum.add_product(), sum.add_product(); }), InPlace::fails) << "added twice";
    EXPECT_EQ(sum.seen([] {}), InPlace::fails) << "nothing was done";
  }
}

TEST(CudaInPlaceSum, AHundredthOfTheTensorShows) {
  Sum sum(DType::f16);
  EXPECT_EQ(sum.seen([&] {
    sum.add_product();
    const size_t first = sum.part.count() / 2, count = sum.part.count() / 100;
    Tensor part = *sum.part, product = *sum.product;
    part.shape.c = product.shape.c = static_cast<int>(count);
    part.data = static_cast<std::byte*>(part.data) + first / 8 * 16;
    product.data = static_cast<std::byte*>(product.data) + first / 8 * 16;
    cuda::add(part, product, part, own_stream());
  }),
            InPlace::fails);
}

// Of weights that are all zero. Nothing is remembered of it.
TEST(CudaInPlaceSum, AProductWithoutNumbersDoesNotTell) {
  for (const float scale : {0.0f, INFINITY}) {
    Sum sum(DType::f32, scale);
    EXPECT_EQ(sum.seen([&] { sum.add_product(); }), InPlace::unknown) << scale;
  }
}

TEST(CudaInPlaceSum, WhatDoesNotRunIsNone) {
  Sum sum(DType::f32);
  const auto run = [&] { return sum.write_product(), true; };
  const auto fail = [] { return false; };
  EXPECT_EQ(cuda::check_in_place({fail, run}, *sum.part, own_stream()), InPlace::fails);
  EXPECT_EQ(cuda::check_in_place({run, fail}, *sum.part, own_stream()), InPlace::fails);
}

}  // namespace
}  // namespace brightnet::testing
