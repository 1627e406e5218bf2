// A fiber runs one thread after the other for as long as none of them has to wait: a kernel without barriers
// needs no switch at all. Where a thread waits, control goes to any other that can run; when none can and
// some still wait, they wait for each other or for a thread that will never come, and that is reported.
#include "tests/cuda_emulation/block.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "tests/cuda_emulation/fiber.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/shared_memory.h"

uint3 threadIdx{}, blockIdx{};
dim3 blockDim, gridDim;

namespace brightnet::emulation {
namespace {

constexpr int lanes = 32;

/// The first of a launch. It is thrown when the launch is over: the compiler takes its reports of accesses for functions
/// that throw nothing.
std::string plain_violation;

/// A small generator for shuffling (SplitMix64, Steele et al. 2014).
class Shuffler {
 public:
  explicit Shuffler(uint64_t seed) : state_(seed) {}
  size_t below(size_t count) {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = (state_ ^ (state_ >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<size_t>((z ^ (z >> 31)) % count);
  }

 private:
  uint64_t state_;
};

enum class Meeting : uint8_t { none, block, warp };

struct Thread {
  enum class State : uint8_t { fresh, suspended, waiting, done } state = State::fresh;
  Fiber* fiber = nullptr;
  // Where it waits, what it brought, and what it gets.
  Meeting meeting = Meeting::none;
  const char* operation = "";
  Where where{};
  unsigned mask = 0;
  int source = -1;  ///< the lane it reads; −1: a vote
  uint64_t value = 0, result = 0;
};

std::string place(const Where& where) {
  return std::string(where.file_name()) + ':' + std::to_string(where.line());
}

class Runner {
 public:
  void run(const LaunchSize& size, uint64_t seed, const std::function<void()>& body);

  bool running() const { return current_ >= 0; }
  int lane() const { return current_ % lanes; }
  int meet_block(BlockVote vote, bool predicate, const Where& where);
  uint64_t meet_warp(const char* operation, unsigned mask, uint64_t value, int source, const Where& where);
  SharedMemory& shared() { return shared_; }

 private:
  using State = Thread::State;

  void run_block();
  static void enter();
  void live();
  Fiber* next_fiber();
  void advance(Fiber& self);
  void finish_block_meeting();
  void finish_warp_meeting(int warp, unsigned mask);
  unsigned live_lanes(int warp) const;
  void leave(int thread);
  void resume(Thread& thread);
  std::string standstill() const;

  const std::function<void()>* body_ = nullptr;
  LaunchSize size_;
  Shuffler shuffler_{0};
  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::vector<int> runnable_;
  int current_ = -1, live_ = 0, at_barrier_ = 0;
  BlockVote vote_ = BlockVote::none;
  std::exception_ptr failure_;
  SharedMemory shared_;
};

Runner& runner() {
  static Runner only;
  return only;
}

void Runner::run(const LaunchSize& size, uint64_t seed, const std::function<void()>& body) {
  body_ = &body;
  size_ = size;
  shuffler_ = Shuffler(seed);
  blockDim = size.block;
  gridDim = size.grid;
  const size_t blocks = static_cast<size_t>(size.grid.x) * size.grid.y * size.grid.z;
  std::vector<unsigned> order(blocks);
  for (size_t i = 0; i < blocks; ++i) order[i] = static_cast<unsigned>(i);
  for (size_t i = blocks; i > 1; --i) std::swap(order[i - 1], order[shuffler_.below(i)]);
  for (const unsigned block : order) {
    blockIdx = {block % size.grid.x, block / size.grid.x % size.grid.y, block / size.grid.x / size.grid.y};
    run_block();
  }
}

void Runner::run_block() {
  const int count = static_cast<int>(size_.block.x * size_.block.y * size_.block.z);
  threads_.assign(count, Thread{});
  runnable_.resize(count);
  for (int i = 0; i < count; ++i) runnable_[i] = i;
  live_ = count;
  at_barrier_ = 0;
  failure_ = nullptr;
  shared_.clear(size_.shared_bytes);
  advance(host_);
  current_ = -1;
  if (!failure_ && live_ > 0) failure_ = std::make_exception_ptr(Violation(standstill()));
  if (failure_) {
    // Fibers suspended inside the kernel are discarded.
    idle_.clear();
    fibers_.clear();
    std::rethrow_exception(failure_);
  }
  shared_.check_gaps();
}

/// Picks a thread that can run, makes it the current one, and returns the fiber it runs on.
Fiber* Runner::next_fiber() {
  if (runnable_.empty() || failure_) return &host_;
  std::swap(runnable_[shuffler_.below(runnable_.size())], runnable_.back());
  current_ = runnable_.back();
  runnable_.pop_back();
  const unsigned index = static_cast<unsigned>(current_);
  threadIdx = {index % size_.block.x, index / size_.block.x % size_.block.y,
               index / size_.block.x / size_.block.y};
  return threads_[current_].fiber;
}

/// Leaves the running fiber for that of some other thread, or returns at once when the same one goes on.
void Runner::advance(Fiber& self) {
  Fiber* next = next_fiber();
  if (next == nullptr) {  // a thread that has not begun
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Fiber>(&Runner::enter));
      idle_.push_back(fibers_.back().get());
    }
    next = idle_.back();
    idle_.pop_back();
    threads_[current_].fiber = next;
  }
  if (next != &self) self.switch_to(*next);
}

void Runner::enter() {
  Fiber::arrived();
  runner().live();
}

/// A fiber's main loop: runs its thread, then others that have not begun, then sleeps until it is given one.
void Runner::live() {
  for (;;) {
    Fiber* self = threads_[current_].fiber;
    const int thread = current_;
    try {
      (*body_)();
      leave(thread);
    } catch (...) {
      failure_ = std::current_exception();
    }
    Fiber* next = next_fiber();
    if (next == nullptr) {
      threads_[current_].fiber = self;
      continue;
    }
    idle_.push_back(self);
    self->switch_to(*next);
  }
}

void Runner::resume(Thread& thread) {
  thread.state = State::suspended;
  thread.meeting = Meeting::none;
  runnable_.push_back(static_cast<int>(&thread - threads_.data()));
}

/// A thread has returned from the kernel, which may release those that waited for it.
void Runner::leave(int thread) {
  threads_[thread].state = State::done;
  --live_;
  if (at_barrier_ > 0 && at_barrier_ == live_) finish_block_meeting();
  const int first = thread / lanes * lanes, last = std::min(first + lanes, static_cast<int>(threads_.size()));
  for (int i = first; i < last; ++i) {
    if (threads_[i].meeting == Meeting::warp) finish_warp_meeting(first / lanes, threads_[i].mask);
  }
}

unsigned Runner::live_lanes(int warp) const {
  unsigned mask = 0;
  for (int lane = 0; lane < lanes; ++lane) {
    const size_t thread = static_cast<size_t>(warp) * lanes + lane;
    if (thread < threads_.size() && threads_[thread].state != State::done) mask |= 1u << lane;
  }
  return mask;
}

int Runner::meet_block(BlockVote vote, bool predicate, const Where& where) {
  Thread& thread = threads_[current_];
  thread.state = State::waiting;
  thread.meeting = Meeting::block;
  thread.operation = "__syncthreads";
  thread.where = where;
  thread.value = predicate;
  vote_ = vote;
  if (++at_barrier_ == live_) finish_block_meeting();
  advance(*thread.fiber);
  return static_cast<int>(thread.result);
}

void Runner::finish_block_meeting() {
  const Thread* first = nullptr;
  int votes = 0;
  for (const Thread& thread : threads_) {
    if (thread.state == State::done) continue;
    if (!first) first = &thread;
    if (thread.where.line() != first->where.line()) {
      throw Violation("threads of one block met at different barriers: thread " +
                      std::to_string(first - threads_.data()) + " at " + place(first->where) + ", thread " +
                      std::to_string(&thread - threads_.data()) + " at " + place(thread.where));
    }
    votes += thread.value != 0;
  }
  const int result = vote_ == BlockVote::any ? votes > 0 : vote_ == BlockVote::all ? votes == live_ : votes;
  at_barrier_ = 0;
  for (Thread& thread : threads_) {
    if (thread.state == State::done) continue;
    thread.result = static_cast<uint64_t>(result);
    resume(thread);
  }
}

uint64_t Runner::meet_warp(const char* operation, unsigned mask, uint64_t value, int source,
                           const Where& where) {
  Thread& thread = threads_[current_];
  if (!(mask >> lane() & 1)) {
    throw Violation(std::string(operation) + " at " + place(where) + ": thread " + std::to_string(current_) +
                    " is not in its own mask");
  }
  thread.state = State::waiting;
  thread.meeting = Meeting::warp;
  thread.operation = operation;
  thread.where = where;
  thread.mask = mask;
  thread.value = value;
  thread.source = source;
  finish_warp_meeting(current_ / lanes, mask);
  advance(*thread.fiber);
  return thread.result;
}

/// Releases the lanes of the mask when all live ones have reached the same operation.
void Runner::finish_warp_meeting(int warp, unsigned mask) {
  const unsigned taking_part = mask & live_lanes(warp);
  Thread* thread = threads_.data() + warp * lanes;
  const Thread* first = nullptr;
  unsigned votes = 0;
  for (int i = 0; i < lanes; ++i) {
    if (!(taking_part >> i & 1)) continue;
    if (!first) first = thread + i;
    const Thread& t = thread[i];
    if (t.meeting != Meeting::warp || t.mask != mask || t.operation != first->operation ||
        t.where.line() != first->where.line())
      return;
    if (t.value != 0) votes |= 1u << i;
  }
  for (int i = 0; i < lanes; ++i) {
    if (!(taking_part >> i & 1)) continue;
    const int source = thread[i].source;
    if (source < 0) {
      thread[i].result = votes;
      continue;
    }
    if (!(taking_part >> source & 1)) {
      throw Violation(std::string(first->operation) + " at " + place(first->where) + ": lane " +
                      std::to_string(i) + " reads lane " + std::to_string(source) + ", which " +
                      (mask >> source & 1 ? "has left the kernel or never was" : "is not in the mask"));
    }
    thread[i].result = thread[source].value;
  }
  for (int i = 0; i < lanes; ++i) {
    if (taking_part >> i & 1) resume(thread[i]);
  }
}

/// Why no thread can continue.
std::string Runner::standstill() const {
  std::string text = "threads wait for each other forever; of " + std::to_string(threads_.size()) +
                     " threads " + std::to_string(threads_.size() - live_) + " have left the kernel";
  const Thread* told = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.state != State::waiting) continue;
    if (told && told->operation == thread.operation && told->where.line() == thread.where.line()) continue;
    told = &thread;
    text += ", thread " + std::to_string(&thread - threads_.data()) + " waits at " + thread.operation + " (" +
            place(thread.where) + ')';
  }
  return text;
}

}  // namespace

