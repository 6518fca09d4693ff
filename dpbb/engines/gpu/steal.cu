// Exploration by intervals: one warp, one explorer, one half-open interval of leaves.
//
// The arm that the pages of explore.cu are compared with: the device-side form of J.
// Gmys, "Exactly solving hard permutation flowshop scheduling problems on peta-scale
// GPU-accelerated supercomputers" (INFORMS J. Comput. 34(5), 2022). An explorer searches
// depth first through its interval [position, end), both given by factoradic digits. The
// rows of its matrix are sets of open siblings, by rank; its lanes bound the children of
// one node. When fewer than 80 % of the explorers are active, `explore_intervals` ends and
// those without work steal: the victim is a neighbor on a hypercube of four explorers
// an edge, with an interval above the average and above 8!; the thief takes the right
// half, rounded to whole subtrees so that no node belongs to two explorers.
//
// Phase: explore_intervals, weigh, add_up, steal. Block: WARPS * 32; a warp an explorer.
// Twin: dpbb.engines.reference.

#include "pages.cuh"

constexpr int DIGIT_WORDS = (N + 1) / 2;
// Head of an explorer: levels with open siblings, directions, position, end.
constexpr int OPEN_LEVELS_AT = 0;
constexpr int HEAD_DIRECTIONS_AT = N_MASK;
constexpr int POSITION_AT = 2 * N_MASK;
constexpr int END_AT = POSITION_AT + DIGIT_WORDS;
constexpr int HEAD_WORDS = (END_AT + DIGIT_WORDS + 3) / 4 * 4;
// Level of an explorer: a decomposed node and its open children, by rank.
constexpr int OPEN_AT = MASK_AT + N_MASK;
constexpr int LEVEL_WORDS = (OPEN_AT + N_MASK + 3) / 4 * 4;
constexpr u32 LEAST_STEPS = 64;  // of a phase, however few explorers are active
constexpr float LOG_LEAST_STOLEN = 15.299f;  // log2(8!)
static_assert(N_MASK <= LANES, "a lane holds a word of a set of jobs");

struct Intervals {
  u32 *heads;     // n * HEAD_WORDS
  u32 *levels;    // n * N * LEVEL_WORDS
  float *length;  // n: log2 of the intervals' lengths; below 0 without work
  u32 *taken;     // n: there is a thief
  u32 *counts;    // n: open siblings
  u32 n, quantum, idle_limit, phase;
  // of the last phase:
  u32 n_active;  // explorers with work before the stealing
  u32 n_stolen;
  int longest;   // the largest of `length`, as bits: ordered as the floats >= 0 are
  u32 n_thefts;  // of all phases
  double total;  // sum of the lengths, in units of the longest
};

struct Diver {
#if TIGHTENS
  u32 mask[N_MASK];  // unscheduled jobs of the node in hand
#endif
  u32 closed[N + 1];
  u16 position[N];
  u16 job_of_rank[N];
};

static_assert(
    SHARED_ROWS * 4 * (N * ROW + COMMON) + WARPS * sizeof(Diver) <= SHARED_BYTES,
    "shared memory is not what dpbb.engines.gpu.steal and the model say");

// A set over jobs, ranks or levels is spread over the warp: lane w holds word w.
__device__ __forceinline__ int lowest_in(u32 word) {
  const u32 found = __ballot_sync(ALL_LANES, word != 0);
  if (!found) return -1;
  const int lane = __ffs(found) - 1;
  return lane * 32 + __ffs(__shfl_sync(ALL_LANES, word, lane)) - 1;
}
__device__ __forceinline__ int highest_in(u32 word) {
  const u32 found = __ballot_sync(ALL_LANES, word != 0);
  if (!found) return -1;
  const int lane = 31 - __clz(found);
  return lane * 32 + 31 - __clz(__shfl_sync(ALL_LANES, word, lane));
}
__device__ __forceinline__ u32 own_bit(int index, int lane) {
  return lane == index >> 5 ? 1u << (index & 31) : 0u;
}
// The part of this lane's word that lies at `index` or above.
__device__ __forceinline__ u32 from_bit(int index, int lane) {
  const int bit = index - lane * 32;
  return bit <= 0 ? ~0u : bit < 32 ? ~0u << bit : 0u;
}

