// Exploration of trees of permutations: one lane decomposes one node at a time.
//
// An explorer is a warp. It holds its open nodes in pages of 32 nodes of one depth
// (pages.cuh) and always decomposes a whole page: the deepest full one, so that memory
// stays bounded as in a depth-first search; when no page is full, the shallowest one,
// which makes the most new nodes. So all lanes have a node, and all nodes of a page have
// equally many children. Of a page with very many survivors, near the tree's root, only a
// few nodes are decomposed at a time: the rest of the page waits. They are a small part of
// all nodes, and most of the open ones would hang below them. This is the interval-vector-
// matrix search of Gmys, Mezmaz, Melab and Tuyttens (EJOR 284(3), 2020) with its rows
// taken 32 at a time; counts do not depend on the order of nodes at a fixed upper bound.
//
// A register that is spilled costs more than it says: what is stored locally shares the
// first-level cache with pages, and is mostly not there when it is wanted. So what is
// needed once a page lies in shared memory.
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

constexpr int NEWS_EVERY = 4;  // batches

// ONE_SIDE: with many jobs left, the children on the side of the last job are bounded
// first, two jobs' at a time, and by what is critical alone: what that cuts is cut. No
// bound on a side falls when the other side takes a job: a child that is cut there stays
// so until that side takes one. So both sides are bounded of those jobs alone that are
// left on either, and a record has the set of those that are left on the side opposite to
// its last job (LEFT_AT). The rule MINMIN needs no bounds of children that are cut, but
// for the sums of both sides where they tie. Many nodes have no child left on the one
// side, and others many jobs to be bounded, so lanes share these jobs evenly.
//
// OWN_JOBS: each lane bounds the children of its own jobs, one after the other; else the
// warp goes through all jobs that any lane has unscheduled. Such lanes read rows two words
// at a time, and in shared memory these lie an odd number of twos apart: those of 16 jobs
// in a row are in banks of their own.
constexpr int ROW_LOAD = OWN_JOBS ? 2 : 4;
constexpr int STRIDE = SHARED_ROWS && OWN_JOBS ? ((ROW + 1) / 2 | 1) * 2 : ROW;
constexpr int COMMON_AT = (N * STRIDE + 3) / 4 * 4;  // behind the rows
static_assert(!OWN_JOBS || N_MASK <= 2, "a lane holds its set of jobs in two words");
constexpr int TWOS = 9, SIDE_TWOS = 4;  // see bounds_along
constexpr int MOST_LISTED = 32;  // jobs of a node, at a time
constexpr int ROWS_AT_ONCE = 2;  // whose chains of maxima run side by side
// Quads of a parent behind its model's aligned words that are loaded before a child is
// made: all up to the path's first one, or none where registers do not allow it.
constexpr int EARLY_QUADS = OWN_JOBS ? (PATH_AT - ALIGNED_WORDS) / 4 + 1 : 0;

struct alignas(COLUMNS ? 16 : 4) Explorer {
#if COLUMNS
  u32 columns[COLUMNS][LANES];  // of the model; bounds of a node's children, by job
#endif
  u32 full[N];        // list of full pages of each depth, through Arena::next
  u32 open[N];        // page that is being filled
  u32 closed[N + 1];  // closed subtrees by depth, this launch
  u32 decomposed, leaves, batches, children;  // of this launch: see Control
  u8 fill[N];         // records in the open page, 0 (no page) to 31
  u8 rest[N];         // records left of the first full page; 0: all
  u8 lanes[LANES];    // those whose nodes are worked on
  u8 jobs[OWN_JOBS ? N : 1][LANES];  // by rank, of each lane's node
  u32 sides[2][N_MASK][LANES];  // of each lane's node: children below the upper bound at
                                // the front and at the back, by job (OWN_JOBS: by rank)
#if ONE_SIDE
  u32 wanted[N_MASK][LANES];  // of each lane's node: jobs to be bounded on both sides
  u8 list[MOST_LISTED][LANES];  // jobs to be bounded, some of each lane's node
#endif
};

#if TIGHTENS
// What a warp needs to tighten bounds, before its Explorer.
struct Filter {
  Tightening model;
  u32 list[SLOTS * LANES];  // children: parent's lane | bit << 5 | job << 16
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

  // A page taken out; behind a full one the list of its depth waits for `put_first`.
  struct Popped {
    u32 page;
    int records;
    bool full;
    u32 next;  // of a full page, lane 0: the one after it, on its way
  };

  // Take a page of this depth out, a full one if there is one.
  __device__ __forceinline__ Popped pop(int depth) {
    Popped popped{own.full[depth], LANES, true, NONE};
    if (popped.page != NONE) {
      if (own.rest[depth]) popped.records = own.rest[depth];
      __syncwarp();
      if (lane == 0) {
        popped.next = __ldcg(arena.next + popped.page);
        own.rest[depth] = 0;
      }
      --n_full;
    } else {
      popped = {own.open[depth], own.fill[depth], false, NONE};
      __syncwarp();
      if (lane == 0) own.fill[depth] = 0;
      --n_open;
    }
    __syncwarp();
    return popped;
  }

