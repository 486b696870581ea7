// Streams, events, recordings and graphs of the stand-in driver. Work is done when it is queued; an injected
// delay only makes it look unfinished until later.
#include <thread>

#include "driver.hpp"

using namespace driver;
using Clock = std::chrono::steady_clock;

namespace {

template <class T> T* make(std::set<void*>& live) {
  T* made = new T;
  std::lock_guard<std::mutex> hold(state().lock);
  live.insert(made);
  return made;
}

template <class T> T* alive(std::set<void*>& live, void* handle, const char* otherwise) {
  std::lock_guard<std::mutex> hold(state().lock);
  if (!live.count(handle)) emu::die(otherwise);
  return static_cast<T*>(handle);
}

template <class T> void destroy(std::set<void*>& live, void* handle, const char* otherwise) {
  T* gone = alive<T>(live, handle, otherwise);
  {
    std::lock_guard<std::mutex> hold(state().lock);
    live.erase(handle);
  }
  delete gone;
}

Event* event_of(void* handle) { return alive<Event>(state().events, handle, "an event is used that does not exist"); }

}  // namespace

Stream* driver::stream_of(void* handle) {
  // The null stream, and the two special handles of the driver interface.
  if (reinterpret_cast<size_t>(handle) <= 2) return &state().null_stream;
  return alive<Stream>(state().streams, handle, "a stream is used that does not exist");
}

Result driver::submit(void* handle, Work work) {
  Stream* stream = stream_of(handle);
  if (!stream->recording) return work();
  stream->recording->work.push_back(std::move(work));
  return kSuccess;
}

bool driver::recording_here() {
  State& s = state();
  std::lock_guard<std::mutex> hold(s.lock);
  for (void* stream : s.streams) {
    const auto& recording = static_cast<Stream*>(stream)->recording;
    if (recording && recording->thread == std::this_thread::get_id()) return true;
  }
  return false;
}

void driver::wait_until(Time time) {
  if (time > Clock::now()) std::this_thread::sleep_until(time);
}

EMU_API Result cuStreamCreate(void** out, unsigned) {
  EMU_ENTER(true);
  *out = make<Stream>(state().streams);
  return kSuccess;
}
EMU_API Result cuStreamCreateWithPriority(void** out, unsigned flags, int) { return cuStreamCreate(out, flags); }
EMU_API Result cuStreamDestroy_v2(void* stream) {
  EMU_ENTER(true);
  destroy<Stream>(state().streams, stream, "a stream is destroyed that does not exist");
  return kSuccess;
}
EMU_API Result cuStreamSynchronize(void* handle) {
  EMU_ENTER(true);
  Stream* stream = stream_of(handle);
  if (stream->recording) {
    stream->recording->invalid = true;
    return kCaptureUnsupported;
  }
  wait_until(stream->busy_until);
  return kSuccess;
}
EMU_API Result cuStreamQuery(void* handle) {
  EMU_ENTER(true);
  Stream* stream = stream_of(handle);
  if (stream->recording) return kCaptureUnsupported;
  return stream->busy_until > Clock::now() ? kNotReady : kSuccess;
}
EMU_API Result cuStreamWaitEvent(void* handle, void* event, unsigned) {
  EMU_ENTER(true);
  Stream* stream = stream_of(handle);
  Event* other = event_of(event);
  if (stream->recording) return kCaptureUnsupported;
  {
    std::lock_guard<std::mutex> hold(state().lock);
    ++state().waits;
  }
  stream->busy_until = std::max(stream->busy_until, other->at);
  return kSuccess;
}
EMU_API Result cuStreamBeginCapture_v2(void* handle, int) {
  EMU_ENTER(true);
  Stream* stream = stream_of(handle);
  if (stream == &state().null_stream || stream->recording) return kCaptureUnsupported;
  stream->recording = std::make_unique<Recording>();
  return kSuccess;
}
EMU_API Result cuStreamIsCapturing(void* handle, int* status) {
  EMU_ENTER(true);
  const Stream* stream = stream_of(handle);
  *status = stream->recording ? (stream->recording->invalid ? 2 : 1) : 0;
  return kSuccess;
}
EMU_API Result cuStreamEndCapture(void* handle, void** out) {
  EMU_ENTER(true);
  Stream* stream = stream_of(handle);
  *out = nullptr;
  if (!stream->recording) return kCaptureUnsupported;
  const std::unique_ptr<Recording> recording = std::move(stream->recording);
  if (recording->invalid) return kCaptureInvalidated;
  Graph* graph = make<Graph>(state().graphs);
  graph->work = recording->work;
  *out = graph;
  return kSuccess;
}

EMU_API Result cuGraphInstantiateWithFlags(void** out, void* graph, unsigned long long) {
  EMU_ENTER(true);
  const Graph* from = alive<Graph>(state().graphs, graph, "a graph is used that does not exist");
  Graph* replay = make<Graph>(state().replays);
  replay->work = from->work;
  *out = replay;
  return kSuccess;
}
EMU_API Result cuGraphUpload(void*, void*) {
  EMU_ENTER(true);
  return kSuccess;
}
EMU_API Result cuGraphLaunch(void* handle, void* stream) {
  EMU_ENTER(true);
  Graph* replay = alive<Graph>(state().replays, handle, "a replay is used that does not exist");
  if (stream_of(stream)->recording) return kCaptureUnsupported;
  for (const Work& work : replay->work)
    if (const Result failed = work()) return failed;
  return kSuccess;
}
EMU_API Result cuGraphExecDestroy(void* handle) {
  EMU_ENTER(true);
  destroy<Graph>(state().replays, handle, "a replay is destroyed that does not exist");
  return kSuccess;
}
EMU_API Result cuGraphDestroy(void* handle) {
  EMU_ENTER(true);
  destroy<Graph>(state().graphs, handle, "a graph is destroyed that does not exist");
  return kSuccess;
}

EMU_API Result cuEventCreate(void** out, unsigned) {
  EMU_ENTER(true);
  *out = make<Event>(state().events);
  return kSuccess;
}
EMU_API Result cuEventDestroy_v2(void* event) {
  EMU_ENTER(true);
  destroy<Event>(state().events, event, "an event is destroyed that does not exist");
  return kSuccess;
}
EMU_API Result cuEventRecord(void* event, void* handle) {
  EMU_ENTER(true);
  Event* made = event_of(event);
  const Stream* stream = stream_of(handle);
  if (stream->recording) return kCaptureUnsupported;
  made->recorded = Clock::now();
  made->at = std::max(made->recorded, stream->busy_until);
  return kSuccess;
}
EMU_API Result cuEventQuery(void* event) {
  EMU_ENTER(true);
  return event_of(event)->at > Clock::now() ? kNotReady : kSuccess;
}
EMU_API Result cuEventSynchronize(void* event) {
  EMU_ENTER(true);
  wait_until(event_of(event)->at);
  return kSuccess;
}
EMU_API Result cuEventElapsedTime(float* ms, void* from, void* to) {
  EMU_ENTER(true);
  const auto between = event_of(to)->at - event_of(from)->at;
  *ms = std::chrono::duration<float, std::milli>(between).count();
  return kSuccess;
}
EMU_API Result cuEventElapsedTime_v1(float* ms, void* from, void* to) { return cuEventElapsedTime(ms, from, to); }
