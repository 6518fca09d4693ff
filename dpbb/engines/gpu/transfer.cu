// Between launches of `explore`: put the pool in order, load roots, hand roots out.

#include "pages.cuh"

// Collect what the last launch left outside `out`: late gifts and the untouched pool.
// Grid: any; block: any.
extern "C" __global__ void settle(const Arena *arena_at) {
  const Arena arena = *arena_at;
  Control *const control = arena.control;
  const u32 first = blockIdx.x * blockDim.x + threadIdx.x;
  const u32 step = gridDim.x * blockDim.x;
  for (u32 i = first; i <= arena.gift_bits; i += step) {
    const u32 page = arena.gift_ring[i];
    if (page != NONE) {
      arena.out[atomicAdd(&control->n_out, 1u)] = page;
      arena.gift_ring[i] = NONE;
    }
  }
  for (u32 i = control->pool_next + first; i < control->pool_size; i += step)
    arena.out[atomicAdd(&control->n_out, 1u)] = arena.pool[i];
}

// Depth at which a node leaves the path to the first schedule in the root order, which
// is that schedule's jobs from both ends by turns, or from one end.
__device__ __forceinline__ int depth_beside_schedule(
    u32 *page, int slot, int depth, int sides) {
  int front = 0, back = 0;
  for (int d = 0; d < depth; ++d) {
    const u32 digits = *word_at(page, slot, PATH_AT + d / DIGITS_PER_WORD);
    const int digit =
        (int)(digits >> d % DIGITS_PER_WORD * DIGIT_BITS & ((1u << DIGIT_BITS) - 1));
    const int to_back = *word_at(page, slot, DIRECTIONS_AT + d / 32) >> d % 32 & 1;
    // its next job is this one of those left: before it are some of the other end
    int expected = 0;
    if (sides == 2) {
      const int own = 2 * (to_back ? back : front) + to_back;
      const int ahead = to_back ? back + 1 - front : front - back;
      expected = own < N ? max(0, ahead) : N - 1 - front - back;
    }
    if (digit != expected) return d;
    front += !to_back;
    back += to_back;
  }
  return depth;
}

// Classes of pages: so many ways to be near the first schedule, and of each depths; or N
// depths. Twin: dpbb.engines.gpu.pool.
constexpr int NEAR_CLASSES = 16, DEPTH_CLASSES = 64;
constexpr int CLASSES = N > NEAR_CLASSES * DEPTH_CLASSES ? N : NEAR_CLASSES * DEPTH_CLASSES;

// Write to `next`, which nothing else is in between launches, the class of each page of the
// pool: its depth, or, with the number of `sides` that the tree branches on, how long a node
// of it stays on the path to the first schedule, at most, and then its depth.
// Grid: any; block: WARPS * 32.
extern "C" __global__ void __launch_bounds__(WARPS *LANES)
    classify(const Arena *arena_at, int sides) {
  const Arena arena = *arena_at;
  const int lane = threadIdx.x % LANES;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const u32 n_warps = gridDim.x * blockDim.x / LANES;
  for (u32 i = warp; i < arena.control->pool_size; i += n_warps) {
    const u32 page = arena.pool[i], meta = arena.meta[page];
    const int depth = (int)(meta >> 8);
    int found = depth;
    if (sides) {
      const bool there = lane < (int)(meta & 255);
      int near = there ? depth_beside_schedule(page_at(arena, page), lane, depth, sides) : 0;
      for (int other = LANES / 2; other; other /= 2)
        near = max(near, __shfl_xor_sync(ALL_LANES, near, other));
      found = min(near, NEAR_CLASSES - 1) * DEPTH_CLASSES + depth * DEPTH_CLASSES / N;
    }
    if (lane == 0) arena.next[page] = (u32)found;
  }
}

// Put the pages of the pool into `out`, those of the highest class first.
// Grid: one block; block: any, with CLASSES words of shared memory.
extern "C" __global__ void put_in_order(const Arena *arena_at) {
  extern __shared__ __align__(16) u32 shared[];
  u32 *const place = shared;  // of the next page of each class
  const Arena arena = *arena_at;
  const u32 size = arena.control->pool_size;
  for (int i = threadIdx.x; i < CLASSES; i += blockDim.x) place[i] = 0;
  __syncthreads();
  for (u32 i = threadIdx.x; i < size; i += blockDim.x)
    atomicAdd(place + arena.next[arena.pool[i]], 1u);
  __syncthreads();
  if (threadIdx.x == 0) {
    u32 before = 0;
    for (int i = CLASSES - 1; i >= 0; --i) {
      const u32 count = place[i];
      place[i] = before;
      before += count;
    }
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
    const u32 page = arena.pool[i];
    arena.out[atomicAdd(place + arena.next[page], 1u)] = page;
  }
}

// The node of a lane's record; lanes beyond the last record take the first.
__device__ __forceinline__ Node node_of_record(
    const Arena &arena, u32 page, int records, int lane) {
  return node_of(
      state_of_record(page_at(arena, page), lane < records ? lane : 0),
      arena.rows + N * ROW);
}

