#include "bench/convolution_check.h"

#include <cmath>
#include <vector>

#include "core/random.h"
#include "layers/parameters.h"

namespace brightnet {
namespace {

ConvolutionSpec small_convolution(Precision precision) {
  ConvolutionSpec spec;
  spec.input = {2, 13, 13, 16};
  spec.output = {2, 7, 7, 24};
  spec.kernel = 3;
  spec.stride = 2;
  spec.padding = 1;
  spec.type = compute_type(precision);
  return spec;
}

/// The three passes of a convolution, by their definition.
struct PlainConvolution {
  const ConvolutionSpec& spec;

  /// Calls term(x's index, w's index, y's index) for every product.
  template <typename Term>
  void each_product(Term&& term) const {
    const Shape &in = spec.input, &out = spec.output;
    for (int n = 0; n < out.n; ++n)
      for (int oy = 0; oy < out.h; ++oy)
        for (int ox = 0; ox < out.w; ++ox)
          for (int ky = 0; ky < spec.kernel; ++ky)
            for (int kx = 0; kx < spec.kernel; ++kx) {
              const int iy = oy * spec.stride + ky - spec.padding, ix = ox * spec.stride + kx - spec.padding;
              if (iy < 0 || ix < 0 || iy >= in.h || ix >= in.w) continue;
              for (int k = 0; k < out.c; ++k)
                for (int c = 0; c < in.c; ++c)
                  term(((static_cast<size_t>(n) * in.h + iy) * in.w + ix) * in.c + c,
                       ((static_cast<size_t>(k) * spec.kernel + ky) * spec.kernel + kx) * in.c + c,
                       ((static_cast<size_t>(n) * out.h + oy) * out.w + ox) * out.c + k);
            }
  }
};

/// fp32 values on the host and their copy on the device in a tensor of the given type.
class Numbers {
 public:
  Numbers(Backend& backend, const Shape& shape, DType type)
      : backend_(backend),
        values_(shape.count()),
        wide_(backend, shape.count() * sizeof(float)),
        narrow_(backend, shape.count() * size_of(type)),
        tensor_{type == DType::f32 ? wide_.data() : narrow_.data(), shape, type} {}

  /// Normally distributed values, rounded to the type.
  void draw(uint64_t seed) {
    Random random(seed, Purpose::test);
    for (float& value : values_) value = random.normal();
    backend_.upload(wide_.data(), values_.data(), wide_.bytes());
    if (tensor_.type == DType::f32) return;
    backend_.cast(wide(), tensor_);
    fetch();
  }
  const std::vector<float>& fetch() {
    if (tensor_.type != DType::f32) backend_.cast(tensor_, wide());
    backend_.download(values_.data(), wide_.data(), wide_.bytes());
    return values_;
  }
  const std::vector<float>& values() const { return values_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor wide() const { return {wide_.data(), tensor_.shape, DType::f32}; }
  Backend& backend_;
  std::vector<float> values_;
  DeviceBuffer wide_, narrow_;
  Tensor tensor_;
};

double relative_error(const std::vector<float>& actual, const std::vector<double>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::isfinite(difference) ? std::sqrt(difference / size) : INFINITY;
}

// tf32 and fp16 have 11 significant bits, bf16 has 8.
double tolerance(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 1e-5;
    case Precision::tf32:
    case Precision::fp16: return 2e-3;
    case Precision::bf16: return 1e-2;
    case Precision::int8: break;
  }
  return 0;
}

}  // namespace

ConvolutionCheck check_convolution(Backend& backend, Precision precision) {
  const ConvolutionSpec spec = small_convolution(precision);
  Numbers x(backend, spec.input, spec.type), y(backend, spec.output, spec.type),
      dy(backend, spec.output, spec.type), dx(backend, spec.input, spec.type),
      w(backend, {1, 1, 1, static_cast<int>(spec.weight_count())}, DType::f32),
      dw(backend, {1, 1, 1, static_cast<int>(spec.weight_count())}, DType::f32);
  x.draw(1);
  w.draw(2);
  dy.draw(3);
  const auto convolution = backend.plan_convolution(spec);
  const DeviceBuffer weights(backend, convolution->weight_bytes() + 64),
      workspace(backend, convolution->workspace_bytes() + 64);
  convolution->bind(weights.data(), workspace.data());
  convolution->prepare(static_cast<const float*>(w.tensor().data));
  convolution->forward(x.tensor(), nullptr, y.tensor());
  convolution->backward_data(dy.tensor(), dx.tensor());
  convolution->backward_weights(x.tensor(), dy.tensor(), static_cast<float*>(dw.tensor().data), false);

  std::vector<double> expected_y(spec.output.count()), expected_dx(spec.input.count()),
      expected_dw(spec.weight_count());
  PlainConvolution{spec}.each_product([&](size_t in, size_t weight, size_t out) {
    expected_y[out] += static_cast<double>(x.values()[in]) * w.values()[weight];
    expected_dx[in] += static_cast<double>(dy.values()[out]) * w.values()[weight];
    expected_dw[weight] += static_cast<double>(dy.values()[out]) * x.values()[in];
  });
  ConvolutionCheck check;
  check.forward = relative_error(y.fetch(), expected_y);
  check.backward_data = relative_error(dx.fetch(), expected_dx);
  check.backward_weights = relative_error(dw.fetch(), expected_dw);
  check.tolerance = tolerance(precision);
  return check;
}

}  // namespace brightnet
