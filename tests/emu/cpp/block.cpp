// Runs a block: starts its threads as fibres, lets them meet, and notices when they cannot.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>

#include "fiber.hpp"
#include "kernel.hpp"

namespace emu {

__thread Place* here = nullptr;

namespace {

enum class State : uint8_t { fresh, ready, in_warp, in_block, done };

struct Lane : Thread {
  Fiber fiber;
  unsigned linear = 0, warp = 0, mask = 0;
  State state = State::fresh;
  const char* where = "its start";
};

// One meeting of lanes. Two sets of slots: the first lanes may be at the next meeting while the last ones
// still read this one.
struct Meeting {
  unsigned arrived = 0, turn = 0, ballot[2] = {0, 0};
  uint64_t slot[2][32];
};

struct Warp {
  unsigned ready = 0, live = 0, exist = 0;
  Meeting all;
  std::map<unsigned, Meeting> some;  // By mask.
};

struct Block : Place {
  const Bound* bound = nullptr;
  std::vector<Lane> lanes;
  std::vector<Warp> warps;
  std::vector<char*> stacks;  // Free ones.
  std::vector<uint64_t> dynamic;
  Fiber scheduler;
  const void* scheduler_bottom = nullptr;
  size_t scheduler_bytes = 0;
  unsigned size = 0, live = 0, waiting = 0, predicates = 0;
  Count answer{};
  uint64_t random = 0;

  ~Block() {
    for (char* stack : stacks) free_stack(stack);
  }
  Lane& lane() { return *static_cast<Lane*>(self); }
  unsigned draw(unsigned below) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random >> 33) % below;
  }
  // The lane to run next: the lowest ready one, or any under a seed.
  unsigned pick(unsigned ready) {
    if (shaken)
      for (unsigned skip = draw((unsigned)__builtin_popcount(ready)); skip; --skip) ready &= ready - 1;
    return (unsigned)__builtin_ctz(ready);
  }
};

thread_local Block* owned = nullptr;
struct Owner {
  ~Owner() { delete owned; }
};

Block& block() { return *static_cast<Block*>(here); }

const char* describe_state(State state) {
  switch (state) {
    case State::fresh: return "not started";
    case State::ready: return "running";
    case State::in_warp: return "waits for lanes";
    case State::in_block: return "waits for the block";
    case State::done: return "done";
  }
  return "?";
}

void lane_main();

void start(Block& b, Lane& lane) {
  char* stack;
  if (b.stacks.empty()) {
    stack = new_stack();
  } else {
    stack = b.stacks.back();
    b.stacks.pop_back();
  }
  prepare(lane.fiber, stack, lane.linear, lane_main);
}

// Runs `lane` until it, or one that it hands over to, comes back to the scheduler.
void resume(Block& b, Lane& lane) {
  if (lane.state == State::fresh) start(b, lane);
  lane.state = State::ready;
  b.self = &lane;
  change(b.scheduler, lane.fiber, lane.fiber.stack, kStackBytes, false);
  Lane& back = b.lane();
  if (back.state != State::done) return;
  b.stacks.push_back(back.fiber.stack);
}

// The running lane cannot go on: another of its warp runs, or else the scheduler.
void give_way() {
  Block& b = block();
  Lane& me = b.lane();
  if (const unsigned ready = b.warps[me.warp].ready) {
    Lane& next = b.lanes[me.warp * 32 + b.pick(ready)];
    if (&next == &me) return;
    if (next.state == State::fresh) start(b, next);
    next.state = State::ready;
    b.self = &next;
    change(me.fiber, next.fiber, next.fiber.stack, kStackBytes, false);
    return;
  }
  change(me.fiber, b.scheduler, b.scheduler_bottom, b.scheduler_bytes, false);
}

void lane_main() {
  arrived(&block().scheduler_bottom, &block().scheduler_bytes);
  block().bound->body();
  Block& b = block();
  Lane& me = b.lane();
  me.state = State::done;
  --b.live;
  b.warps[me.warp].live &= ~(1u << me.lane);
  b.warps[me.warp].ready &= ~(1u << me.lane);
  // Hardware lets this pass; our rule does not, because the count of a barrier then means something else.
  if (b.waiting) die("a thread has left the kernel while others wait in __syncthreads");
  change(me.fiber, b.scheduler, b.scheduler_bottom, b.scheduler_bytes, true);
  abort();
}

