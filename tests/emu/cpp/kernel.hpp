// How a kernel is known to the stand-in driver, and how it is launched.
#pragma once
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "emu.hpp"

namespace emu {

struct Launch {
  dim3 grid, threads;
  size_t shared_bytes = 0;
};

struct Kernel;
// A launch with its arguments copied, so that a graph can replay it.
struct Bound {
  const Kernel* kernel;
  Launch launch;
  std::function<void()> body;     // What one thread runs.
  std::vector<void*> outputs;     // The pointers that are not to const, in order.
};

struct Kernel {
  const char* family;
  const char* name;
  unsigned threads_max;
  char *shared_begin, *shared_end;  // Static shared memory of the whole family.
  Bound (*bind)(const Kernel&, const Launch&, void** arguments);
  void (*entry)();
};

// Runs every block of a launch, one after the other.
void run(const Bound&, uint64_t seed);

void add_kernel(const Kernel&);
const Kernel* find_kernel(const char* name);

template <class T> inline void add_output(std::vector<void*>& outputs, T value) {
  if constexpr (std::is_pointer<T>::value && !std::is_const<std::remove_pointer_t<T>>::value)
    outputs.push_back(value);
}

template <class... A, size_t... I>
inline Bound bind_each(const Kernel& kernel, const Launch& launch, void** arguments, std::index_sequence<I...>) {
  const auto entry = reinterpret_cast<void (*)(A...)>(kernel.entry);
  const std::tuple<A...> values(*static_cast<A*>(arguments[I])...);
  Bound bound{&kernel, launch, [entry, values] { std::apply(entry, values); }, {}};
  (add_output(bound.outputs, std::get<I>(values)), ...);
  return bound;
}

template <class... A>
inline Kernel describe(const char* family, const char* name, unsigned threads_max, char* begin, char* end,
                       void (*entry)(A...)) {
  const auto bind = [](const Kernel& kernel, const Launch& launch, void** arguments) {
    return bind_each<A...>(kernel, launch, arguments, std::index_sequence_for<A...>{});
  };
  return {family, name, threads_max, begin, end, bind, reinterpret_cast<void (*)()>(entry)};
}

struct Registered {
  explicit Registered(const Kernel& kernel) { add_kernel(kernel); }
};

}  // namespace emu