__device__ __forceinline__ u32 *level_at(const Intervals &all, u32 explorer, int level) {
  return all.levels + ((size_t)explorer * N + level) * LEVEL_WORDS;
}
__device__ __forceinline__ u32 word_or_0(const u32 *words, int lane) {
  return lane < N_MASK ? words[lane] : 0u;
}

__device__ __forceinline__ State state_of_level(const u32 *level) {
  return load_state([=](int quad) { return load_quad(level + 4 * quad); });
}

// Every lane holds the same state: one of them stores it.
__device__ __forceinline__ void store_level(u32 *level, const State &state, int lane) {
  if (lane) return;
#pragma unroll
  for (int word = 0; word < STATE_WORDS; ++word) level[word] = state_word(state, word);
}

// Jobs of a set in root order.
__device__ __forceinline__ void list_jobs(u16 *job_of_rank, u32 mask, int lane) {
  int before = 0;
  __syncwarp();
#pragma unroll(N_MASK <= 8 ? N_MASK : 1)
  for (int w = 0; w < N_MASK; ++w) {
    const u32 word = __shfl_sync(ALL_LANES, mask, w);
    if (word >> lane & 1)
      job_of_rank[before + __popc(word & ((1u << lane) - 1))] = (u16)(w * 32 + lane);
    before += __popc(word);
  }
  __syncwarp();
}

// A root of the pool for this warp: its page and record, or NONE.
__device__ __forceinline__ u32 claim_root(const Arena &arena, u32 &slot) {
  Control *const control = arena.control;
  while (true) {
    const u32 at = *(volatile u32 *)&control->pool_next;
    if (at >= control->pool_size) return NONE;
    const u32 page = arena.pool[at];
    const u32 meta = *(volatile u32 *)(arena.meta + page);
    if (!(meta & 255)) {
      atomicCAS(&control->pool_next, at, at + 1);
    } else if (atomicCAS(arena.meta + page, meta, meta - 1) == meta) {
      slot = (meta & 255) - 1;
      return page;
    }
  }
}

__device__ __forceinline__ void put_leaf(
    u32 *to, int value, u32 mask, u32 directions, const u16 *position, int lane) {
  if (lane == 0) __stcg(to, (u32)value);
  if (lane < N_MASK) {
    __stcg(to + 1 + lane, mask);
    __stcg(to + 1 + DIRECTIONS_AT - MASK_AT + lane, directions);
  }
  u32 *const path = to + 1 + PATH_AT - MASK_AT;
  for (int word = lane; word < 4 * PATH_QUADS; word += LANES) {
    u32 digits = 0;
    for (int i = 0; i < DIGITS_PER_WORD; ++i) {
      const int depth = word * DIGITS_PER_WORD + i;
      if (depth < N - 1) digits |= (u32)position[depth] << i * DIGIT_BITS;
    }
    __stcg(path + word, digits);
  }
}

// A leaf below ub: the best one, or with all optima every one (the host drops some).
__device__ __noinline__ void report_leaf(
    const Arena &arena, int value, u32 mask, u32 directions, const u16 *position,
    int lane) {
  Control *const control = arena.control;
  if (arena.all_optima) {
    u32 place = 0;
    if (lane == 0) {
      atomicMin(&control->ub, value + 1);
      place = atomicAdd(&control->n_optima, 1u);
    }
    place = __shfl_sync(ALL_LANES, place, 0);
    put_leaf(arena.leaves + (size_t)place * LEAF_WORDS, value, mask, directions,
             position, lane);
    return;
  }
  if (lane == 0)
    while (atomicCAS(&control->lock, 0u, 1u)) __nanosleep(100);
  __syncwarp();
  __threadfence();
  if (value < *(volatile int *)&control->best) {
    put_leaf(arena.leaves, value, mask, directions, position, lane);
    __syncwarp();
    if (lane == 0) {
      *(volatile int *)&control->best = value;
      atomicMin(&control->ub, value);
    }
  }
  __threadfence();
  __syncwarp();
  if (lane == 0) atomicExch(&control->lock, 0u);
}