__attribute__((no_sanitize("address"), noinline)) void fill_shared(char* begin, char* end) {
  // All bits set is a NaN, and an index far out of range. AddressSanitizer's zones are among the bytes.
  for (volatile char* byte = begin; byte < end; ++byte) *byte = (char)0xFF;
}

void reset(Block& b) {
  const Kernel& kernel = *b.bound->kernel;
  if (EMU_ASAN) fill_shared(kernel.shared_begin, kernel.shared_end);
  else if (kernel.shared_begin) memset(kernel.shared_begin, 0xFF, (size_t)(kernel.shared_end - kernel.shared_begin));
  if (!b.dynamic.empty()) memset(b.dynamic.data(), 0xFF, b.dynamic.size() * sizeof(uint64_t));
  b.live = b.size;
  b.waiting = b.predicates = 0;
  for (size_t w = 0; w < b.warps.size(); ++w) {
    const unsigned left = b.size - (unsigned)w * 32;
    Warp& warp = b.warps[w];
    warp.exist = warp.ready = warp.live = left >= 32 ? ~0u : (1u << left) - 1;
    warp.all.arrived = 0;
    warp.some.clear();
  }
  for (unsigned t = 0; t < b.size; ++t) {
    Lane& lane = b.lanes[t];
    lane.linear = t, lane.lane = t & 31, lane.warp = t >> 5, lane.state = State::fresh;
    lane.mask = 0, lane.where = "its start";
    lane.index = {t % b.threads.x, t / b.threads.x % b.threads.y, t / (b.threads.x * b.threads.y)};
  }
}

void run_block(Block& b) {
  reset(b);
  const unsigned warps = (unsigned)b.warps.size();
  while (b.live) {
    bool progress = false;
    const unsigned first = b.shaken ? b.draw(warps) : 0;
    for (unsigned i = 0; i < warps; ++i) {
      Warp& warp = b.warps[(first + i) % warps];
      while (warp.ready) {
        resume(b, b.lanes[(first + i) % warps * 32 + b.pick(warp.ready)]);
        progress = true;
      }
    }
    if (!progress) die("threads wait for each other in different places");
  }
}

// The order of the blocks: as numbered, or any under a seed.
std::vector<uint64_t> order(Block& b, uint64_t blocks) {
  std::vector<uint64_t> all(blocks);
  std::iota(all.begin(), all.end(), 0);
  for (uint64_t i = blocks; b.shaken && i > 1; --i) std::swap(all[i - 1], all[b.draw((unsigned)i)]);
  return all;
}

}  // namespace

void die(const char* why) {
  Block* b = static_cast<Block*>(here);
  fprintf(stderr, "emulator: %s", why);
  if (b && b->bound) {
    fprintf(stderr, ", in kernel %s, block %u\n", b->bound->kernel->name, b->block.x);
    int shown = 0;
    for (const Lane& lane : b->lanes)
      if (lane.state != State::done && shown++ < 8)
        fprintf(stderr, "  thread %u (warp %u lane %u): %s at %s, mask %08x\n", lane.linear, lane.warp, lane.lane,
                describe_state(lane.state), lane.where, lane.mask);
  }
  fprintf(stderr, "\n");
  fflush(stderr);
  abort();
}

Count sync_block(bool predicate, const char* where) {
  Block& b = block();
  Lane& me = b.lane();
  if (b.live != b.size) die("__syncthreads after a thread of the block has left the kernel");
  me.where = where, me.mask = 0;
  b.predicates += predicate;
  if (++b.waiting < b.size) {
    me.state = State::in_block;
    b.warps[me.warp].ready &= ~(1u << me.lane);
    give_way();
    return b.answer;
  }
  b.answer = {b.predicates != 0, b.predicates};
  b.waiting = b.predicates = 0;
  for (Lane& lane : b.lanes) {
    if (lane.state != State::in_block) continue;
    if (strcmp(lane.where, where) != 0) {
      fprintf(stderr, "emulator: thread %u waits at %s, thread %u at %s\n", lane.linear, lane.where, me.linear, where);
      die("one barrier is reached from two places");
    }
    lane.state = State::ready;
    b.warps[lane.warp].ready |= 1u << lane.lane;
  }
  return b.answer;
}

