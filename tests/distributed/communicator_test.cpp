// Messages between real processes: the calls themselves, the sum of the gradient while it is computed, and
// how a rank that cannot go on ends the others.
#include "train/distributed/communicator.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <regex>
#include <sstream>

#include "tests/distributed/job.h"
#include "tests/train/small_run.h"

namespace brightnet::testing {
namespace {

class Ranks : public ::testing::Test {
 protected:
  Ranks() { prepare_for_ranks(); }

  ProgramResult play(const std::string& scenario, int ranks) {
    Words words{rank_program().string(), scenario, run_.folder().string()};
    if (ranks > 1) words = mpirun(ranks, words);
    return Program(words[0], {words.begin() + 1, words.end()}, run_.folder()).wait();
  }
  std::string answer(const std::string& scenario, int rank) {
    return read_file(run_.folder() / (scenario + '.' + std::to_string(rank)));
  }
  std::vector<float> numbers(const std::string& scenario, int rank) {
    const std::string bytes = answer(scenario, rank);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  SmallRun run_{10, 1};
};

TEST_F(Ranks, SumBroadcastAndGather) {
  const ProgramResult result = play("collectives", 3);
  ASSERT_EQ(result.code, 0) << result.err;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string who = std::to_string(rank) + " of 3";
    EXPECT_EQ(answer("collectives", rank), who + ", here " + who +
                                               "\n"
                                               "6.000000 1.500000\n"
                                               "42\n"
                                               "[][b][cc]\n"
                                               "6.000000 6.000000 6.000000 6.000000 6.000000 \n"
                                               "1.000000 1.000000 1.000000 \n"
                                               "3.000000\n");
  }
}

TEST_F(Ranks, OfAPlainProgramAreOne) {
  ASSERT_EQ(play("collectives", 1).code, 0);
  EXPECT_EQ(answer("collectives", 0).substr(0, 28), "0 of 1, here 0 of 1\n1.000000");
}

TEST_F(Ranks, GetTheSameBitsEverywhereAndEveryTime) {
  for (const int ranks : {3, 4}) {
    ASSERT_EQ(play("bits", ranks).code, 0);
    const std::string first = answer("bits", 0);
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_TRUE(answer("bits", rank) == first) << rank << " of " << ranks;
    ASSERT_EQ(play("bits", ranks).code, 0);
    EXPECT_TRUE(answer("bits", 0) == first) << ranks;
  }
}

// Without batch-norm, so that a rank's gradient is its images' share of the whole.
TEST_F(Ranks, GradientBucketsAreTheSerialSum) {
  const std::regex strided("stride: 2");
  write_atomically(run_.folder() / "model.yaml",
                   std::regex_replace(small_model, strided, "stride: 2, batch_norm: false"));
  run_.write_config("train: {batch: 8, size: 64}");
  ASSERT_EQ(play("overlapped", 1).code, 0);
  const std::vector<float> serial = numbers("overlapped", 0);
  for (const int ranks : {2, 4}) {
    ASSERT_EQ(play("overlapped", ranks).code, 0);
    const std::vector<float> shared = numbers("overlapped", 0);
    EXPECT_EQ(shared, numbers("overlapped", 1)) << "every rank has the whole sum";
    ASSERT_EQ(shared.size(), serial.size());
    double difference = 0, size = 0;
    for (size_t i = 0; i < serial.size(); ++i) {
      difference += std::pow(static_cast<double>(shared[i]) - serial[i], 2);
      size += std::pow(static_cast<double>(serial[i]), 2);
    }
    EXPECT_GT(size, 0);
    EXPECT_LT(std::sqrt(difference / size), 1e-5) << ranks;
    ASSERT_EQ(play("afterwards", ranks).code, 0);
    EXPECT_EQ(numbers("afterwards", 0), shared) << "overlapped or not: the same bits";
  }
}

TEST_F(Ranks, SeeTogetherWhatOneSees) {
  // 10 images in batches of 4: the last batch of an epoch is padded.
  run_.write_config("train: {batch: 4, size: 64}");
  const auto lines = [&](int rank) {
    std::istringstream text(answer("samples", rank));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  };
  ASSERT_EQ(play("samples", 1).code, 0);
  const auto serial = lines(0);
  ASSERT_EQ(serial.size(), 36u);
  for (const int ranks : {2, 4}) {
    ASSERT_EQ(play("samples", ranks).code, 0);
    const size_t part = 4 / static_cast<size_t>(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto own = lines(rank);
      ASSERT_EQ(own.size(), 36u / static_cast<size_t>(ranks));
      for (size_t i = 0; i < own.size(); ++i) {
        const size_t place = i / part * 4 + static_cast<size_t>(rank) * part + i % part;
        EXPECT_EQ(own[i], serial[place]) << "sample " << place << " on " << ranks << " ranks";
      }
    }
  }
}

TEST_F(Ranks, LeaveTogetherWhenOneIsNotReady) {
  const ProgramResult result = play("unprepared", 3);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("rank 1 (on host "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("cupboard:1: the cupboard is bare. Fill it."), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("bare", result.err.find("bare") + 1), std::string::npos)
      << "said once: " << result.err;
}

TEST_F(Ranks, MustHaveTheSameFiles) {
  const ProgramResult result = play("different", 2);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("has another coat than rank 0"), std::string::npos) << result.err;
}

TEST_F(Ranks, EndWithTheMessageOfTheOneThatFails) {
  const ProgramResult result = play("thrown", 3);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("[1] rank 1 (process "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("river:7: the bridge is down."), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("has died"), std::string::npos) << "its death is no news: " << result.err;
}

// The sums of gradients that it has started would be written where they were: that ended it before it could say why.
TEST_F(Ranks, EndWithTheMessageOfTheOneThatFailsInItsBackwardPass) {
  const ProgramResult result = play("in_backward", 2);
  EXPECT_EQ(result.code, 2) << result.err;
  EXPECT_NE(result.err.find("layer:7: there is no more memory."), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("has died"), std::string::npos) << result.err;
}

TEST_F(Ranks, SayOnceWhatGoesWrongOnAll) {
  const ProgramResult result = play("everybody", 3);
  EXPECT_EQ(result.code, 2) << result.err;
  const size_t first = result.err.find("it rains everywhere");
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("it rains", first + 1), std::string::npos) << result.err;
}

TEST_F(Ranks, DoNotWaitForEver) {
  const ProgramResult result = play("absent", 3);
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.err.find("rank 1 (process "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("has not reached a barrier, where the others wait"), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("Its process is alive"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("has not reached", result.err.find("has not reached") + 1), std::string::npos)
      << result.err;
}

TEST_F(Ranks, DoNotCountTheTimeInWhichTheyWereStoppedThemselvesAsWaiting) {
  const ProgramResult result = play("suspended", 2);
  EXPECT_EQ(result.code, 0) << result.err;
  for (const int rank : {0, 1}) EXPECT_EQ(answer("suspended", rank), "went on");
}

TEST_F(Ranks, ADeviceThatCannotBeEndedDoesNotKeepTheRanksAlive) {
  const auto begin = std::chrono::steady_clock::now();
  const ProgramResult result = play("device_hangs", 2);
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.err.find("the GPU has fallen off the bus"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("did not end within 5 s"), std::string::npos) << result.err;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::minutes(2))
      << "not by the end of the sleep";
}

}  // namespace
}  // namespace brightnet::testing