#if TIGHTENS
// Whether the model can tighten the bound of a child of the node in hand to ub.
__device__ __forceinline__ bool child_is_cut(
    const Arena &arena, const Diver &own, State state, const u32 *rows, int job,
    bool back, int ub) {
  extend(state, rows + job * ROW, back, rows + N * ROW);
  return tight_bound(arena.rows + N * ROW + COMMON, state, ub, [&](int w) {
    return own.mask[w] & ~(w == job >> 5 ? 1u << (job & 31) : 0u);
  }) >= ub;
}
#endif

extern "C" __global__ void __launch_bounds__(WARPS *LANES, MIN_BLOCKS)
    explore_intervals(const Arena *arena_at, Intervals *intervals_at) {
  extern __shared__ __align__(16) u32 shared[];
  const Arena arena = *arena_at;
  const Intervals all = *intervals_at;
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
  const u32 me = blockIdx.x * WARPS + threadIdx.x / LANES;
#if SHARED_ROWS
  for (int i = threadIdx.x; i < N * ROW + COMMON; i += blockDim.x)
    shared[i] = arena.rows[i];
  const u32 *const rows = shared;
  Diver &own = reinterpret_cast<Diver *>(shared + N * ROW + COMMON)[threadIdx.x / LANES];
#else
  const u32 *const rows = arena.rows;
  Diver &own = reinterpret_cast<Diver *>(shared)[threadIdx.x / LANES];
#endif
  __syncthreads();
  if (me >= all.n) return;
  if (me == 0 && lane == 0) {  // for the stealing that follows
    intervals_at->n_active = intervals_at->n_stolen = 0;
    intervals_at->longest = 0;
    intervals_at->total = 0;
    ++intervals_at->phase;
  }

  u32 *const head = all.heads + (size_t)me * HEAD_WORDS;
  const u16 *const stored = reinterpret_cast<const u16 *>(head + POSITION_AT);
  u32 levels = word_or_0(head + OPEN_LEVELS_AT, lane);
  u32 directions = word_or_0(head + HEAD_DIRECTIONS_AT, lane);
  for (int i = lane; i <= N; i += LANES) own.closed[i] = 0;
  for (int i = lane; i < N; i += LANES) own.position[i] = stored[i];
  __syncwarp();
  bool idle = !__any_sync(ALL_LANES, levels != 0);  // counted among the tickets

  State state;
  u32 mask = 0, open = 0;
  int in_hand = -1;  // level whose state, mask, open children and jobs are in registers
  const int branching_ub = (int)control->branching_ub;
  u32 decomposed = 0, leaves = 0, rounds = 0;

  for (u32 step = 0; step < all.quantum; ++step) {
    // ---- news: upper bound, stop, idle explorers -------------------------------------
    uint4 news = make_uint4(0, 0, 0, 0);
    bool full = false;
    if (lane == 0) {
      news = load_news(&control->tickets);
      full = arena.all_optima && *(volatile u32 *)&control->n_optima + all.n > arena.n_leaves;
    }
    if (__shfl_sync(ALL_LANES, full, 0)) {
      if (lane == 0) atomicCAS(&control->stop, RUNNING, OPTIMA_FULL);
      break;
    }
    const u32 n_idle = __shfl_sync(ALL_LANES, news.x, 0);
    const int ub = __shfl_sync(ALL_LANES, (int)news.w, 0);
    if (__shfl_sync(ALL_LANES, news.z, 0)) break;
    if (n_idle >= all.idle_limit && step >= LEAST_STEPS) break;

    // ---- the next node: deepest open sibling, or a root of the pool -------------------
    int depth;
    const int level = highest_in(levels);
    if (level >= 0) {
      u32 *const from = level_at(all, me, level);
      if (in_hand != level) {
        state = state_of_level(from);
        mask = word_or_0(from + MASK_AT, lane);
        open = word_or_0(from + OPEN_AT, lane);
        list_jobs(own.job_of_rank, mask, lane);
      }
      const int rank = lowest_in(open);
      open &= ~own_bit(rank, lane);
      if (lane < N_MASK) from[OPEN_AT + lane] = open;
      if (!__any_sync(ALL_LANES, open != 0)) levels &= ~own_bit(level, lane);
      const int job = own.job_of_rank[rank];
      if (lane == 0) own.position[level] = (u16)rank;
      mask &= ~own_bit(job, lane);
      const bool back =
          __shfl_sync(ALL_LANES, directions, level >> 5) >> (level & 31) & 1;
      extend(state, rows + job * ROW, back, rows + N * ROW);
      depth = level + 1;
    } else {
      u32 slot = 0, page_id = NONE;
      if (lane == 0) page_id = claim_root(arena, slot);
      page_id = __shfl_sync(ALL_LANES, page_id, 0);
      if (page_id == NONE) {
        if (!idle && lane == 0) atomicAdd(&control->tickets, 1u);
        idle = true;
        break;
      }
      if (idle && lane == 0) atomicSub(&control->tickets, 1u);
      idle = false;
      slot = __shfl_sync(ALL_LANES, slot, 0);
      u32 *const page = page_at(arena, page_id);
      depth = (int)(__ldcg(arena.meta + page_id) >> 8);
      state = state_of_record(page, (int)slot);
      mask = lane < N_MASK ? *word_at(page, (int)slot, MASK_AT + lane) : 0u;
      directions = lane < N_MASK ? *word_at(page, (int)slot, DIRECTIONS_AT + lane) : 0u;
      u16 *const end = reinterpret_cast<u16 *>(head + END_AT);
      for (int d = lane; d < N; d += LANES) {
        u32 digit = 0;
        if (d < depth)
          digit = *word_at(page, (int)slot, PATH_AT + d / DIGITS_PER_WORD)
                      >> d % DIGITS_PER_WORD * DIGIT_BITS &
                  ((1u << DIGIT_BITS) - 1);
        own.position[d] = (u16)digit;
        end[d] = (u16)(digit + (d == depth - 1) + (depth == 0 && d == 0 ? N : 0));
      }
    }
    __syncwarp();
    in_hand = -1;

    // ---- decompose it -----------------------------------------------------------------
    const Node node = node_of(state, rows + N * ROW);
    // the tree's root is decomposed whatever its bound (law 4)
    if (depth && node_bound(node) >= ub) {
      if (lane == 0) ++own.closed[depth];
      continue;
    }
    if (depth == N - 1) {
      const int value = leaf_value(
          node, rows + lowest_in(mask) * ROW, rows + N * ROW);
      ++leaves;
      if (lane == 0) ++own.closed[depth];
      if (value < ub)
        report_leaf(arena, value, mask, directions, own.position, lane);
      continue;
    }
    list_jobs(own.job_of_rank, mask, lane);
#if TIGHTENS
    if (lane < N_MASK) own.mask[lane] = mask;
    __syncwarp();
#endif
    const int children = N - depth;
    Pair bounds[N_MASK];
    Selector selector(node_bound(node));
#pragma unroll(N_MASK <= 8 ? N_MASK : 1)
    for (int round = 0; round < N_MASK; ++round) {
      if (round * LANES >= children) break;
      const int rank = round * LANES + lane;
      const bool real = rank < children;
      const int job = own.job_of_rank[real ? rank : 0];
      const Pair bound = child_bounds(node, rows + job * ROW, rows + N * ROW);
      bounds[round] = real ? bound : PAIR_TOP;
      selector.add(bounds[round], branching_ub);
      ++rounds;
    }
    if (RULE == MINMIN) {
      const auto least = warp_min((int)selector.least);
      if ((int)selector.least != least) selector.preference = 0;
    }
    selector.preference = warp_sum(selector.preference);
    selector.sum = warp_sum(selector.sum);
    const bool back = selector.back(depth);
    open = 0;
    int survivors = 0;
#pragma unroll(N_MASK <= 8 ? N_MASK : 1)
    for (int round = 0; round < N_MASK; ++round) {
      if (round * LANES >= children) break;
      const int bound = back ? back_of(bounds[round]) : front_of(bounds[round]);
      const int rank = round * LANES + lane;
      const bool copy = EQUAL_JOBS && rank && rank < children &&
                        is_copy(arena, own.job_of_rank[rank - 1], own.job_of_rank[rank]);
#if TIGHTENS
      const u32 below = __ballot_sync(
          ALL_LANES, bound < ub && !copy &&
                         !(tightens_at(arena.rows + N * ROW + COMMON, depth + 1) &&
                           child_is_cut(arena, own, state, rows, own.job_of_rank[rank],
                                        back, ub)));
#else
      const u32 below = __ballot_sync(ALL_LANES, bound < ub && !copy);
#endif
      survivors += __popc(below);
      if (lane == round) open = below;
    }
    ++decomposed;
    if (lane == 0) own.closed[depth + 1] += children - survivors;
    if (!survivors) continue;
    if (back)
      directions |= own_bit(depth, lane);
    else
      directions &= ~own_bit(depth, lane);
    u32 *const to = level_at(all, me, depth);
    store_level(to, state, lane);
    if (lane < N_MASK) {
      to[MASK_AT + lane] = mask;
      to[OPEN_AT + lane] = open;
    }
    __syncwarp();
    levels |= own_bit(depth, lane);
    in_hand = depth;
  }

  if (!idle && !__any_sync(ALL_LANES, levels != 0) && lane == 0)
    atomicAdd(&control->tickets, 1u);  // the last step closed its last node
  if (lane < N_MASK) {
    head[OPEN_LEVELS_AT + lane] = levels;
    head[HEAD_DIRECTIONS_AT + lane] = directions;
  }
  u16 *const position = reinterpret_cast<u16 *>(head + POSITION_AT);
  __syncwarp();
  for (int i = lane; i < N; i += LANES) position[i] = own.position[i];
  for (int i = lane; i <= N; i += LANES)
    if (own.closed[i]) atomicAdd(arena.closed + i, (u64)own.closed[i]);
  if (lane == 0) {
    if (decomposed) atomicAdd(&control->decomposed, (u64)decomposed);
    if (leaves) atomicAdd(&control->leaves, (u64)leaves);
    if (rounds) atomicAdd(&control->batches, (u64)rounds);
  }
}

