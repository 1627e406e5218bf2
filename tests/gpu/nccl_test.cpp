// NCCL with one rank on one GPU: it connects, sums, runs beside the backend's stream and within a recording,
// and ends when it must.
#include "train/distributed/nccl.h"

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

TEST_F(Nccl, SumsBucketsBesideTheBackend) {
  const auto values = random_values(1 << 20, 1);
  DeviceBuffer bucket(backend_, values.size() * sizeof(float)),
      other(backend_, values.size() * sizeof(float));
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    backend_.upload(bucket.data(), values.data(), bucket.bytes());
    gpus_->start_all_reduce(bucket.floats(), values.size(), reduction);
    backend_.zero(other.data(), other.bytes());
    gpus_->finish_all_reduces();
    backend_.copy(other.data(), bucket.data(), bucket.bytes());
    EXPECT_EQ(read(other), values) << "the sum over one rank";
  }
  backend_.synchronize();
  EXPECT_GT(gpus_->waited_seconds(), 0) << "the second sum was waited for at once";
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

TEST_F(Nccl, LetsAnErrorEndTheProgramWhateverIsQueued) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [&] {
    DeviceBuffer bucket(backend_, 1 << 20);
    try {
      const auto collectives = std::move(gpus_);
      collectives->start_all_reduce(bucket.floats(), bucket.bytes() / sizeof(float), Reduction::sum);
      throw std::runtime_error("the other GPU is gone");
    } catch (const std::runtime_error& e) {
      Communicator::solo().fail(e.what(), 3);
    }
  };
  EXPECT_EXIT(fail(), ::testing::ExitedWithCode(3), "the other GPU is gone");
}

}  // namespace
}  // namespace brightnet::testing
