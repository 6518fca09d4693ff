// Branching and bounding of parents, a warp each: only open children come back.
//
// A lane is a machine (systolic) while front and back are read, a child while LB1 is
// computed and the side is chosen, and a pair of machines while LB2 is: along Johnson's
// order two running maxima give the bounds of all children at once, as each lacks one job
// of its parent's (twin: dpbb.flowshop.bounds.lb2.spans_without). So a pair takes two walks
// over the jobs, whatever the number of children.
//
// N_JOBS, N_MACHINES, N_PAIRS, PITCH (pairs, rounded up to whole warps), WARPS of a block,
// RULE, TIME, STEP, END: integer types of times, of a step's four numbers, of child ends.
// Shared: WARPS * WARP_WORDS words.
#include "words.cuh"
#include "warp.cuh"

enum Rule { MINMIN, MINBRANCH, MAXSUM, ALTERNATE, FRONT, BACK };

constexpr int N = N_JOBS;
constexpr int M = N_MACHINES;
constexpr int P = N_PAIRS;
constexpr bool COMPARES = RULE <= MAXSUM;
constexpr int NOTHING = -(1 << 30);
constexpr u32 BACK_BIT = 1 << 15;
constexpr u16 SCHEDULED = 0xffff, PRUNED = 0xfffe;

constexpr int words_of(int bytes) { return (bytes + 3) / 4; }
constexpr int SIDE_WORDS = 3 * M + 2 * N;  // front, back, remain; two sides of bounds
constexpr int JOB_WORDS = words_of(2 * N);  // 16 bits for each job
constexpr int WARP_WORDS =
    SIDE_WORDS + 2 * JOB_WORDS + words_of(N * M * (int)sizeof(END));

struct alignas(4 * sizeof(STEP)) Step {  // a job in Johnson's order of a pair
  STEP job, first, lag, second;
};

// One side of a partial schedule, a machine a lane: jobs pass through the lanes.
// `start`: where the first one begins, the least head (tail) of all jobs.
template <bool BACKWARDS>
__device__ __forceinline__ void read_side(
    int *ends, const int *start, int *passed, const u16 *row, int count,
    const TIME *times) {
  const int lane = (int)threadIdx.x % LANES;
  for (int base = 0; base < M; base += LANES) {
    const int step = base + lane;
    const int k = BACKWARDS ? M - 1 - step : step;
    int end = step < M ? start[k] : 0;
    for (int turn = 0; turn < count + LANES - 1; ++turn) {
      const int i = turn - lane;
      const int ahead = __shfl_sync(ALL_LANES, end, lane ? lane - 1 : 0);
      if (i < 0 || i >= count) continue;
      const int before = lane ? ahead : base ? passed[i] : 0;
      const int job = row[BACKWARDS ? N - 1 - i : i];
      if (step < M) end = max(end, before) + (int)times[job * M + k];
      if (lane == LANES - 1) passed[i] = end;
    }
    if (step < M) ends[k] = end;
    __syncwarp();
  }
}

// LB1 of the child that takes a job.
template <bool BACKWARDS>
__device__ __forceinline__ int child_bound(
    const int *own, const int *other, const int *remain, const TIME *times) {
  int begin = 0, bound = 0;
  for (int step = 0; step < M; ++step) {
    const int k = BACKWARDS ? M - 1 - step : step;
    begin = max(begin, own[k]);
    bound = max(bound, begin + remain[k] + other[k]);
    begin += (int)times[k];
  }
  return bound;
}

// Twin: dpbb.tree.branching.choose_back.
__device__ __forceinline__ bool takes_back(
    const int *ahead, const int *behind, int count, int depth, int branching_ub) {
  if (!COMPARES) return RULE == BACK || (RULE == ALTERNATE && depth % 2 == 1);
  const int lane = (int)threadIdx.x % LANES;
  int least = 0x7fffffff, sum = 0, preference = 0;
  for (int i = lane; i < count; i += LANES) {
    least = min(least, min(ahead[i], behind[i]));
    sum += behind[i] - ahead[i];
  }
  const int limit = RULE == MINMIN ? warp_min(least) + 1 : branching_ub;
  for (int i = lane; i < count; i += LANES)
    preference += (behind[i] < limit) - (ahead[i] < limit);
  preference = RULE == MAXSUM ? 0 : warp_sum(preference);
  sum = warp_sum(sum);
  return preference ? preference < 0 : sum > 0;
}

// Raise the bound of a child of these; others may do so at the same time.
__device__ __forceinline__ void raise(int *bounds, int child, int bound) {
  if (bound > bounds[child]) atomicMax(bounds + child, bound);
}

// Both walks along the order of a lane's pair; `own`: end of child 0 on the machine of the
// pair at whose side the children are, those of the others M apart; `other`: at the other
// side, all children's.
__device__ __forceinline__ void walk_pair(
    const Step *steps, int on_u, int on_v, const END *own, int other,
    const u16 *child_of, int *bounds) {
  int on_first = 0, on_second = on_v, best = NOTHING;
  for (int x = 0; x < N; ++x) {
    const Step step = steps[x * PITCH];
    const u16 child = child_of[step.job];
    if (child == SCHEDULED) continue;
    if (child != PRUNED)
      raise(bounds, child, best - (int)step.second + other + (int)own[child * M]);
    on_first += (int)step.first;
    best = max(best, on_first + (int)step.lag + on_second);
    on_second -= (int)step.second;
  }
  on_first = on_u;
  on_second = 0;
  best = NOTHING;
  for (int x = N - 1; x >= 0; --x) {
    const Step step = steps[x * PITCH];
    const u16 child = child_of[step.job];
    if (child == SCHEDULED) continue;
    if (child != PRUNED)
      raise(bounds, child, best - (int)step.first + other + (int)own[child * M]);
    on_second += (int)step.second;
    best = max(best, on_first + (int)step.lag + on_second);
    on_first -= (int)step.first;
  }
}