// The digits of larger - smaller; one lane.
__device__ __forceinline__ void subtract_digits(
    const u16 *larger, const u16 *smaller, u16 *difference) {
  int borrow = 0;
  for (int d = N - 1; d >= 0; --d) {
    int value = (int)larger[d] - (int)smaller[d] - borrow;
    borrow = value < 0;
    if (borrow) value += N - d;
    difference[d] = (u16)value;
  }
}

// Position of every explorer: the first leaf of its next node. Length of its interval.
extern "C" __global__ void weigh(const Arena *arena_at, Intervals *intervals_at) {
  extern __shared__ __align__(16) u32 shared[];
  const Intervals all = *intervals_at;
  const int lane = threadIdx.x % LANES;
  const u32 me = blockIdx.x * WARPS + threadIdx.x / LANES;
  if (me >= all.n) return;
  u16 *const difference = reinterpret_cast<u16 *>(shared) + threadIdx.x / LANES * N;
  u32 *const head = all.heads + (size_t)me * HEAD_WORDS;
  u16 *const position = reinterpret_cast<u16 *>(head + POSITION_AT);
  const u16 *const end = reinterpret_cast<const u16 *>(head + END_AT);
  const int level = highest_in(word_or_0(head + OPEN_LEVELS_AT, lane));
  if (level < 0) {
    if (lane == 0) all.length[me] = -1.0f;
    return;
  }
  const int rank = lowest_in(word_or_0(level_at(all, me, level) + OPEN_AT, lane));
  for (int d = level + lane; d < N; d += LANES)
    position[d] = (u16)(d == level ? rank : 0);
  __syncwarp();
  if (lane == 0) {
    subtract_digits(end, position, difference);
    int first = 0;
    while (first < N - 1 && !difference[first]) ++first;
    float digits = difference[first];
    if (first + 2 < N)
      digits += (difference[first + 1] + difference[first + 2] / (float)(N - first - 2)) /
                (float)(N - first - 1);
    const float length =
        max(0.0f, log2f(digits) + lgammaf((float)(N - first)) * 1.442695041f);
    all.length[me] = length;
    all.taken[me] = 0;
    atomicAdd(&intervals_at->n_active, 1u);
    atomicMax(&intervals_at->longest, __float_as_int(length));
  }
}

