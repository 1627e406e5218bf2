#include "kernels/cpu/shared_convolution.h"

#include <algorithm>

#include "core/alignment.h"
#include "core/error.h"
#include "core/threads.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/images_at_once.h"

namespace brightnet::cpu {
namespace {

ConvolutionSpec of_one_rank(ConvolutionSpec spec) {
  spec.exchange = nullptr;
  return spec;
}

/// The convolution of one image, of which only backward_weights() is used.
ConvolutionSpec of_one_image(ConvolutionSpec spec) {
  spec.exchange = nullptr;
  spec.input_gradient = false;
  spec.input.n = spec.output.n = 1;
  return spec;
}

class SharedConvolution : public Convolution {
 public:
  explicit SharedConvolution(const ConvolutionSpec& spec)
      : spec_(spec),
        batch_(plan_convolution(of_one_rank(spec))),
        image_(plan_convolution(of_one_image(spec))) {}

  size_t weight_bytes() const override { return batch_->weight_bytes(); }

  size_t workspace_bytes() const override {
    const size_t sums = aligned(spec_.weight_count() * sizeof(double)) + spec_.weight_count() * sizeof(float);
    return std::max(batch_->workspace_bytes(), aligned(image_->workspace_bytes()) + sums);
  }

  void bind(void* weights, void* workspace) override {
    batch_->bind(weights, workspace);
    image_->bind(weights, workspace);
    std::byte* after_image = static_cast<std::byte*>(workspace) + aligned(image_->workspace_bytes());
    sums_ = reinterpret_cast<double*>(after_image);
    part_ = reinterpret_cast<float*>(after_image + aligned(spec_.weight_count() * sizeof(double)));
  }

  void prepare(const float* master) override { batch_->prepare(master); }
  void forward(const Tensor& x, const float* bias, const Tensor& y) override { batch_->forward(x, bias, y); }
  void backward_data(const Tensor& dy, const Tensor& dx) override { batch_->backward_data(dy, dx); }

  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    if (!dw) return batch_->backward_weights(x, dy, dw, accumulate);
    const size_t count = spec_.weight_count();
    for (int image = 0; image < x.shape.n; ++image) {
      image_->backward_weights(images_of(x, image, 1), images_of(dy, image, 1), part_, false);
      parallel_ranges(count, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const double value = part_[i];
          sums_[i] = image == 0 ? value : sums_[i] + value;
        }
      });
    }
    spec_.exchange->sum(sums_, count);
    const bool keeps = spec_.exchange->part() == 0;
    parallel_ranges(count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const float sum = keeps ? static_cast<float>(sums_[i]) : 0.0f;
        dw[i] = accumulate ? dw[i] + sum : sum;
      }
    });
  }

  std::string description() const override {
    return batch_->description() + ", weights' gradient image by image: " + image_->description();
  }

 private:
  const ConvolutionSpec spec_;
  std::unique_ptr<Convolution> batch_, image_;
  double* sums_ = nullptr;  ///< sums of the weights' gradient over the images so far; OHWI
  float* part_ = nullptr;   ///< one image's weight gradient
};

}  // namespace

std::unique_ptr<Convolution> make_shared_convolution(const ConvolutionSpec& spec) {
  BRIGHTNET_CHECK(spec.exchange && spec.training, "only a gradient is shared");
  return std::make_unique<SharedConvolution>(spec);
}

}  // namespace brightnet::cpu
