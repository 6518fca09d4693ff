// Exploration of trees of permutations: one lane decomposes one node at a time.
//
// An explorer is a warp. It holds its open nodes in pages of 32 nodes of one depth
// (pages.cuh) and always decomposes a whole page: the deepest full one, so that memory
// stays bounded as in a depth-first search; when no page is full, the shallowest one,
// which makes the most new nodes. So all lanes have a node, and all nodes of a page have
// equally many children. Of a page with very many survivors, near the tree's root, only a
// few nodes are decomposed at a time: the rest of the page waits. They are a small part of
// all nodes, and most of the open ones would hang below them. This is the interval-vector-matrix search of Gmys, Mezmaz,
// Melab and Tuyttens (EJOR 284(3), 2020) with its rows taken 32 at a time; counts do not
// depend on the order of nodes at a fixed upper bound.
//
// Balancing: an idle warp draws a ticket; a busy warp that sees more tickets than gifts
// gives its shallowest page away. The launch is over when every warp waits, or on time.
// At the end all pages lie in `out`, after a few batches deepest first that close most
// of the small subtrees: fewer roots to carry. A launch that shrinks works so all the
// time: its pool begins with the deepest pages, and every warp closes what hangs below
// one of them before it takes the next.
//
// Grid: resident blocks alone (idle warps wait for busy ones). Block: WARPS * 32; warps
// from Control::n_warps on are none.
// Twin: dpbb.engines.reference.

#include "pages.cuh"

struct Explorer {
  u32 full[N];        // list of full pages of each depth, through Arena::next
  u32 open[N];        // page that is being filled
  u32 closed[N + 1];  // closed subtrees by depth, this launch
  u16 ready[2 * LANES];  // children to be made: parent's lane | job << 5
  u8 fill[N];         // records in the open page, 0 (no page) to 31
  u8 rest[N];         // records left of the first full page; 0: all
};

#if TIGHTENS
// What a warp needs to tighten bounds, before its Explorer.
struct Filter {
  Tightening model;
  u32 cut[N_MASK][LANES];         // of each lane's node: children that are pruned
  u32 list[(SLOTS + 2) * LANES];  // children: parent's lane | flag << 5 | job << 10
};
#endif

__device__ __forceinline__ void add_u64(u64 *address, u64 value) {
  if (value) atomicAdd(address, value);
}

// Levels of one warp that hold pages; uniform over the warp.
struct Levels {
  Explorer &own;
  const Arena &arena;
  const int lane;
  int low, high;  // every page is at a depth in [low, high]
  int n_full, n_open;

  __device__ __forceinline__ Levels(Explorer &own_, const Arena &arena_, int lane_)
      : own(own_), arena(arena_), lane(lane_), low(0), high(0), n_full(0), n_open(0) {}

  __device__ __forceinline__ bool empty() const { return n_full + n_open == 0; }

  // Deepest depth that has a full page (or, if `any`, a page).
  __device__ __forceinline__ int deepest(bool any) const {
    for (int top = high; top >= low; top -= LANES) {
      const int depth = top - lane;
      const bool has =
          depth >= low && (own.full[depth] != NONE || (any && own.fill[depth]));
      const u32 found = __ballot_sync(ALL_LANES, has);
      if (found) return top - (__ffs(found) - 1);
    }
    return -1;
  }

  __device__ __forceinline__ int shallowest() const {
    for (int top = low; top <= high; top += LANES) {
      const int depth = top + lane;
      const bool has = depth <= high && (own.full[depth] != NONE || own.fill[depth]);
      const u32 found = __ballot_sync(ALL_LANES, has);
      if (found) return top + __ffs(found) - 1;
    }
    return -1;
  }

  // Take a page of this depth out, a full one if there is one; its number of records.
  __device__ __forceinline__ int pop(int depth, u32 &page) {
    page = own.full[depth];
    int records = LANES;
    if (page != NONE && own.rest[depth]) records = own.rest[depth];
    __syncwarp();
    if (page != NONE) {
      if (lane == 0) {
        own.full[depth] = __ldcg(arena.next + page);
        own.rest[depth] = 0;
      }
      --n_full;
    } else {
      page = own.open[depth];
      records = own.fill[depth];
      __syncwarp();
      if (lane == 0) own.fill[depth] = 0;
      --n_open;
    }
    __syncwarp();
    return records;
  }

