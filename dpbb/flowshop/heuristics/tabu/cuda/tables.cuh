// Tables of a parent, built by one warp each: lanes are machines, in steps of BATCH jobs.
//
// Heads: the column after the first c jobs, relative to the end of machine 0. Tails: for
// every machine the time from the start of position c to the end, plus the end of machine
// 0 before it. Both follow v'[k] = max(v'[k-1], v[k] - time on machine 0) + time on k,
// tails on the machines in reverse. Where values come from and go to is said by a `Table`
// with get(c, k), put(c, k, value) and, for heads, last(c, job, value) of the last machine.
#pragma once

#include "columns.cuh"

constexpr int BATCH = 8;
constexpr int PER_LANE = (N_MACHINES + LANES - 1) / LANES;
constexpr int USED_LANES = (N_MACHINES + PER_LANE - 1) / PER_LANE;
constexpr int NOTHING = -(1 << 30);

// Jobs by position and their times; MIRRORED: the last job first, the last machine first.
template <bool MIRRORED>
struct View {
  int n;
  const u32 *jobs;
  const int *times;
  __device__ __forceinline__ u32 job(int c) const {
    return jobs[MIRRORED ? n - 1 - c : c];
  }
  __device__ __forceinline__ int time(u32 job, int k) const {
    return __ldg(times + job * N_MACHINES + (MIRRORED ? N_MACHINES - 1 - k : k));
  }
};

// Rows behind position `first` (TAILS: of it and before; the row behind it is given).
template <bool TAILS, class Shop, class Table>
__device__ __noinline__ void build_table(Shop shop, Table table, int first) {
  const int lane = threadIdx.x % LANES;
  const int length = TAILS ? first + 1 : shop.n - first;
  const int batches = (length + BATCH - 1) / BATCH;
  int own[PER_LANE], out[BATCH];
#pragma unroll
  for (int x = 0; x < PER_LANE; ++x) {
    const int q = min(lane * PER_LANE + x, N_MACHINES - 1);
    own[x] = table.get(TAILS ? first + 1 : first, TAILS ? N_MACHINES - 1 - q : q);
  }
#pragma unroll
  for (int e = 0; e < BATCH; ++e) out[e] = 0;
  for (int step = 0; step < batches + USED_LANES - 1; ++step) {
    const int batch = step - lane;
    int in[BATCH];
#pragma unroll
    for (int e = 0; e < BATCH; ++e) {
      in[e] = __shfl_sync(ALL_LANES, out[e], (lane + LANES - 1) % LANES);
      if (lane == 0) in[e] = NOTHING;
    }
    if (batch < 0 || batch >= batches || lane >= USED_LANES) continue;
    int base[BATCH], time[BATCH][PER_LANE];
    u32 jobs[BATCH];
#pragma unroll
    for (int e = 0; e < BATCH; ++e) {
      const int at = min(batch * BATCH + e, length - 1);
      jobs[e] = shop.job(TAILS ? first - at : first + at);
      base[e] = -shop.time(jobs[e], 0);
#pragma unroll
      for (int x = 0; x < PER_LANE; ++x) {
        const int q = min(lane * PER_LANE + x, N_MACHINES - 1);
        time[e][x] = shop.time(jobs[e], TAILS ? N_MACHINES - 1 - q : q);
      }
    }
#pragma unroll
    for (int e = 0; e < BATCH; ++e) {
      const int at = batch * BATCH + e;
      if (at >= length) break;
      int value = in[e];
#pragma unroll
      for (int x = 0; x < PER_LANE; ++x) {
        const int q = lane * PER_LANE + x;
        if (q >= N_MACHINES) break;
        value = own[x] = __viaddmax_s32(own[x], base[e], value) + time[e][x];
        const int k = TAILS ? N_MACHINES - 1 - q : q;
        table.put(TAILS ? first - at : first + at + 1, k, value);
        if (!TAILS && k == N_MACHINES - 1) table.last(first + at + 1, jobs[e], value);
      }
      out[e] = value;
    }
  }
}
