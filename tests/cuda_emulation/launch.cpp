#include "tests/cuda_emulation/launch.h"

#include <map>
#include <optional>
#include <string>

#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/queue.h"
#include "tests/cuda_emulation/traffic.h"

namespace brightnet::emulation {
namespace {

constexpr size_t shared_without_opting_in = 48 << 10, shared_at_most = 64 << 10;

int any_order = 0, every_order = 0;

/// Dynamic shared memory that kernels have opted in to.
std::map<const void*, size_t>& opted_in() {
  static std::map<const void*, size_t> bytes;
  return bytes;
}

/// The limits of compute capability 7.5.
std::string over_limits(const LaunchSize& size, const void* kernel) {
  const dim3 &block = size.block, &grid = size.grid;
  const auto text = [](const dim3& d) {
    return std::to_string(d.x) + 'x' + std::to_string(d.y) + 'x' + std::to_string(d.z);
  };
  const size_t threads = static_cast<size_t>(block.x) * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.x > 1024 || block.y > 1024 || block.z > 64)
    return "a block of " + text(block) + " threads; 1024 are the most, and 64 in z";
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return "a grid of " + text(grid) + " blocks; 2147483647x65535x65535 are the most, 1 the fewest";
  const auto found = opted_in().find(kernel);
  const size_t limit = found == opted_in().end() ? shared_without_opting_in : found->second;
  if (size.shared_bytes > limit)
    return std::to_string(size.shared_bytes) + " bytes of shared memory; " + std::to_string(limit) +
           " are the most";
  return "";
}

/// Runs all blocks, counting what they load and store where a test asks for it.
void run_counted(const LaunchSize& size, const std::string& where, const std::optional<Traffic>& traffic,
                 const Work& thread) {
  begin_counting();
  run_blocks(size, next_seed(), where, thread);
  end_counting(where, traffic ? &*traffic : nullptr);
}

/// Runs all blocks, and again in another order when there is little memory to compare.
void run_launch(const LaunchSize& size, const std::string& where, const std::optional<Traffic>& traffic,
                const Work& thread) {
  size_t bytes = allocated_device_memory();
  if (any_order > 0 || (bytes > repeated_launch_bytes && every_order == 0) || counts_traffic()) {
    run_counted(size, where, traffic, thread);
    return;
  }
  const Snapshot before = Snapshot::take();
  run_blocks(size, next_seed(), where, thread);
  const Snapshot once = Snapshot::take();
  before.restore();
  run_blocks(size, next_seed(), where, thread);
  if (const void* difference = once.first_difference()) {
    throw Violation(
        "the kernel launched at " + where +
        " gives another result when its threads run in another order (a barrier may be missing), " +
        describe_address(difference));
  }
}

}  // namespace

EveryOrder::EveryOrder() {
  ++every_order;
}
EveryOrder::~EveryOrder() {
  --every_order;
}
AnyOrder::AnyOrder() {
  ++any_order;
}
AnyOrder::~AnyOrder() {
  --any_order;
}

void queue_launch(const LaunchSize& size, cudaStream_t stream, const Where& where, const Traffic* traffic,
                  const void* kernel, Work thread, std::function<std::vector<ArgumentBytes>()> arguments) {
  const std::string launch = describe(where);
  const auto named = [launch](auto&& action) {
    try {
      action();
    } catch (const Violation& violation) {
      throw Violation("the kernel launched at " + launch + ": " + violation.what());
    }
  };
  named([&] {
    const std::string excess = over_limits(size, kernel);
    if (!excess.empty()) throw Violation(excess);
    require_current_gpu(stream, "a launch");
    check_arguments(arguments());
  });
  std::optional<Traffic> stated;
  if (traffic) stated = *traffic;
  queue_work(stream, [=] {
    named([&] { check_arguments(arguments()); });
    run_launch(size, launch, stated, thread);
    named([] { check_margins(); });
  });
}

}  // namespace brightnet::emulation

using namespace brightnet::emulation;

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorNotSupported;
  if (static_cast<size_t>(value) > shared_at_most) return cudaErrorInvalidValue;
  opted_in()[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}