  __device__ __forceinline__ void push(int depth, u32 page, int records) {
    if (empty()) low = high = depth;
    low = min(low, depth);
    high = max(high, depth);
    __syncwarp();
    if (records == LANES) {
      if (lane == 0) {
        __stcg(arena.next + page, own.full[depth]);
        own.full[depth] = page;
      }
      ++n_full;
    } else {  // the depth has no open page: the caller sees to that
      if (lane == 0) {
        own.open[depth] = page;
        own.fill[depth] = (u8)records;
      }
      ++n_open;
    }
    __syncwarp();
  }

  // Put back what is left of a page that was popped: it is the next one of its depth, as
  // no page is added there before.
  __device__ __forceinline__ void push_rest(int depth, u32 page, int records) {
    push(depth, page, LANES);
    if (lane == 0) own.rest[depth] = (u8)records;
    __syncwarp();
  }
};

__device__ __forceinline__ void leave_page(
    const Arena &arena, int depth, u32 page, int records, int lane) {
  if (lane == 0) {
    arena.meta[page] = (u32)depth << 8 | (u32)records;
    arena.out[atomicAdd(&arena.control->n_out, 1u)] = page;
  }
}

__device__ __forceinline__ void keep_leaf(u32 *to, u32 *page, int value, int lane) {
  __stcg(to, (u32)value);
  for (int word = MASK_AT; word < RECORD_WORDS; ++word)
    __stcg(to + 1 + word - MASK_AT, *word_at(page, lane, word));
}

// A leaf whose value is below ub: keep the best one. One lane at a time.
__device__ __noinline__ void keep_best(
    Control *control, u32 *leaves, u32 *page, bool better, int value, int lane) {
  for (u32 left = __ballot_sync(ALL_LANES, better); left; left &= left - 1) {
    if (lane == __ffs(left) - 1) {
      while (atomicCAS(&control->lock, 0u, 1u)) __nanosleep(100);
      __threadfence();
      if (value < *(volatile int *)&control->best) {
        keep_leaf(leaves, page, value, lane);
        *(volatile int *)&control->best = value;
        atomicMin(&control->ub, value);
      }
      __threadfence();
      atomicExch(&control->lock, 0u);
    }
    __syncwarp();
  }
}

// All leaves whose value is not above the best one; the host drops the others.
__device__ __noinline__ void keep_all(
    Control *control, u32 *leaves, u32 *page, bool good, int value, int lane) {
  if (good) {
    atomicMin(&control->ub, value + 1);
    const u32 place = atomicAdd(&control->n_optima, 1u);
    keep_leaf(leaves + (size_t)place * LEAF_WORDS, page, value, lane);
  }
  __syncwarp();
}

// Word w of an array that stays in registers when it is short.
__device__ __forceinline__ u32 word_of(const u32 (&words)[N_MASK], int w) {
  if (N_MASK > 4) return words[w];
  u32 value = words[0];
#pragma unroll
  for (int i = 1; i < N_MASK; ++i)
    if (i == w) value = words[i];
  return value;
}

