// LB1 of all children of a node, in both directions, and the branching rule.
//
// One lane bounds one node. Its state is held in registers: x[k] = (front of machine k,
// back of machine M-1-k) and y[k] = (remain + back of machine k, remain + front of
// machine M-1-k). For the child that takes job j next, over the machines k:
//     e = max(e + p[j][k-1], x[k]);   bound = max(bound, e + y[k])
// which is Lageweg, Lenstra and Rinnooy Kan's one-machine bound (Oper. Res. 26(1), 1978)
// of the front child in one half and of the back child in the other.
// An empty prefix (suffix) holds the least head (tail) over all jobs of the instance.
// That is also right for the child's own front: no job's head is below the least one.
#pragma once

#include "warp.cuh"

constexpr int N = N_JOBS;
constexpr int M = N_MACHINES;
constexpr int HALF = (M + 1) / 2;  // remain is held for these k alone; the rest mirror
constexpr int N_MASK = (N + 31) / 32;
constexpr int PAIRS_PER_LOAD = 4 / WORDS_PER_PAIR;
constexpr int ROW = (M * WORDS_PER_PAIR + 3) / 4 * 4;  // words of a job's row

enum Rule { MINMIN, MINBRANCH, MAXSUM, ALTERNATE, FRONT, BACK };

struct Node {
  Pair x[M];
  Pair y[M];
};

// Four words of a job's row, or of a record.
struct Quad {
  u32 word[4];
  __device__ __forceinline__ Pair pair(int index) const {
    return pair_from_words(word + index * WORDS_PER_PAIR);
  }
};

__device__ __forceinline__ Quad load_quad(const u32 *address) {
  const uint4 v = *reinterpret_cast<const uint4 *>(address);
  return {{v.x, v.y, v.z, v.w}};
}

// y from x and remain, for the half of the machines that holds remain.
__device__ __forceinline__ void fill_y(Node &node, const Pair (&remain)[HALF]) {
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    node.y[k] = pair_add(remain[k], pair_swap(node.x[M - 1 - k]));
    node.y[M - 1 - k] = pair_swap(pair_add(remain[k], node.x[k]));
  }
}

// LB1 of the node itself: the largest front + remain + back of a machine.
__device__ __forceinline__ int node_bound(const Node &node) {
  Pair bound = pair_add(node.x[0], node.y[0]);
#pragma unroll
  for (int k = 1; k < HALF; ++k)
    bound = pair_add_max(node.x[k], node.y[k], bound);
  return max(front_of(bound), back_of(bound));
}

// LB1 of the child that takes the job of this row, in both directions.
__device__ __forceinline__ Pair child_bounds(const Node &node, const u32 *row) {
  Pair e = node.x[0];
  Pair bound = pair_add(e, node.y[0]);
  Quad quad;
#pragma unroll
  for (int k = 1; k < M; ++k) {
    if ((k - 1) % PAIRS_PER_LOAD == 0) quad = load_quad(row + (k - 1) * WORDS_PER_PAIR);
    e = pair_add_max(e, quad.pair((k - 1) % PAIRS_PER_LOAD), node.x[k]);
    bound = pair_add_max(e, node.y[k], bound);
  }
  return bound;
}

// Which child set a node takes, gathered child by child (dpbb.tree.branching).
struct Selector {
  int preference;  // back children counted by the rule, less the front ones
  int sum;         // bounds of the back children, less those of the front ones
#if WIDE
  int least;
#else
  u32 least;  // the least bound of both sets, in both halves
#endif

  __device__ __forceinline__ Selector() : preference(0), sum(0) {
#if WIDE
    least = 0x3fffffff;
#else
    least = 0x7fff7fffu;
#endif
  }

  __device__ __forceinline__ void add(Pair bound, int branching_ub) {
#if WIDE
    const int f = front_of(bound), b = back_of(bound);
    sum += b - f;
    if (RULE == MINMIN) {
      const int least_now = min(least, min(f, b));
      if (least_now != least) preference = 0;
      preference += (b == least_now) - (f == least_now);
      least = least_now;
    } else if (RULE == MINBRANCH) {
      preference += (b < branching_ub) - (f < branching_ub);
    }
#else
    // dp2a with the bytes (-1, +1): back less front; with (+1, -1): front less back
    sum = __dp2a_lo((int)bound.both, 0x01ff, sum);
    if (RULE == MINMIN) {
      const u32 now = __vimin3_u16x2(least, bound.both, pair_swap(bound).both);
      if (now != least) preference = 0;  // what was counted is above the new least
      const u32 above = __vminu2(bound.both - now, 0x00010001u);  // 0 where equal
      preference = __dp2a_lo((int)above, 0xff01, preference);
      least = now;
    } else if (RULE == MINBRANCH) {
      const u32 offset = bound.both + (0x8000u - (u32)branching_ub) * 0x00010001u;
      preference = __dp2a_lo((int)(offset >> 15 & 0x00010001u), 0xff01, preference);
    }
#endif
  }

  __device__ __forceinline__ bool back(int depth) const {
    if (RULE == FRONT) return false;
    if (RULE == BACK) return true;
    if (RULE == ALTERNATE) return depth % 2 == 1;
    return preference ? preference < 0 : sum > 0;
  }
};

// The child's x and remain, in place of the node's.
__device__ __forceinline__ void extend(
    Pair (&x)[M], Pair (&remain)[HALF], const u32 *row, bool back) {
  Pair e = x[0];
  Quad quad;
#pragma unroll
  for (int k = 0; k < M; ++k) {
    if (k % PAIRS_PER_LOAD == 0) quad = load_quad(row + k * WORDS_PER_PAIR);
    const Pair p = quad.pair(k % PAIRS_PER_LOAD);
    if (k < HALF) remain[k] = pair_subtract(remain[k], p);
    const Pair end = pair_add(e, p);
    if (k + 1 < M) e = pair_add_max(e, p, x[k + 1]);
    x[k] = pair_replace(x[k], end, back);
  }
}
