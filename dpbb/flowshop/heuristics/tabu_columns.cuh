// Columns of completion times in registers, one step of one instruction a machine.
//
// N_MACHINES: at least 2. WIDE 0: a word holds two neighbours in halves of 16 bits, WIDE
// 1: one of 32. A column after job j, relative to the end of machine 0 (which is then 0
// and left out), less the sums S of j's times on the machines behind machine 0:
//
//   z'[k] = max(z'[k-1], z[k] + S[i][k] + N[j][k]),   N[j][k] = -(times of j before k)
//
// from job i to job j. S[i] + N[j] is known for jobs that follow one another in the
// parent: one addition and maximum for a machine and both halves. BIAS keeps all values
// of 16 bits from falling below zero; the host chooses WIDE so that none is too large.
#pragma once

#include "warp.cuh"

constexpr int CELLS = N_MACHINES - 1;
constexpr int ROW = (CELLS + 3) / 4 * 4;

#if WIDE
constexpr u32 CELL_WORDS = 2;
__device__ __forceinline__ u32 twice(u32 value) { return value; }
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return (u32)__viaddmax_s32((int)a, (int)b, (int)c);
}
__device__ __forceinline__ u32 add(u32 a, u32 b) { return a + b; }
#else
constexpr u32 CELL_WORDS = 1;
__device__ __forceinline__ u32 twice(u32 value) {
  return __byte_perm(value, value, 0x1010);
}
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return __viaddmax_u16x2(a, b, c);
}
__device__ __forceinline__ u32 add(u32 a, u32 b) { return __viaddmax_u16x2(a, b, 0); }
#endif

// S and N of a job: in the halves of a word, or in two words. A row has ROW cells.
struct Rows {
  const u32 *cells;
  __device__ __forceinline__ const u32 *of(u32 job) const {
    return cells + job * (ROW * CELL_WORDS);
  }
};

struct Four {
  u32 sum[4], ahead[4];
};

// Cells k to k+3 of S for the jobs a and b, and of N for the same or other two.
__device__ __forceinline__ Four four_of(
    const u32 *sum_a, const u32 *sum_b, const u32 *ahead_a, const u32 *ahead_b, int k) {
  Four result;
#if WIDE
  for (int half = 0; half < 2; ++half) {
    const Quad s = load_quad(sum_a + 2 * k + 4 * half);
    const Quad n = load_quad(ahead_a + 2 * k + 4 * half);
    result.sum[2 * half] = s.word[0];
    result.sum[2 * half + 1] = s.word[2];
    result.ahead[2 * half] = n.word[1];
    result.ahead[2 * half + 1] = n.word[3];
  }
#else
  const Quad sa = load_quad(sum_a + k), sb = load_quad(sum_b + k);
  const Quad na = load_quad(ahead_a + k), nb = load_quad(ahead_b + k);
#pragma unroll
  for (int x = 0; x < 4; ++x) {
    result.sum[x] = __byte_perm(sa.word[x], sb.word[x], 0x5410);
    result.ahead[x] = __byte_perm(na.word[x], nb.word[x], 0x7632);
  }
#endif
  return result;
}

struct Column {
  u32 z[ROW];

  __device__ __forceinline__ void clear(u32 bias) {
#pragma unroll
    for (int k = 0; k < CELLS; ++k) z[k] = bias;
  }
  // By the job of a position, which follows the one before it in the parent.
  __device__ __forceinline__ void follow(const u32 *row, u32 bias) {
    u32 last = bias;
#pragma unroll
    for (int k = 0; k < CELLS; k += 4) {
      const Quad d = load_quad(row + k);
#pragma unroll
      for (int x = 0; x < 4; ++x)
        if (k + x < CELLS) z[k + x] = last = add_max(z[k + x], d.word[x], last);
    }
  }
  // From job from_a to to_a in one half, from from_b to to_b in the other.
  __device__ __forceinline__ void follow(
      Rows rows, u32 from_a, u32 from_b, u32 to_a, u32 to_b, u32 bias) {
    const u32 *sum_a = rows.of(from_a), *sum_b = rows.of(from_b);
    const u32 *ahead_a = rows.of(to_a), *ahead_b = rows.of(to_b);
    u32 last = bias;
#pragma unroll
    for (int k = 0; k < CELLS; k += 4) {
      const Four four = four_of(sum_a, sum_b, ahead_a, ahead_b, k);
#pragma unroll
      for (int x = 0; x < 4; ++x)
        if (k + x < CELLS)
          z[k + x] = last = add_max(add(z[k + x], four.sum[x]), four.ahead[x], last);
    }
  }
  // After a prefix of the parent by to_a and to_b. Heads of machines are `stride` apart, so
  // that lanes with neighbouring positions read neighbouring words.
  __device__ __forceinline__ void begin(
      const u32 *heads, u32 stride, bool any, Rows rows, u32 to_a, u32 to_b, u32 bias) {
    const u32 *ahead_a = rows.of(to_a), *ahead_b = rows.of(to_b);
    u32 last = bias;
#pragma unroll
    for (int k = 0; k < CELLS; k += 4) {
      const Four four = four_of(ahead_a, ahead_b, ahead_a, ahead_b, k);
#pragma unroll
      for (int x = 0; x < 4; ++x)
        if (k + x < CELLS) {
          const u32 head = any ? heads[(k + x) * stride] : bias;
          z[k + x] = last = add_max(head, four.ahead[x], last);
        }
    }
  }
  __device__ __forceinline__ u32 cell(int k, int half) const {
#if WIDE
    return z[k];
#else
    return half ? z[k] >> 16 : z[k] & 0xffff;
#endif
  }
  // Makespan with the tails behind `job`, the last of the column.
  __device__ __forceinline__ int close(
      const u32 *tails, u32 stride, bool any, u32 total, Rows rows, u32 job, int half,
      u32 bias) const {
    const u32 *sums = rows.of(job);
    const int less = (int)(bias & 0xffff);
    int longest = (int)(any ? tails[0] : total) + less;
#pragma unroll
    for (int k = 0; k < CELLS; k += 4) {
      const Four four = four_of(sums, sums, sums, sums, k);
#pragma unroll
      for (int x = 0; x < 4; ++x)
        if (k + x < CELLS) {
          const u32 tail = any ? tails[(k + x + 1) * stride] : total;
          const u32 sum = WIDE ? four.sum[x] : four.sum[x] & 0xffff;
          longest = __viaddmax_s32((int)(cell(k + x, half) + sum), (int)tail, longest);
        }
    }
    return longest - less;
  }
};

// Tables of a parent, built by one warp each: lanes are machines, in steps of BATCH jobs.
//
// Heads: the column after a position, relative to the end of machine 0. Tails: for every
// machine the time from the start of a position to the end, plus the end of machine 0
// before it. Both follow v'[k] = max(v'[k-1], v[k] - time on machine 0) + time on k, tails
// on the machines in reverse. A `Table` has get(c, k), the value behind c jobs (before
// position c), and put(c, k, values) for positions c to c + BATCH - 1; what is said of
// positions from n on is to be ignored.

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
