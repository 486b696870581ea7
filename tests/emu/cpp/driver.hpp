// The state of the stand-in driver, shared by its parts.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernel.hpp"

namespace driver {

using Result = int;                   // CUresult
using Pointer = unsigned long long;   // CUdeviceptr
using Time = std::chrono::steady_clock::time_point;

enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
};

// One piece of queued work; answers what the call that queued it would.
using Work = std::function<Result()>;
struct Recording {
  std::vector<Work> work;
  bool invalid = false;
  std::thread::id thread = std::this_thread::get_id();
};
struct Stream {
  std::unique_ptr<Recording> recording;
  Time busy_until{};
};
struct Event {
  Time at{}, recorded{};
};
struct Module {
  std::string ptx;
};
struct Graph {
  std::vector<Work> work;
};

// A fault that happens at the `at`-th try, or from that on; 0 is never.
struct Countdown {
  uint64_t at = 0, seen = 0;
  bool once = true;
  bool hit() {
    ++seen;
    return at && (once ? seen == at : seen >= at);
  }
};

struct State {
  std::mutex lock, running;
  std::map<Pointer, size_t> memory;
  std::map<const char*, size_t> pinned;
  std::set<void*> streams, events, modules, graphs, replays;
  size_t memory_limit, memory_used = 0, memory_peak = 0;
  uint64_t calls = 0, allocations = 0, launches = 0;
  uint64_t waits = 0;      // Of streams for events of others.
  uint64_t unpinned = 0;   // Downloads into memory that is not pinned: a driver answers when they are done.
  uint64_t downloaded = 0;  // bytes
  uint64_t seed = 0;
  Result sticky = kSuccess;
  Countdown refuse_memory, refuse_pinned, fail_launch, refuse_module;
  Result fail_code = kIllegalAddress;
  bool fail_late = false;
  unsigned delay_ms = 0;
  std::string delayed, wrong;  // Names of kernels; an empty `delayed` is all of them.
  Countdown wrong_count;
  Stream null_stream;
  std::map<std::string, uint64_t> launched;
};
State& state();

// Begins a call: counts it, and answers what a lost device or a missing context would.
Result enter(bool needs_context);
void set_context(void*);
void* context();

Stream* stream_of(void* handle);  // Ends the process when the handle is not alive.
// Queues work on a stream, or records it.
Result submit(void* stream, Work work);
// Whether the calling thread records a stream.
bool recording_here();
bool inside(Pointer at, size_t bytes);
bool is_pinned(const void* at, size_t bytes);
// Waits until the injected delay of earlier work is over.
void wait_until(Time);
Result run_kernel(void* stream, const emu::Bound& bound, bool recorded);

}  // namespace driver

#define EMU_API extern "C" __attribute__((visibility("default")))
#define EMU_ENTER(context)                                                    \
  if (const driver::Result lost = driver::enter(context)) return lost
