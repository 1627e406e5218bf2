// NCCL with one rank on one GPU: it connects, sums, runs beside the backend's stream and within a recording,
// and ends when it must.
#include "train/distributed/nccl.h"

#include <cstdlib>
#include <iostream>

#include <gtest/gtest.h>

#include "kernels/cuda/installation.h"
#include "layers/parameters.h"
#include "tests/kernels/device.h"

namespace brightnet::testing {
namespace {

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string problem = cuda::inspect(0).nccl.problem;
    if (!problem.empty()) GTEST_SKIP() << "NCCL: " << problem;
    gpus_ = make_gpu_collectives(Communicator::solo(), backend_);
    ASSERT_NE(gpus_, nullptr);
  }
  std::vector<float> read(const DeviceBuffer& buffer) {
    std::vector<float> values(buffer.bytes() / sizeof(float));
    backend_.download(values.data(), buffer.data(), buffer.bytes());
    return values;
  }

  Backend& backend_ = device();
  std::unique_ptr<DeviceCollectives> gpus_;
};

// The sum over one rank is the bucket itself, so what it sums is made right before: a long queue of additions in the
// backend's stream, which the collective must wait for, and which the backend's next operation reads the result of.
TEST_F(Nccl, SumsBucketsBesideTheBackend) {
  constexpr int additions = 64;
  const auto values = random_values(1 << 22, 1);
  std::vector<float> expected(values.size());
  for (int i = 0; i < additions; ++i) {
    for (size_t k = 0; k < values.size(); ++k) expected[k] += values[k];
  }
  DeviceBuffer part(backend_, values.size() * sizeof(float)), bucket(backend_, part.bytes()),
      other(backend_, part.bytes());
  const Shape shape{1, 1, 1, static_cast<int>(values.size())};
  const Tensor a{part.data(), shape, DType::f32}, sum{bucket.data(), shape, DType::f32};
  backend_.upload(part.data(), values.data(), part.bytes());
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    backend_.zero(bucket.data(), bucket.bytes());
    for (int i = 0; i < additions; ++i) backend_.add(sum, a, sum);
    gpus_->start_all_reduce(bucket.floats(), values.size(), reduction);
    backend_.zero(other.data(), other.bytes());
    gpus_->finish_all_reduces();
    backend_.copy(other.data(), bucket.data(), bucket.bytes());
    EXPECT_EQ(read(other), expected) << "the sum over one rank";
  }
  backend_.synchronize();
  EXPECT_GT(gpus_->waited_seconds(), 0) << "the second sum was waited for at once";
}

// A run chooses its micro-batch by what is free when the GPUs are connected.
TEST_F(Nccl, HasItsMemoryBeforeTheFirstSums) {
  DeviceBuffer bucket(backend_, size_t{64} << 20);
  backend_.zero(bucket.data(), bucket.bytes());
  backend_.synchronize();
  const size_t free = backend_.free_bytes();
  for (const size_t bytes : {size_t{64}, size_t{8} << 20, bucket.bytes()}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::mean})
      gpus_->start_all_reduce(bucket.floats(), bytes / sizeof(float), reduction);
  }
  gpus_->finish_all_reduces();
  gpus_->sum(static_cast<double*>(bucket.data()), 128);
  backend_.synchronize();
  EXPECT_GE(backend_.free_bytes() + (size_t{64} << 20), free);
}

TEST_F(Nccl, SumsStatisticsInTheBackendsOrder) {
  std::vector<double> sums{1.5, -2.25, 1e300};
  DeviceBuffer device(backend_, sums.size() * sizeof(double));
  backend_.upload(device.data(), sums.data(), device.bytes());
  gpus_->sum(static_cast<double*>(device.data()), sums.size());
  std::vector<double> back(sums.size());
  backend_.download(back.data(), device.data(), device.bytes());
  EXPECT_EQ(back, sums);
}

TEST_F(Nccl, TravelsInsideARecording) {
  const auto values = random_values(1 << 16, 2);
  DeviceBuffer from(backend_, values.size() * sizeof(float)), bucket(backend_, values.size() * sizeof(float));
  const auto recording = backend_.record([&] {
    backend_.copy(bucket.data(), from.data(), bucket.bytes());
    gpus_->start_all_reduce(bucket.floats(), values.size(), Reduction::sum);
    gpus_->finish_all_reduces();
  });
  ASSERT_NE(recording, nullptr);
  for (int round = 0; round < 3; ++round) {
    backend_.upload(from.data(), values.data(), from.bytes());
    backend_.zero(bucket.data(), bucket.bytes());
    recording->replay();
    EXPECT_EQ(read(bucket), values);
  }
}

TEST_F(Nccl, AbandonedSumsDoNotKeepMemoryFromBeingFreed) {
  {
    DeviceBuffer bucket(backend_, 1 << 20);
    gpus_->start_all_reduce(bucket.floats(), bucket.bytes() / sizeof(float), Reduction::sum);
    gpus_->abandon();
  }
  backend_.synchronize();
  gpus_->abandon();  // a second time is nothing
  gpus_.reset();
}

TEST_F(Nccl, LetsAnErrorEndTheProgramWhateverIsQueued) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [&] {
    DeviceBuffer bucket(backend_, 1 << 20);
    try {
      const auto collectives = std::move(gpus_);
      collectives->start_all_reduce(bucket.floats(), bucket.bytes() / sizeof(float), Reduction::sum);
      throw std::runtime_error("the other GPU is gone");
    } catch (const std::runtime_error& e) {
      std::cerr << e.what() << std::endl;
      std::exit(3);
    }
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(3), "the other GPU is gone");
}

}  // namespace
}  // namespace brightnet::testing
