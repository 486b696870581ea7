// The device, its context, modules and launches of the stand-in driver, and the switches of the tests.
#include "driver.hpp"

#include <cstdio>
#include <cstdlib>

using namespace driver;

namespace {

constexpr unsigned kSharedBytesMax = 48 << 10;
thread_local void* current = nullptr;

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoull(text, nullptr, 0) : otherwise;
}

std::map<std::string, emu::Kernel>& kernels() {
  static std::map<std::string, emu::Kernel> all;
  return all;
}

// Puts the state back to how the process began, live objects aside.
void clear(State& s) {
  s.memory_limit = setting("GRAPHLUME_EMU_MEMORY", 1ull << 30);
  s.sticky = kSuccess;
  s.refuse_memory = s.refuse_pinned = s.fail_launch = s.wrong_count = s.refuse_module = {};
  s.refuse_memory.at = setting("GRAPHLUME_EMU_REFUSE_MEMORY", 0);
  s.refuse_memory.once = false;
  s.fail_launch.at = setting("GRAPHLUME_EMU_FAIL_LAUNCH", 0);
  s.refuse_module.at = setting("GRAPHLUME_EMU_REFUSE_MODULE", 0);
  s.fail_code = kIllegalAddress;
  s.fail_late = false;
  s.delay_ms = (unsigned)setting("GRAPHLUME_EMU_DELAY_MS", 0);
  s.delayed.clear();
  s.wrong.clear();
  s.memory_peak = s.memory_used;
  // A device that was lost while a stream was recorded never ended the recording.
  for (void* stream : s.streams) static_cast<Stream*>(stream)->recording.reset();
}

// Makes the first result of a kernel wrong by one bit.
void spoil(const emu::Bound& bound) {
  for (void* output : bound.outputs)
    if (output && inside(reinterpret_cast<Pointer>(output), 1)) {
      *static_cast<unsigned char*>(output) ^= 1;
      return;
    }
}

Result refuse_size(const emu::Kernel& kernel, const emu::Launch& launch) {
  const dim3 g = launch.grid, t = launch.threads;
  const uint64_t threads = (uint64_t)t.x * t.y * t.z;
  const bool grid = g.x && g.y && g.z && g.x <= 0x7fffffffu && g.y <= 65535 && g.z <= 65535;
  const bool block = threads && threads <= kernel.threads_max && threads <= 1024 && t.z <= 64;
  return grid && block && launch.shared_bytes <= kSharedBytesMax ? kSuccess : kInvalidValue;
}

}  // namespace

void emu::add_kernel(const Kernel& kernel) {
  if (!kernels().emplace(kernel.name, kernel).second) emu::die("two kernels have one name");
}

const emu::Kernel* emu::find_kernel(const char* name) {
  const auto found = kernels().find(name);
  return found == kernels().end() ? nullptr : &found->second;
}

State& driver::state() {
  static State* all = [] {
    State* s = new State;  // Never freed: threads may outlive main.
    s->seed = setting("GRAPHLUME_EMU_SEED", 0);
    clear(*s);
    return s;
  }();
  return *all;
}

void* driver::context() { return current; }

Result driver::enter(bool needs_context) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  ++s.calls;
  if (s.sticky) return s.sticky;
  return needs_context && !current ? kInvalidContext : kSuccess;
}

Result driver::run_kernel(void* handle, const emu::Bound& bound, bool recorded) {
  State& s = state();
  Stream* stream = stream_of(handle);
  bool wrong = false;
  unsigned delay = 0;
  {
    std::lock_guard<std::mutex> hold(s.lock);
    ++s.launches;
    ++s.launched[bound.kernel->name];
    if (s.sticky) return s.sticky;
    if (s.fail_launch.hit()) {
      s.sticky = s.fail_code;
      return s.fail_late && !recorded ? kSuccess : s.fail_code;
    }
    wrong = s.wrong == bound.kernel->name && s.wrong_count.hit();
    if (s.delay_ms && (s.delayed.empty() || s.delayed == bound.kernel->name)) delay = s.delay_ms;
  }
  {
    std::lock_guard<std::mutex> hold(s.running);
    emu::run(bound, s.seed);
  }
  if (wrong) spoil(bound);
  if (delay) {
    const Time now = std::chrono::steady_clock::now();
    stream->busy_until = std::max(stream->busy_until, now) + std::chrono::milliseconds(delay);
  }
  return kSuccess;
}

