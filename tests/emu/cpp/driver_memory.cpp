// Device and pinned memory of the stand-in driver, and the copies between them.
#include <cstdio>
#include <cstdlib>

#include "driver.hpp"
#include "fiber.hpp"

using namespace driver;

namespace {

// Without AddressSanitizer, bytes behind every allocation that nobody may write.
constexpr size_t kGuardBytes = EMU_ASAN ? 0 : 64;
constexpr unsigned char kGuard = 0x6B;

Result allocate(Pointer* out, size_t bytes) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  if (!out || !bytes) return kInvalidValue;
  if (s.refuse_memory.hit()) return kOutOfMemory;
  if (bytes > s.memory_limit || s.memory_used > s.memory_limit - bytes) return kOutOfMemory;
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes + kGuardBytes)) return kOutOfMemory;
  memset(memory, 0xA5, bytes);  // Device memory starts with whatever was there.
  memset(static_cast<char*>(memory) + bytes, kGuard, kGuardBytes);
  *out = reinterpret_cast<Pointer>(memory);
  s.memory[*out] = bytes;
  s.memory_used += bytes;
  s.memory_peak = std::max(s.memory_peak, s.memory_used);
  ++s.allocations;
  return kSuccess;
}

Result release(Pointer at) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  const auto found = s.memory.find(at);
  if (found == s.memory.end()) emu::die("memory is freed that is not allocated, or freed twice");
  const unsigned char* guard = reinterpret_cast<unsigned char*>(at) + found->second;
  for (size_t i = 0; i < kGuardBytes; ++i)
    if (guard[i] != kGuard) {
      fprintf(stderr, "emulator: byte %zu behind an allocation of %zu bytes was written\n", i, found->second);
      emu::die("a kernel wrote out of bounds");
    }
  s.memory_used -= found->second;
  s.memory.erase(found);
  free(reinterpret_cast<void*>(at));
  return kSuccess;
}

void* host(Pointer at) { return reinterpret_cast<void*>(at); }

// Whether a copy with host memory may become part of a graph: pageable memory may be gone at the replay.
bool recordable(void* stream, const void* memory, size_t bytes) {
  return !stream_of(stream)->recording || is_pinned(memory, bytes);
}

Result to_device(Pointer to, const void* from, size_t bytes, void* stream) {
  if (!recordable(stream, from, bytes)) return kCaptureUnsupported;
  return submit(stream, [=] {
    if (!inside(to, bytes)) return kInvalidValue;
    memcpy(host(to), from, bytes);
    return kSuccess;
  });
}

Result to_host(void* to, Pointer from, size_t bytes, void* stream) {
  if (!recordable(stream, to, bytes)) return kCaptureUnsupported;
  const bool pinned = is_pinned(to, bytes);
  {
    std::lock_guard<std::mutex> hold(state().lock);
    state().unpinned += !pinned;
    state().downloaded += bytes;
  }
  return submit(stream, [=] {
    if (!inside(from, bytes)) return kInvalidValue;
    memcpy(to, host(from), bytes);
    return kSuccess;
  });
}

Result within(Pointer to, Pointer from, size_t bytes, void* stream) {
  return submit(stream, [=] {
    if (!inside(to, bytes) || !inside(from, bytes)) return kInvalidValue;
    memmove(host(to), host(from), bytes);
    return kSuccess;
  });
}

template <class T> Result fill(Pointer at, T value, size_t count, void* stream) {
  return submit(stream, [=] {
    if (at % sizeof(T) || !inside(at, count * sizeof(T))) return kInvalidValue;
    for (size_t i = 0; i < count; ++i) static_cast<T*>(host(at))[i] = value;
    return kSuccess;
  });
}

}  // namespace

bool driver::inside(Pointer at, size_t bytes) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  auto found = s.memory.upper_bound(at);
  if (found == s.memory.begin()) return bytes == 0;
  --found;
  return at - found->first <= found->second && bytes <= found->second - (at - found->first);
}

bool driver::is_pinned(const void* at, size_t bytes) {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  const char* first = static_cast<const char*>(at);
  auto found = s.pinned.upper_bound(first);
  if (found == s.pinned.begin()) return false;
  --found;
  return first + bytes <= found->first + found->second;
}