const uint64_t* sync_warp(unsigned mask, uint64_t value, bool predicate, unsigned* ballot, const char* where) {
  Block& b = block();
  Lane& me = b.lane();
  Warp& warp = b.warps[me.warp];
  const unsigned bit = 1u << me.lane;
  me.where = where, me.mask = mask;
  if (!(mask & bit)) die("a lane is not in the mask that it gives");
  mask &= warp.exist;
  if (mask & ~warp.live) die("a mask names a lane that has left the kernel");
  Meeting& meeting = mask == warp.exist ? warp.all : warp.some[mask];
  const unsigned turn = meeting.turn & 1;
  if (!meeting.arrived) meeting.ballot[turn] = 0;
  meeting.slot[turn][me.lane] = value;
  if (predicate) meeting.ballot[turn] |= bit;
  meeting.arrived |= bit;
  if (meeting.arrived == mask) {
    meeting.arrived = 0;
    ++meeting.turn;
    for (unsigned rest = mask & ~bit; rest; rest &= rest - 1) {
      Lane& lane = b.lanes[me.warp * 32 + (unsigned)__builtin_ctz(rest)];
      if (lane.where != where && strcmp(lane.where, where) != 0) {
        fprintf(stderr, "emulator: lane %u waits at %s, lane %u at %s\n", lane.lane, lane.where, me.lane, where);
        die("lanes of one warp meet in two places");
      }
      lane.state = State::ready;
    }
    warp.ready |= mask;
  } else {
    me.state = State::in_warp;
    warp.ready &= ~bit;
    give_way();
  }
  if (ballot) *ballot = meeting.ballot[turn];
  return meeting.slot[turn];
}

void shake() {
  if (block().draw(4) == 0) give_way();
}

void* dynamic_shared() { return block().dynamic.data(); }

namespace {

struct sigaction inherited;

// Says in which kernel it happened, and leaves the rest to whoever was there before.
void memory_fault(int signal, siginfo_t* info, void*) {
  const Block* b = static_cast<Block*>(here);
  if (b && b->bound) {
    const char* at = static_cast<char*>(info->si_addr);
    const char* stack = b->self ? static_cast<const Lane*>(b->self)->fiber.stack : nullptr;
    const bool overflow = stack && at < stack && at + (1 << 20) >= stack;
    char text[256];  // Without a stream, whose buffer is larger than a signal's stack.
    const int length = snprintf(text, sizeof text, "emulator: %s in kernel %s, block %u, thread %u, address %p\n",
                                overflow ? "out of stack" : "bad memory access", b->bound->kernel->name, b->block.x,
                                b->self ? static_cast<const Lane*>(b->self)->linear : 0, info->si_addr);
    if (write(2, text, (size_t)length) < 0) abort();
  }
  sigaction(signal, &inherited, nullptr);
}

void watch_memory_faults() {
  if (EMU_ASAN) return;  // It has a better report.
  struct sigaction mine = {};
  mine.sa_sigaction = memory_fault;
  mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &mine, &inherited);
}

}  // namespace

void run(const Bound& bound, uint64_t seed) {
  static const bool watched = (watch_memory_faults(), true);
  (void)watched;
  static thread_local Owner owner;
  (void)owner;
  if (!owned) owned = new Block;
  Block& b = *owned;
  here = &b;
  b.bound = &bound;
  b.grid = bound.launch.grid, b.threads = bound.launch.threads;
  b.size = b.threads.x * b.threads.y * b.threads.z;
  b.shaken = seed != 0, b.random = seed;
  b.scheduler_bytes = 0;
  b.dynamic.assign((bound.launch.shared_bytes + 7) / 8, 0);
  b.lanes.resize(b.size);
  b.warps.resize((b.size + 31) / 32);
  const uint64_t in_row = b.grid.x, in_layer = in_row * b.grid.y;
  for (const uint64_t at : order(b, in_layer * b.grid.z)) {
    b.block = {(unsigned)(at % in_row), (unsigned)(at / in_row % b.grid.y), (unsigned)(at / in_layer)};
    run_block(b);
  }
  b.bound = nullptr;
}

}  // namespace emu
