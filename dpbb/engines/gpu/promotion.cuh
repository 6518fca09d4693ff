// Nodes in hand completed to permutations: starts for heuristics.
//
// A node's unscheduled jobs stand between its prefix and its suffix in root order: they are
// appended to the prefix, or, of a problem whose schedules grow on the back alone, put
// before the suffix, the last one first. Each warp keeps the best of its nodes and writes it
// as a reported leaf: value, unscheduled jobs, directions, path. Source: Gmys, INFORMS J.
// Comput. 34(5), 2022.
// Twin: dpbb.engines.base.best_completions.
#pragma once

#include "pages.cuh"

constexpr int NO_VALUE = 0x7fffffff;

// Cost of the completion; NO_VALUE where a bound on the way reaches `limit`: what comes
// then need not fit the model's integers. `mask_word(w)`: word w of the unscheduled jobs.
template <class MaskWord>
__device__ __forceinline__ int completed_value(
    State state, const u32 *rows, int left, int limit, MaskWord mask_word) {
  constexpr bool back = RULE == BACK;
  for (int i = 0; i < N_MASK; ++i) {
    const int w = back ? N_MASK - 1 - i : i;
    for (u32 jobs = mask_word(w); jobs;) {
      const int bit = back ? 31 - __clz(jobs) : __ffs(jobs) - 1;
      jobs = back ? jobs ^ 1u << bit : jobs & (jobs - 1);
      const u32 *const row = rows + (w * 32 + bit) * ROW;
      const Node node = node_of(state);
      if (node_bound(node) >= limit) return NO_VALUE;
      if (--left == 0) return leaf_value(node, row);
      extend(state, row, back);
    }
  }
  return NO_VALUE;
}