// Sum of the lengths. Grid: any; block: any.
extern "C" __global__ void add_up(const Arena *arena_at, Intervals *intervals_at) {
  const float longest = __int_as_float(intervals_at->longest);
  const float *const lengths = intervals_at->length;
  double sum = 0;
  for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < intervals_at->n;
       i += gridDim.x * blockDim.x)
    if (lengths[i] >= 0) sum += (double)exp2f(lengths[i] - longest);
  for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(ALL_LANES, sum, step);
  if (threadIdx.x % LANES == 0 && sum > 0) atomicAdd(&intervals_at->total, sum);
}

// Every explorer without work looks for a victim and takes the right half of it.
extern "C" __global__ void steal(const Arena *arena_at, Intervals *intervals_at) {
  extern __shared__ __align__(16) u32 shared[];
  const Intervals all = *intervals_at;
  const int lane = threadIdx.x % LANES;
  const u32 me = blockIdx.x * WARPS + threadIdx.x / LANES;
  if (me >= all.n || all.length[me] >= 0 || !all.n_active) return;
  const float average =
      __int_as_float(all.longest) + (float)log2(all.total / (double)all.n);
  const float least = max(LOG_LEAST_STOLEN, average - 1e-3f);  // equals are victims

  // ---- a neighbor on the hypercube, edges of four explorers -----------------------------
  int edges = 0;
  while (1ull << 2 * edges < all.n) ++edges;
  u32 victim = NONE;
  {
    const u32 edge = lane < 3 * edges ? (lane / 3 + all.phase) % edges : 0;
    const u32 digit = me >> 2 * edge & 3;
    const u32 other = (digit + lane % 3 + 1) & 3;
    const u32 neighbor = (me & ~(3u << 2 * edge)) | other << 2 * edge;
    const bool rich =
        lane < 3 * edges && neighbor < all.n && all.length[neighbor] > least;
    for (u32 found = __ballot_sync(ALL_LANES, rich); found; found &= found - 1) {
      const int turn = __ffs(found) - 1;
      u32 mine = 0;
      if (lane == turn) mine = atomicExch(all.taken + neighbor, 1u) == 0;
      if (__shfl_sync(ALL_LANES, mine, turn)) {
        victim = __shfl_sync(ALL_LANES, neighbor, turn);
        break;
      }
    }
  }
  if (victim == NONE) return;

  // ---- the middle of its interval, rounded to a child at the level where it branches off --
  u32 *const from = all.heads + (size_t)victim * HEAD_WORDS;
  u32 *const head = all.heads + (size_t)me * HEAD_WORDS;
  const u16 *const begin = reinterpret_cast<const u16 *>(from + POSITION_AT);
  u16 *const end = reinterpret_cast<u16 *>(from + END_AT);
  u16 *const middle = reinterpret_cast<u16 *>(shared) + threadIdx.x / LANES * N;
  int level = 0, cut = 0;
  if (lane == 0) {
    subtract_digits(end, begin, middle);
    int carry = 0;
    for (int d = 0; d < N; ++d) {  // half: what is left of a digit goes one place down
      const int value = middle[d] + carry * (N - d);
      middle[d] = (u16)(value >> 1);
      carry = value & 1;
    }
    carry = 0;
    for (int d = N - 1; d >= 0; --d) {
      int value = (int)middle[d] + (int)begin[d] + carry;
      carry = d > 0 && value >= N - d;  // place 0 may hold N: the end of the tree
      if (carry) value -= N - d;
      middle[d] = (u16)value;
    }
    while (level < N - 1 && middle[level] == begin[level]) ++level;
    cut = middle[level];
    if (level + 1 < N && 2 * middle[level + 1] >= N - level - 1) {
      // the child is the victim's, if something is left for the thief then
      bool left = false;
      for (int d = 0; d <= level; ++d) {
        const int digit = d < level ? (int)begin[d] : cut + 1;
        if (digit != (int)end[d]) {
          left = digit < (int)end[d];
          break;
        }
      }
      cut += left;
    }
  }
  level = __shfl_sync(ALL_LANES, level, 0);
  cut = __shfl_sync(ALL_LANES, cut, 0);
  const u32 opened = word_or_0(from + OPEN_LEVELS_AT, lane);
  const int deepest = highest_in(opened);
  if (level > deepest) {  // the middle lies in the victim's next node: that stays whole
    level = deepest;
    cut = begin[deepest] + 1;
  }

  // ---- all siblings that lie right of the cut change hands ----------------------------------
  u32 victims = opened;
  u32 mine = victims & ~from_bit(level, lane);  // levels above: all that is open
  const bool splits = __any_sync(ALL_LANES, (victims & own_bit(level, lane)) != 0);
  victims &= from_bit(level, lane);
  if (splits) {
    u32 *const kept = level_at(all, victim, level);
    u32 *const taken = level_at(all, me, level);
    const u32 open = word_or_0(kept + OPEN_AT, lane);
    const u32 right = open & from_bit(cut, lane);
    const u32 left = open & ~from_bit(cut, lane);
    for (int word = lane; word < OPEN_AT; word += LANES) taken[word] = kept[word];
    __syncwarp();
    if (lane < N_MASK) {
      taken[OPEN_AT + lane] = right;
      kept[OPEN_AT + lane] = left;
    }
    if (__any_sync(ALL_LANES, right != 0)) mine |= own_bit(level, lane);
    if (!__any_sync(ALL_LANES, left != 0)) victims &= ~own_bit(level, lane);
  }
  for (int other = 0; other < level; ++other) {
    if (!__any_sync(ALL_LANES, (mine & own_bit(other, lane)) != 0)) continue;
    const u32 *const source = level_at(all, victim, other);
    u32 *const target = level_at(all, me, other);
    for (int word = lane; word < LEVEL_WORDS; word += LANES) target[word] = source[word];
  }
  if (lane < N_MASK) {
    from[OPEN_LEVELS_AT + lane] = victims;
    head[OPEN_LEVELS_AT + lane] = mine;
    head[HEAD_DIRECTIONS_AT + lane] = from[HEAD_DIRECTIONS_AT + lane];
  }
  u16 *const my_position = reinterpret_cast<u16 *>(head + POSITION_AT);
  u16 *const my_end = reinterpret_cast<u16 *>(head + END_AT);
  for (int d = lane; d < N; d += LANES) {
    my_position[d] = begin[d];
    my_end[d] = end[d];
    end[d] = d < level ? begin[d] : (u16)(d == level ? cut : 0);
  }
  // the victim keeps its next node; the thief may find that all it got was pruned
  if (__any_sync(ALL_LANES, mine != 0) && lane == 0) {
    atomicAdd(&intervals_at->n_stolen, 1u);
    atomicAdd(&intervals_at->n_thefts, 1u);
    atomicSub(&arena_at->control->tickets, 1u);
  }
}