// Bounds of all children of the lanes' nodes: survivors by direction, and the selector,
// to which copies of equal jobs are children like all others.
// The loop runs over the jobs that any lane has unscheduled, so every lane reads the same
// row: one access for the warp, and no bank conflicts.
__device__ __forceinline__ int bound_children(
    const Arena &arena, const Node &node, const u32 *rows, u32 *page, int slot, int ub,
    int branching_ub, u32 (&front)[N_MASK], u32 (&back)[N_MASK], Selector &selector) {
  int children = 0;
#if EQUAL_JOBS
  u32 job_before = 0;  // whether the last job of the word before is unscheduled
#endif
#pragma unroll(N_MASK <= 2 ? N_MASK : 1)
  for (int w = 0; w < N_MASK; ++w) {
    const u32 mine = *word_at(page, slot, MASK_AT + w);
#if EQUAL_JOBS
    const u32 copies = (mine << 1 | job_before) & equal_jobs(arena, w);
    job_before = mine >> 31;
#endif
    u32 jobs = warp_or(mine);
    children += __popc(jobs);
    const u32 *first = rows + w * 32 * ROW;
#if !WIDE
    // A flag, bound >= ub, is shifted in at the top of the gap to the previous job: at
    // that job's bit less 1. What lies below it in the gap is noise.
    const u32 flagged = 0x80000000u | (jobs & (jobs - 1)) >> 1;
    const u32 offset = (0x8000u - (u32)ub) * 0x00010001u;
    u32 front_bits = 0, back_bits = 0;
    int last = 32;
    while (jobs) {
      const int bit = 31 - __clz(jobs);
      jobs ^= 1u << bit;
      Pair bound = child_bounds(node, first + bit * ROW);
      if (!(mine >> bit & 1)) bound = PAIR_TOP;
      selector.add(bound, branching_ub);
#if EQUAL_JOBS
      if (copies >> bit & 1) bound = PAIR_TOP;
#endif
      const u32 flags = bound.both + offset;
      front_bits = __funnelshift_lc(flags << 16, front_bits, last - bit);
      back_bits = __funnelshift_lc(flags, back_bits, last - bit);
      last = bit;
    }
    front_bits = ~(front_bits << (last & 31)) & flagged;
    back_bits = ~(back_bits << (last & 31)) & flagged;
    if (last == 32) front_bits = back_bits = 0;
#else
    u32 front_bits = 0, back_bits = 0;
    while (jobs) {
      const int bit = __ffs(jobs) - 1;
      jobs &= jobs - 1;
      Pair bound = child_bounds(node, first + bit * ROW);
      if (!(mine >> bit & 1)) bound = PAIR_TOP;
      selector.add(bound, branching_ub);
#if EQUAL_JOBS
      if (copies >> bit & 1) bound = PAIR_TOP;
#endif
      if (front_of(bound) < ub) front_bits |= 1u << bit;
      if (back_of(bound) < ub) back_bits |= 1u << bit;
    }
#endif
    front[w] = front_bits;
    back[w] = back_bits;
  }
  return children;
}

#if TIGHTENS
template <int COUNT>
__device__ __forceinline__ void cut_children(
    Filter &own, const Arena &arena, const u32 *rows, u32 *page, u32 directions, int ub,
    int first, int n_now, int lane) {
  TightChildren<COUNT> children{own.model, lane};
  u32 idle = 0;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    const int place = i * LANES + lane;
    const u32 entry = own.list[(first + (place < n_now ? place : 0)) %
                               ((SLOTS + 2) * LANES)];
    const int parent = (int)(entry & 31), job = (int)(entry >> 10);
    State state = state_of_record(page, parent);
    extend(state, rows + job * ROW, directions >> parent & 1);
    children.put(i, state, [=](int w) {
      const u32 word = *word_at(page, parent, MASK_AT + w);
      return w == job >> 5 ? word & ~(1u << (job & 31)) : word;
    });
    if (place >= n_now) idle |= 1u << i;
  }
  __syncwarp();
  const u32 cut = children.reaching(arena.rows + N * ROW, ub, idle);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if (!(cut >> i & 1)) continue;
    const u32 entry = own.list[(first + i * LANES + lane) % ((SLOTS + 2) * LANES)];
    atomicOr(&own.cut[entry >> 15][entry & 31], 1u << (entry >> 5 & 31));
  }
  __syncwarp();
}

