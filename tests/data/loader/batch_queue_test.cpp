#include "data/loader/batch_queue.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "core/clock.h"

namespace brightnet {
namespace {

TEST(BatchQueue, DeliversEveryBatchInOrderWithAllItsItems) {
  for (const int workers : {0, 1, 4}) {
    constexpr int slots = 3;
    std::vector<std::vector<uint64_t>> made(slots);
    std::vector<uint64_t> in_slot(slots);
    BatchQueue::Work work;
    work.batches = 40;
    work.open = [&](uint64_t batch, int slot) {
      in_slot[static_cast<size_t>(slot)] = batch;
      made[static_cast<size_t>(slot)].assign(1 + batch % 5, 0);
      return static_cast<int>(1 + batch % 5);
    };
    work.make = [&](int slot, int item, int) {
      made[static_cast<size_t>(slot)][static_cast<size_t>(item)] =
          100 * in_slot[static_cast<size_t>(slot)] + static_cast<uint64_t>(item);
    };
    BatchQueue queue(work, slots, workers);
    for (uint64_t batch = 0; batch < 40; ++batch) {
      const int slot = queue.next();
      ASSERT_GE(slot, 0);
      ASSERT_EQ(made[static_cast<size_t>(slot)].size(), 1 + batch % 5);
      for (uint64_t item = 0; item < 1 + batch % 5; ++item)
        EXPECT_EQ(made[static_cast<size_t>(slot)][item], 100 * batch + item) << workers;
    }
    EXPECT_EQ(queue.next(), -1);
    EXPECT_EQ(queue.next(), -1);
  }
}

TEST(BatchQueue, EndsWhereNoBatchIsLeftToOpen) {
  for (const int workers : {0, 1, 4}) {
    for (const uint64_t batches : {0, 1, 7}) {
      std::atomic<int> made{0};
      BatchQueue::Work work;  // of unknown length
      work.open = [&](uint64_t batch, int) { return batch < batches ? 2 : 0; };
      work.make = [&](int, int, int) { ++made; };
      BatchQueue queue(work, 3, workers);
      for (uint64_t batch = 0; batch < batches; ++batch) ASSERT_GE(queue.next(), 0);
      EXPECT_EQ(queue.next(), -1);
      EXPECT_EQ(queue.next(), -1);
      EXPECT_EQ(made, static_cast<int>(2 * batches));
    }
  }
}

TEST(BatchQueue, NeverTouchesTheBatchThatTheConsumerHolds) {
  std::atomic<int> held{-1};
  std::atomic<bool> touched{false};
  BatchQueue::Work work;
  work.batches = 60;
  work.open = [&](uint64_t, int slot) {
    if (slot == held) touched = true;
    return 2;
  };
  work.make = [&](int slot, int, int) {
    if (slot == held) touched = true;
  };
  BatchQueue queue(work, 2, 3);
  for (int i = 0; i < 60; ++i) {
    const int slot = queue.next();
    held = slot;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    held = -1;
  }
  EXPECT_FALSE(touched);
}

TEST(BatchQueue, RethrowsTheFirstItemsErrorInItsBatchsTurn) {
  for (const int workers : {0, 1, 4}) {
    std::vector<uint64_t> in_slot(4);
    BatchQueue::Work work;
    work.batches = 10;
    work.open = [&](uint64_t batch, int slot) {
      in_slot[static_cast<size_t>(slot)] = batch;
      return 6;
    };
    work.make = [&](int slot, int item, int) {
      const uint64_t batch = in_slot[static_cast<size_t>(slot)];
      if (batch >= 3 && item >= 2)
        throw std::runtime_error(std::to_string(batch) + ':' + std::to_string(item));
    };
    BatchQueue queue(work, 4, workers);
    for (int i = 0; i < 3; ++i) EXPECT_GE(queue.next(), 0);
    for (int again = 0; again < 2; ++again) {
      try {
        queue.next();
        FAIL() << "the error was lost";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "3:2") << workers;
      }
    }
  }
}

TEST(BatchQueue, CarriesAnErrorOfOpening) {
  for (const int workers : {0, 2}) {
    BatchQueue::Work work;
    work.batches = 5;
    work.open = [](uint64_t batch, int) {
      if (batch == 1) throw std::runtime_error("cannot open");
      return 1;
    };
    work.make = [](int, int, int) {};
    BatchQueue queue(work, 2, workers);
    EXPECT_GE(queue.next(), 0);
    EXPECT_THROW(queue.next(), std::runtime_error) << workers;
  }
}

TEST(BatchQueue, MakesBatchesAgainAfterAChange) {
  for (const int workers : {0, 1, 4}) {
    int version = 0;  // read and changed while no batch is opened
    std::vector<int> opened_as(4);
    std::vector<std::vector<int>> made(4, std::vector<int>(3, -1));
    BatchQueue::Work work;
    work.batches = 30;
    work.open = [&](uint64_t, int slot) {
      opened_as[static_cast<size_t>(slot)] = version;
      return 3;
    };
    work.make = [&](int slot, int item, int) {
      made[static_cast<size_t>(slot)][static_cast<size_t>(item)] = opened_as[static_cast<size_t>(slot)];
    };
    BatchQueue queue(work, 4, workers);
    for (int batch = 0; batch < 40; ++batch) {
      const int slot = queue.next();
      ASSERT_GE(slot, 0) << batch;
      const std::vector<int> held = made[static_cast<size_t>(slot)];
      EXPECT_EQ(held, std::vector<int>(3, version)) << workers << " workers, batch " << batch;
      if (batch % 3 > 0) continue;
      if (workers > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      queue.revise(40, [&](uint64_t first, uint64_t opened) {
        EXPECT_EQ(first, static_cast<uint64_t>(batch + 1));
        EXPECT_GE(opened, first);
        EXPECT_LE(opened, first + 3);
        ++version;
        return true;
      });
      EXPECT_EQ(made[static_cast<size_t>(slot)], held) << "the consumer's batch stays";
    }
    EXPECT_EQ(queue.next(), -1);
  }
}

TEST(BatchQueue, EndsEarlierOrLaterAfterAChange) {
  for (const int workers : {0, 2}) {
    BatchQueue::Work work;
    work.batches = 3;
    work.open = [](uint64_t, int) { return 1; };
    work.make = [](int, int, int) {};
    BatchQueue queue(work, 3, workers);
    const auto keep = [](uint64_t, uint64_t) { return false; };
    for (int i = 0; i < 3; ++i) EXPECT_GE(queue.next(), 0);
    EXPECT_EQ(queue.next(), -1);
    queue.revise(9, keep);
    EXPECT_GE(queue.next(), 0);
    queue.revise(5, keep);
    EXPECT_GE(queue.next(), 0);
    EXPECT_EQ(queue.next(), -1);
  }
}

TEST(BatchQueue, EndsWithoutEverHavingBeenAsked) {
  for (const uint64_t batches : {uint64_t{0}, uint64_t{1000}}) {
    BatchQueue::Work work;
    work.batches = batches;
    work.open = [](uint64_t, int) { return 3; };
    work.make = [](int, int, int) { std::this_thread::yield(); };
    BatchQueue queue(work, 3, 4);
  }
}

TEST(BatchQueue, AddsUpHowLongAllItsBatchesWereWaitedFor) {
  constexpr double long_time = 0.005;
  int made = 0;
  BatchQueue::Work work;
  work.open = [](uint64_t, int) { return 1; };
  work.make = [&](int, int, int) {
    const double end = seconds_now() + (made++ == 0 ? long_time : 0);
    while (seconds_now() < end) {
    }
  };
  BatchQueue queue(work, 1, 0);
  queue.next();
  const double waited = queue.waited_seconds();
  EXPECT_GE(waited, long_time);
  for (int i = 0; i < 3; ++i) queue.next();
  EXPECT_GE(queue.waited_seconds(), waited);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // whose tables need addresses

/// The process has an address space for the stacks of a few threads that have ended, and for no more.
[[noreturn]] void start_too_many_workers() {
  std::thread([] {}).join();
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = 1;
  ::setrlimit(RLIMIT_AS, &limit);
  BatchQueue::Work work;
  work.batches = 0;
  try {
    const BatchQueue queue(work, 1, 200);
  } catch (const std::system_error& e) {
    std::_Exit(e.code() == std::errc::resource_unavailable_try_again ? 7 : 1);
  }
  std::_Exit(0);
}

// It ended the process, a notebook say, by std::terminate().
TEST(BatchQueue, EndsTheWorkersThatItHasWhereOneCannotBeStarted) {
  EXPECT_EXIT(start_too_many_workers(), ::testing::ExitedWithCode(7), "");
}

#endif

}  // namespace
}  // namespace brightnet