EMU_API Result cuMemGetInfo_v2(size_t* available, size_t* total) {
  EMU_ENTER(true);
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  *total = s.memory_limit;
  *available = s.memory_limit > s.memory_used ? s.memory_limit - s.memory_used : 0;
  return kSuccess;
}
EMU_API Result cuMemAlloc_v2(Pointer* out, size_t bytes) {
  EMU_ENTER(true);
  return allocate(out, bytes);
}
EMU_API Result cuMemFree_v2(Pointer at) {
  EMU_ENTER(true);
  return release(at);
}
EMU_API Result cuMemAllocAsync(Pointer* out, size_t bytes, void* stream) {
  EMU_ENTER(true);
  return stream_of(stream)->recording ? kCaptureUnsupported : allocate(out, bytes);
}
EMU_API Result cuMemAllocFromPoolAsync(Pointer* out, size_t bytes, void*, void* stream) {
  return cuMemAllocAsync(out, bytes, stream);
}
EMU_API Result cuMemFreeAsync(Pointer at, void* stream) {
  EMU_ENTER(true);
  return stream_of(stream)->recording ? kCaptureUnsupported : release(at);
}
EMU_API Result cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  EMU_ENTER(true);
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  if (!bytes) return kInvalidValue;
  if (s.refuse_pinned.hit()) return kOutOfMemory;
  *out = malloc(bytes);
  if (!*out) return kOutOfMemory;
  memset(*out, 0x5A, bytes);
  s.pinned[static_cast<char*>(*out)] = bytes;
  return kSuccess;
}
EMU_API Result cuMemFreeHost(void* at) {
  EMU_ENTER(true);
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  if (!s.pinned.erase(static_cast<char*>(at))) emu::die("pinned memory is freed that is not allocated");
  free(at);
  return kSuccess;
}
EMU_API Result cuMemsetD8Async(Pointer at, unsigned char value, size_t count, void* stream) {
  EMU_ENTER(true);
  return fill(at, value, count, stream);
}
EMU_API Result cuMemsetD32Async(Pointer at, unsigned value, size_t count, void* stream) {
  EMU_ENTER(true);
  return fill(at, value, count, stream);
}
EMU_API Result cuMemsetD8_v2(Pointer at, unsigned char value, size_t count) {
  EMU_ENTER(true);
  return fill(at, value, count, nullptr);
}
EMU_API Result cuMemcpyHtoDAsync_v2(Pointer to, const void* from, size_t bytes, void* stream) {
  EMU_ENTER(true);
  return to_device(to, from, bytes, stream);
}
EMU_API Result cuMemcpyDtoHAsync_v2(void* to, Pointer from, size_t bytes, void* stream) {
  EMU_ENTER(true);
  return to_host(to, from, bytes, stream);
}
EMU_API Result cuMemcpyDtoDAsync_v2(Pointer to, Pointer from, size_t bytes, void* stream) {
  EMU_ENTER(true);
  return within(to, from, bytes, stream);
}
EMU_API Result cuMemcpyHtoD_v2(Pointer to, const void* from, size_t bytes) {
  EMU_ENTER(true);
  return to_device(to, from, bytes, nullptr);
}
EMU_API Result cuMemcpyDtoH_v2(void* to, Pointer from, size_t bytes) {
  EMU_ENTER(true);
  return to_host(to, from, bytes, nullptr);
}
EMU_API Result cuMemcpyDtoD_v2(Pointer to, Pointer from, size_t bytes) {
  EMU_ENTER(true);
  return within(to, from, bytes, nullptr);
}
EMU_API Result cuDeviceGetDefaultMemPool(void** pool, int) {
  EMU_ENTER(false);
  *pool = &state();
  return kSuccess;
}
EMU_API Result cuMemPoolSetAttribute(void*, int, void*) {
  EMU_ENTER(false);
  return kSuccess;
}
EMU_API Result cuMemPoolGetAttribute(void*, int, void* value) {
  EMU_ENTER(false);
  *static_cast<uint64_t*>(value) = 0;
  return kSuccess;
}
EMU_API Result cuMemPoolTrimTo(void*, size_t) {
  EMU_ENTER(false);
  return kSuccess;
}