std::string describe(const Where& where) {
  return place(where) + " (" + where.function_name() + ')';
}

void run_blocks(const LaunchSize& size, uint64_t seed, const std::string& launch,
                const std::function<void()>& thread) {
  try {
    plain_violation.clear();
    runner().run(size, seed, thread);
    if (!plain_violation.empty()) throw Violation(plain_violation);
  } catch (const Violation& violation) {
    throw Violation("the kernel launched at " + launch + ", block " + std::to_string(blockIdx.x) + '/' +
                    std::to_string(blockIdx.y) + '/' + std::to_string(blockIdx.z) + ", seed " +
                    std::to_string(seed) + ": " + violation.what());
  }
}

bool in_kernel() {
  return runner().running();
}
bool is_shared(const void* address, size_t bytes) {
  return in_kernel() && runner().shared().holds(address, bytes);
}
void* shared_variable(const void* key, size_t bytes, size_t alignment) {
  return runner().shared().variable(key, bytes, alignment);
}
void* dynamic_shared_memory() {
  return runner().shared().dynamic();
}
int meet_block(BlockVote vote, bool predicate, const Where& where) {
  return runner().meet_block(vote, predicate, where);
}
uint64_t meet_warp(const char* operation, unsigned mask, uint64_t value, int source, const Where& where) {
  return runner().meet_warp(operation, mask, value, source, where);
}
unsigned meet_ballot(const char* operation, unsigned mask, bool predicate, const Where& where) {
  return static_cast<unsigned>(runner().meet_warp(operation, mask, predicate, -1, where));
}
int current_lane() {
  return runner().lane();
}

