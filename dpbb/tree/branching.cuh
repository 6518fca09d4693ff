// The branching rule: which of its two child sets a decomposed node takes.
// Twin: dpbb.tree.branching. RULE is one of the enumerators.
#pragma once

#include "pair.cuh"

enum Rule { MINMIN, MINBRANCH, MAXSUM, ALTERNATE, FRONT, BACK, OWN };

#if OWN_RULE  // of the model: the side whose children weigh less
__device__ __forceinline__ long long child_weight(long long bound, long long parent);
using Preference = long long;
#else
using Preference = int;
#endif

// Gathers the bounds of all children, a pair for each job.
//
// AT_BASE: no child's bound is below the node's own one, the base, and most nodes have a
// child whose bound it is. So MINMIN counts those, with half the instructions; a node is
// `unsure` where the least bound of both sides is a higher one: it is to be counted then.
template <bool AT_BASE>
struct SelectorOf {
  static constexpr bool BASED = AT_BASE && RULE == MINMIN && !WIDE;
  Preference preference;  // back children counted by the rule, less the front ones
  int sum;                // bounds of the back children, less those of the front ones
#if OWN_RULE
  int base;
#endif
#if WIDE
  int least;
#else
  u32 least;  // the least bound: of each set if BASED, else of both, in both halves
  u32 less;   // the base, negative, in both halves
#endif

  __device__ __forceinline__ explicit SelectorOf(int base) : preference(0), sum(0) {
#if OWN_RULE
    this->base = base;
#endif
#if WIDE
    least = 0x3fffffff;
#else
    least = PAIR_TOP.both;
    less = both_halves(-base);
#endif
  }

  __device__ __forceinline__ void add(Pair bound, int branching_ub) {
#if OWN_RULE
    preference += child_weight(back_of(bound), base);
    preference -= child_weight(front_of(bound), base);
#endif
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
    if (BASED) {
      least = __vminu2(least, bound.both);
      const u32 above = __viaddmin_s16x2(bound.both, less, 0x00010001u);
      preference = __dp2a_lo((int)above, 0xff01, preference);
    } else if (RULE == MINMIN) {
      const u32 now = __vimin3_u16x2(least, bound.both, pair_swap(bound).both);
      if (now != least) preference = 0;  // what was counted is above the new least
      const u32 above = __vminu2(bound.both - now, 0x00010001u);  // 0 where equal
      preference = __dp2a_lo((int)above, 0xff01, preference);
      least = now;
    } else if (RULE == MINBRANCH) {
      const u32 above = pair_reaches(bound, limit_of(branching_ub));
      preference = __dp2a_lo((int)above, 0xff01, preference);
    }
#endif
  }

  // Those of another part of the children.
  __device__ __forceinline__ void add(const SelectorOf &other) {
    sum += other.sum;
#if !WIDE
    if (BASED) {
      preference += other.preference;
      least = __vminu2(least, other.least);
      return;
    }
#endif
    const auto now = min(least, other.least);
    preference = (least == now ? preference : 0) +
                 (other.least == now ? other.preference : 0);
    least = now;
  }
  __device__ __forceinline__ SelectorOf of_lane(int lane) const {
    SelectorOf other(0);
    other.preference = __shfl_sync(0xffffffffu, preference, lane);
    other.sum = __shfl_sync(0xffffffffu, sum, lane);
    other.least = __shfl_sync(0xffffffffu, least, lane);
#if !WIDE
    if (BASED) other.less = __shfl_sync(0xffffffffu, less, lane);
#endif
    return other;
  }

#if !WIDE
  // Whether the sides differ in nothing but their sums, and have children below ub.
  __device__ __forceinline__ bool ties(int ub) const {
    return !preference && least == pair_swap({least}).both && (int)(least >> 16) < ub;
  }
  __device__ __forceinline__ bool unsure(int ub) const {
    return BASED && least == pair_swap({least}).both && (least + less & 0xffffu) &&
           (int)(least >> 16) < ub;
  }
#endif

  __device__ __forceinline__ bool back(int depth) const {
    if (RULE == FRONT) return false;
    if (RULE == BACK) return true;
    if (RULE == ALTERNATE) return depth % 2 == 1;
#if !WIDE
    const int front = (int)(least & 0xffffu), back = (int)(least >> 16);
    if (BASED && front != back) return front < back;
#endif
    return preference ? preference < 0 : sum > 0;
  }
};
using Selector = SelectorOf<false>;
using BasedSelector = SelectorOf<true>;
