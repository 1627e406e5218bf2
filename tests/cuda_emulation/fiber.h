// A fiber: a separate stack, with explicit switches of control.
#pragma once

#include <cstddef>

#include <setjmp.h>
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

  /// Switches from this fiber, which is running, to `next`; returns when another switches back.
  void switch_to(Fiber& next);
  /// What entry() calls first.
  static void arrived();

 private:
  ucontext_t context_{};  ///< where entry() begins
  jmp_buf left_at_{};
  bool has_begun_ = false;
  char* mapping_ = nullptr;  ///< with a guard page below the stack
  void* stack_ = nullptr;
  size_t stack_bytes_ = 0;
  void* fake_stack_ = nullptr;  ///< the address sanitizer's
};

}  // namespace brightnet::emulation