// made: number of open children, zero before.
extern "C" __global__ void __launch_bounds__(WARPS * 32) branch_pool(
    const u16 *rows, const u16 *fronts, const u16 *backs, const TIME *times,
    const u16 *pairs, const Step *steps, const int *least_heads, const int *least_tails,
    const u16 *kinds, int first_depth, int last_depth, int branching_ub, int ub,
    int count, u32 *made, int *parents, u16 *codes, int *found) {
  extern __shared__ __align__(16) u32 shared[];
  const int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
  int *const front = (int *)shared + warp * WARP_WORDS;
  int *const back = front + M, *const remain = back + M;
  int *const ahead = remain + M, *const behind = ahead + N;
  u16 *const child_of = (u16 *)(behind + N);
  u16 *const digits = child_of + 2 * JOB_WORDS;
  END *const ends = (END *)(digits + 2 * JOB_WORDS);
  const int step = (int)gridDim.x * WARPS;
  for (int node = (int)blockIdx.x * WARPS + warp; node < count; node += step) {
    const u16 *const row = rows + (u64)node * N;
    const int n_front = fronts[node], n_back = backs[node];
    const int depth = n_front + n_back, n_left = N - depth;
    const u16 *const middle = row + n_front;
    __syncwarp();
    read_side<false>(front, least_heads, ahead, row, n_front, times);
    read_side<true>(back, least_tails, ahead, row, n_back, times);
    for (int k = lane; k < M; k += LANES) {
      int total = 0;
      for (int i = 0; i < n_left; ++i) total += (int)times[middle[i] * M + k];
      remain[k] = total;
    }
    __syncwarp();
    const bool may_back = COMPARES || takes_back(nullptr, nullptr, 0, depth, 0);
    const bool may_front = COMPARES || !may_back;
    for (int i = lane; i < n_left; i += LANES) {
      const TIME *const own = times + middle[i] * M;
      if (may_front) ahead[i] = child_bound<false>(front, back, remain, own);
      if (may_back) behind[i] = child_bound<true>(back, front, remain, own);
    }
    __syncwarp();
    const bool side = takes_back(ahead, behind, n_left, depth, branching_ub);
    int *const bounds = side ? behind : ahead;
    __syncwarp();
    // those below ub move together, to the front of the same array
    int n_open = 0;
    for (int first = 0; first < n_left; first += LANES) {
      const int i = first + lane;
      int bound = ub;
      bool is_copy = false;
      if (i < n_left) {
        bound = bounds[i];
        is_copy = i && kinds[middle[i]] == kinds[middle[i - 1]];
      }
      const u32 alive = __ballot_sync(ALL_LANES, bound < ub && !is_copy);
      const int place = n_open + __popc(alive & ((1u << lane) - 1));
      if (alive >> lane & 1) {
        bounds[place] = bound;
        digits[place] = (u16)i;
      }
      n_open += __popc(alive);
      __syncwarp();
    }
    if (P && n_open && depth + 1 >= first_depth && depth + 1 <= last_depth) {
      for (int job = lane; job < N; job += LANES) child_of[job] = SCHEDULED;
      __syncwarp();
      for (int i = lane; i < n_left; i += LANES) child_of[middle[i]] = PRUNED;
      __syncwarp();
      for (int child = lane; child < n_open; child += LANES) {
        const int job = middle[digits[child]];
        child_of[job] = (u16)child;
        int end = 0;
        for (int turn = 0; turn < M; ++turn) {
          const int k = side ? M - 1 - turn : turn;
          end = max(end, side ? back[k] : front[k]) + (int)times[job * M + k];
          ends[child * M + k] = (END)end;
        }
      }
      __syncwarp();
      for (int first = 0; first < P; first += LANES) {
        const int pair = first + lane;
        if (pair < P) {
          const int u = pairs[2 * pair], v = pairs[2 * pair + 1];
          walk_pair(
              steps + pair, remain[u], remain[v], ends + (side ? v : u),
              side ? front[u] : back[v], child_of, bounds);
        }
        __syncwarp();
        bool goes_on = false;
        for (int child = lane; child < n_open; child += LANES)
          goes_on |= bounds[child] < ub;
        if (!__any_sync(ALL_LANES, goes_on)) break;
      }
    }
    for (int first = 0; first < n_open; first += LANES) {
      const int child = first + lane;
      const bool is_open = child < n_open && bounds[child] < ub;
      const u32 alive = __ballot_sync(ALL_LANES, is_open);
      u32 base = 0;
      if (!lane && alive) base = atomicAdd(made, (u32)__popc(alive));
      base = __shfl_sync(ALL_LANES, base, 0);
      if (is_open) {
        const u32 to = base + __popc(alive & ((1u << lane) - 1));
        parents[to] = node;
        codes[to] = (u16)(digits[child] | (side ? BACK_BIT : 0));
        found[to] = bounds[child];
      }
    }
  }
}
