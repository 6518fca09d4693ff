// The flow shop with makespan and LB1 as the kernels see it: see dpbb.kernels.cuda_model.
//
// A job's row holds (p[k], p[M-1-k]) for the machines k, and a state holds
// x[k] = (front of machine k, back of machine M-1-k): the recursion over the suffix is
// the recursion over the prefix on the mirrored machines, so one pass over k bounds a
// child on both sides. With y[k] = (remain + back of machine k, remain + front of machine
// M-1-k), for the child that takes the job next, over the machines k:
//     e = max(e + p[k-1], x[k]);   bound = max(bound, e + y[k])
// which is Lageweg, Lenstra and Rinnooy Kan's one-machine bound (Oper. Res. 26(1), 1978)
// of the front child in one half and of the back child in the other.
// An empty prefix (suffix) holds the least head (tail) over all jobs of the instance.
// That is also right for the child's own front: no job's head is below the least one.
// Twin: dpbb.flowshop.models.lb1_cuda.
#pragma once

#include "pair.cuh"
#include "ptx.cuh"

constexpr int M = N_MACHINES;
constexpr int HALF = (M + 1) / 2;  // remain is held for these k alone; the rest mirror
constexpr int ROW = (M * WORDS_PER_PAIR + 3) / 4 * 4, COMMON = 0;
constexpr int ALIGNED_WORDS = ROW;
constexpr int STATE_WORDS = ALIGNED_WORDS + HALF * WORDS_PER_PAIR;

// A job's pairs one after the other; 2 or 4 WORDS of the row are loaded at a time.
template <int WORDS>
struct RowReader {
  const u32 *const row;
  u32 loaded[4];

  __device__ __forceinline__ explicit RowReader(const u32 *row_) : row(row_) {}

  __device__ __forceinline__ Pair next(int k) {
    const int word = k * WORDS_PER_PAIR;
    if (word % WORDS == 0) {
      if (WORDS == 2) {
        const uint2 two = *reinterpret_cast<const uint2 *>(row + word);
        loaded[0] = two.x;
        loaded[1] = two.y;
      } else {
        const Quad quad = load_quad(row + word);
#pragma unroll
        for (int i = 0; i < 4; ++i) loaded[i] = quad.word[i];
      }
    }
    return pair_from_words(loaded + word % WORDS);
  }
};

struct State {
  Pair x[M];
  Pair remain[HALF];
};

struct Node {
  Pair x[M];
  Pair y[M];
};

// `quad_at(q)`: the words 4 q to 4 q + 3 of the state.
template <class QuadAt>
__device__ __forceinline__ State load_state(QuadAt quad_at) {
  State state;
  Quad quad;
#pragma unroll
  for (int k = 0; k < M; ++k) {
    if (k % PAIRS_PER_QUAD == 0) quad = quad_at(k / PAIRS_PER_QUAD);
    state.x[k] = pair_in(quad, k % PAIRS_PER_QUAD);
  }
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    if (k % PAIRS_PER_QUAD == 0) quad = quad_at(ALIGNED_WORDS / 4 + k / PAIRS_PER_QUAD);
    state.remain[k] = pair_in(quad, k % PAIRS_PER_QUAD);
  }
  return state;
}

__device__ __forceinline__ u32 state_word(const State &state, int word) {
  const int k = word / WORDS_PER_PAIR, part = word % WORDS_PER_PAIR;
  if (word >= ALIGNED_WORDS)
    return pair_word(state.remain[k - ALIGNED_WORDS / WORDS_PER_PAIR], part);
  return k < M ? pair_word(state.x[k], part) : 0u;
}

__device__ __forceinline__ Node node_of(const State &state, const u32 * = nullptr) {
  Node node;
#pragma unroll
  for (int k = 0; k < M; ++k) node.x[k] = state.x[k];
#pragma unroll
  for (int k = 0; k < HALF; ++k) {
    node.y[k] = pair_add(state.remain[k], pair_swap(state.x[M - 1 - k]));
    node.y[M - 1 - k] = pair_swap(pair_add(state.remain[k], state.x[k]));
  }
  return node;
}

// The largest front + remain + back of a machine.
__device__ __forceinline__ int node_bound(const Node &node) {
  Pair bound = pair_add(node.x[0], node.y[0]);
#pragma unroll
  for (int k = 1; k < HALF; ++k)
    bound = pair_add_max(node.x[k], node.y[k], bound);
  return max(front_of(bound), back_of(bound));
}

// Have what node_of computes in registers, and not computed anew for each child.
__device__ __forceinline__ void hold(Node &node) {
#if !WIDE
#pragma unroll
  for (int k = 0; k < M; ++k) keep(node.y[k].both);
#endif
}

