// Tables of a parent, built by one warp each: lanes are machines, in steps of BATCH jobs.
//
// Heads: the column after a position, relative to the end of machine 0. Tails: for every
// machine the time from the start of a position to the end, plus the end of machine 0
// before it. Both follow v'[k] = max(v'[k-1], v[k] - time on machine 0) + time on k, tails
// on the machines in reverse. A `Table` has get(c, k), the value behind c jobs (before
// position c), and put(c, k, values) for positions c to c + BATCH - 1; what is said of
// positions from n on is to be ignored.
#pragma once

#include "columns.cuh"

constexpr int BATCH = 8;
constexpr int PER_LANE = (N_MACHINES + LANES - 1) / LANES;
constexpr int USED_LANES = (N_MACHINES + PER_LANE - 1) / PER_LANE;
constexpr int NOTHING = -(1 << 30);

// Jobs by position and their times.
struct Shop {
  int n;
  const u32 *jobs;
  const int *times;
  __device__ __forceinline__ u32 job(int c) const { return jobs[c]; }
  __device__ __forceinline__ int time(u32 job, int k) const {
    return __ldg(times + job * N_MACHINES + k);
  }
};

// Times of a batch on the machines of a lane; positions from n on take no time.
template <bool TAILS>
struct Batch {
  int base[BATCH], time[BATCH][PER_LANE];

  __device__ __forceinline__ void load(const Shop &shop, int begin) {
    const int lane = threadIdx.x % LANES;
#pragma unroll
    for (int e = 0; e < BATCH; ++e) {
      const bool there = begin + e >= 0 && begin + e < shop.n;
      const u32 job = shop.job(there ? begin + e : 0);
      base[e] = there ? -shop.time(job, 0) : 0;
#pragma unroll
      for (int x = 0; x < PER_LANE; ++x) {
        const int q = min(lane * PER_LANE + x, N_MACHINES - 1);
        time[e][x] = there ? shop.time(job, TAILS ? N_MACHINES - 1 - q : q) : 0;
      }
    }
  }
};

// Positions from `first` on to the end (TAILS: from it back to the begin), and as many
// before (behind) it as belong to the same batch.
template <bool TAILS, class Table>
__device__ __noinline__ void build_table(Shop shop, Table table, int first) {
  const int lane = threadIdx.x % LANES;
  const int start = first / BATCH, way = TAILS ? -1 : 1;
  const int batches = TAILS ? start + 1 : (shop.n + BATCH - 1) / BATCH - start;
  int own[PER_LANE], out[BATCH];
#pragma unroll
  for (int x = 0; x < PER_LANE; ++x) {
    const int q = min(lane * PER_LANE + x, N_MACHINES - 1);
    own[x] = table.get(
        TAILS ? min((start + 1) * BATCH, shop.n) : start * BATCH,
        TAILS ? N_MACHINES - 1 - q : q);
  }
#pragma unroll
  for (int e = 0; e < BATCH; ++e) out[e] = 0;
  Batch<TAILS> now, next;
  next.load(shop, (start - way * lane) * BATCH);
  for (int step = 0; step < batches + USED_LANES - 1; ++step) {
    const int batch = step - lane;
    now = next;
    next.load(shop, (start + way * (batch + 1)) * BATCH);
#pragma unroll
    for (int e = 0; e < BATCH; ++e) {
      out[e] = __shfl_sync(ALL_LANES, out[e], (lane + LANES - 1) % LANES);
      if (lane == 0) out[e] = NOTHING;
    }
    if (batch < 0 || batch >= batches || lane >= USED_LANES) continue;
#pragma unroll
    for (int x = 0; x < PER_LANE; ++x) {
      const int q = lane * PER_LANE + x;
#pragma unroll
      for (int at = 0; at < BATCH; ++at) {
        const int e = TAILS ? BATCH - 1 - at : at;
        out[e] = own[x] =
            __viaddmax_s32(own[x], now.base[e], out[e]) + now.time[e][x];
      }
      if (q < N_MACHINES)
        table.put((start + way * batch) * BATCH, TAILS ? N_MACHINES - 1 - q : q, out);
    }
  }
}
