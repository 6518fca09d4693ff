// Tabu search over insertions, with Taillard's acceleration, on the device.
//
// The job at position r leaves; what comes behind it moves up, one job after the other,
// and before each step the makespan with the job put there is found from the parent's
// tail. A group of SPAN lanes has a job that leaves; lanes are cells of a column (PER_CELL
// each), and lane l is l steps behind lane 0; LEAVING such jobs share what it reads. The
// low half of a word is the shop, the high
// half the shop mirrored, in which a job that moves back moves forward: so both
// directions are the same code. WIDE: one after the other.
//
// What a step needs of position p and cell k stands at row p + (lane of k), so that all
// lanes of a step read one row: S and N of the job there (see columns.cuh) and the tail
// behind it, relative to the sum of machine 0.
#include "search.cuh"

constexpr int PER_CELL = (CELLS + LANES - 1) / LANES;
constexpr int CELL_LANES = (CELLS + PER_CELL - 1) / PER_CELL;
constexpr int SPAN = CELL_LANES > 16 ? 32 : CELL_LANES > 8 ? 16 : 8;
constexpr int STEP_ROW = CELL_LANES * PER_CELL;
constexpr int HALVES = WIDE ? 1 : 2;
constexpr int PASSES = WIDE ? 2 : 1;
constexpr u32 UNIT = LANES / SPAN * LEAVING;  // jobs that leave, of a warp

struct Step {
  u32 sum, ahead, tail, first_tail;  // first_tail: of machine 0, in lane 0's cells
};

#if WIDE
typedef u32 Half;
#else
typedef u16 Half;
#endif

// Of one direction (WIDE) or of both in halves.
struct Tables {
  Step *steps;  // [n + CELL_LANES][STEP_ROW]
  u32 *heads;   // [n + 1][STEP_ROW]
  __device__ __forceinline__ Step *step(int p, int k) const {
    return steps + (size_t)(p + k / PER_CELL) * STEP_ROW + k;
  }
};

__device__ __forceinline__ Half *half_of(u32 *word, int half) {
  return (Half *)word + (WIDE ? 0 : half);
}

struct Heads {
  Tables tables;
  int half, n, bias;
  __device__ __forceinline__ int get(int c, int k) const {
    if (c == 0 || k == 0) return 0;
    return (int)*half_of(tables.heads + c * STEP_ROW + k - 1, half) - bias;
  }
  __device__ __forceinline__ void put(int c, int k, const int *values) const {
    for (int e = 0; e < BATCH; ++e)
      if (k > 0 && c + e < n)
        *half_of(tables.heads + (c + e + 1) * STEP_ROW + k - 1, half) =
            (Half)(values[e] + bias);
  }
};

struct Tails {
  Tables tables;
  int half, n, total, bias;  // none is below -bias
  __device__ __forceinline__ u32 *word(int c, int k) const {
    return k ? &tables.step(c - 1, k - 1)->tail : &tables.step(c - 1, 0)->first_tail;
  }
  __device__ __forceinline__ int get(int c, int k) const {
    if (c == n) return total;
    return (int)(Half)(*half_of(word(c, k), half) + bias) - bias + total;
  }
  __device__ __forceinline__ void put(int c, int k, const int *values) const {
    for (int e = 0; e < BATCH; ++e)
      if (c + e > 0 && c + e < n)
        *half_of(word(c + e, k), half) = (Half)(values[e] - total);
  }
};

__device__ __forceinline__ u32 index_of(u32 i, u32 j, u32 n) {
  return i * (n - 1) + j - (j > i);
}

// What the warps of a block need to evaluate a job that leaves.
struct Insertions {
  Tables tables;
  u32 n, first, last;   // positions that may move: first <= p < last
  u32 begin, end;       // the same of both directions together
  u32 bias, mirrored;   // mirrored: of WIDE, whether this is the shop mirrored
  int total[2];
  u32 best;
  u32 *neighbours;

  __device__ __forceinline__ void offer(
      u32 value, bool turned, u32 r, u32 p, const Tabu &tabu, u64 &least) const {
    const u32 i = turned ? n - 1 - r : r, j = turned ? n - 1 - p : p;
    if (i < first || i >= last || j < first || j >= last) return;
    const u32 t = index_of(i, j, n);
    const u64 key = (u64)value << 32 | t;
    if (neighbours) neighbours[t] = value;
    if (key < least && (value < best || !tabu.forbids(i, j))) least = key;
  }