// Take the children out of `open` whose bounds the model can tighten to ub: gathered side
// by side, whoever their parents are. `n` of them; returns how many are left.
__device__ __forceinline__ int tighten_children(
    Filter &own, const Arena &arena, const u32 *rows, u32 *page, int slot,
    u32 directions, int ub, int n, u32 (&open)[N_MASK], int lane) {
  for (int w = 0; w < N_MASK; ++w) own.cut[w][lane] = 0;
  int word = -1, n_ready = 0, n_done = 0;
  u32 left = 0, all_jobs = 0;
  while (n_done < n) {
    const int wanted = min(SLOTS * LANES, n - n_done);
    while (n_ready < wanted) {
      const u32 giving = __ballot_sync(ALL_LANES, left != 0);
      if (!giving) {
        left = word_of(open, ++word);
        all_jobs = warp_or(*word_at(page, slot, MASK_AT + word));
        continue;
      }
      if (left) {
        const int flag = __ffs(left) - 1;
        left &= left - 1;
        const int bit = WIDE ? flag : 31 - __clz(all_jobs & ((2u << flag) - 1));
        const int place = n_done + n_ready + __popc(giving & ((1u << lane) - 1));
        own.list[place % ((SLOTS + 2) * LANES)] =
            (u32)(lane | flag << 5 | (word * 32 + bit) << 10);
      }
      n_ready += __popc(giving);
    }
    __syncwarp();
    const int n_now = min(n_ready, SLOTS * LANES);
    if (n_now > LANES)
      cut_children<SLOTS>(own, arena, rows, page, directions, ub, n_done, n_now, lane);
    else
      cut_children<1>(own, arena, rows, page, directions, ub, n_done, n_now, lane);
    n_done += n_now;
    n_ready -= n_now;
  }
  int kept = 0;
#pragma unroll
  for (int w = 0; w < N_MASK; ++w) {
    open[w] &= ~own.cut[w][lane];
    kept += __popc(open[w]);
  }
  return warp_sum(kept);
}
#endif

