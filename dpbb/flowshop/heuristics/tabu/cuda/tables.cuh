// Tables of a parent, built by one warp each: lanes are machines, in steps of BATCH jobs.
//
// heads[c]: the column after the first c jobs, relative to the end of machine 0, plus
// bias, without machine 0, in both halves. tails[c]: for every machine the time from the
// start of position c to the end, plus the end of machine 0 before it. Both follow
// v'[k] = max(v'[k-1], v[k] - time on machine 0) + time on k, tails on the machines in
// reverse. steps[c]: S of the job before position c plus N of its own.
#pragma once

#include "columns.cuh"

constexpr int BATCH = 8;
constexpr int PER_LANE = (N_MACHINES + LANES - 1) / LANES;
constexpr int USED_LANES = (N_MACHINES + PER_LANE - 1) / PER_LANE;
constexpr int NOTHING = -(1 << 30);

struct Parent {
  u32 n;
  const u32 *jobs;  // by position
  u32 *steps, *heads, *tails, *head_sums;
};

__device__ __forceinline__ void build_step(const Parent &parent, Rows rows, u32 c, u32 k) {
  const u32 *sums = rows.of(parent.jobs[c - 1]) + CELL_WORDS * k;
  const u32 *ahead = rows.of(parent.jobs[c]) + CELL_WORDS * k;
#if WIDE
  parent.steps[c * ROW + k] = sums[0] + ahead[1];
#else
  parent.steps[c * ROW + k] = twice((sums[0] & 0xffff) + (ahead[0] >> 16));
#endif
}

// Rows behind position `first` (TAILS: before it, the row behind it is given).
template <bool TAILS>
__device__ void build_table(
    const Parent &parent, const int *__restrict__ times, Rows rows, int first, int total,
    int bias) {
  const int lane = threadIdx.x % LANES;
  const int n = (int)parent.n;
  const int length = TAILS ? first + 1 : n - first;
  const int batches = (length + BATCH - 1) / BATCH;
  int own[PER_LANE], out[BATCH];
  [[maybe_unused]] u32 sum = 0;
#pragma unroll
  for (int x = 0; x < PER_LANE; ++x) {
    const int q = lane * PER_LANE + x;
    const int k = TAILS ? N_MACHINES - 1 - q : q;
    own[x] = TAILS ? total : 0;
    if (q < N_MACHINES && TAILS && first + 1 < n)
      own[x] = (int)parent.tails[(first + 1) * TAIL_ROW + k];
    if (q < N_MACHINES && !TAILS && first > 0 && k > 0) {
      const u32 head = parent.heads[first * ROW + k - 1];
      own[x] = (int)(WIDE ? head : head & 0xffff) - bias;
    }
  }
#if FLOW
  if (!TAILS) sum = parent.head_sums[first];
#endif
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
      jobs[e] = parent.jobs[TAILS ? first - at : first + at];
      base[e] = -__ldg(times + jobs[e] * N_MACHINES);
#pragma unroll
      for (int x = 0; x < PER_LANE; ++x) {
        const int q = min(lane * PER_LANE + x, N_MACHINES - 1);
        time[e][x] = __ldg(times + jobs[e] * N_MACHINES + (TAILS ? N_MACHINES - 1 - q : q));
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
        if (TAILS) {
          parent.tails[(first - at) * TAIL_ROW + k] = (u32)value;
        } else if (k > 0) {
          parent.heads[(first + at + 1) * ROW + k - 1] = twice((u32)(value + bias));
#if FLOW
          if (k == N_MACHINES - 1) {
            sum += (u32)value - rows.of(jobs[e])[2 * (CELLS - 1)];
            parent.head_sums[first + at + 1] = sum;
          }
#endif
        }
      }
      out[e] = value;
    }
  }
}