// Free the pages of the pool on which no node is below the upper bound any more; the
// others go to `out`. Grid: any; block: WARPS * 32.
extern "C" __global__ void __launch_bounds__(WARPS *LANES)
    prune(const Arena *arena_at) {
  const Arena arena = *arena_at;
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const u32 n_warps = gridDim.x * blockDim.x / LANES;
  PageCache cache;
  for (u32 i = warp; i < control->pool_size; i += n_warps) {
    const u32 page = arena.pool[i];
    const u32 meta = arena.meta[page];
    const int records = (int)(meta & 255), depth = (int)(meta >> 8);
    const Node node = node_of_record(arena, page, records, lane);
    // as in explore: the tree's root is decomposed whatever its bound
    if (depth == 0 || __any_sync(ALL_LANES, node_bound(node) < control->ub)) {
      if (lane == 0) arena.out[atomicAdd(&control->n_out, 1u)] = page;
    } else {
      if (lane == 0) atomicAdd(arena.closed + depth, (u64)records);
      cache.give(arena, page, lane);
    }
  }
  cache.give_back_all(arena, lane);
}

// Number of open roots in the pool and their least bound. Grid: any; block: WARPS * 32.
extern "C" __global__ void __launch_bounds__(WARPS *LANES)
    survey(const Arena *arena_at) {
  const Arena arena = *arena_at;
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const u32 n_warps = gridDim.x * blockDim.x / LANES;
  int least = 0x7fffffff;
  u64 open = 0;
  for (u32 i = warp; i < control->pool_size; i += n_warps) {
    const u32 page = arena.pool[i];
    const int records = (int)(arena.meta[page] & 255);
    const Node node = node_of_record(arena, page, records, lane);
    if (records) least = min(least, node_bound(node));
    open += records;
  }
  least = warp_min(least);
  if (lane == 0) {
    atomicMin(&control->least_bound, least);
    if (open) atomicAdd(&control->open_roots, open);
  }
}

// Walk from the tree's root to given nodes and put those not pruned into the pool.
//
// One warp makes one page: `count` consecutive rows of equal depth from row `first`.
// A path that is pruned on the way down closes its root. The host has counted all the
// ancestors that a root owns (trailing zero digits; law 4) when it was loaded:
// those that turn out not to be visited are taken back here.
// Grid: any; block: WARPS * 32. digits: n_rows * width.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) walk(
    const Arena *arena_at, const u16 *digits, int width, const u32 *first,
    const u32 *count, const u16 *depths, u32 n_pages) {
  const Arena arena = *arena_at;
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const u32 n_warps = gridDim.x * blockDim.x / LANES;
  const int ub = control->ub;
  const int branching_ub = (int)control->branching_ub;
  PageCache cache;
  for (u32 item = warp; item < n_pages; item += n_warps) {
    if (!cache.reserve(arena, 1, lane)) return;  // the host has made sure of the pages
    const int records = (int)count[item];
    const int depth = depths[item];
    const u32 page_id = cache.take(arena, lane);
    u32 *const page = page_at(arena, page_id);
    const u16 *const path = digits + (size_t)(first[item] + min(lane, records - 1)) * width;

    for (int word = MASK_AT; word < RECORD_WORDS; ++word) {
      const int left = N - (word - MASK_AT) * 32;
      *word_at(page, lane, word) = ONE_SIDE && word >= LEFT_AT && word < PATH_AT ? ~0u
                                   : word >= DIRECTIONS_AT                       ? 0u
                                   : left >= 32 ? ~0u
                                                : (1u << left) - 1;
    }
    int zeros = 0;
    State state = state_of_record(arena.root, 0);
    int visited = depth;  // ancestors visited before the path was pruned
    for (int level = 0; level < depth; ++level) {
      const Node node = node_of(state, arena.rows + N * ROW);
      const int digit = path[level];
      zeros = digit ? 0 : zeros + 1;
      int job = 0, seen = 0, before = -1;
      bool copy = false;
      Selector selector(node_bound(node));
      Pair taken = PAIR_TOP;
      for (int w = 0; w < N_MASK; ++w) {
        u32 mine = *word_at(page, lane, MASK_AT + w);
        for (; mine; mine &= mine - 1) {
          const int j = w * 32 + __ffs(mine) - 1;
          const Pair bound = child_bounds(
              node, arena.rows + j * ROW, arena.rows + N * ROW);
          selector.add(bound, branching_ub);
          if (seen++ == digit) {
            job = j;
            taken = bound;
            copy = is_copy(arena, before, j);
          }
          before = j;
        }
      }
      const bool back = selector.back(level);
      if (visited == depth && (copy || (back ? back_of(taken) : front_of(taken)) >= ub))
        visited = level;
      extend(state, arena.rows + job * ROW, back, arena.rows + N * ROW);
      *word_at(page, lane, MASK_AT + (job >> 5)) &= ~(1u << (job & 31));
#if TIGHTENS
      if (visited == depth && tightens_at(arena.rows + N * ROW + COMMON, level + 1) &&
          tight_bound(arena.rows + N * ROW + COMMON, state, ub, [=](int w) {
            return *word_at(page, lane, MASK_AT + w);
          }) >= ub)
        visited = level;
#endif
      *word_at(page, lane, DIRECTIONS_AT + (level >> 5)) |= (u32)back << (level & 31);
      *word_at(page, lane, PATH_AT + level / DIGITS_PER_WORD) |=
          (u32)digit << level % DIGITS_PER_WORD * DIGIT_BITS;
    }
    // visited == depth: alive, or pruned last of all when its own bound is too large
    const bool real = lane < records;
    const bool alive = real && visited == depth;
    // a path pruned at level v has visited its ancestors at depths 0 .. v
    const int missed =
        !real || alive ? 0 : zeros - max(0, visited + 1 - (depth - zeros));
    const u32 kept = __ballot_sync(ALL_LANES, alive);
    const int rank = __popc(kept & ((1u << lane) - 1));
    for (int word = MASK_AT; word < RECORD_WORDS; ++word) {
      const u32 value = *word_at(page, lane, word);
      __syncwarp();
      if (alive) *word_at(page, rank, word) = value;
      __syncwarp();
    }
    if (alive) {
#pragma unroll
      for (int word = 0; word < STATE_WORDS; ++word)
        *word_at(page, rank, word) = state_word(state, word);
    }
    const int n_missed = warp_sum(missed);
    const int n_pruned = __popc(__ballot_sync(ALL_LANES, real && !alive));
    if (lane == 0) {
      if (n_missed) atomicAdd(&control->decomposed, 0ull - (u64)n_missed);
      if (n_pruned) atomicAdd(arena.closed + depth, (u64)n_pruned);
      if (kept) {
        arena.meta[page_id] = (u32)depth << 8 | (u32)__popc(kept);
        arena.pool[atomicAdd(&control->pool_size, 1u)] = page_id;
      }
    }
    if (!kept) cache.give(arena, page_id, lane);
    __syncwarp();
  }
  cache.give_back_all(arena, lane);
}

