// A stack of its own for every CUDA thread of a block, and the change from one to another.
#pragma once
#include <cstddef>
#include <cstdint>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define EMU_ASAN 1
#else
#define EMU_ASAN 0
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emu {

constexpr size_t kStackBytes = EMU_ASAN ? 256 << 10 : 64 << 10;

struct Fiber {
#if defined(__x86_64__)
  void* top = nullptr;  // Stack pointer while it rests.
#else
  ucontext_t context;
#endif
  char* stack = nullptr;
  void* fake = nullptr;  // AddressSanitizer's stack of this fibre.
};

// Makes `fiber` start in `main` on `stack` at the first change to it. `stagger` spreads the stacks over the
// sets of the cache.
void prepare(Fiber& fiber, char* stack, unsigned stagger, void (*main)());
// A stack with a page below it that ends the process when it is touched.
char* new_stack();
void free_stack(char* stack);
// Leaves `from` for `to`; returns when somebody changes back. `ends` says that nobody will.
// `bottom` and `bytes` are the extent of the stack of `to`.
void change(Fiber& from, Fiber& to, const void* bottom, size_t bytes, bool ends);
// The first thing that `main` does; gives the extent of the stack that was left, when it is wanted.
void arrived(const void** bottom, size_t* bytes);

}  // namespace emu
