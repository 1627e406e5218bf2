// A fiber begins by setcontext(), and is left and entered again by longjmp(), since swapcontext() asks the kernel for the
// signal mask at every switch: of the emulation's time that was a fifth. The address sanitizer, whose longjmp() knows one
// stack, keeps to swapcontext(); it must be notified of every switch, or it reports the other stack as corruption.
// Compiled without _FORTIFY_SOURCE, with which longjmp() takes a jump to another stack for a mistake.
#include "tests/cuda_emulation/fiber.h"

#include <new>

#include <pthread.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace brightnet::emulation {
namespace {

constexpr size_t page = 4096;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t stack_size = 256 << 10;  // red zones around every variable
#else
constexpr size_t stack_size = 64 << 10;
#endif

}  // namespace

Fiber::Fiber() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &stack_, &stack_bytes_);
  pthread_attr_destroy(&attributes);
}

Fiber::Fiber(void (*entry)()) : stack_bytes_(stack_size) {
  void* mapping =
      mmap(nullptr, stack_size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  mprotect(mapping_, page, PROT_NONE);
  stack_ = mapping_ + page;
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
}

Fiber::~Fiber() {
  if (!mapping_) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
  munmap(mapping_, stack_size + page);
}

void Fiber::switch_to(Fiber& next) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, next.stack_, next.stack_bytes_);
  swapcontext(&context_, &next.context_);
  __sanitizer_finish_switch_fiber(fake_stack_, nullptr, nullptr);
#else
  has_begun_ = true;
  if (_setjmp(left_at_) != 0) return;  // another has switched back
  if (next.has_begun_) _longjmp(next.left_at_, 1);
  next.has_begun_ = true;
  setcontext(&next.context_);
#endif
}

void Fiber::arrived() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

}  // namespace brightnet::emulation
