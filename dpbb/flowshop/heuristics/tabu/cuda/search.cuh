// The state of a search, the minimum of a group.
//
// A group of blocks has a search. All its blocks know the parent and the tabu list, and
// make every move themselves, writing the same values where they write to one place. The
// parent's tables are built by single warps; a barrier of the group is behind them, and
// another one behind the evaluation: who is behind it knows the best move of all.
#pragma once

#include "tables.cuh"

constexpr u64 NO_MOVE = ~0ull;
constexpr int SLOTS = 3;  // of minima: one is read, one is filled, one is cleared

struct Arguments {
  u32 n, first, last;         // jobs; positions that may move: first <= p < last
  u32 n_searches, group;      // group: blocks of a search
  u32 from, to;               // generations, from 1 on
  u32 tenure;
  u32 total;                  // sum of machine 0
  u32 bias;
  const int *times;           // [n][N_MACHINES]
  const u32 *rows;            // [n + 1][ROW], see columns.cuh; the last one is zero
  u32 *parents, *bests;       // [n_searches][n]
  u32 *values;                // [n_searches][2]: of the parent, of the best
  u32 *expiry;                // [n_searches][n][n], by pair of jobs
  u32 *history;               // [n_searches][generations]: of the parent
  int *moves;                 // the same shape; -1: none
  u32 *steps, *heads, *tails; // [groups][.], see tables.cuh
  u64 *minima;                // [groups][SLOTS]
  u32 *counters;              // [groups][1 + SLOTS]: arrivals, tiles taken
  u32 *neighbours;            // values of all neighbours of the first search, or null
};

__device__ __forceinline__ u64 minimum_of_warp(u64 value) {
  for (int step = LANES / 2; step; step >>= 1)
    value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
  return value;
}

// Row and place in it of the u-th entry of a triangle whose row r has r + 1 entries.
__device__ __forceinline__ void triangle(u32 u, u32 &row, u32 &place) {
  row = (u32)((sqrtf(8.0f * (float)u + 1.0f) - 1.0f) * 0.5f);
  while (row * (row + 1) / 2 > u) --row;
  while ((row + 1) * (row + 2) / 2 <= u) ++row;
  place = u - row * (row + 1) / 2;
}

struct Group {
  u32 *arrivals;
  u32 size, phase;

  __device__ __forceinline__ void meet() {
    __syncthreads();
    if (size > 1) {
      ++phase;
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrivals, 1u);
        while (load_acquire(arrivals) < phase * size) __nanosleep(20);
        __threadfence();
      }
      __syncthreads();
    }
  }
};

// The least key of all lanes of a group, where all threads of its blocks come together.
__device__ __forceinline__ u64 least_of_group(
    Group &group, u32 member, u64 least, u64 *block_best, u64 *minima, u32 *counters,
    u32 turn) {
  least = minimum_of_warp(least);
  if (threadIdx.x % LANES == 0 && least != NO_MOVE) atomicMin(block_best, least);
  __syncthreads();
  if (group.size == 1) return *block_best;
  u64 *const slot = minima + turn % SLOTS;
  if (threadIdx.x == 0) {
    if (*block_best != NO_MOVE) atomicMin(slot, *block_best);
    if (member == 0) {
      __stcg(minima + (turn + 1) % SLOTS, NO_MOVE);
      __stcg(counters + 1 + (turn + 1) % SLOTS, 0u);
    }
  }
  group.meet();
  return __ldcg(slot);
}

// Leaves a search to the next launch.
__device__ __forceinline__ void leave(
    const Arguments &arg, Group &group, u32 member, u32 search, const u32 *jobs,
    u32 value, u32 best) {
  group.meet();
  if (member) return;
  for (u32 c = threadIdx.x; c < arg.n; c += BLOCK)
    arg.parents[(size_t)search * arg.n + c] = jobs[c];
  if (threadIdx.x == 0) {
    arg.values[2 * search] = value;
    arg.values[2 * search + 1] = best;
  }
}