  // All places behind positions r to r + LEAVING - 1. All lanes of a warp come here
  // together; `longest`: the most places of one of them.
  __device__ __forceinline__ void evaluate(
      u32 r, int longest, const Tabu &tabu, u64 &least) const {
    const int lane = threadIdx.x % LANES, l = lane % SPAN;
    const int length = l < CELL_LANES ? (int)end - 1 - (int)r : 0;
    const int before = (lane + LANES - 1) % LANES;
    u32 column[LEAVING][PER_CELL], sums[LEAVING][PER_CELL], ahead[LEAVING][PER_CELL];
#pragma unroll
    for (int y = 0; y < LEAVING; ++y) {
      if (y >= length) continue;
#pragma unroll
      for (int x = 0; x < PER_CELL; ++x) {
        const int k = l * PER_CELL + x;
        const Step *own = tables.step((int)r + y, k);
        sums[y][x] = own->sum;
        ahead[y][x] = own->ahead;
        column[y][x] = tables.heads[(r + y) * STEP_ROW + k];
      }
    }
    const Step *row = tables.steps + (size_t)(r + 1) * STEP_ROW + l * PER_CELL;
    u32 end_without[LEAVING], end_with[LEAVING], longest_path[LEAVING];
#pragma unroll
    for (int y = 0; y < LEAVING; ++y) end_without[y] = end_with[y] = longest_path[y] = 0;
    for (int t = 0; t < longest + CELL_LANES - 1; ++t, row += STEP_ROW) {
#pragma unroll
      for (int y = 0; y < LEAVING; ++y) {
        end_without[y] = __shfl_sync(ALL_LANES, end_without[y], before);
        end_with[y] = __shfl_sync(ALL_LANES, end_with[y], before);
        longest_path[y] = __shfl_sync(ALL_LANES, longest_path[y], before);
      }
      const int at = t - l;
      if (at < 0 || at >= length) continue;
#pragma unroll
      for (int x = 0; x < PER_CELL; ++x) {
        const Quad step = load_quad((const u32 *)(row + x));
#pragma unroll
        for (int y = 0; y < LEAVING; ++y) {
          if (x == 0 && l == 0) {
            end_without[y] = end_with[y] = bias;
            longest_path[y] = add(bias, step.word[3]);
          }
          if (at < y) continue;  // its own place, or one before
          end_without[y] = add_max(column[y][x], step.word[1], end_without[y]);
          column[y][x] = add(end_without[y], step.word[0]);
          end_with[y] = add_max(column[y][x], ahead[y][x], end_with[y]);
          longest_path[y] =
              add_max(add(end_with[y], sums[y][x]), step.word[2], longest_path[y]);
        }
      }
      if (l < CELL_LANES - 1) continue;
      const u32 p = r + 1 + (u32)at;
#pragma unroll
      for (int y = 0; y < LEAVING; ++y) {
        if (at < y) continue;
        const u32 from = r + (u32)y;
#if WIDE
        offer(longest_path[y] + (u32)total[mirrored], mirrored, from, p, tabu, least);
#else
        const u32 less = bias & 0xffff;
        const u32 value_a = (longest_path[y] & 0xffff) - less + (u32)total[0];
        const u32 value_b = (longest_path[y] >> 16) - less + (u32)total[1];
        offer(value_a, false, from, p, tabu, least);
        offer(value_b, true, from, p, tabu, least);
#endif
      }
    }
  }
};

// S and N of the jobs at positions lo to hi, and at these of the shop mirrored.
__device__ __forceinline__ void build_steps(
    const Tables *tables, const u32 *rows, const u32 *jobs, u32 n, u32 lo, u32 hi,
    u32 member, u32 members) {
  const u32 count = (hi - lo + 1) * CELLS;
  for (u32 x = member * BLOCK + threadIdx.x; x < 2 * count; x += members * BLOCK) {
    const u32 half = x / count, p = lo + x % count / CELLS, k = x % CELLS;
    const u32 *cell = rows + ((size_t)(half * (n + 1) + jobs[p]) * CELLS + k) * CELL_WORDS;
    const u32 sum = WIDE ? cell[0] : cell[0] & 0xffff;
    const u32 ahead = WIDE ? cell[WIDE] : cell[0] >> 16;
    Step *step = tables[WIDE ? half : 0].step((int)(half ? n - 1 - p : p), (int)k);
    *half_of(&step->sum, (int)half) = (Half)sum;
    *half_of(&step->ahead, (int)half) = (Half)ahead;
  }
}