int shuffle_source(Shuffle shuffle, int lane, int argument, int width) {
  const int first = lane / width * width;
  switch (shuffle) {
    case Shuffle::index: return first + (argument & (width - 1));
    case Shuffle::up: return lane - argument < first ? lane : lane - argument;
    case Shuffle::down: return lane + argument >= first + width ? lane : lane + argument;
    case Shuffle::exclusive_or: return (lane ^ argument) >= first + width ? lane : lane ^ argument;
  }
  return lane;
}

void check_access(const void* address, size_t bytes, const char* what) {
  const bool aligned = reinterpret_cast<uintptr_t>(address) % bytes == 0;
  if (aligned && (is_device_accessible(address, bytes) || is_shared(address, bytes))) return;
  const std::string access = std::string("a ") + what + " of " + std::to_string(bytes) + " bytes ";
  if (!aligned) throw Violation(access + "is not aligned to its size");
  throw Violation(access + "reaches beyond live device memory: " + describe_address(address));
}

void check_plain_access(const void* address, size_t bytes, size_t alignment) {
  if (!in_kernel()) return;
  const bool device = is_device_space(address);
  if (!device && !runner().shared().around(address)) return;
  const bool aligned = reinterpret_cast<uintptr_t>(address) % alignment == 0;
  if (aligned && (device ? is_device(address, bytes) : runner().shared().holds(address, bytes))) return;
  if (!plain_violation.empty()) return;
  plain_violation = "an access of " + std::to_string(bytes) + " bytes " +
                    (!aligned ? "is not aligned to its size"
                     : device ? "reaches beyond live device memory: " + describe_address(address)
                              : "reaches beyond a shared variable");
}

}  // namespace brightnet::emulation
