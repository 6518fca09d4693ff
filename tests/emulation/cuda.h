// CUDA C++ for a host compiler: as much of it as the kernels use.
//
// A warp is a thread of the host and its lanes are fibers of that thread: a lane runs to
// the next collective (shuffle, vote, barrier), then it is the next lane's turn. So what a
// lane reads of another one without a barrier between is mostly not there yet. Lanes that
// do not meet in the same collective, which is undefined on a device, end the process
// with a message. Blocks of a launch run side by side; memory is the host's.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <tuple>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

using std::max;
using std::min;
using std::size_t;

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) {
  return {x, y, z, w};
}

namespace emulated {

struct Dim {
  unsigned x;
};

constexpr int LANES = 32;
constexpr size_t STACK = 128 * 1024;

struct Block {
  pthread_barrier_t barrier;
  std::vector<uint4> shared;
  Dim index, size, grid;
};

struct Warp {
  ucontext_t back, lanes[LANES];
  jmp_buf places[LANES];  // where lanes wait: no system call, as swapcontext makes
  bool begun[LANES];
  std::vector<char> stacks = std::vector<char>(LANES * STACK);
  bool over[LANES];
  unsigned turns[LANES];  // collectives that a lane has entered
  unsigned compared;      // the last of them in which lanes were compared
  uint64_t values[2][LANES];
  const char *kinds[2][LANES];
  int lane;  // whose turn it is
  Block *block;
  Dim threads[LANES];
  void (*body)(void *);
  void *arguments;
};

inline thread_local Warp *warp = nullptr;

[[noreturn]] inline void fail(const char *what, const char *one, const char *other) {
  fprintf(stderr, "emulated warp: %s: %s, %s\n", what, one, other);
  abort();
}

// Switch to the next lane that is not over; false when there is none but this one.
inline void yield() {
  Warp &w = *warp;
  const int from = w.lane;
  for (int step = 1; step < LANES; ++step) {
    const int to = (from + step) % LANES;
    if (w.over[to]) continue;
    w.lane = to;
    if (_setjmp(w.places[from])) return;
    if (w.begun[to]) _longjmp(w.places[to], 1);
    w.begun[to] = true;
    setcontext(&w.lanes[to]);
  }
}

// All lanes meet; returns what each has brought.
inline const uint64_t *meet(const char *kind, uint64_t value) {
  Warp &w = *warp;
  const int lane = w.lane;
  const unsigned side = w.turns[lane]++ % 2;
  w.values[side][lane] = value;
  w.kinds[side][lane] = kind;
  yield();
  Warp &now = *warp;
  const unsigned turn = now.turns[lane];
  if (now.compared == turn) return now.values[side];
  now.compared = turn;  // by the first lane that goes on, for all
  for (int other = 0; other < LANES; ++other) {
    if (now.over[other] && now.turns[other] < turn)
      fail("a lane has returned, another one waits", kind, "end");
    if (strcmp(now.kinds[side][other], kind))
      fail("lanes wait for different things", kind, now.kinds[side][other]);
  }
  return now.values[side];
}

template <class T>
uint64_t bits_of(T value) {
  static_assert(sizeof(T) <= sizeof(uint64_t), "a register or two");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T from_bits(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

inline void lane_main() {
  Warp &w = *warp;
  w.body(w.arguments);
  w.over[w.lane] = true;
  yield();
  setcontext(&w.back);  // the last one
}

inline void run_warp(Block *block, int first, void (*body)(void *), void *arguments) {
  static std::mutex guard;
  static std::vector<Warp *> spare;  // stacks are not made anew
  Warp *own = nullptr;
  {
    std::lock_guard<std::mutex> lock(guard);
    if (!spare.empty()) {
      own = spare.back();
      spare.pop_back();
    }
  }
  if (!own) own = new Warp;
  warp = own;
  own->block = block;
  own->body = body;
  own->arguments = arguments;
  own->lane = 0;
  own->compared = 0;
  for (int i = 0; i < LANES; ++i) {
    own->over[i] = false;
    own->begun[i] = i == 0;
    own->turns[i] = 0;
    own->threads[i].x = (unsigned)(first + i);
    getcontext(&own->lanes[i]);
    own->lanes[i].uc_stack.ss_sp = own->stacks.data() + i * STACK;
    own->lanes[i].uc_stack.ss_size = STACK;
    own->lanes[i].uc_link = nullptr;
    makecontext(&own->lanes[i], lane_main, 0);
  }
  swapcontext(&own->back, &own->lanes[0]);
  std::lock_guard<std::mutex> lock(guard);
  spare.push_back(own);
}

// Run a grid, `together` blocks at a time.
inline void run_grid(
    unsigned grid, unsigned size, size_t shared, unsigned together,
    void (*body)(void *), void *arguments) {
  for (unsigned begin = 0; begin < grid; begin += together) {
    const unsigned count = min(together, grid - begin);
    std::vector<Block> blocks(count);
    std::vector<std::thread> warps;
    for (unsigned b = 0; b < count; ++b) {
      blocks[b].index.x = begin + b;
      blocks[b].size.x = size;
      blocks[b].grid.x = grid;
      blocks[b].shared.resize(shared / sizeof(uint4) + 1);
      pthread_barrier_init(&blocks[b].barrier, nullptr, size / LANES);
    }
    for (unsigned b = 0; b < count; ++b)
      for (unsigned first = 0; first < size; first += LANES)
        warps.emplace_back(run_warp, &blocks[b], (int)first, body, arguments);
    for (auto &thread : warps) thread.join();
    for (auto &block : blocks) pthread_barrier_destroy(&block.barrier);
  }
}

// A kernel with the addresses of its arguments.
template <class... A>
struct Call {
  void (*kernel)(A...);
  void **addresses;
  template <size_t... I>
  void expand(std::index_sequence<I...>) {
    kernel(*(std::decay_t<A> *)addresses[I]...);
  }
  static void body(void *self) {
    static_cast<Call *>(self)->expand(std::index_sequence_for<A...>());
  }
};

template <class... A>
void launch(
    void (*kernel)(A...), unsigned grid, unsigned size, size_t shared,
    unsigned together, void **addresses) {
  Call<A...> call{kernel, addresses};
  run_grid(grid, size, shared, together, Call<A...>::body, &call);
}

inline unsigned *shared_memory() { return &warp->block->shared.data()->x; }

}  // namespace emulated

#define threadIdx (emulated::warp->threads[emulated::warp->lane])
#define blockIdx (emulated::warp->block->index)
#define blockDim (emulated::warp->block->size)
#define gridDim (emulated::warp->block->grid)

// ---- collectives -----------------------------------------------------------------------

inline void __syncwarp() { emulated::meet("__syncwarp", 0); }
inline void __syncthreads() {
  emulated::meet("__syncthreads", 0);
  if (emulated::warp->lane == 0) pthread_barrier_wait(&emulated::warp->block->barrier);
  emulated::meet("__syncthreads", 0);
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  const auto *all = emulated::meet("__shfl_sync", emulated::bits_of(value));
  return emulated::from_bits<T>(all[lane & 31]);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  const int lane = emulated::warp->lane;
  const auto *all = emulated::meet("__shfl_xor_sync", emulated::bits_of(value));
  return emulated::from_bits<T>(all[lane ^ mask]);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  const auto *all = emulated::meet("__ballot_sync", predicate != 0);
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) bits |= (unsigned)all[lane] << lane;
  return bits;
}
inline int __any_sync(unsigned, int predicate) {
  const auto *all = emulated::meet("__any_sync", predicate != 0);
  for (int lane = 0; lane < 32; ++lane)
    if (all[lane]) return 1;
  return 0;
}

inline int __all_sync(unsigned, int predicate) {
  const auto *all = emulated::meet("__all_sync", predicate != 0);
  for (int lane = 0; lane < 32; ++lane)
    if (!all[lane]) return 0;
  return 1;
}

// ---- memory ----------------------------------------------------------------------------

template <class T, class U>
T atomicAdd(T *address, U value) {
  return __atomic_fetch_add(address, (T)value, __ATOMIC_RELAXED);
}
inline double atomicAdd(double *address, double value) {
  double seen, sum;
  __atomic_load(address, &seen, __ATOMIC_RELAXED);
  do sum = seen + value;
  while (!__atomic_compare_exchange(
      address, &seen, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return seen;
}
template <class T>
T atomicAnd(T *address, T value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T *address, T value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T, class U>
T atomicSub(T *address, U value) {
  return __atomic_fetch_sub(address, (T)value, __ATOMIC_RELAXED);
}
template <class T, class U>
T atomicCAS(T *address, U expected, U wanted) {
  T seen = (T)expected;
  __atomic_compare_exchange_n(
      address, &seen, (T)wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return seen;
}
template <class T, class U>
T atomicExch(T *address, U value) {
  return __atomic_exchange_n(address, (T)value, __ATOMIC_SEQ_CST);
}
template <class T>
T atomicMin(T *address, T value) {
  T seen = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (value < seen && !__atomic_compare_exchange_n(
                             address, &seen, value, false, __ATOMIC_RELAXED,
                             __ATOMIC_RELAXED)) {
  }
  return seen;
}
inline int atomicMax(int *address, int value) {
  int seen = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (value > seen && !__atomic_compare_exchange_n(
                             address, &seen, value, false, __ATOMIC_RELAXED,
                             __ATOMIC_RELAXED)) {
  }
  return seen;
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __nanosleep(unsigned) {  // longer than asked: others have the cores
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}
template <class T>
T __ldcg(const T *address) {
  return __atomic_load_n(address, __ATOMIC_RELAXED);
}
template <class T>
T __ldg(const T *address) {
  return *address;
}
template <class T>
void __stcg(T *address, T value) {
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
}

// ---- arithmetic ------------------------------------------------------------------------

inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(unsigned v) { return __builtin_ffs((int)v); }
inline int __clz(unsigned v) { return v ? __builtin_clz(v) : 32; }
inline int __float_as_int(float v) { return emulated::from_bits<int>(emulated::bits_of(v)); }
inline float __int_as_float(int v) {
  return emulated::from_bits<float>(emulated::bits_of(v));
}
inline float __int2float_rn(int v) { return (float)v; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const uint64_t both = (uint64_t)high << 32 | low;
  return (unsigned)(both << min(shift, 32u) >> 32);
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const uint64_t both = (uint64_t)b << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= (unsigned)(both >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return result;
}
inline int __dp2a_lo(int a, int b, int c) {
  return c + (int16_t)a * (int8_t)b + (int16_t)(a >> 16) * (int8_t)(b >> 8);
}
template <class F>
unsigned by_halves(F f) {
  return (unsigned)(uint16_t)f(0) | (unsigned)(uint16_t)f(16) << 16;
}
inline int __viaddmax_s32(int a, int b, int c) { return max(a + b, c); }
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return max((int16_t)((a >> at) + (b >> at)), (int16_t)(c >> at));
  });
}
inline unsigned __viaddmin_s16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return min((int16_t)((a >> at) + (b >> at)), (int16_t)(c >> at));
  });
}
inline unsigned __viaddmin_s16x2_relu(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return max(min((int16_t)((a >> at) + (b >> at)), (int16_t)(c >> at)), (int16_t)0);
  });
}
inline unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return max((uint16_t)((a >> at) + (b >> at)), (uint16_t)(c >> at));
  });
}
inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return max({(int16_t)(a >> at), (int16_t)(b >> at), (int16_t)(c >> at)});
  });
}
inline unsigned __vimin3_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves([=](int at) {
    return min({(uint16_t)(a >> at), (uint16_t)(b >> at), (uint16_t)(c >> at)});
  });
}
inline unsigned __vminu2(unsigned a, unsigned b) {
  return by_halves(
      [=](int at) { return min((uint16_t)(a >> at), (uint16_t)(b >> at)); });
}
