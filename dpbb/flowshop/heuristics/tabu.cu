// Tabu search over exchanges of two jobs, whole generations on the device.
//
// A warp takes tiles of 8 first positions i by 8 distances j - i; a lane has one i and
// two j that follow one another, so that the jobs between are the same for all and their
// steps are read by all lanes at once. SHARED 0: every column starts empty (Czapinski
// and Barnes); 1: at the parent's column before i, and ends at the parent's tail behind j.
// Both give the same values.
//
// A group of blocks has a search. All its blocks know the parent and the tabu list, and
// make every move themselves, writing the same values where they write to one place. The
// parent's tables are built by single warps; a barrier of the group is behind them, and
// another one behind the evaluation: who is behind it knows the best move of all.
#include "tabu_columns.cuh"

constexpr u64 NO_MOVE = ~0ull;
constexpr int SLOTS = 3;  // of minima: one is read, one is filled, one is cleared

struct Arguments {
  u32 n, first, last;         // jobs; positions that may move: first <= p < last
  u32 n_searches, group;      // group: blocks of a search
  u32 from, to;               // generations, from 1 on
  u32 tenure;
  u32 total;                  // sum of machine 0
  u32 bias;
  const int *times;           // [n][N_MACHINES]
  const u32 *rows;            // [n + 1][ROW], see Rows; the last one is zero
  u32 *parents, *bests;       // [n_searches][n]
  u32 *values;                // [n_searches][2]: of the parent, of the best
  u32 *expiry;                // [n_searches][n][n], by pair of jobs
  u32 *history;               // [n_searches][generations]: of the parent
  int *moves;                 // the same shape; -1: none
  u32 *steps, *heads, *tails; // [groups][.], see build_table
  u64 *minima;                // [groups][SLOTS]
  u32 *counters;              // [groups][1 + SLOTS]: arrivals, tiles taken
  u32 *neighbours;            // values of all neighbours of the first search, or null
};

__device__ __forceinline__ u64 minimum_of_warp(u64 value) {
  for (int step = LANES / 2; step; step >>= 1)
    value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
  return value;
}

// Row and place in it of the u-th entry of a triangle whose row r has r + 1 entries.
__device__ __forceinline__ void triangle(u32 u, u32 &row, u32 &place) {
  row = (u32)((sqrtf(8.0f * (float)u + 1.0f) - 1.0f) * 0.5f);
  while (row * (row + 1) / 2 > u) --row;
  while ((row + 1) * (row + 2) / 2 <= u) ++row;
  place = u - row * (row + 1) / 2;
}

struct Group {
  u32 *arrivals;
  u32 size, phase;

  __device__ __forceinline__ void meet() {
    __syncthreads();
    if (size > 1) {
      ++phase;
      if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrivals, 1u);
        while (load_acquire(arrivals) < phase * size) __nanosleep(20);
        __threadfence();
      }
      __syncthreads();
    }
  }
};

// The least key of all lanes of a group, where all threads of its blocks come together.
__device__ __forceinline__ u64 least_of_group(
    Group &group, u32 member, u64 least, u64 *block_best, u64 *minima, u32 *counters,
    u32 turn) {
  least = minimum_of_warp(least);
  if (threadIdx.x % LANES == 0 && least != NO_MOVE) atomicMin(block_best, least);
  __syncthreads();
  if (group.size == 1) return *block_best;
  u64 *const slot = minima + turn % SLOTS;
  if (threadIdx.x == 0) {
    if (*block_best != NO_MOVE) atomicMin(slot, *block_best);
    if (member == 0) {
      __stcg(minima + (turn + 1) % SLOTS, NO_MOVE);
      __stcg(counters + 1 + (turn + 1) % SLOTS, 0u);
    }
  }
  group.meet();
  return __ldcg(slot);
}

// Leaves a search to the next launch.
__device__ __forceinline__ void leave(
    const Arguments &arg, Group &group, u32 member, u32 search, const u32 *jobs,
    u32 value, u32 best) {
  group.meet();
  if (member) return;
  for (u32 c = threadIdx.x; c < arg.n; c += BLOCK)
    arg.parents[(size_t)search * arg.n + c] = jobs[c];
  if (threadIdx.x == 0) {
    arg.values[2 * search] = value;
    arg.values[2 * search + 1] = best;
  }
}

constexpr u32 TILE = 8;

struct Parent {
  u32 n;
  const u32 *jobs;  // by position
  u32 *steps;       // [n][ROW]
  u32 *heads;       // [CELLS][length], behind a position, plus bias, in both halves
  u32 *tails;       // [N_MACHINES][length], from a position on
  __device__ __forceinline__ u32 length() const { return (n + BATCH - 1) / BATCH * BATCH; }
};