// Number of every explorer's open siblings and their least bound.
extern "C" __global__ void survey_intervals(
    const Arena *arena_at, const Intervals *intervals_at) {
  extern __shared__ __align__(16) u32 shared[];
  const Arena arena = *arena_at;
  const Intervals all = *intervals_at;
  const int lane = threadIdx.x % LANES;
  const u32 me = blockIdx.x * WARPS + threadIdx.x / LANES;
  if (me >= all.n) return;
  u16 *const job_of_rank = reinterpret_cast<u16 *>(shared) + threadIdx.x / LANES * N;
  const u32 *const head = all.heads + (size_t)me * HEAD_WORDS;
  u32 levels = word_or_0(head + OPEN_LEVELS_AT, lane);
  const u32 directions = word_or_0(head + HEAD_DIRECTIONS_AT, lane);
  int least = 0x7fffffff, open = 0;
  for (int level; (level = lowest_in(levels)) >= 0; levels &= ~own_bit(level, lane)) {
    u32 *const from = level_at(all, me, level);
    const Node node = node_of(state_of_level(from), arena.rows + N * ROW);
    list_jobs(job_of_rank, word_or_0(from + MASK_AT, lane), lane);
    const bool back = __shfl_sync(ALL_LANES, directions, level >> 5) >> (level & 31) & 1;
    const u32 word = word_or_0(from + OPEN_AT, lane);
    for (int round = 0; round * LANES < N - level; ++round) {
      const u32 ranks = __shfl_sync(ALL_LANES, word, round);
      open += __popc(ranks);
      if (ranks >> lane & 1) {
        const int job = job_of_rank[round * LANES + lane];
        const Pair bound = child_bounds(
            node, arena.rows + job * ROW, arena.rows + N * ROW);
        least = min(least, back ? back_of(bound) : front_of(bound));
      }
    }
  }
  least = warp_min(least);
  if (lane == 0) {
    all.counts[me] = (u32)open;
    if (open) {
      atomicMin(&arena.control->least_bound, least);
      atomicAdd(&arena.control->open_roots, (u64)open);
    }
  }
}