  // Before the list of a page that was popped is looked at again.
  __device__ __forceinline__ void put_first(int depth, const Popped &popped) {
    if (popped.full && lane == 0) own.full[depth] = popped.next;
    __syncwarp();
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

// Sum over this lane and all after it.
__device__ __forceinline__ int sum_behind(int value, int lane) {
#pragma unroll
  for (int step = 1; step < LANES; step *= 2) {
    const int more = __shfl_sync(ALL_LANES, value, (lane + step) % LANES);
    if (lane + step < LANES) value += more;
  }
  return value;
}

#if !WIDE
// For the lanes of `nodes`, one after the other: bounds of all children of the lane's node
// are gathered anew by a selector that knows their least.
__device__ __forceinline__ void count_again(
    const u32 *rows, u32 *page, u32 nodes, int lane, BasedSelector &selector) {
#pragma unroll 1
  for (; nodes; nodes &= nodes - 1) {
    const int slot = __ffs(nodes) - 1;
    const u32 least = __shfl_sync(ALL_LANES, selector.least, slot);
    Node node = node_of(state_of_record(page, slot), rows + COMMON_AT);
    hold(node);
    int sum = 0, preference = 0;
#pragma unroll 1
    for (int w = 0; w < N_MASK; ++w) {
      const u32 mine = *word_at(page, slot, MASK_AT + w) >> lane & 1;
      const u32 *const row = rows + min(w * LANES + lane, N - 1) * STRIDE;
      const u32 bound = child_bounds<ROW_LOAD, TWOS>(node, row, rows + COMMON_AT).both;
      sum = __dp2a_lo((int)bound, mine ? 0x01ff : 0, sum);
      const u32 above = __vminu2(bound - least, 0x00010001u);
      preference = __dp2a_lo((int)above, mine ? 0xff01 : 0, preference);
    }
    sum = warp_sum(sum);
    preference = warp_sum(preference);
    if (lane == slot) {
      selector.sum = sum;
      selector.preference = preference;
    }
  }
}
#endif

#if ONE_SIDE
// The lanes of a warp by the work that there is for their nodes.
struct Team {
  int slot, part, parts;  // the node this lane works for, as which of how many lanes
  int first;              // the first lane that works for this lane's own node

  // `work`: of this lane's own node; where it is 0 no lane works for that. Some lane's is
  // more.
  __device__ __forceinline__ Team(Explorer &own, int work, int lane) {
    const u32 givers = __ballot_sync(ALL_LANES, work > 0);
    // a node's last lane has half of the others' work, by and large
    int lanes, shares = LANES - __popc(givers) / 2;
    int steps = (warp_sum(work) + shares - 1) / shares;
    do {  // by a reciprocal: a lane more is no harm, and divisions take long
      lanes = (int)ceilf((float)work * (1.0f / (float)max(steps, 1)));
      ++steps;
    } while (warp_sum(lanes) > LANES);
    const int behind = sum_behind(lanes, lane);
    first = __shfl_sync(ALL_LANES, behind, 0) - behind;
    const u32 firsts = warp_or(work ? 1u << first : 0u);
    if (work) own.lanes[__popc(givers & ((1u << lane) - 1))] = (u8)lane;
    __syncwarp();
    slot = own.lanes[__popc(firsts & ((2u << lane) - 1)) - 1];
    part = lane - __shfl_sync(ALL_LANES, first, slot);
    parts = __shfl_sync(ALL_LANES, lanes, slot);
    __syncwarp();
  }

  __device__ __forceinline__ bool works() const { return part < parts; }
};

// Jobs i and i + 16 of 32 are a pair; in the last word, that has fewer, the halves.
constexpr int LAST_HALF = (N % 32 + 3) / 4 * 2;
constexpr int PAIR_ROW = 2 * SIDE_ROW;  // of the front, then of the back
constexpr int N_PAIRS = N / 32 * 16 + LAST_HALF;
__device__ __forceinline__ int half_of(int w) { return w < N / 32 ? 16 : LAST_HALF; }

// The jobs of word w with the first of each pair in the low half.
__device__ __forceinline__ u32 in_pairs(u32 jobs, int w) {
  if (LAST_HALF == 0 || w < N / 32) return jobs;
  return (jobs & ((1u << LAST_HALF) - 1)) | jobs >> LAST_HALF << 16;
}
__device__ __forceinline__ u32 out_of_pairs(u32 pairs, int w) {
  if (LAST_HALF == 0 || w < N / 32) return pairs;
  return (pairs & 0xffffu) | pairs >> 16 << LAST_HALF;
}

__device__ __forceinline__ u32 pair_row_word(
    const u32 *rows, const u32 *critical, int at) {
  const int pair = at / PAIR_ROW, i = at % SIDE_ROW, w = pair / 16;
  const bool back = at % PAIR_ROW >= SIDE_ROW;
  const u32 *const of_side = critical + back * N_CRITICAL;
  const int a = w * 32 + pair % 16, b = a + half_of(w);
  const u32 of_a = a < N ? side_time(rows + a * ROW, of_side, i, back) : 0u;
  const u32 of_b = b < N ? side_time(rows + b * ROW, of_side, i, back) : 0u;
  return of_a | of_b << 16;
}

// Jobs whose children may be below the upper bound on a side: those that `side` does not
// cut, that of the last job, and those that are left on the other. These are given as
// `wanted`, and all unscheduled ones as the first of `sides`. Where either are none, that
// side is taken, whose least bound is the higher one: there is no child. Returns pairs
// bounded.
__device__ __forceinline__ int find_open(
    const Side &side, const u32 *pair_rows, int ub, Explorer &own, int lane,
    bool &has_children) {
  u32 any_of_side = 0, any_left = 0;
  const u32 limit = limit_of(ub);
  int n_rows = 0;
#pragma unroll 1
  for (int w = 0; w < N_MASK; ++w) {
    const int half = half_of(w);
    const u32 mine = own.sides[0][w][lane], left = own.wanted[w][lane];
    const u32 any = in_pairs(warp_or(mine), w);
    u32 pairs = (any | any >> 16) & 0xffffu;
    n_rows += __popc(pairs);
    const u32 *const first = pair_rows + w * 16 * PAIR_ROW;
    u32 cut = 0;
    if (pairs == (1u << half) - 1) {
      const u32 *row = first + (half - 1) * PAIR_ROW;
      for (int i = half; i > 0; i -= ROWS_AT_ONCE) {
        Pair bound[ROWS_AT_ONCE];
#pragma unroll
        for (int u = 0; u < ROWS_AT_ONCE; ++u)
          bound[u] = side_bounds<SIDE_TWOS>(side, row - u * PAIR_ROW);
#pragma unroll
        for (int u = 0; u < ROWS_AT_ONCE; ++u)
          cut = 2 * cut + pair_reaches(bound[u], limit);
        row -= ROWS_AT_ONCE * PAIR_ROW;
      }
    } else {
      while (pairs) {
        const int i = 31 - __clz(pairs);
        pairs ^= 1u << i;
        const int j = pairs ? 31 - __clz(pairs) : i;
        pairs &= ~(1u << j);
        const Pair one = side_bounds<SIDE_TWOS>(side, first + i * PAIR_ROW);
        const Pair two = side_bounds<SIDE_TWOS>(side, first + j * PAIR_ROW);
        cut |= pair_reaches(one, limit) << i | pair_reaches(two, limit) << j;
      }
    }
    const u32 of_side = mine & ~out_of_pairs(cut, w);
    any_of_side |= of_side;
    any_left |= left;
    own.wanted[w][lane] = of_side | left;
    own.sides[0][w][lane] = own.sides[1][w][lane] = 0;
  }
  has_children = any_of_side && any_left;
  return n_rows;
}

// Bounds of the wanted jobs' children of these nodes on both sides. Returns how often.
__device__ __forceinline__ int bound_wanted(
    Explorer &own, const u32 *rows, u32 *page, bool has_children, int ub, int lane,
    BasedSelector &selector) {
  int n_wanted = 0;
  for (int w = 0; w < N_MASK; ++w) n_wanted += __popc(own.wanted[w][lane]);
  const Team team(own, has_children ? n_wanted : 0, lane);
  const State state = state_of_record(page, team.slot);
  selector = selector.of_lane(team.slot);
  Node node;
  u32 limit = limit_of(ub);
  int n_rows = 0;
  for (bool more = true, first = true; more; first = false) {
    u32 waiting = 0;
    int n = 0;
#pragma unroll 1
    for (int w = 0; w < N_MASK; ++w) {
      u32 left = has_children ? own.wanted[w][lane] : 0;
      for (; left && n < MOST_LISTED; left &= left - 1)
        own.list[n++][lane] = (u8)(w * 32 + __ffs(left) - 1);
      own.wanted[w][lane] = left;
      waiting |= left;
    }
    more = __any_sync(ALL_LANES, waiting);
    n = __shfl_sync(ALL_LANES, n, team.slot);
    if (!team.works()) n = 0;
    __syncwarp();
    if (first) {
      node = node_of(state, rows + COMMON_AT);
      hold(node);
    }
    for (int i = team.part; __any_sync(ALL_LANES, i < n); i += team.parts) {
      ++n_rows;
      const int job = i < n ? own.list[i][team.slot] : 0;
      Pair bound = child_bounds<ROW_LOAD, TWOS>(
          node, rows + job * STRIDE, rows + COMMON_AT);
      if (i >= n) bound = PAIR_TOP;
      selector.add(bound, 0);
      const u32 open = pair_reaches(bound, limit) ^ 0x00010001u;
      if (open & 1) atomicOr(&own.sides[0][job >> 5][team.slot], 1u << (job & 31));
      if (open >> 16) atomicOr(&own.sides[1][job >> 5][team.slot], 1u << (job & 31));
    }
    __syncwarp();
  }
  for (int step = 1; __any_sync(ALL_LANES, step < team.parts); step *= 2) {
    const BasedSelector more = selector.of_lane((lane + step) % LANES);
    if (team.part + step < team.parts) selector.add(more);
  }
  selector = selector.of_lane(team.first);
  return n_rows;
}
#endif

// Bounds of all children of the lanes' nodes: `sides`, and the selector, to which copies
// of equal jobs are children like all others. Returns how many jobs there were: those
// that any lane has unscheduled, so that every lane reads the same row, one access for
// the warp without bank conflicts.
__device__ __forceinline__ int bound_union(
    const Arena &arena, const Node &node, const u32 *rows, u32 *page, int slot, int ub,
    int branching_ub, Explorer &own, int lane, BasedSelector &selector) {
  const u32 limit = limit_of(ub);
  int n_rows = 0;
#if EQUAL_JOBS
  u32 job_before = 0;  // whether the last job of the word before is unscheduled
#endif
#pragma unroll 1
  for (int w = 0; w < N_MASK; ++w) {
    const u32 mine = *word_at(page, slot, MASK_AT + w);
#if EQUAL_JOBS
    const u32 copies = (mine << 1 | job_before) & equal_jobs(arena, w);
    job_before = mine >> 31;
#endif
    u32 jobs = warp_or(mine), front = 0, back = 0;
    n_rows += __popc(jobs);
    while (jobs) {
      const int bit = 31 - __clz(jobs);
      jobs ^= 1u << bit;
      Pair bound = child_bounds<ROW_LOAD, TWOS>(
          node, rows + (w * 32 + bit) * STRIDE, rows + COMMON_AT);
      if (!(mine >> bit & 1)) bound = PAIR_TOP;
      selector.add(bound, branching_ub);
#if EQUAL_JOBS
      if (copies >> bit & 1) bound = PAIR_TOP;
#endif
      const u32 open = pair_reaches(bound, limit) ^ 0x00010001u;
      front |= (open & 1) << bit;
      back |= (open >> 16) << bit;
    }
    own.sides[0][w][lane] = front;
    own.sides[1][w][lane] = back;
  }
  return n_rows;
}

#if COLUMNS
// The same where the model bounds all children of a node at once, on the front alone.
__device__ __forceinline__ void bound_at_once(
    const Arena &arena, u32 *page, int slot, int ub, Explorer &own, int lane) {
  const u32 *const record = record_at(page, slot);
  bound_children(
      arena.rows + N * ROW + COMMON, [=](int w) { return record[word_offset(w)]; },
      own.columns, ub, lane);
  u32 job_before = 0;
#pragma unroll 1
  for (int w = 0; w < N_MASK; ++w) {
    const u32 mine = *word_at(page, slot, MASK_AT + w);
    const u32 copies = (mine << 1 | job_before) & equal_jobs(arena, w);
    job_before = mine >> 31;
    u32 front = 0;
    for (u32 jobs = mine & ~copies; jobs; jobs &= jobs - 1) {
      const int bit = __ffs(jobs) - 1;
      front |= (u32)((int)own.columns[w * 32 + bit][lane] < ub) << bit;
    }
    own.sides[0][w][lane] = front;
    own.sides[1][w][lane] = 0;
  }
}
#endif

// Whether a job is a copy of one before it among the unscheduled jobs of a node.
__device__ __forceinline__ bool is_second(
    const Arena &arena, u32 *page, int slot, int job) {
  if (!EQUAL_JOBS || !job) return false;
  const u32 jobs = *word_at(page, slot, MASK_AT + (job - 1) / 32);
  return is_copy(arena, jobs >> (job - 1) % 32 & 1 ? job - 1 : -1, job);
}

// The same where each lane has its own jobs: nodes of one depth have equally many. The
// last job comes first; survivors have the bits of their ranks.
__device__ __forceinline__ void bound_own(
    const Arena &arena, const Node &node, const u32 *rows, u32 *page, int slot,
    int n_children, int ub, int branching_ub, Explorer &own, int lane,
    BasedSelector &selector) {
  u32 low = *word_at(page, slot, MASK_AT);
  u32 left = N_MASK > 1 ? *word_at(page, slot, MASK_AT + N_MASK - 1) : low;
  int first = N_MASK > 1 ? 32 : 0;  // job of the lowest bit of `left`
  if (N_MASK > 1 && !left) {
    left = low;
    first = 0;
  }
  u32 limit = limit_of(ub);
  keep(limit);
  u32 front[2] = {0, 0}, back[2] = {0, 0};  // of those that are cut
#pragma unroll 1
  for (int from = (n_children - 1) & ~15; from >= 0; from -= 16) {
    u32 cut = 0;  // of each side in 16 bits
#pragma unroll(ROWS_AT_ONCE)
    for (int i = min(n_children - from, 16); i > 0; --i) {
      const int bit = 31 - __clz(left);
      const int job = first + bit;
      left ^= 1u << bit;
      if (N_MASK > 1 && !left) {
        left = low;
        first = 0;
      }
      own.jobs[from + i - 1][lane] = (u8)job;
      Pair bound = child_bounds<ROW_LOAD, TWOS>(
          node, rows + job * STRIDE, rows + COMMON_AT);
      selector.add(bound, branching_ub);
      if (is_second(arena, page, slot, job)) bound = PAIR_TOP;
      cut = 2 * cut + pair_reaches(bound, limit);
    }
    front[1] = __byte_perm(front[0], front[1], 0x5432);
    back[1] = __byte_perm(back[0], back[1], 0x5432);
    front[0] = __byte_perm(cut, front[0], 0x5410);
    back[0] = __byte_perm(cut, back[0], 0x5432);
  }
#pragma unroll
  for (int w = 0; w < N_MASK; ++w) {
    const int count = n_children - 32 * w;
    const u32 all = count <= 0 ? 0 : 0xffffffffu >> (32 - min(count, 32));
    own.sides[0][w][lane] = ~front[w] & all;
    own.sides[1][w][lane] = ~back[w] & all;
  }
}

// The job of a survivor's bit, of the node in a slot.
__device__ __forceinline__ int job_of_bit(const Explorer &own, int slot, int bit) {
  return OWN_JOBS ? own.jobs[bit][slot] : bit;
}

#if TIGHTENS
template <int COUNT>
__device__ __forceinline__ void cut_children(
    Filter &filter, Explorer &own, const Arena &arena, const u32 *rows, u32 *page,
    u32 directions, int ub, int n_now, int lane) {
  TightChildren<COUNT> children{filter.model, lane};
  u32 idle = 0;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    const int place = i * LANES + lane;
    const u32 entry = filter.list[place < n_now ? place : 0];
    const int parent = (int)(entry & 31), job = (int)(entry >> 16);
    State state = state_of_record(page, parent);
    extend<ROW_LOAD>(state, rows + job * STRIDE, directions >> parent & 1, rows + COMMON_AT);
    children.put(i, state, [=](int w) {
      const u32 word = *word_at(page, parent, MASK_AT + w);
      return w == job >> 5 ? word & ~(1u << (job & 31)) : word;
    });
    if (place >= n_now) idle |= 1u << i;
  }
  __syncwarp();
  const u32 cut = children.reaching(arena.rows + N * ROW + COMMON, ub, idle);
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    if (!(cut >> i & 1)) continue;
    const u32 entry = filter.list[i * LANES + lane], parent = entry & 31;
    u32 *const word = &own.sides[directions >> parent & 1][entry >> 10 & 63][parent];
    atomicAnd(word, ~(1u << (entry >> 5 & 31)));
  }
  __syncwarp();
}