__device__ __forceinline__ void store_batch(u32 *to, const u32 *values) {
  for (int half = 0; half < 2; ++half)
    *(uint4 *)(to + 4 * half) = make_uint4(
        values[4 * half], values[4 * half + 1], values[4 * half + 2], values[4 * half + 3]);
}

// S of the job before position c plus N of its own.
__device__ __forceinline__ void build_step(const Parent &parent, Rows rows, u32 c, u32 k) {
  const u32 *sums = rows.of(parent.jobs[c - 1]) + CELL_WORDS * k;
  const u32 *ahead = rows.of(parent.jobs[c]) + CELL_WORDS * k;
#if WIDE
  parent.steps[c * ROW + k] = sums[0] + ahead[1];
#else
  parent.steps[c * ROW + k] = twice((sums[0] & 0xffff) + (ahead[0] >> 16));
#endif
}

struct Heads {
  Parent parent;
  Rows rows;
  int bias;
  __device__ __forceinline__ int get(int c, int k) const {
    if (c == 0 || k == 0) return 0;
    const u32 head = parent.heads[(k - 1) * parent.length() + c - 1];
    return (int)(WIDE ? head : head & 0xffff) - bias;
  }
  __device__ __forceinline__ void put(int c, int k, const int *values) const {
    u32 heads[BATCH];
    for (int e = 0; e < BATCH; ++e) heads[e] = twice((u32)(values[e] + bias));
    if (k > 0) store_batch(parent.heads + (k - 1) * parent.length() + c, heads);
  }
};

struct Tails {
  Parent parent;
  int total;
  __device__ __forceinline__ int get(int c, int k) const {
    return c == (int)parent.n ? total : (int)parent.tails[k * parent.length() + c];
  }
  __device__ __forceinline__ void put(int c, int k, const int *values) const {
    store_batch(parent.tails + k * parent.length() + c, (const u32 *)values);
  }
};

struct Swaps {
  Parent parent;
  Rows rows;
  const u32 *steps;
  u32 n, bias, zero_row;

  __device__ __forceinline__ const u32 *step(u32 c) const { return steps + c * ROW; }

  // Values of the neighbours (i, a) and (i, a + 1); i0 and d0: of the tile. `b` is a + 1
  // where there is such a position, else a. All lanes of a warp come here together.
  __device__ __forceinline__ void evaluate(
      u32 i0, u32 d0, u32 i, u32 a, u32 b, u32 &value_a, u32 &value_b,
      u32 total) const {
    const u32 *jobs = parent.jobs;
    const u32 job_i = jobs[i], job_a = jobs[a], job_b = jobs[b];
    Column column;
#if !SHARED
    column.clear(bias);
    u32 before = i ? jobs[i - 1] : zero_row;
    u32 p = 1;
    for (; p < i0; ++p) column.follow(step(p), bias);
    for (; p < i0 + TILE - 1; ++p)
      if (p < i) column.follow(step(p), bias);
    column.follow(rows, before, before, job_a, job_b, bias);
#else
    column.begin(parent.heads + i - 1, parent.length(), i > 0, rows, job_a, job_b, bias);
#endif
    const bool apart = a > i + 1;
    if (apart) {
      const u32 next = jobs[i + 1];
      column.follow(rows, job_a, job_b, next, next, bias);
    }
    u32 c = i0 + 2;
    const u32 c_end = min(i0 + d0 + 2 * TILE - 1, n);
    for (; c < min(i0 + TILE + 1, c_end); ++c)
      if (c >= i + 2 && c < a) column.follow(step(c), bias);
    for (; c < i0 + d0 + 1; ++c) column.follow(step(c), bias);
    for (; c < c_end; ++c)
      if (c >= i + 2 && c < a) column.follow(step(c), bias);
    const u32 last = jobs[a - 1];
    column.follow(
        rows, apart ? last : job_a, apart ? last : job_b, job_i, job_a, bias);
#if SHARED
    const u32 length = parent.length();
    const u32 *tails = parent.tails + a + 1;
    value_a = (u32)column.close(tails, length, a + 1 < n, total, rows, job_i, 0, bias);
    if (WIDE) return;
    column.follow(rows, job_i, job_a, job_b, job_i, bias);
    tails = parent.tails + b + 1;
    value_b = (u32)column.close(tails, length, b + 1 < n, total, rows, job_i, 1, bias);
#else
#if WIDE
    const u32 end = a;  // of what is placed
#else
    const u32 end = b;
    if (b > a) column.follow(rows, job_i, job_a, job_b, job_i, bias);
#endif
    if (end + 1 < n) {
      const u32 next = jobs[end + 1];
      column.follow(rows, WIDE ? job_i : job_b, job_i, next, next, bias);
    }
    c = i0 + d0 + 4 - WIDE;
    for (; c < min(i0 + d0 + 2 * TILE + 2, n); ++c)
      if (c >= end + 2) column.follow(step(c), bias);
    for (; c < n; ++c) column.follow(step(c), bias);
    const u32 end_a = a + 1 == n ? job_i : jobs[n - 1];
    const u32 end_b = b + 1 == n ? job_i : jobs[n - 1];
    value_a = column.cell(CELLS - 1, 0) + sum_of(end_a) + total - (bias & 0xffff);
    value_b = column.cell(CELLS - 1, 1) + sum_of(end_b) + total - (bias & 0xffff);
#endif
  }

