// What a GPU's work moves through its memory, stated by the code that launches it. A LaunchList collects the
// statements instead of launching anything, so that a step can be counted without a GPU (`brightnet bench
// --traffic`); the emulated tests count what kernels really load and store and compare (tests/cuda_emulation).
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <vector>

namespace brightnet {

/// Bytes of device memory that one launch reads and writes. Each byte counts once, however many threads load
/// it: that is what must cross the memory bus when caches hold the rest. What the launch itself has written
/// does not count as read. Where it depends on the data (ground truth, skipped steps), this is the part that
/// does not.
struct Traffic {
  size_t read = 0, written = 0;

  size_t bytes() const { return read + written; }
  Traffic operator+(const Traffic& more) const { return {read + more.read, written + more.written}; }
};

/// One launch of a kernel of ours, one copy, or one pass of a convolution.
struct LaunchRecord {
  std::string name;  ///< source file of the launch; "convolution"
  int layer = -1;    ///< place of the layer in the network; −1: the input and the optimizer
  Traffic traffic;
  double flops = 0;  ///< multiplications and additions of a convolution
  bool convolution = false;
  bool states_traffic = true;
};

/// While one lives, CUDA backends of this thread add their work to it instead of queueing it. They need no
/// GPU then (CudaBackend::planner()): their memory is never touched.
class LaunchList {
 public:
  /// `multiprocessors` of the GPU that is imagined: the number of partial sums depends on it. `fuses`: cuDNN's
  /// fusions are taken to be faster wherever it offers them, as a GPU decides by timing; else all are left out.
  explicit LaunchList(int multiprocessors, bool fuses = true);
  ~LaunchList();
  LaunchList(const LaunchList&) = delete;
  LaunchList& operator=(const LaunchList&) = delete;

  /// The one that lives in this thread, or nullptr.
  static LaunchList* current();

  int multiprocessors() const { return multiprocessors_; }
  bool fuses() const { return fuses_; }
  /// Sets the layer of later records.
  void set_layer(int layer) { layer_ = layer; }
  void add_kernel(const Traffic* traffic, const std::source_location& where);
  void add_convolution(const Traffic& traffic, double flops);
  /// An address for memory of this size, which nothing may touch.
  void* address(size_t bytes);

  const std::vector<LaunchRecord>& records() const { return records_; }
  void clear() { records_.clear(); }

 private:
  const int multiprocessors_;
  const bool fuses_;
  int layer_ = -1;
  size_t next_address_ = size_t{1} << 44;
  std::vector<LaunchRecord> records_;
};

}  // namespace brightnet
