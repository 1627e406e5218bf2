// A fiber: a stack of its own, and control that moves from one to the other only when it is told to.
#pragma once

#include <cstddef>

#include <ucontext.h>

namespace brightnet::emulation {

class Fiber {
 public:
  /// The calling host thread itself.
  Fiber();
  /// Runs entry() when it is switched to for the first time; entry() never returns.
  explicit Fiber(void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Goes on in `next`; returns when another switches back to this fiber, which is the running one.
  void switch_to(Fiber& next);
  /// What entry() calls first.
  static void arrived();

 private:
  ucontext_t context_{};
  char* mapping_ = nullptr;  ///< with a guard page below the stack
  void* stack_ = nullptr;
  size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  ///< the address sanitizer's
};

}  // namespace brightnet::emulation