// Paths of the open siblings of explorers `first` .. `first + count - 1`, one row each,
// zero-padded to N digits; row[i] is the first row of explorer first + i.
extern "C" __global__ void interval_paths(
    const Intervals *intervals_at, u32 first, u32 count, const u64 *row, u16 *digits,
    u16 *depths) {
  const Intervals all = *intervals_at;
  const int lane = threadIdx.x % LANES;
  const u32 item = blockIdx.x * WARPS + threadIdx.x / LANES;
  if (item >= count) return;
  const u32 me = first + item;
  const u32 *const head = all.heads + (size_t)me * HEAD_WORDS;
  const u16 *const position = reinterpret_cast<const u16 *>(head + POSITION_AT);
  u32 levels = word_or_0(head + OPEN_LEVELS_AT, lane);
  u64 at = row[item];
  for (int level; (level = lowest_in(levels)) >= 0; levels &= ~own_bit(level, lane)) {
    u32 open = word_or_0(level_at(all, me, level) + OPEN_AT, lane);
    for (int rank; (rank = lowest_in(open)) >= 0; open &= ~own_bit(rank, lane)) {
      for (int d = lane; d < N; d += LANES)
        digits[at * N + d] = (u16)(d < level ? position[d] : d == level ? rank : 0);
      if (lane == 0) depths[at] = (u16)(level + 1);
      ++at;
    }
  }
}