// Take the children out of `sides` whose bounds the model can tighten to ub: gathered side
// by side, whoever their parents are. `n` of them in all, of this lane `mine`, with those
// of later lanes `behind`; returns how many of its own are left.
__device__ __forceinline__ int tighten_children(
    Filter &filter, Explorer &own, const Arena &arena, const u32 *rows, u32 *page,
    u32 directions, int ub, int n, int behind, int mine, int lane) {
  u32 (&side)[N_MASK][LANES] = own.sides[directions >> lane & 1];
  int word = 0, place = n - behind;
  u32 left = 0;
  const int end = place + mine;
  for (int done = 0; done < n; done += SLOTS * LANES) {
    const int n_now = min(n - done, SLOTS * LANES);
    while (place < min(end, done + n_now)) {
      while (!left) left = side[word++][lane];
      const int bit = (word - 1) * 32 + __ffs(left) - 1;
      left &= left - 1;
      const int job = job_of_bit(own, lane, bit);
      filter.list[place++ - done] = (u32)(lane | bit << 5 | job << 16);
    }
    __syncwarp();
    if (n_now > LANES)
      cut_children<SLOTS>(
          filter, own, arena, rows, page, directions, ub, n_now, lane);
    else
      cut_children<1>(filter, own, arena, rows, page, directions, ub, n_now, lane);
  }
  int kept = 0;
  for (int w = 0; w < N_MASK; ++w) kept += __popc(side[w][lane]);
  return mine ? kept : 0;
}
#endif

