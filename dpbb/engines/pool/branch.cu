// Parents come, their open children go back.
//
// `branch`: a warp has a parent, a lane some of its children: their bounds on both sides,
// the choice of a side, and those that are below ub there. `tighten`: a lane has one of
// these, and leaves it if its dearer bound is below ub, too.
//
// What a node is the model's header says, see dpbb.kernels.cuda_model; `table`: the rows of
// its jobs, what is common, then what tightens bounds. A parent is a row of jobs, so many
// of which are fixed at its front and at its back. Grids: any; blocks: WARPS * 32.
#include "warp.cuh"

constexpr int N = N_JOBS;
constexpr u32 BACK_BIT = 1 << 15;  // dpbb.engines.pool.nodes

__device__ __forceinline__ State state_of(
    const u32 *root, const u32 *table, const u16 *row, int n_front, int n_back) {
  State state = load_state([=](int quad) { return load_quad(root + 4 * quad); });
#pragma unroll 1
  for (int step = 0; step < n_front + n_back; ++step) {
    const bool back = step >= n_front;
    const int job = row[back ? N - 1 - step + n_front : step];
    extend(state, table + job * ROW, back, table + N * ROW);
  }
  return state;
}

// made: number of open children, zero before. kinds: equal jobs have the same; of these
// among a parent's children the first alone is open.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) branch(
    const u16 *rows, const u16 *fronts, const u16 *backs, const u32 *table,
    const u32 *root, int ub, int count, u32 *made, int *parents, u16 *codes, int *found,
    const u16 *kinds, int branching_ub) {
  const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
  const int n_warps = (int)gridDim.x * WARPS;
  for (int node = (int)blockIdx.x * WARPS + warp; node < count; node += n_warps) {
    const int n_front = fronts[node], depth = n_front + backs[node];
    const u16 *const row = rows + (u64)node * N, *const left = row + n_front;
    const u32 *const common = table + N * ROW;
    const Node all = node_of(state_of(root, table, row, n_front, backs[node]), common);
    Selector selector(node_bound(all));
    for (int i = lane; i < N - depth; i += LANES)
      selector.add(child_bounds(all, table + left[i] * ROW, common), branching_ub);
    for (int far = 1; far < LANES; far *= 2) selector.add(selector.of_lane(lane ^ far));
    const bool back = selector.back(depth);
    for (int first = 0; first < N - depth; first += LANES) {
      const int i = first + lane;
      int bound = ub;
      if (i < N - depth && !(i && kinds[left[i]] == kinds[left[i - 1]])) {
        const Pair both = child_bounds(all, table + left[i] * ROW, common);
        bound = back ? back_of(both) : front_of(both);
      }
      const u32 alive = __ballot_sync(ALL_LANES, bound < ub);
      u32 to = 0;
      if (!lane && alive) to = atomicAdd(made, (u32)__popc(alive));
      to = __shfl_sync(ALL_LANES, to, 0) + __popc(alive & ((1u << lane) - 1));
      if (bound < ub) {
        parents[to] = node;
        codes[to] = (u16)(i | (back ? BACK_BIT : 0));
        found[to] = bound;
      }
    }
  }
}

// loose, loose_...: what `branch` has made.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) tighten(
    const u16 *rows, const u16 *fronts, const u16 *backs, const u32 *table,
    const u32 *root, int ub, int count, u32 *made, int *parents, u16 *codes, int *found,
    const u32 *loose, const int *loose_parents, const u16 *loose_codes,
    const int *loose_found) {
  const u32 step = gridDim.x * blockDim.x;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < *loose; i += step) {
    const int node = loose_parents[i];
    const u32 code = loose_codes[i];
    int bound = loose_found[i];
#if TIGHTENS
    const int n_front = fronts[node], n_back = backs[node];
    const u16 *const row = rows + (u64)node * N;
    const u32 *const common = table + N * ROW;
    const int job = row[n_front + (code & (BACK_BIT - 1))];
    if (tightens_at(common + COMMON, n_front + n_back + 1)) {
      State state = state_of(root, table, row, n_front, n_back);
      extend(state, table + job * ROW, code & BACK_BIT, common);
      u32 left[(N + 31) / 32] = {};
      for (int at = n_front; at < N - n_back; ++at)
        if (row[at] != job) left[row[at] >> 5] |= 1u << (row[at] & 31);
      const auto word = [&](int w) { return left[w]; };
      bound = max(bound, tight_bound(common + COMMON, state, ub, word));
    }
#endif
    if (bound < ub) {
      const u32 to = atomicAdd(made, 1u);
      parents[to] = node;
      codes[to] = (u16)code;
      found[to] = bound;
    }
  }
}