// Of the first 2 TWOS machines two at a time are compared with the bound: that takes a
// maximum less and two additions more, for which another pipe has room.
template <int TWOS, int COUNT, class TimesAt>
__device__ __forceinline__ Pair bounds_along(
    const Pair (&x)[COUNT], const Pair (&y)[COUNT], TimesAt times_at) {
  Pair e = x[0];
  Pair bound = pair_add(e, y[0]);
#pragma unroll
  for (int k = 1; k < COUNT; ++k) {
    const Pair before = e;
    e = pair_add_max(e, times_at(k - 1), x[k]);
    if (k % 2 && k < 2 * TWOS && k + 1 < COUNT) continue;
    if (k % 2 || k > 2 * TWOS)
      bound = pair_add_max(e, y[k], bound);
    else
      bound = pair_max3(pair_add(before, y[k - 1]), pair_add(e, y[k]), bound);
  }
  return bound;
}

template <int WORDS = 4, int TWOS = 0>
__device__ __forceinline__ Pair child_bounds(
    const Node &node, const u32 *row, const u32 * = nullptr) {
  RowReader<WORDS> times(row);
  return bounds_along<TWOS>(node.x, node.y, [&](int k) { return times.next(k); });
}

#if !WIDE
// One side of a node twice, on some machines in that side's order: with a row of two jobs'
// times `side_bounds` bounds both jobs' children there. Along some machines a bound is not
// above LB1, and the critical ones, which the host chooses, cut most of what LB1 cuts.
constexpr int SIDE_ROW = N_CRITICAL > 1 ? (N_CRITICAL + 2) / 4 * 4 : 4;
struct Side {
  Pair x[N_CRITICAL];
  Pair y[N_CRITICAL];
};

// Of a critical machine: where a record has its front (or back), what the other side has
// there, and its remaining work; `mirrored` is that word's other half.
struct alignas(8) Place {
  u16 own, other, remain, mirrored;
};

// `at(w)`: where word w of a state is.
template <class At>
__device__ __forceinline__ Place place_of(int machine, At at) {
  const int mirror = M - 1 - machine;
  return {
      (u16)at(machine), (u16)at(mirror), (u16)at(ALIGNED_WORDS + min(machine, mirror)),
      (u16)(machine >= HALF)};
}

// `word_at(place)`: the word that is there.
template <class WordAt>
__device__ __forceinline__ Side load_side(const Place *places, bool back, WordAt word_at) {
  Side side;
#pragma unroll
  for (int i = 0; i < N_CRITICAL; ++i) {
    const Place place = places[i];
    side.x[i] = pair_double({word_at(place.own)}, back);
    side.y[i] = pair_add(
        pair_double({word_at(place.other)}, !back),
        pair_double({word_at(place.remain)}, back != (bool)place.mirrored));
  }
  return side;
}

__device__ __forceinline__ void hold(Side &side) {
#pragma unroll
  for (int i = 0; i < N_CRITICAL; ++i) {
    keep(side.x[i].both);
    keep(side.y[i].both);
  }
}

// Of a job's row, the time from a side's critical machine i to the next one.
__device__ __forceinline__ u32 side_time(const u32 *row, const u32 *machines, int i, bool back) {
  u32 sum = 0;
  if (i + 1 < N_CRITICAL)
    for (u32 k = machines[i]; k < machines[i + 1]; ++k) sum += row[k];
  return back ? sum >> 16 : sum & 0xffffu;
}

template <int TWOS>
__device__ __forceinline__ Pair side_bounds(const Side &side, const u32 *row) {
  RowReader<4> times(row);
  return bounds_along<TWOS>(side.x, side.y, [&](int k) { return times.next(k); });
}
#endif

// The bound of the one child is the makespan.
template <int WORDS = 4, int TWOS = 0>
__device__ __forceinline__ int leaf_value(
    const Node &node, const u32 *row, const u32 * = nullptr) {
  return front_of(child_bounds<WORDS, TWOS>(node, row));
}

template <int WORDS = 4>
__device__ __forceinline__ void extend(
    State &state, const u32 *row, bool back, const u32 * = nullptr) {
  Pair e = state.x[0];
  RowReader<WORDS> times(row);
#pragma unroll
  for (int k = 0; k < M; ++k) {
    const Pair p = times.next(k);
    if (k < HALF) state.remain[k] = pair_subtract(state.remain[k], p);
    const Pair end = pair_add(e, p);
    if (k + 1 < M) e = pair_add_max(e, p, state.x[k + 1]);
    state.x[k] = pair_replace(state.x[k], end, back);
  }
}

#if TIGHTENS
#include "cascade.cuh"
#endif