// Paths of records `from` .. `from + count - 1` of each given page, one row each,
// zero-padded to N digits. Grid: any; block: WARPS * 32.
extern "C" __global__ void __launch_bounds__(WARPS *LANES) paths(
    const Arena *arena_at, const u32 *pages, const u32 *from, const u32 *count,
    const u64 *row, u32 n_pages, u16 *digits) {
  const Arena arena = *arena_at;
  const int lane = threadIdx.x % LANES;
  const u32 warp = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
  const u32 n_warps = gridDim.x * blockDim.x / LANES;
  for (u32 item = warp; item < n_pages; item += n_warps) {
    u32 *const page = page_at(arena, pages[item]);
    const int depth = (int)(arena.meta[pages[item]] >> 8);
    for (int slot = 0; slot < (int)count[item]; ++slot) {
      u16 *const to = digits + (row[item] + slot) * N;
      for (int level = lane; level < N; level += LANES) {
        u32 value = 0;
        if (level < depth)
          value = *word_at(page, (int)from[item] + slot, PATH_AT + level / DIGITS_PER_WORD)
                      >> level % DIGITS_PER_WORD * DIGIT_BITS &
                  ((1u << DIGIT_BITS) - 1);
        to[level] = (u16)value;
      }
    }
  }
}

// Digits in the compact form of paths (dpbb.tree.work_unit).

// Of ordered paths of N digits: how many digits each shares with the one before, and has
// of its own. Grid, block: a thread for each row.
extern "C" __global__ void share(
    const u16 *digits, const u16 *depths, u32 n_rows, Digit *shared, long long *own) {
  const u32 row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  const u16 *const here = digits + (size_t)row * N;
  int keeps = 0;
  if (row)
    while (keeps < N - 1 && here[keeps] == here[keeps - N]) ++keeps;
  shared[row] = (Digit)keeps;
  own[row] = depths[row] - keeps;
}

// The digits that each path has of its own, end to end; `ends` says where those of every
// row end. Grid, block: a thread for each row.
extern "C" __global__ void tail(
    const u16 *digits, const Digit *shared, const long long *ends, u32 n_rows,
    Digit *tails) {
  const u32 row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n_rows) return;
  const u16 *const from = digits + (size_t)row * N + shared[row];
  const long long begin = row ? ends[row - 1] : 0;
  for (long long i = begin; i < ends[row]; ++i) tails[i] = (Digit)from[i - begin];
}

// Pages that hold nothing any more go back to the free ring. Grid: one block.
extern "C" __global__ void release(const Arena *arena_at, const u32 *pages, u32 n_pages) {
  const Arena arena = *arena_at;
  const u32 begin = arena.control->free_end;
  for (u32 i = threadIdx.x; i < n_pages; i += blockDim.x)
    arena.free_ring[(begin + i) & arena.free_bits] = pages[i];
  __syncthreads();
  if (threadIdx.x == 0) arena.control->free_end = begin + n_pages;
}