EMU_API Result cuInit(unsigned) { return kSuccess; }
EMU_API Result cuDriverGetVersion(int* version) {
  *version = 12020;
  return kSuccess;
}
EMU_API Result cuDeviceGetCount(int* count) {
  EMU_ENTER(false);
  *count = 1;
  return kSuccess;
}
EMU_API Result cuDeviceGet(int* device, int ordinal) {
  EMU_ENTER(false);
  if (ordinal != 0) return kInvalidDevice;
  *device = 0;
  return kSuccess;
}
EMU_API Result cuDeviceGetName(char* name, int bytes, int) {
  EMU_ENTER(false);
  snprintf(name, (size_t)bytes, "Emulated GPU");
  return kSuccess;
}
EMU_API Result cuDeviceGetUuid_v2(void* uuid, int) {
  EMU_ENTER(false);
  memcpy(uuid, "graphlume-emu-00", 16);
  return kSuccess;
}
EMU_API Result cuDeviceTotalMem_v2(size_t* bytes, int) {
  EMU_ENTER(false);
  *bytes = state().memory_limit;
  return kSuccess;
}
EMU_API Result cuDeviceGetAttribute(int* value, int attribute, int) {
  EMU_ENTER(false);
  switch (attribute) {
    case 1: *value = 1024; break;                    // threads of a block
    case 2: case 3: *value = 1024; break;            // block x, y
    case 4: *value = 64; break;                      // block z
    case 5: *value = 0x7fffffff; break;              // grid x
    case 6: case 7: *value = 65535; break;           // grid y, z
    case 8: *value = (int)kSharedBytesMax; break;    // shared memory of a block
    case 10: *value = 32; break;                     // lanes of a warp
    case 12: *value = 65536; break;                  // registers of a block
    case 13: *value = 1000000; break;                // clock in kHz
    case 16: *value = (int)setting("GRAPHLUME_EMU_SMS", 2); break;  // multiprocessors
    case 36: *value = 1000000; break;                // memory clock in kHz
    case 37: *value = 64; break;                     // bus width in bits
    case 38: *value = 1 << 20; break;                // L2 bytes
    case 39: *value = (int)setting("GRAPHLUME_EMU_SM_THREADS", 1024); break;  // threads of a multiprocessor
    case 75: *value = (int)setting("GRAPHLUME_EMU_CAPABILITY", 75) / 10; break;  // compute capability
    case 76: *value = (int)setting("GRAPHLUME_EMU_CAPABILITY", 75) % 10; break;
    case 81: *value = 64 << 10; break;               // shared memory of a multiprocessor
    case 97: *value = (int)kSharedBytesMax; break;   // shared memory of a block, opted in
    case 115: *value = 1; break;                     // memory pools
    default: *value = 0;
  }
  return kSuccess;
}
EMU_API Result cuDevicePrimaryCtxRetain(void** out, int) {
  EMU_ENTER(false);
  *out = &state();
  return kSuccess;
}
EMU_API Result cuDevicePrimaryCtxRelease_v2(int) {
  EMU_ENTER(false);
  return kSuccess;
}
EMU_API Result cuCtxSetCurrent(void* to) {
  EMU_ENTER(false);
  current = to;
  return kSuccess;
}
EMU_API Result cuCtxGetCurrent(void** out) {
  EMU_ENTER(false);
  *out = current;
  return kSuccess;
}
EMU_API Result cuCtxSynchronize() {
  EMU_ENTER(true);
  Time latest{};
  {
    State& s = state();
    std::lock_guard<std::mutex> hold(s.lock);
    for (void* stream : s.streams) latest = std::max(latest, static_cast<Stream*>(stream)->busy_until);
  }
  wait_until(latest);
  return kSuccess;
}