  __device__ __forceinline__ u32 sum_of(u32 job) const {
    const u32 cell = rows.of(job)[(CELLS - 1) * CELL_WORDS];
    return WIDE ? cell : cell & 0xffff;
  }
};

__device__ __forceinline__ u32 index_of(u32 i, u32 j, u32 n) {
  return i * (2 * n - i - 1) / 2 + j - i - 1;
}

__device__ __forceinline__ void pair_of(u32 t, u32 n, u32 &i, u32 &j) {
  const double b = 2.0 * n - 1.0;
  i = (u32)((b - sqrt(b * b - 8.0 * t)) * 0.5);
  while (i * (2 * n - i - 1) / 2 > t) --i;
  while ((i + 1) * (2 * n - i - 2) / 2 <= t) ++i;
  j = t - i * (2 * n - i - 1) / 2 + i + 1;
}

__device__ __forceinline__ void search_all(const Arguments &arg) {
  extern __shared__ __align__(16) u32 shared[];
  const u32 n = arg.n, thread = threadIdx.x, lane = thread % LANES;
  const u32 member = blockIdx.x % arg.group, which = blockIdx.x / arg.group;
  const u32 n_groups = gridDim.x / arg.group;
  u64 *const block_best = (u64 *)shared;
  u32 *const taken = shared + 2;
  u32 *const jobs = shared + 4;
  u32 *const own_steps = jobs + (n + 3) / 4 * 4;
  const u32 width = arg.last - arg.first;
  const u32 side = (width - 1 + TILE - 1) / TILE, n_tiles = side * (side + 1) / 2;
  const u32 warps = arg.group * (BLOCK / LANES);
  const u32 warp = member * (BLOCK / LANES) + thread / LANES;
  u32 *const counts = arg.counters + (1 + SLOTS) * which;
  Group group = {counts, arg.group, 0};
  u64 *const slots = arg.minima + which * SLOTS;
  const Rows rows = {arg.rows};
  Parent parent = {n, jobs, nullptr, nullptr, nullptr};
  parent.steps = STEPS_SHARED ? own_steps : arg.steps + (size_t)which * n * ROW;
  parent.heads = arg.heads + (size_t)which * CELLS * parent.length();
  parent.tails = arg.tails + (size_t)which * N_MACHINES * parent.length();
  u32 turn = 0;  // generations of this group, over all of its searches
  for (u32 search = which; search < arg.n_searches; search += n_groups) {
    const u32 *const own = arg.parents + (size_t)search * n;
    u32 *const expiry = arg.expiry + (size_t)search * n * n;
    u32 value = __ldcg(arg.values + 2 * search), best = __ldcg(arg.values + 2 * search + 1);
    __syncthreads();
    for (u32 c = thread; c < n; c += BLOCK) jobs[c] = __ldcg(own + c);
    __syncthreads();
    for (u32 x = thread; x < (n - 1) * CELLS; x += BLOCK)
      build_step(parent, rows, 1 + x / CELLS, x % CELLS);
    u32 i = 0, j = n - 1;  // what the last move has changed
    for (u32 g = arg.from; g < arg.to; ++g, ++turn) {
      if (thread == 0) {
        *block_best = NO_MOVE;
        *taken = 0;
      }
      __syncthreads();
#if SHARED
      const Shop shop = {(int)n, jobs, arg.times};
      if (thread < LANES && member == 0) {
        const Heads heads = {parent, rows, (int)(arg.bias & 0xffff)};
        build_table<false>(shop, heads, (int)i);
      }
      if (thread / LANES == 1 && member == arg.group - 1) {
        const Tails tails = {parent, (int)arg.total};
        build_table<true>(shop, tails, (int)j);
      }
      group.meet();
#endif
      const auto forbidden = [&](u32 i, u32 j) {  // moved against each other lately
        return g <= expiry[(size_t)jobs[i] * n + jobs[j]];
      };
      const Swaps swaps = {parent, rows, parent.steps, n, arg.bias, n};
      u64 least = NO_MOVE;
      u32 *const next = arg.group > 1 ? counts + 1 + turn % SLOTS : taken;
      for (u32 tile = warp; tile < n_tiles;) {
        u32 row, place;
        triangle(SHARED ? tile : n_tiles - 1 - tile, row, place);
        const u32 i0 = arg.first + TILE * (SHARED ? place : side - 1 - row);
        const u32 d0 = TILE * (SHARED ? side - 1 - row : place);
        u32 first_i = i0 + lane / 4, first_a = first_i + 1 + d0 + 2 * (lane % 4);
        const bool has_a = first_a < arg.last, has_b = first_a + 1 < arg.last;
        if (first_a >= n) {  // nothing to do, but not alone
          first_i = i0;
          first_a = min(i0 + 1 + d0, n - 1);
        }
        const u32 a = first_a, b = min(first_a + 1, n - 1);
        u32 values[2];
        swaps.evaluate(i0, d0, first_i, a, b, values[0], values[1], arg.total);
        if (WIDE) {
          u32 other;
          swaps.evaluate(i0, d0, first_i, b, b, values[1], other, arg.total);
        }
        for (int half = 0; half < 2; ++half) {
          if (!(half ? has_b : has_a)) continue;
          const u32 at = a + (u32)half, t = index_of(first_i, at, n);
          const u64 key = (u64)values[half] << 32 | t;
          if (arg.neighbours && search == 0) arg.neighbours[t] = values[half];
          if (key < least && (values[half] < best || !forbidden(first_i, at)))
            least = key;
        }
        if (n_tiles <= warps) break;
        if (lane == 0) tile = warps + atomicAdd(next, 1u);
        tile = __shfl_sync(ALL_LANES, tile, 0);
      }
      least = least_of_group(
          group, member, least, block_best, slots, counts, turn);
      int move = -1;
      if (least != NO_MOVE) {
        move = (int)(u32)least;
        value = (u32)(least >> 32);
        pair_of((u32)least, n, i, j);
        const u32 job_i = jobs[i], job_j = jobs[j];
        __syncthreads();  // all have read the jobs
        if (thread == 0) {
          jobs[i] = job_j;
          jobs[j] = job_i;
          expiry[(size_t)job_i * n + job_j] = g + arg.tenure;
          expiry[(size_t)job_j * n + job_i] = g + arg.tenure;
        }
        __syncthreads();
        for (u32 x = thread; x < 4 * CELLS; x += BLOCK) {
          const u32 part = x / CELLS, c = (part < 2 ? i : j) + part % 2;
          if (c > 0 && c < n) build_step(parent, rows, c, x % CELLS);
        }
        if (value < best) {
          best = value;
          if (member == 0)
            for (u32 c = thread; c < n; c += BLOCK)
              arg.bests[(size_t)search * n + c] = jobs[c];
        }
      } else {
        i = n - 1;
        j = 0;
        __syncthreads();  // all have read the minimum
      }
      if (thread == 0 && member == 0) {
        const u32 record = search * (arg.to - arg.from) + g - arg.from;
        arg.history[record] = value;
        arg.moves[record] = move;
      }
    }
    leave(arg, group, member, search, jobs, value, best);
  }
}

// One by one, and made a struct here: taken as one parameter, nvcc 13.0 mixes it up with
// a local struct that holds pointers to shared memory.
extern "C" __global__ void __launch_bounds__(BLOCK, 1) search_swaps(
    u32 n, u32 first, u32 last, u32 n_searches, u32 group, u32 from, u32 to, u32 tenure,
    u32 total, u32 bias, const int *times, const u32 *rows, u32 *parents, u32 *bests,
    u32 *values, u32 *expiry, u32 *history, int *moves, u32 *steps, u32 *heads,
    u32 *tails, u64 *minima, u32 *counters, u32 *neighbours) {
  search_all(
      {n, first, last, n_searches, group, from, to, tenure, total, bias, times, rows,
       parents, bests, values, expiry, history, moves, steps, heads, tails, minima,
       counters, neighbours});
}
