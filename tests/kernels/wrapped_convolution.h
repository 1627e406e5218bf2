// A convolution that computes as another one; tests override what is to differ.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/convolution.h"

namespace brightnet::testing {

class WrappedConvolution : public Convolution {
 public:
  explicit WrappedConvolution(std::unique_ptr<Convolution> inner) : inner_(std::move(inner)) {}
  size_t weight_bytes() const override { return inner_->weight_bytes(); }
  size_t workspace_bytes() const override { return inner_->workspace_bytes(); }
  void bind(void* weights, void* workspace) override { inner_->bind(weights, workspace); }
  void prepare(const float* master) override { inner_->prepare(master); }
  void expect(const ConvolutionTensors& tensors) override { inner_->expect(tensors); }
  void choose(const ConvolutionTensors& tensors) override { inner_->choose(tensors); }
  void forward(const Tensor& x, const float* bias, const Tensor& y) override { inner_->forward(x, bias, y); }
  const float* output_sums() const override { return inner_->output_sums(); }
  void backward_data(const Tensor& dy, const Tensor& dx) override { inner_->backward_data(dy, dx); }
  bool add_backward_data(const Tensor& dy, const Tensor& dx, const Tensor& part) override {
    return inner_->add_backward_data(dy, dx, part);
  }
  void backward_weights(const Tensor& x, const Tensor& dy, float* dw, bool accumulate) override {
    inner_->backward_weights(x, dy, dw, accumulate);
  }
  std::string description() const override { return inner_->description(); }

 private:
  std::unique_ptr<Convolution> inner_;
};

}  // namespace brightnet::testing
