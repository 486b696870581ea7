#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdlib>

#if defined(__x86_64__)
// Saves the registers that a call must keep, and swaps the stack pointers.
extern "C" void emu_swap(void** save, void* load);
asm(R"(
.text
.hidden emu_swap
.globl emu_swap
.type emu_swap,@function
emu_swap:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size emu_swap,.-emu_swap
)");
#endif

namespace emu {

namespace {
constexpr size_t kGuardBytes = 1 << 20;  // Wide enough for the first step of a large array to land in it.
}

char* new_stack() {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* at = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at == MAP_FAILED || mprotect(at, kGuardBytes, PROT_NONE)) abort();
  return static_cast<char*>(at) + kGuardBytes;
}

void free_stack(char* stack) { munmap(stack - kGuardBytes, kGuardBytes + kStackBytes); }

void prepare(Fiber& fiber, char* stack, unsigned stagger, void (*main)()) {
  fiber.stack = stack;
  fiber.fake = nullptr;
#if EMU_ASAN
  // The fibre that had this stack before never returned from its outermost frames.
  __asan_unpoison_memory_region(stack, kStackBytes);
#endif
  const size_t offset = (stagger & 63) * 320;
#if defined(__x86_64__)
  void** top = reinterpret_cast<void**>(stack + kStackBytes - offset);
  *--top = nullptr;  // Where `main` would return to; keeps the alignment of a call.
  *--top = reinterpret_cast<void*>(main);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  fiber.top = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack;
  fiber.context.uc_stack.ss_size = kStackBytes - offset;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, main, 0);
#endif
}

void change(Fiber& from, Fiber& to, const void* bottom, size_t bytes, bool ends) {
#if EMU_ASAN
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake, bottom, bytes);
#else
  (void)bottom, (void)bytes, (void)ends;
#endif
#if defined(__x86_64__)
  emu_swap(&from.top, to.top);
#else
  swapcontext(&from.context, &to.context);
#endif
#if EMU_ASAN
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

void arrived(const void** bottom, size_t* bytes) {
#if EMU_ASAN
  const void* left_bottom;
  size_t left_bytes;
  __sanitizer_finish_switch_fiber(nullptr, &left_bottom, &left_bytes);
  if (bottom && !*bytes) *bottom = left_bottom, *bytes = left_bytes;
#else
  (void)bottom, (void)bytes;
#endif
}

}  // namespace emu