EMU_API Result cuModuleLoadData(void** out, const void* image) {
  EMU_ENTER(true);
  // A driver may have to stop the device for it, which a recording does not survive.
  if (recording_here()) return kCaptureUnsupported;
  std::string ptx(static_cast<const char*>(image));
  if (ptx.find(".version ") == std::string::npos || ptx.find(".target ") == std::string::npos) return kInvalidPtx;
  Module* module = new Module{std::move(ptx)};
  std::lock_guard<std::mutex> hold(state().lock);
  if (state().refuse_module.hit()) {
    delete module;
    return kUnsupportedPtxVersion;
  }
  state().modules.insert(module);
  *out = module;
  return kSuccess;
}
EMU_API Result cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* options, void** values) {
  const Result result = cuModuleLoadData(out, image);
  // CU_JIT_ERROR_LOG_BUFFER is 5, its size in bytes 6.
  for (unsigned i = 0; result == kInvalidPtx && i < count; ++i)
    for (unsigned j = 0; options[i] == 5 && j < count; ++j)
      if (options[j] == 6) snprintf(static_cast<char*>(values[i]), reinterpret_cast<size_t>(values[j]), "not PTX");
  return result;
}
EMU_API Result cuModuleUnload(void* module) {
  EMU_ENTER(true);
  std::lock_guard<std::mutex> hold(state().lock);
  if (!state().modules.erase(module)) emu::die("a module is unloaded that is not loaded");
  delete static_cast<Module*>(module);
  return kSuccess;
}
EMU_API Result cuModuleGetFunction(void** out, void* module, const char* name) {
  EMU_ENTER(true);
  if (recording_here()) return kCaptureUnsupported;
  std::lock_guard<std::mutex> hold(state().lock);
  if (!state().modules.count(module)) emu::die("a module is used that is not loaded");
  // The kernel must be in the PTX that ships, and not only in the sources.
  const std::string entry = std::string(".entry ") + name + "(";
  if (static_cast<Module*>(module)->ptx.find(entry) == std::string::npos) return kNotFound;
  const emu::Kernel* kernel = emu::find_kernel(name);
  *out = const_cast<emu::Kernel*>(kernel);
  return kernel ? kSuccess : kNotFound;
}
EMU_API Result cuFuncGetAttribute(int* value, int attribute, void* function) {
  EMU_ENTER(true);
  const emu::Kernel* kernel = static_cast<emu::Kernel*>(function);
  *value = attribute == 0 ? (int)kernel->threads_max : 0;
  return kSuccess;
}
EMU_API Result cuFuncSetAttribute(void*, int, int) {
  EMU_ENTER(true);
  return kSuccess;
}
EMU_API Result cuFuncSetCacheConfig(void*, int) {
  EMU_ENTER(true);
  return kSuccess;
}
EMU_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  EMU_ENTER(true);
  *blocks = 2;
  return kSuccess;
}
EMU_API Result cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                              unsigned bz, unsigned shared_bytes, void* stream, void** arguments, void**) {
  EMU_ENTER(true);
  const emu::Kernel& kernel = *static_cast<emu::Kernel*>(function);
  const emu::Launch launch{{gx, gy, gz}, {bx, by, bz}, shared_bytes};
  if (const Result refused = refuse_size(kernel, launch)) return refused;
  const bool recorded = stream_of(stream)->recording != nullptr;
  const emu::Bound bound = kernel.bind(kernel, launch, arguments);
  return submit(stream, [stream, bound, recorded] { return run_kernel(stream, bound, recorded); });
}

EMU_API Result cuGetErrorName(Result code, const char** name) {
  switch (code) {
    case kSuccess: *name = "CUDA_SUCCESS"; break;
    case kInvalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case kOutOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case kIllegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    default: *name = "CUDA_ERROR_EMULATED";
  }
  return kSuccess;
}
EMU_API Result cuGetErrorString(Result code, const char** text) { return cuGetErrorName(code, text); }

// The switches of the tests.
EMU_API void graphlume_emu_clear() {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  clear(s);
}
EMU_API void graphlume_emu_limit_memory(uint64_t bytes) { state().memory_limit = bytes; }
EMU_API void graphlume_emu_refuse(int pinned, uint64_t at, int once) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  (pinned ? s.refuse_pinned : s.refuse_memory) = Countdown{at, 0, once != 0};
}
EMU_API void graphlume_emu_fail_launch(uint64_t at, int code, int late) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  s.fail_launch = Countdown{at, 0, true};
  s.fail_code = code, s.fail_late = late != 0;
}
EMU_API void graphlume_emu_delay(const char* kernel, unsigned ms) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  s.delayed = kernel, s.delay_ms = ms;
}
EMU_API void graphlume_emu_spoil(const char* kernel, uint64_t at, int once) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  s.wrong = kernel, s.wrong_count = Countdown{at, 0, once != 0};
}
EMU_API uint64_t graphlume_emu_count(int what) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  switch (what) {
    case 0: return s.calls;
    case 1: return s.launches;
    case 2: return s.allocations;
    case 3: return s.memory_used;
    case 4: return s.memory_peak;
    case 5: return s.memory.size();
    case 6: return s.pinned.size();
    case 7: return s.streams.size();
    case 8: return s.events.size();
    case 9: return s.graphs.size() + s.replays.size();
    case 10: return s.modules.size();
    case 11: return s.waits;
    case 12: return s.unpinned;
    case 13: return s.downloaded;
    default: return 0;
  }
}
EMU_API uint64_t graphlume_emu_launched(const char* kernel) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  const auto found = s.launched.find(kernel);
  return found == s.launched.end() ? 0 : found->second;
}
