// Two-machine bounds of some pairs of machines, on children that LB1 leaves.
//
// For machines u < v, the unscheduled jobs S of a child in Johnson's order (with lags)
// stay there, in all, for at least
//     max over i in S of: first before and of i + lag of i + second of i and after it
//     = remain of v + max over i in S of (d + c),   c = first + lag of i,
// where d adds first - second over the jobs of S before i (Lenstra, Lageweg and
// Rinnooy Kan, Oper. Res. 26(1), 1978). So a step is a test, a DPX instruction and an
// addition, and all lanes walk the same order: each has children of its own.
//
// The tables are words behind the jobs' rows: first and last depth, number of pairs, 0;
// for each pair u, v, 0, 0, then the jobs in its order, up to a multiple of four: bit of
// the job, its word in a set of jobs (none where a set is one word; where it is two the
// bits in both), c, first - second.
// Twin: dpbb.flowshop.models.lb1_cuda.
#pragma once

constexpr int SET_WORDS = (N_JOBS + 31) / 32;
constexpr bool SHORT_SETS = SET_WORDS <= 2;
constexpr int STEP_WORDS = SET_WORDS == 1 ? 3 : 4;
constexpr int SLOTS = 2;  // children of a lane

__device__ __forceinline__ bool tightens_at(const u32 *tables, int depth) {
  return depth >= (int)tables[0] && depth <= (int)tables[1];
}

// Shared memory of a warp.
struct Tightening {
  u32 front[SLOTS][N_MACHINES][32];  // of a machine; if narrow remain + back above it
#if WIDE
  u32 rest[SLOTS][N_MACHINES][32];
#endif
  u32 jobs[SHORT_SETS ? 1 : SLOTS][SHORT_SETS ? 1 : SET_WORDS][32];
};

// Four jobs of an order, as one reads them: word w of job i.
struct Steps {
  Quad quads[STEP_WORDS];

  __device__ __forceinline__ Steps(const u32 *from) {
#pragma unroll
    for (int q = 0; q < STEP_WORDS; ++q) quads[q] = load_quad(from + 4 * q);
  }
  __device__ __forceinline__ u32 word(int i, int w) const {
    const int at = i * STEP_WORDS + w;
    return quads[at / 4].word[at % 4];
  }
  // Whether the job is in a set; `word_at(w)`: word w of it.
  template <class WordAt>
  __device__ __forceinline__ bool is_in(int i, WordAt word_at) const {
    if (SET_WORDS == 1) return word(i, 0) & word_at(0);
    if (SET_WORDS == 2) return word(i, 0) & word_at(0) | word(i, 1) & word_at(1);
    return word(i, 0) & word_at((int)word(i, 1));
  }
  __device__ __forceinline__ int reach(int i) const {
    return (int)word(i, STEP_WORDS - 2);
  }
  __device__ __forceinline__ int shift(int i) const {
    return (int)word(i, STEP_WORDS - 1);
  }
};

// The children of a warp, up to SLOTS a lane.
template <int COUNT>
struct TightChildren {
  Tightening &own;
  const int lane;
  u32 jobs[COUNT][2];  // short sets

  // `mask_word(w)`: word w of the child's unscheduled jobs.
  template <class MaskWord>
  __device__ __forceinline__ void put(int slot, const State &child, MaskWord mask_word) {
    const Node node = node_of(child);
#pragma unroll
    for (int k = 0; k < M; ++k) {
#if WIDE
      own.front[slot][k][lane] = (u32)front_of(node.x[k]);
      own.rest[slot][k][lane] = (u32)front_of(node.y[k]);
#else
      own.front[slot][k][lane] = __byte_perm(node.x[k].both, node.y[k].both, 0x5410);
#endif
    }
    if (SHORT_SETS) {
      jobs[slot][0] = mask_word(0);
      jobs[slot][1] = SET_WORDS > 1 ? mask_word(1) : 0;
    } else {
      for (int w = 0; w < SET_WORDS; ++w) own.jobs[slot][w][lane] = mask_word(w);
    }
  }

  // Which slots' bounds reach ub; those in `idle` are of no interest. All lanes meet.
  __device__ __forceinline__ u32 reaching(const u32 *tables, int ub, u32 idle) {
    const int n_pairs = (int)tables[2];
    const u32 *steps = tables + 4;
    u32 found = idle;
    for (int pair = 0; pair < n_pairs; ++pair) {
      const Quad machines = load_quad(steps);
      steps += 4;
      int shift[COUNT], most[COUNT];
#pragma unroll
      for (int i = 0; i < COUNT; ++i) shift[i] = most[i] = 0;
#pragma unroll 1
      for (int at = 0; at < N_JOBS; at += 4, steps += 4 * STEP_WORDS) {
        const Steps four(steps);
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
          for (int i = 0; i < COUNT; ++i) {
            const bool here = four.is_in(j, [&](int w) {
              return SHORT_SETS ? jobs[i][w & 1] : own.jobs[i][w][lane];
            });
            if (here) {
              most[i] = __viaddmax_s32(shift[i], four.reach(j), most[i]);
              shift[i] += four.shift(j);
            }
          }
      }
#pragma unroll
      for (int i = 0; i < COUNT; ++i) {
#if WIDE
        const int front = (int)own.front[i][machines.word[0]][lane];
        const int rest = (int)own.rest[i][machines.word[1]][lane];
#else
        const int front = (int)(own.front[i][machines.word[0]][lane] & 0xffff);
        const int rest = (int)(own.front[i][machines.word[1]][lane] >> 16);
#endif
        if (front + most[i] + rest >= ub) found |= 1u << i;
      }
      if (__all_sync(0xffffffffu, found == (1u << COUNT) - 1)) break;
    }
    return found & ~idle;
  }
};

// Of one child of a lane, wherever it is, the largest, or one that reaches ub; lanes need
// not meet.
template <class MaskWord>
__device__ __noinline__ int tight_bound(
    const u32 *tables, const State &child, int ub, MaskWord mask_word) {
  const Node node = node_of(child);
  const u32 *steps = tables + 4;
  int largest = 0;
  for (int pair = 0; pair < (int)tables[2] && largest < ub; ++pair) {
    const Quad machines = load_quad(steps);
    int bound = 0, shift = 0, most = 0;
#pragma unroll
    for (int k = 0; k < M; ++k) {
      if (k == (int)machines.word[0]) bound += front_of(node.x[k]);
      if (k == (int)machines.word[1]) bound += front_of(node.y[k]);
    }
    steps += 4;
    for (int at = 0; at < N_JOBS; at += 4, steps += 4 * STEP_WORDS) {
      const Steps four(steps);
#pragma unroll
      for (int j = 0; j < 4; ++j)
        if (four.is_in(j, mask_word)) {
          most = max(most, shift + four.reach(j));
          shift += four.shift(j);
        }
    }
    largest = max(largest, bound + most);
  }
  return largest;
}
