#include "kernels/cpu/cpu_backend.h"
#include "kernels/cuda/activation.h"
#include "kernels/cuda/add.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/bias_gradient.h"
#include "kernels/cuda/cast.h"
#include "kernels/cuda/copy_channels.h"
#include "kernels/cuda/image.h"
#include "kernels/cuda/max_pool.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/space_to_depth.h"
#include "kernels/cuda/upsample.h"
#include "tests/cuda_emulation/convolution.h"
#include "tests/kernels/device.h"
namespace brightnet::testing {
using cuda::Stream;
class Temp : public CpuBackend {
 public:
  Stream s;
  std::string name() const override { return "emulated GPU"; }
  void* allocate(size_t b) override { return cuda::allocate(b); }
  void release(void* m, size_t) override { cuda::release(m); }
  void upload(void* d, const void* h, size_t b) override { cuda::copy_async(d, h, b, s); }
  void download(void* h, const void* d, size_t b) override { cuda::copy_async(h, d, b, s); }
  void zero(void* m, size_t b) override { cuda::fill_async(m, 0, b, s); }
  void synchronize() override { s.synchronize(); }
  std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec) override {
    return emulation::make_convolution(spec, s);
  }
  void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace) override {
    cuda::bias_gradient(dy, db, accumulate, workspace, s);
  }
  size_t channel_workspace(const Shape& shape) const override { return cuda::channel_workspace(shape); }
  void batch_norm_forward(const BatchNormForward& op) override { cuda::batch_norm_forward(op, s); }
  void batch_norm_backward(const BatchNormBackward& op) override { cuda::batch_norm_backward(op, s); }
  void fold_batch_norm(const BatchNormFold& op) override { cuda::fold_batch_norm(op, s); }
  void activation_forward(Activation a, const Tensor& x, const Tensor& y) override {
    cuda::activation_forward(a, x, y, s);
  }
  void activation_backward(Activation a, const Tensor& x, const Tensor& y) override {
    cuda::activation_backward(a, x, y, s);
  }
  void max_pool_forward(const PoolSpec& p, const Tensor& x, const Tensor& y, const Tensor& m) override {
    cuda::max_pool_forward(p, x, y, m, s);
  }
  void max_pool_backward(const PoolSpec& p, const Tensor& dy, const Tensor& m, const Tensor& dx,
                         bool a) override {
    cuda::max_pool_backward(p, dy, m, dx, a, s);
  }
  void copy_channels(const Tensor& f, int fc, const Tensor& t, int tc, int c, bool a) override {
    cuda::copy_channels(f, fc, t, tc, c, a, s);
  }
  void upsample_forward(int f, const Tensor& x, const Tensor& y) override {
    cuda::upsample_forward(f, x, y, s);
  }
  void upsample_backward(int f, const Tensor& dy, const Tensor& dx, bool a) override {
    cuda::upsample_backward(f, dy, dx, a, s);
  }
  void add(const Tensor& a, const Tensor& b, const Tensor& y) override { cuda::add(a, b, y, s); }
  void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool acc) override { cuda::multiply(a, b, y, acc, s); }
  void space_to_depth(int k, const Tensor& x, const Tensor& y) override { cuda::space_to_depth(k, x, y, s); }
  void space_to_depth_backward(int k, const Tensor& x, const Tensor& y, bool acc) override { cuda::space_to_depth_backward(k, x, y, acc, s); }
  void cast(const Tensor& a, const Tensor& b) override { cuda::cast(a, b, s); }
  void normalize_image(const Tensor& a, const Tensor& b) override { cuda::normalize_image(a, b, s); }
};
const TestedDevice& tested_device() {
  static Temp backend;
  static constexpr DType types[] = {DType::f32, DType::bf16, DType::f16};
  static const TestedDevice device{backend, types, 1e-6};
  return device;
}
}  // namespace brightnet::testing