__device__ __forceinline__ void search_all(const Arguments &arg) {
  extern __shared__ __align__(16) u32 shared[];
  const u32 n = arg.n, thread = threadIdx.x, lane = thread % LANES;
  const u32 member = blockIdx.x % arg.group, which = blockIdx.x / arg.group;
  const u32 n_groups = gridDim.x / arg.group;
  const u32 padded = (n + 3) / 4 * 4;
  u64 *const block_best = (u64 *)shared;
  u32 *const taken = shared + 2;
  u32 *jobs = shared + 4, *other_jobs = jobs + padded;
  const u32 warps = arg.group * (BLOCK / LANES);
  const u32 warp = member * (BLOCK / LANES) + thread / LANES;
  const u32 begin = min(arg.first, n - arg.last), end = max(arg.last, n - arg.first);
  const u32 leaving = end > begin ? end - 1 - begin : 0;
  const u32 n_units = (leaving + UNIT - 1) / UNIT * PASSES;
  u32 *const counters = arg.counters + (1 + SLOTS) * which;
  Group group = {counters, arg.group, 0};
  u64 *const minima = arg.minima + which * SLOTS;
  Tables tables[PASSES];
  for (u32 pass = 0; pass < PASSES; ++pass) {
    const size_t at = (size_t)which * PASSES + pass;
    tables[pass].steps = (Step *)arg.steps + at * (n + CELL_LANES) * STEP_ROW;
    tables[pass].heads = arg.heads + at * (n + 1) * STEP_ROW;
  }
  const int less = (int)(arg.bias & 0xffff);
  u32 turn = 0;  // generations of this group, over all of its searches
  for (u32 search = which; search < arg.n_searches; search += n_groups) {
    const u32 *const own = arg.parents + (size_t)search * n;
    u32 *const expiry = arg.expiry + (size_t)search * n * n;
    u32 value = __ldcg(arg.values + 2 * search), best = __ldcg(arg.values + 2 * search + 1);
    __syncthreads();
    for (u32 c = thread; c < n; c += BLOCK) jobs[c] = __ldcg(own + c);
    for (u32 pass = 0; pass < PASSES && member == 0; ++pass)
      for (u32 k = thread; k < STEP_ROW; k += BLOCK) tables[pass].heads[k] = arg.bias;
    __syncthreads();
    u32 lo = 0, hi = n - 1;  // what the last move has changed
    for (u32 g = arg.from; g < arg.to; ++g, ++turn) {
      if (thread == 0) {
        *block_best = NO_MOVE;
        *taken = 0;
      }
      __syncthreads();
      if (lo <= hi) {
        const View<false> shop = {(int)n, jobs, arg.times};
        const View<true> turned = {(int)n, jobs, arg.times};
        const Tables back = tables[PASSES - 1];
        const int high = HALVES - 1, behind = (int)(n - 1 - hi), ahead = (int)(n - 1 - lo);
        for (u32 task = thread / LANES * arg.group + member; task < 5;
             task += warps) {
          if (task == 0) build_table<false>(shop, Heads{tables[0], 0, (int)n, less}, (int)lo);
          if (task == 1) build_table<false>(turned, Heads{back, high, (int)n, less}, behind);
          if (task == 2)
            build_table<true>(
                shop, Tails{tables[0], 0, (int)n, (int)arg.total, less}, (int)hi);
          if (task == 3)
            build_table<true>(
                turned, Tails{back, high, (int)n, (int)arg.total_back, less}, ahead);
        }
        build_steps(tables, arg.rows, jobs, n, lo, hi, member, arg.group);
      }
      group.meet();
      const Tabu tabu = {expiry, jobs, n, g};
      u64 least = NO_MOVE;
      u32 *const next = arg.group > 1 ? counters + 1 + turn % SLOTS : taken;
      for (u32 unit = warp; unit < n_units;) {
        const u32 r0 = begin + unit / PASSES * UNIT, pass = unit % PASSES;
        const Insertions insertions = {
            tables[pass], n, arg.first, arg.last, begin, end, arg.bias, pass,
            {(int)arg.total, (int)arg.total_back}, best,
            search == 0 ? arg.neighbours : nullptr};
        insertions.evaluate(
            r0 + lane / SPAN * LEAVING, (int)(end - 1 - r0), tabu, least);
        if (n_units <= warps) break;
        if (lane == 0) unit = warps + atomicAdd(next, 1u);
        unit = __shfl_sync(ALL_LANES, unit, 0);
      }
      least = least_of_group(
          group, member, least, block_best, minima, counters, turn);
      int move = -1;
      if (least != NO_MOVE) {
        move = (int)(u32)least;
        value = (u32)(least >> 32);
        const u32 i = (u32)least / (n - 1), to = (u32)least % (n - 1);
        const u32 j = to + (to >= i);
        if (thread == 0) forbid(expiry, n, jobs[i], jobs[j], g + arg.tenure);
        for (u32 c = thread; c < n; c += BLOCK) {
          u32 from = c;
          if (c == j) from = i;
          else if (i < j && c >= i && c < j) from = c + 1;
          else if (j < i && c > j && c <= i) from = c - 1;
          other_jobs[c] = jobs[from];
        }
        lo = min(i, j);
        hi = max(i, j);
        u32 *const old = jobs;
        jobs = other_jobs;
        other_jobs = old;
        __syncthreads();
        if (value < best) {
          best = value;
          keep_best(arg, member, search, jobs);
        }
      } else {
        lo = n;
        hi = 0;
        __syncthreads();  // all have read the minimum
      }
      write_down(arg, member, search, g, value, move);
    }
    leave(arg, group, member, search, jobs, value, best);
  }
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1)
search_insertions(PARAMETERS) {
  search_all(ARGUMENTS);
}