extern "C" __global__ void __launch_bounds__(WARPS *LANES, MIN_BLOCKS)
    explore(const Arena *arena_at) {
  extern __shared__ __align__(16) u32 shared[];
  const Arena arena = *arena_at;
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
#if SHARED_ROWS
  for (int i = threadIdx.x; i < N * ROW; i += blockDim.x) shared[i] = arena.rows[i];
  const u32 *const rows = shared;
  u32 *const below_rows = shared + N * ROW;
#else
  const u32 *const rows = arena.rows;
  u32 *const below_rows = shared;
#endif
#if TIGHTENS
  Filter &filter = reinterpret_cast<Filter *>(below_rows)[threadIdx.x / LANES];
  u32 *const explorers = below_rows + WARPS * sizeof(Filter) / 4;
#else
  u32 *const explorers = below_rows;
#endif
  Explorer &own = reinterpret_cast<Explorer *>(explorers)[threadIdx.x / LANES];
  for (int i = lane; i < N; i += LANES) {
    own.full[i] = NONE;
    own.fill[i] = own.rest[i] = 0;
  }
  for (int i = lane; i <= N; i += LANES) own.closed[i] = 0;
  __syncthreads();
  if (blockIdx.x * WARPS + threadIdx.x / LANES >= control->n_warps) return;

  const bool keeps_time = blockIdx.x == 0 && threadIdx.x < LANES;
  const u64 began = global_nanoseconds();
  Levels levels(own, arena, lane);
  PageCache cache;
  u32 decomposed = 0, leaves = 0, batches = 0, children = 0;
  u64 idle_ns = 0;
  bool pool_left = true;
  // batches left once the launch is told to stop; before it -1, or -2 if it shrinks
  int draining = control->shrinks ? -2 : -1;
  const int branching_ub = (int)control->branching_ub;

  while (true) {
    // ---- news: upper bound, stop, hungry warps; one load of one line ------------------
    uint4 news = make_uint4(0, 0, 0, 0);
    if (lane == 0) {
      news = load_news(&control->tickets);
      if (keeps_time && !news.z && global_nanoseconds() - began > control->budget_ns)
        atomicCAS(&control->stop, RUNNING, SLICE_OVER);
    }
    const int hungry = __shfl_sync(ALL_LANES, (int)(news.x - news.y), 0);
    const u32 stop = __shfl_sync(ALL_LANES, news.z, 0);
    const int ub = __shfl_sync(ALL_LANES, (int)news.w, 0);
    if (stop) {
      if (draining < 0) draining = stop == SLICE_OVER ? (int)control->drain_batches : 0;
      if (!draining-- || levels.empty()) break;
    }

    // ---- give the shallowest page to an idle warp ---------------------------------------
    if (hungry > 0 && !stop && levels.n_full + levels.n_open > 1) {
      const int depth = levels.shallowest();
      if (N - depth >= LEAST_GIFT) {
        u32 page;
        const int records = levels.pop(depth, page);
        if (lane == 0) arena.meta[page] = (u32)depth << 8 | (u32)records;
        __threadfence();
        __syncwarp();
        if (lane == 0) {
          const u32 ticket = atomicAdd(&control->gifts, 1u);
          store_release(arena.gift_ring + (ticket & arena.gift_bits), page);
        }
      }
    }

    // ---- get a page when there is none --------------------------------------------------
    if (levels.empty()) {
      u32 page = NONE;
      if (lane == 0) {
        if (pool_left) {
          const u32 at = atomicAdd(&control->pool_next, 1u);
          if (at < control->pool_size) page = arena.pool[at];
        }
        if (page == NONE) {
          const u64 slept = global_nanoseconds();
          const u32 ticket = atomicAdd(&control->tickets, 1u);
          u32 *place = arena.gift_ring + (ticket & arena.gift_bits);
          while ((page = load_acquire(place)) == NONE) {
            if (*(volatile u32 *)&control->stop) break;
            const u64 both = *(volatile u64 *)&control->tickets;
            if ((u32)both - (u32)(both >> 32) == control->n_warps)
              atomicCAS(&control->stop, RUNNING, ALL_DONE);
            const u64 now = global_nanoseconds();
            if (now - began > control->budget_ns)
              atomicCAS(&control->stop, RUNNING, SLICE_OVER);
            __nanosleep(200);
          }
          if (page != NONE) *(volatile u32 *)place = NONE;
          idle_ns += global_nanoseconds() - slept;
          pool_left = false;
        }
      }
      page = __shfl_sync(ALL_LANES, page, 0);
      if (page == NONE) break;  // stopped; a gift that came too late stays in the ring
      pool_left = __shfl_sync(ALL_LANES, pool_left, 0);
      __threadfence();
      const u32 meta = __ldcg(arena.meta + page);
      levels.push((int)(meta >> 8), page, (int)(meta & 255));
    }

    // ---- take a batch ---------------------------------------------------------------------
    const int depth = stop || draining == -2 ? levels.deepest(true)
                      : levels.n_full        ? levels.deepest(false)
                                             : levels.shallowest();
    u32 page_id;
    const int records = levels.pop(depth, page_id);
    u32 *const page = page_at(arena, page_id);
    const int slot = lane < records ? lane : 0;  // idle lanes copy: always valid data

    const Node node = node_of(state_of_record(page, slot));
    // the tree's root is decomposed whatever its bound (architecture I4)
    const bool alive = lane < records && (depth == 0 || node_bound(node) < ub);
    int n_alive = __popc(__ballot_sync(ALL_LANES, alive));

    // ---- bound the children on both sides -------------------------------------------------
    u32 front[N_MASK], back[N_MASK];
    Selector selector;
    children += bound_children(
        arena, node, rows, page, slot, ub, branching_ub, front, back, selector);
    ++batches;

    if (depth == N - 1) {  // leaves
      u32 kept = 0;
      if (arena.all_optima && lane == 0) kept = *(volatile u32 *)&control->n_optima;
      kept = __shfl_sync(ALL_LANES, kept, 0);
      if (arena.all_optima && kept + control->n_warps * LANES > arena.n_leaves) {
        if (lane == 0) atomicCAS(&control->stop, RUNNING, OPTIMA_FULL);
        leave_page(arena, depth, page_id, records, lane);
        if (stop) draining = 0;
        continue;
      }
      bool below = false;
#pragma unroll
      for (int w = 0; w < N_MASK; ++w) below |= front[w] != 0;
      if (__any_sync(ALL_LANES, alive && below)) {
        int value = 0x7fffffff;
        for (int w = 0; w < N_MASK; ++w) {
          const u32 job = *word_at(page, slot, MASK_AT + w);
          if (job) value = leaf_value(node, rows + (w * 32 + __ffs(job) - 1) * ROW);
        }
        const bool good = alive && value < ub;
        if (arena.all_optima)
          keep_all(control, arena.leaves, page, good, value, lane);
        else
          keep_best(control, arena.leaves, page, good, value, lane);
      }
      leaves += n_alive;
      if (lane == 0) own.closed[depth] += records;
      cache.give(arena, page_id, lane);
      continue;
    }

    // ---- the survivors on that side --------------------------------------------------------
    const bool goes_back = selector.back(depth);
    const u32 directions = __ballot_sync(ALL_LANES, goes_back);
    int survivors = 0;
#pragma unroll
    for (int w = 0; w < N_MASK; ++w) {
      front[w] = !alive ? 0 : goes_back ? back[w] : front[w];
      survivors += __popc(front[w]);
    }
    int total = warp_sum(survivors);
    int rest = 0;  // records that wait
    if (total > MOST_CHILDREN) {
      int behind = survivors;  // of this lane and all after it
#pragma unroll
      for (int step = 1; step < LANES; step *= 2) {
        const int more = __shfl_sync(ALL_LANES, behind, (lane + step) % LANES);
        if (lane + step < LANES) behind += more;
      }
      const u32 fit = __ballot_sync(ALL_LANES, behind <= FEW_CHILDREN);
      rest = min(fit ? __ffs(fit) - 1 : LANES, records - 1);
      total = __shfl_sync(ALL_LANES, behind, rest);
      n_alive = __popc(__ballot_sync(ALL_LANES, alive && lane >= rest));
#pragma unroll
      for (int w = 0; w < N_MASK; ++w)
        if (lane < rest) front[w] = 0;
    }

    const int depth_below = depth + 1;
#if TIGHTENS
    if (total && tightens_at(arena.rows + N * ROW, depth_below))
      total = tighten_children(
          filter, arena, rows, page, slot, directions, ub, total, front, lane);
#endif

    // ---- make the surviving children, 32 at a time ---------------------------------------
    int filled = own.fill[depth_below];
    u32 target = own.open[depth_below];
    if (total && !cache.reserve(arena, (filled + total + 31) / 32 - (filled > 0), lane)) {
      if (lane == 0) atomicCAS(&control->stop, RUNNING, OUT_OF_PAGES);
      leave_page(arena, depth, page_id, records, lane);  // nothing is done, nothing lost
      --batches;
      if (stop) draining = 0;
      continue;
    }
    decomposed += n_alive;
    if (lane == 0) {
      own.closed[depth] += records - rest - n_alive;
      own.closed[depth_below] += n_alive * (N - depth) - total;
    }
    if (filled && total) --levels.n_open;  // in hand until it is put back below

    int word = -1, n_ready = 0, n_made = 0;
    u32 left = 0, all_jobs = 0;
    while (true) {
      while (n_ready < LANES) {
        const u32 giving = __ballot_sync(ALL_LANES, left != 0);
        if (!giving) {
          if (++word == N_MASK || n_made + n_ready == total) break;
          left = word_of(front, word);
#if !WIDE
          all_jobs = warp_or(*word_at(page, slot, MASK_AT + word));
#endif
          continue;
        }
        if (left) {
          int bit = __ffs(left) - 1;
          left &= left - 1;
#if !WIDE
          bit = 31 - __clz(all_jobs & ((2u << bit) - 1));
#endif
          const int place = n_made + n_ready + __popc(giving & ((1u << lane) - 1));
          own.ready[place % (2 * LANES)] = (u16)(lane | (word * 32 + bit) << 5);
        }
        n_ready += __popc(giving);
      }
      if (!n_ready) break;
      __syncwarp();
      const int n_now = min(n_ready, LANES);
      const u32 entry = own.ready[(n_made + (lane < n_now ? lane : 0)) % (2 * LANES)];
      const int parent = (int)(entry & 31), job = (int)(entry >> 5);
      const bool child_back = directions >> parent & 1;

      u32 second = NONE;
      if (!filled) target = cache.take(arena, lane);
      if (filled + n_now > LANES) second = cache.take(arena, lane);
      const int place = filled + lane;
      u32 *const to = page_at(arena, place < LANES ? target : second);
      const int to_slot = place % LANES;
      const bool makes = lane < n_now;

      State state = state_of_record(page, parent);
      extend(state, rows + job * ROW, child_back);
      int digit = 0;
#pragma unroll
      for (int at = 0; at < ALIGNED_WORDS; at += 4) {
        Quad quad;
#pragma unroll
        for (int i = 0; i < 4; ++i) quad.word[i] = state_word(state, at + i);
        if (makes) store_record_quad(to, to_slot, at / 4, quad);
      }
#pragma unroll
      for (int at = ALIGNED_WORDS; at < PATH_AT; at += 4) {
        Quad quad = load_record_quad(page, parent, at / 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int here = at + i;
          if (here < MASK_AT) {
            quad.word[i] = state_word(state, here);
          } else if (here < DIRECTIONS_AT) {
            const int w = here - MASK_AT;
            const u32 bit = 1u << (job & 31);
            if (w < job >> 5) digit += __popc(quad.word[i]);
            if (w == job >> 5) {
              digit += __popc(quad.word[i] & (bit - 1));
              quad.word[i] &= ~bit;
            }
          } else if (here < DIRECTIONS_AT + N_MASK) {
            const int w = here - DIRECTIONS_AT;
            if (w == depth >> 5) quad.word[i] |= (u32)child_back << (depth & 31);
          }
        }
        if (makes) store_record_quad(to, to_slot, at / 4, quad);
      }
      for (int q = 0; q <= depth / DIGITS_PER_QUAD; ++q) {
        Quad quad = load_record_quad(page, parent, PATH_AT / 4 + q);
        if (q == depth / DIGITS_PER_QUAD) {
          const int w = depth / DIGITS_PER_WORD % 4;
          const u32 bits = (u32)digit << depth % DIGITS_PER_WORD * DIGIT_BITS;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            if (depth % DIGITS_PER_QUAD == 0) quad.word[i] = 0;  // never written so far
            if (i == w) quad.word[i] |= bits;
          }
        }
        if (makes) store_record_quad(to, to_slot, PATH_AT / 4 + q, quad);
      }
      __syncwarp();

      n_made += n_now;
      n_ready -= n_now;
      filled += n_now;
      if (filled >= LANES) {
        levels.push(depth_below, target, LANES);
        filled -= LANES;
        target = second;
      }
    }
    if (total) {
      if (lane == 0) own.fill[depth_below] = 0;
      __syncwarp();
      if (filled) levels.push(depth_below, target, filled);
    }
    if (rest)
      levels.push_rest(depth, page_id, rest);
    else
      cache.give(arena, page_id, lane);
  }

  // ---- leave everything in order for the next launch --------------------------------------
  while (!levels.empty()) {
    const int depth = levels.shallowest();
    u32 page;
    const int records = levels.pop(depth, page);
    leave_page(arena, depth, page, records, lane);
  }
  cache.give_back_all(arena, lane);
  __syncwarp();
  for (int i = lane; i <= N; i += LANES) add_u64(arena.closed + i, own.closed[i]);
  if (lane == 0) {
    add_u64(&control->decomposed, decomposed);
    add_u64(&control->leaves, leaves);
    add_u64(&control->batches, batches);
    add_u64(&control->children, children);
    add_u64(&control->idle_ns, idle_ns);
    add_u64(&control->busy_ns, global_nanoseconds() - began - idle_ns);
  }
}