// Dynamic shared memory of a block, of which the host knows the size beforehand.
#if TIGHTENS
constexpr size_t WARP_BYTES = sizeof(Explorer) + sizeof(Filter);
#else
constexpr size_t WARP_BYTES = sizeof(Explorer);
#endif
#if ONE_SIDE
constexpr size_t SIDES_BYTES = 4 * N_PAIRS * PAIR_ROW + 2 * N_CRITICAL * sizeof(Place);
#else
constexpr size_t SIDES_BYTES = 0;
#endif
static_assert(
    (sizeof(Arena) + 15) / 16 * 16 + SHARED_ROWS * 4 * (COMMON_AT + COMMON) +
            SIDES_BYTES + WARPS * WARP_BYTES ==
        SHARED_BYTES,
    "shared memory is not what dpbb.engines.gpu.explode and the model say");

extern "C" __global__ void __launch_bounds__(WARPS *LANES, MIN_BLOCKS)
    explore(const Arena *arena_at) {
  extern __shared__ __align__(16) u32 shared[];
  Arena &arena = *reinterpret_cast<Arena *>(shared);
  u32 *const tables = shared + (sizeof(Arena) + 15) / 16 * 4;
  if (threadIdx.x == 0) arena = *arena_at;
  __syncthreads();
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
#if SHARED_ROWS
  for (int i = threadIdx.x; i < N * ROW; i += blockDim.x)
    tables[i / ROW * STRIDE + i % ROW] = arena.rows[i];
  if constexpr (COMMON > 0)
    for (int i = threadIdx.x; i < COMMON; i += blockDim.x)
      tables[COMMON_AT + i] = arena.rows[N * ROW + i];
  const u32 *const rows = tables;
  u32 *below_rows = tables + COMMON_AT + COMMON;
#if ONE_SIDE
  u32 *const pair_rows = below_rows;
  for (int i = threadIdx.x; i < N_PAIRS * PAIR_ROW; i += blockDim.x)
    pair_rows[i] = pair_row_word(arena.rows, arena.critical, i);
  below_rows += N_PAIRS * PAIR_ROW;
  Place *const places = reinterpret_cast<Place *>(below_rows);
  for (int i = threadIdx.x; i < 2 * N_CRITICAL; i += blockDim.x)
    places[i] = place_of((int)arena.critical[i], [](int w) { return word_offset(w); });
  below_rows += 2 * N_CRITICAL * (sizeof(Place) / 4);
#endif
#else
  const u32 *const rows = arena.rows;
  u32 *const below_rows = tables;
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
  if (lane == 0) own.decomposed = own.leaves = own.batches = own.children = 0;
  __syncthreads();
  if (blockIdx.x * WARPS + threadIdx.x / LANES >= control->n_warps) return;

  const bool keeps_time = blockIdx.x == 0 && threadIdx.x < LANES;
  const u64 began = global_nanoseconds();
  Levels levels(own, arena, lane);
  PageCache cache;
  bool pool_left = true;
  // batches left once the launch is told to stop; before it -1, or -2 if it shrinks
  int draining = control->shrinks ? -2 : -1;
  [[maybe_unused]] const int branching_ub = (int)control->branching_ub;
  u32 turn = 0, stop = RUNNING;
  int hungry = 0, ub = 0;

  while (true) {
    // ---- news, now and then: upper bound, stop, hungry warps; one load of one line ------
    if (turn++ % NEWS_EVERY == 0) {
      uint4 news = make_uint4(0, 0, 0, 0);
      if (lane == 0) {
        news = load_news(&control->tickets);
        if (keeps_time && !news.z && global_nanoseconds() - began > control->budget_ns)
          atomicCAS(&control->stop, RUNNING, SLICE_OVER);
      }
      hungry = __shfl_sync(ALL_LANES, (int)(news.x - news.y), 0);
      stop = __shfl_sync(ALL_LANES, news.z, 0);
      ub = __shfl_sync(ALL_LANES, (int)news.w, 0);
    }
    if (stop) {
      if (draining < 0) draining = stop == SLICE_OVER ? (int)control->drain_batches : 0;
      if (!draining-- || levels.empty()) break;
    }

    // ---- give the shallowest page to an idle warp ---------------------------------------
    if (hungry > 0 && !stop && levels.n_full + levels.n_open > 1) {
      const int depth = levels.shallowest();
      if (N - depth >= LEAST_GIFT) {
        const auto popped = levels.pop(depth);
        levels.put_first(depth, popped);
        const u32 page = popped.page;
        if (lane == 0) arena.meta[page] = (u32)depth << 8 | (u32)popped.records;
        __threadfence();
        __syncwarp();
        if (lane == 0) {
          const u32 ticket = atomicAdd(&control->gifts, 1u);
          store_release(arena.gift_ring + (ticket & arena.gift_bits), page);
        }
        hungry = 0;
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
          const u64 idle_ns = global_nanoseconds() - slept;
          add_u64(&control->idle_ns, idle_ns);
          add_u64(&control->busy_ns, 0 - idle_ns);
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
    const auto popped = levels.pop(depth);
    const u32 page_id = popped.page;
    const int records = popped.records;
    u32 *const page = page_at(arena, page_id);
    // what only the children need
    for (int q = DIRECTIONS_AT / 4; q < record_quads(depth); ++q)
      prefetch(record_at(page, lane) + 4 * q * LANES);
    const int slot = lane < records ? lane : 0;  // idle lanes copy: always valid data

#if ONE_SIDE
    u32 sets[PATH_AT - MASK_AT / 4 * 4];  // the words from the first one's quad on
#pragma unroll
    for (int q = 0; q < PATH_AT / 4 - MASK_AT / 4; ++q) {
      const Quad quad = load_record_quad(page, slot, MASK_AT / 4 + q);
#pragma unroll
      for (int i = 0; i < 4; ++i) sets[4 * q + i] = quad.word[i];
    }
#endif
    Node node = node_of(state_of_record(page, slot), rows + COMMON_AT);
    // the tree's root is decomposed whatever its bound (law 4)
    const int bound = node_bound(node);
    const bool alive = lane < records && (depth == 0 || bound < ub);
    int n_alive = __popc(__ballot_sync(ALL_LANES, alive));

    // ---- bound the children on both sides -------------------------------------------------
    int bounded = 0;
    BasedSelector selector(bound);
#if ONE_SIDE
    const int last = max(depth - 1, 0);
    u32 directions_of_last = 0;
#pragma unroll
    for (int w = 0; w < N_MASK; ++w) {
      const int at = MASK_AT % 4 + w;
      directions_of_last |= sets[at + N_MASK] & (0u - (u32)(w == last / 32));
      own.sides[0][w][lane] = sets[at];
      own.wanted[w][lane] = sets[at] & sets[at + 2 * N_MASK];
    }
    const bool last_back = directions_of_last >> last % 32 & 1;
    bool has_children;
    {
      const u32 *const record = record_at(page, slot);
      Side side = load_side(
          places + last_back * N_CRITICAL, last_back, [=](int at) { return record[at]; });
      hold(side);
      bounded += find_open(
          side, pair_rows + last_back * SIDE_ROW, ub, own, lane, has_children);
      has_children = has_children && alive;
      __syncwarp();
    }
    if (__any_sync(ALL_LANES, has_children))
      bounded += bound_wanted(own, rows, page, has_children, ub, lane, selector);
    __syncwarp();
#elif COLUMNS
    bounded += N - depth;
    bound_at_once(arena, page, slot, ub, own, lane);
#else
    hold(node);
    if (OWN_JOBS) {
      bounded += N - depth;
      bound_own(
          arena, node, rows, page, slot, N - depth, ub, branching_ub, own, lane,
          selector);
    } else {
      bounded += bound_union(
          arena, node, rows, page, slot, ub, branching_ub, own, lane, selector);
    }
#endif
#if !WIDE
#if ONE_SIDE  // the sums are of some children alone
    const bool again = has_children && (selector.unsure(ub) || selector.ties(ub));
#else
    const bool again = alive && selector.unsure(ub);
#endif
    count_again(rows, page, __ballot_sync(ALL_LANES, again), lane, selector);
#endif
    const bool goes_back = selector.back(depth);
    levels.put_first(depth, popped);
    if (lane == 0) {
      ++own.batches;
      own.children += bounded;
    }

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
      for (int w = 0; w < N_MASK; ++w)
        below |= (own.sides[0][w][lane] | own.sides[1][w][lane]) != 0;
      if (__any_sync(ALL_LANES, alive && below)) {
        int value = 0x7fffffff;
        for (int w = 0; w < N_MASK; ++w) {
          const u32 job = *word_at(page, slot, MASK_AT + w);
          if (job)
            value = leaf_value<ROW_LOAD, TWOS>(
                node_of(state_of_record(page, slot), rows + COMMON_AT),
                rows + (w * 32 + __ffs(job) - 1) * STRIDE, rows + COMMON_AT);
        }
        const bool good = alive && value < ub;
        if (arena.all_optima)
          keep_all(control, arena.leaves, page, good, value, lane);
        else
          keep_best(control, arena.leaves, page, good, value, lane);
      }
      if (lane == 0) {
        own.leaves += n_alive;
        own.closed[depth] += records;
      }
      cache.give(arena, page_id, lane);
      continue;
    }

    // ---- the survivors on that side --------------------------------------------------------
    const u32 directions = __ballot_sync(ALL_LANES, goes_back);
    int survivors = 0;
#pragma unroll
    for (int w = 0; w < N_MASK; ++w)
      survivors += __popc(own.sides[goes_back][w][lane]);
    if (!alive) survivors = 0;
    int behind = sum_behind(survivors, lane);
    int total = __shfl_sync(ALL_LANES, behind, 0);
    int rest = 0;  // records that wait
    if (total > MOST_CHILDREN) {
      const u32 fit = __ballot_sync(ALL_LANES, behind <= FEW_CHILDREN);
      rest = min(fit ? __ffs(fit) - 1 : LANES, records - 1);
      total = __shfl_sync(ALL_LANES, behind, rest);
      n_alive = __popc(__ballot_sync(ALL_LANES, alive && lane >= rest));
      if (lane < rest) survivors = 0;
    }

    const int depth_below = depth + 1;
#if TIGHTENS
    if (total && tightens_at(arena.rows + N * ROW + COMMON, depth_below)) {
      survivors = tighten_children(
          filter, own, arena, rows, page, directions, ub, total, behind, survivors,
          lane);
      behind = sum_behind(survivors, lane);
      total = __shfl_sync(ALL_LANES, behind, 0);
    }
#endif

    // ---- make the surviving children, 32 at a time ---------------------------------------
    int filled = own.fill[depth_below];
    u32 target = own.open[depth_below];
    if (total && !cache.reserve(arena, (filled + total + 31) / 32 - (filled > 0), lane)) {
      if (lane == 0) atomicCAS(&control->stop, RUNNING, OUT_OF_PAGES);
      leave_page(arena, depth, page_id, records, lane);  // nothing is done, nothing lost
      if (lane == 0) --own.batches;
      if (stop) draining = 0;
      continue;
    }
    if (lane == 0) {
      own.decomposed += n_alive;
      own.closed[depth] += records - rest - n_alive;
      own.closed[depth_below] += n_alive * (N - depth) - total;
    }
    if (filled && total) --levels.n_open;  // in hand until it is put back below

    const int place = total - behind;  // of this lane's first child among all of them
    const u32 givers = __ballot_sync(ALL_LANES, survivors > 0);
    if (survivors)
      own.lanes[__popc(givers & ((1u << lane) - 1))] = (u8)lane;
    __syncwarp();
    for (int n_made = 0; n_made < total;) {
      // What does not fill a page comes first, to the open one. A page of new nodes alone
      // is decomposed next, as long as it is in the caches.
      const int left = (total - n_made) % LANES;
      const int n_now = left ? left : LANES, held = left ? filled : 0;
      // this lane's child: its parent is the last one whose first child is not behind it
      const int from = place - n_made, child = min(lane, n_now - 1);
      const u32 before = __ballot_sync(ALL_LANES, survivors && from < 0);
      const u32 firsts = warp_or(survivors && 0 <= from && from < LANES ? 1u << from : 0);
      const int parent =
          own.lanes[__popc(before) + __popc(firsts & ((2u << child) - 1)) - 1];
      int nth = child - __shfl_sync(ALL_LANES, from, parent);
      const bool child_back = directions >> parent & 1;
      u32 word = own.sides[child_back][0][parent];
      int bit = 0;
#pragma unroll 1
      for (int w = 1; w < N_MASK; ++w) {
        const int before = __popc(word);
        if (nth < before) break;
        nth -= before;
        word = own.sides[child_back][w][parent];
        bit = 32 * w;
      }
#pragma unroll 1
      for (; nth; --nth) word &= word - 1;
      bit += __ffs(word) - 1;
      const int job = job_of_bit(own, parent, bit);

      const u32 first = held ? target : cache.take(arena, lane);
      const u32 second = held + n_now > LANES ? cache.take(arena, lane) : NONE;
      const u32 at_place = (u32)(held + lane);
      u32 *const to = record_at(
          page_at(arena, at_place < LANES ? first : second), at_place % LANES);
      const u32 *const of_parent = record_at(page, (u32)parent);
      const bool makes = lane < n_now;

      State state = state_of_record(page, parent);
      Quad early[EARLY_QUADS + 1];  // loads first: none passes a store
#pragma unroll
      for (int q = 0; q < EARLY_QUADS; ++q)
        early[q] = load_quad(of_parent + (ALIGNED_WORDS + 4 * q) * LANES);
      const auto tail = [&](int q) {
        return q < EARLY_QUADS ? early[q]
                               : load_quad(of_parent + (ALIGNED_WORDS + 4 * q) * LANES);
      };
#if COLUMNS
      extend<ROW_LOAD, true>(state, rows + job * STRIDE, child_back, rows + COMMON_AT);
      state.word[BOUND] = own.columns[job][parent];
#else
      extend<ROW_LOAD>(state, rows + job * STRIDE, child_back, rows + COMMON_AT);
#endif
      int digit = OWN_JOBS ? bit : 0;
      const int job_word = N_MASK == 1 ? 0 : job >> 5;
      const int depth_word = N_MASK == 1 ? 0 : depth >> 5;
#pragma unroll
      for (int at = 0; at < ALIGNED_WORDS; at += 4) {
        Quad quad;
#pragma unroll
        for (int i = 0; i < 4; ++i) quad.word[i] = state_word(state, at + i);
        if (makes) store_quad(to + at * LANES, quad);
      }
#pragma unroll
      for (int at = ALIGNED_WORDS; at < PATH_AT; at += 4) {
        Quad quad = tail((at - ALIGNED_WORDS) / 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int here = at + i;
          if (here < MASK_AT) {
            quad.word[i] = state_word(state, here);
          } else if (here < DIRECTIONS_AT) {
            const int w = here - MASK_AT;
            const u32 own_bit = 1u << (job & 31);
            if (!OWN_JOBS) {
              if (w < job_word) digit += __popc(quad.word[i]);
              if (w == job_word) digit += __popc(quad.word[i] & (own_bit - 1));
            }
            if (w == job_word) quad.word[i] &= ~own_bit;
          } else if (here < DIRECTIONS_AT + N_MASK) {
            const int w = here - DIRECTIONS_AT;
            if (w == depth_word) quad.word[i] |= (u32)child_back << (depth & 31);
          } else if (ONE_SIDE && here < LEFT_AT + N_MASK) {
            quad.word[i] = own.sides[!child_back][here - LEFT_AT][parent];
          }
        }
        if (makes) store_quad(to + at * LANES, quad);
      }
      // the parent's digits, then its own; what lies behind is nothing
#pragma unroll(PATH_QUADS <= 4 ? PATH_QUADS : 1)
      for (int q = 0; q < PATH_QUADS; ++q) {
        if (q * DIGITS_PER_QUAD >= depth) break;
        const Quad quad = tail((PATH_AT - ALIGNED_WORDS) / 4 + q);
        if (makes) store_quad(to + (PATH_AT + 4 * q) * LANES, quad);
      }
      if (makes) {
        const int q = depth / DIGITS_PER_QUAD;
        Digit *const digits = reinterpret_cast<Digit *>(to + (PATH_AT + 4 * q) * LANES);
        digits[depth % DIGITS_PER_QUAD] = (Digit)digit;
      }
      __syncwarp();

      n_made += n_now;
      const bool fills = held + n_now >= LANES;
      if (fills) levels.push(depth_below, first, LANES);
      if (left) {
        filled = (held + n_now) % LANES;
        target = fills ? second : first;
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
    const auto popped = levels.pop(depth);
    levels.put_first(depth, popped);
    leave_page(arena, depth, popped.page, popped.records, lane);
  }
  cache.give_back_all(arena, lane);
  __syncwarp();
  for (int i = lane; i <= N; i += LANES) add_u64(arena.closed + i, own.closed[i]);
  if (lane == 0) {
    add_u64(&control->decomposed, own.decomposed);
    add_u64(&control->leaves, own.leaves);
    add_u64(&control->batches, own.batches);
    add_u64(&control->children, own.children);
    add_u64(&control->busy_ns, global_nanoseconds() - began);
  }
}
