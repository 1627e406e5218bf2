#include "kernels/cuda/convolution_timing.h"

#include <algorithm>

namespace brightnet::cuda {
namespace {

constexpr int rounds = 3;
constexpr int queued_runs = 4;  ///< runs of a round: one after the other, as in a step

/// Milliseconds of one of so many runs; negative when one fails.
float time(const std::function<bool()>& work, cudaStream_t stream, int runs) {
  const Event begin(Event::Kind::timed), end(Event::Kind::timed);
  begin.record(stream);
  for (int i = 0; i < runs; ++i) {
    if (!work()) return -1;
  }
  end.record(stream);
  end.synchronize();
  return end.elapsed_ms(begin) / runs;
}

}  // namespace

float fastest_run(const std::function<bool()>& work, cudaStream_t stream, float hopeless) {
  if (time(work, stream, 1) < 0) return -1;  // the first run loads what it needs
  float milliseconds = time(work, stream, 1);
  for (int round = 0; round < rounds && milliseconds >= 0 && milliseconds < hopeless; ++round) {
    const float again = time(work, stream, queued_runs);
    if (again < 0) return -1;
    milliseconds = std::min(milliseconds, again);
  }
  return milliseconds;
}

}  // namespace brightnet::cuda
