// The branching rule: which of its two child sets a decomposed node takes.
// Twin: dpbb.tree.branching. RULE is one of the enumerators.
#pragma once

#include "pair.cuh"

enum Rule { MINMIN, MINBRANCH, MAXSUM, ALTERNATE, FRONT, BACK };

// Gathers the bounds of all children, a pair for each job.
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

  // Those of another part of the children.
  __device__ __forceinline__ void add(const Selector &other) {
    const auto now = min(least, other.least);
    preference = (least == now ? preference : 0) +
                 (other.least == now ? other.preference : 0);
    sum += other.sum;
    least = now;
  }
  __device__ __forceinline__ Selector of_lane(int lane) const {
    Selector other;
    other.preference = __shfl_sync(0xffffffffu, preference, lane);
    other.sum = __shfl_sync(0xffffffffu, sum, lane);
    other.least = __shfl_sync(0xffffffffu, least, lane);
    return other;
  }

  __device__ __forceinline__ bool back(int depth) const {
    if (RULE == FRONT) return false;
    if (RULE == BACK) return true;
    if (RULE == ALTERNATE) return depth % 2 == 1;
    return preference ? preference < 0 : sum > 0;
  }
};
