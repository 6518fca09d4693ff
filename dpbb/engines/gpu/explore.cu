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

constexpr int NEWS_EVERY = 4;  // batches

// ONE_SIDE: with many jobs left, the children on the side of the last job are bounded
// first, two jobs' at a time. No bound on a side falls when the other side takes a job: a
// child that is cut there stays so until that side takes one. So both sides are bounded
// of those jobs alone that are left on either, and a record has the set of those that are
// left on the side opposite to its last job (LEFT_AT). The rule MINMIN needs no bounds of
// children that are cut, but for the sums of both sides where they tie. Half of the nodes
// have no child left on the one side, so the lanes of the others get their help.
//
// OWN_JOBS: each lane bounds the children of its own jobs, one after the other; else the
// warp goes through all jobs that any lane has unscheduled.
//
// Lanes that read rows of their own do so two words at a time. In shared memory the rows
// lie an odd number of these apart: 16 jobs in a row are in banks of their own.
constexpr int ROW_LOAD = OWN_JOBS ? 2 : 4;
constexpr int STRIDE = SHARED_ROWS && OWN_JOBS ? ((ROW + 1) / 2 | 1) * 2 : ROW;
static_assert(!OWN_JOBS || N_MASK <= 2, "a lane holds its set of jobs in two words");
constexpr int TWOS = 9;  // see child_bounds
constexpr int ROWS_AT_ONCE = 2;  // whose chains of maxima run side by side
// Quads of a parent behind its model's aligned words that are loaded before a child is
// made: all up to the path's first one, or none where registers do not allow it.
constexpr int EARLY_QUADS = OWN_JOBS ? (PATH_AT - ALIGNED_WORDS) / 4 + 1 : 0;

struct Explorer {
  u32 full[N];        // list of full pages of each depth, through Arena::next
  u32 open[N];        // page that is being filled
  u32 closed[N + 1];  // closed subtrees by depth, this launch
  u16 ready[LANES];   // children to be made: parent's lane | bit << 5
  u8 fill[N];         // records in the open page, 0 (no page) to 31
  u8 rest[N];         // records left of the first full page; 0: all
  u8 jobs[OWN_JOBS ? N : 1][LANES];  // by rank, of each lane's node
#if ONE_SIDE
  u32 wanted[N_MASK][LANES];  // of each lane's node: jobs to be bounded on both sides
  u32 front[N_MASK][LANES], back[N_MASK][LANES];  // those that are below the upper bound
#endif
};

#if TIGHTENS
// What a warp needs to tighten bounds, before its Explorer.
struct Filter {
  Tightening model;
  u32 cut[N_MASK][LANES];   // of each lane's node: children that are pruned
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

#if ONE_SIDE
// Jobs i and i + 16 of 32 are a pair; in the last word, that has fewer, the halves.
constexpr int LAST_HALF = (N % 32 + 3) / 4 * 2;
constexpr int PAIR_ROW = 2 * ROW;  // times on the machines in order, then mirrored
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

__device__ __forceinline__ u32 pair_row_word(const u32 *rows, int at) {
  const int pair = at / PAIR_ROW, k = at % ROW, w = pair / 16;
  const int a = w * 32 + pair % 16, b = a + half_of(w);
  const u32 of_a = a < N ? rows[a * ROW + k] : 0u, of_b = b < N ? rows[b * ROW + k] : 0u;
  return __byte_perm(of_a, of_b, at % PAIR_ROW < ROW ? 0x5410 : 0x7632);
}

// Jobs whose children may be below the upper bound on a side: those that are, on the side
// of the last job, and those that are left on the other. Where either are none, there is
// no child: the other side is taken, whose least bound is higher. Returns pairs bounded.
__device__ __forceinline__ int find_open(
    const Node &side, const u32 *pair_rows, u32 *page, int slot, int ub, Explorer &own,
    int lane, bool &has_children) {
  u32 any_of_side = 0, any_left = 0;
  const u32 offset = (0x8000u - (u32)ub) * 0x00010001u;  // sets a half's top bit from ub
  int n_rows = 0;
#pragma unroll 1
  for (int w = 0; w < N_MASK; ++w) {
    const int half = half_of(w);
    const u32 mine = *word_at(page, slot, MASK_AT + w);
    const u32 left = mine & *word_at(page, slot, LEFT_AT + w);
    const u32 any = in_pairs(warp_or(mine), w);
    u32 pairs = (any | any >> 16) & 0xffffu;
    n_rows += __popc(pairs);
    const u32 *const first = pair_rows + w * 16 * PAIR_ROW;
    u32 open = 0;
    if (pairs == (1u << half) - 1) {
      const u32 *row = first + (half - 1) * PAIR_ROW;
      for (int i = half; i > 0; i -= ROWS_AT_ONCE) {
        Pair bound[ROWS_AT_ONCE];
#pragma unroll
        for (int u = 0; u < ROWS_AT_ONCE; ++u)
          bound[u] = child_bounds<ROW_LOAD, TWOS>(side, row - u * PAIR_ROW);
#pragma unroll
        for (int u = 0; u < ROWS_AT_ONCE; ++u)
          open = open << 1 | (~(bound[u].both + offset) >> 15 & 0x00010001u);
        row -= ROWS_AT_ONCE * PAIR_ROW;
      }
    } else {
      while (pairs) {
        const int i = 31 - __clz(pairs);
        pairs ^= 1u << i;
        const int j = pairs ? 31 - __clz(pairs) : i;
        pairs &= ~(1u << j);
        const Pair one = child_bounds<ROW_LOAD, TWOS>(side, first + i * PAIR_ROW);
        const Pair two = child_bounds<ROW_LOAD, TWOS>(side, first + j * PAIR_ROW);
        open |= (~(one.both + offset) >> 15 & 0x00010001u) << i |
                (~(two.both + offset) >> 15 & 0x00010001u) << j;
      }
    }
    const u32 of_side = mine & out_of_pairs(open, w);
    any_of_side |= of_side;
    any_left |= left;
    own.wanted[w][lane] = of_side | left;
    own.front[w][lane] = own.back[w][lane] = 0;
  }
  has_children = any_of_side && any_left;
  return n_rows;
}

// The lanes of some nodes share their work with the others: each node is that of equally
// many lanes, a power of two.
struct Team {
  int slot, bits, rank;  // the node this lane works for; that many lanes; of its own node
  bool works;

  __device__ __forceinline__ Team(Explorer &own, u32 nodes, int lane) {
    const int n = __popc(nodes);
    rank = __popc(nodes & ((1u << lane) - 1));
    if (nodes >> lane & 1) own.ready[rank] = (u16)lane;
    __syncwarp();
    bits = n <= 1 ? 5 : __clz(n - 1) - 27;
    works = lane >> bits < n;
    slot = own.ready[min(lane >> bits, n - 1)];
    __syncwarp();
  }
  __device__ __forceinline__ int lanes() const { return 1 << bits; }
  // The first lane that works for this lane's own node.
  __device__ __forceinline__ int first() const { return rank << bits & 31; }
};

// Bounds of the open jobs' children of these nodes on both sides. Returns how often.
__device__ __forceinline__ int bound_open(
    Explorer &own, const u32 *rows, u32 *page, u32 nodes, int ub, int lane,
    Selector &selector) {
  const Team team(own, nodes, lane);
  u32 share = team.works;  // of each word's bits
  for (int step = team.lanes(); step < 32; step *= 2) share |= share << step;
  share <<= lane & (team.lanes() - 1);
  Node node = node_of(state_of_record(page, team.slot));
  hold(node);
  int n_rows = 0, word = 0;
  u32 left = own.wanted[0][team.slot] & share;
  while (true) {
    while (!left && word < N_MASK - 1) left = own.wanted[++word][team.slot] & share;
    if (!__any_sync(ALL_LANES, left)) break;
    ++n_rows;
    const u32 bit = left & (0u - left);
    left ^= bit;
    const int job = bit ? word * 32 + 31 - __clz(bit) : 0;
    Pair bound = child_bounds<ROW_LOAD, TWOS>(node, rows + job * STRIDE);
    if (!bit) bound = PAIR_TOP;
    selector.add(bound, 0);
    if (front_of(bound) < ub) atomicOr(&own.front[word][team.slot], bit);
    if (back_of(bound) < ub) atomicOr(&own.back[word][team.slot], bit);
  }
  for (int step = 1; step < team.lanes(); step *= 2)
    selector.add(selector.of_lane(lane ^ step));
  selector = selector.of_lane(team.first());
  return n_rows;
}

// Bounds of all children of the lane's node on the back less those on the front, for the
// lanes of `ties`.
__device__ __forceinline__ int sum_of_sides(
    Explorer &own, const u32 *rows, u32 *page, u32 ties, int lane) {
  const Team team(own, ties, lane);
  Node node = node_of(state_of_record(page, team.slot));
  hold(node);
  int sum = 0;
#pragma unroll 1
  for (int job = lane & (team.lanes() - 1); job < N; job += team.lanes()) {
    const u32 mine = *word_at(page, team.slot, MASK_AT + (job >> 5)) >> (job & 31) & 1;
    const Pair bound = child_bounds<ROW_LOAD, TWOS>(node, rows + job * STRIDE);
    sum = __dp2a_lo((int)bound.both, mine ? 0x01ff : 0, sum);
  }
  for (int step = 1; step < team.lanes(); step *= 2)
    sum += __shfl_xor_sync(ALL_LANES, sum, step);
  return __shfl_sync(ALL_LANES, sum, team.first());
}
#endif

// Word w of an array that stays in registers when it is short.
__device__ __forceinline__ u32 word_of(const u32 (&words)[N_MASK], int w) {
  if (N_MASK > 4) return words[w];
  u32 value = words[0];
#pragma unroll
  for (int i = 1; i < N_MASK; ++i)
    if (i == w) value = words[i];
  return value;
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

// Bounds of all children of the lanes' nodes: survivors by direction, and the selector,
// to which copies of equal jobs are children like all others.
// The loop runs over the jobs that any lane has unscheduled, so every lane reads the same
// row: one access for the warp, and no bank conflicts.
__device__ __forceinline__ int bound_union(
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
    const u32 *first = rows + w * 32 * STRIDE;
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
      Pair bound = child_bounds<ROW_LOAD, TWOS>(node, first + bit * STRIDE);
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
      Pair bound = child_bounds<ROW_LOAD, TWOS>(node, first + bit * STRIDE);
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
    int n_children, int ub, int branching_ub, u8 (*jobs)[LANES], int lane,
    u32 (&front)[N_MASK], u32 (&back)[N_MASK], Selector &selector) {
  u32 low = *word_at(page, slot, MASK_AT);
  u32 left = N_MASK > 1 ? *word_at(page, slot, MASK_AT + N_MASK - 1) : low;
  int first = N_MASK > 1 ? 32 : 0;  // job of the lowest bit of `left`
  if (N_MASK > 1 && !left) {
    left = low;
    first = 0;
  }
#if !WIDE
  u32 offset = (0x8000u - (u32)ub) * 0x00010001u;  // sets a half's top bit from ub
  keep(offset);
#endif
#pragma unroll
  for (int w = N_MASK - 1; w >= 0; --w) {
    const int count = min(32, n_children - 32 * w);
    u32 front_bits = 0, back_bits = 0;  // of those that are cut
#pragma unroll(ROWS_AT_ONCE)
    for (int i = count - 1; i >= 0; --i) {
      const int bit = 31 - __clz(left);
      const int job = first + bit;
      left ^= 1u << bit;
      if (N_MASK > 1 && !left) {
        left = low;
        first = 0;
      }
      jobs[w * 32 + i][lane] = (u8)job;
      Pair bound = child_bounds<ROW_LOAD, TWOS>(node, rows + job * STRIDE);
      selector.add(bound, branching_ub);
      if (is_second(arena, page, slot, job)) bound = PAIR_TOP;
#if WIDE
      front_bits = front_bits << 1 | (front_of(bound) >= ub);
      back_bits = back_bits << 1 | (back_of(bound) >= ub);
#else
      const u32 flags = bound.both + offset;
      front_bits = __funnelshift_lc(flags << 16, front_bits, 1);
      back_bits = __funnelshift_lc(flags, back_bits, 1);
#endif
    }
    const u32 all = count <= 0 ? 0 : 0xffffffffu >> (32 - count);
    front[w] = ~front_bits & all;
    back[w] = ~back_bits & all;
  }
}

// The job of a survivor's bit, of the node in a slot.
__device__ __forceinline__ int job_of_bit(
    const Explorer &own, u32 *page, int slot, int bit) {
  if (OWN_JOBS) return own.jobs[bit][slot];
  if (WIDE || ONE_SIDE) return bit;
  const u32 jobs = *word_at(page, slot, MASK_AT + bit / 32);
  return (bit & ~31) + 31 - __clz(jobs & ((2u << bit % 32) - 1));
}

#if TIGHTENS
template <int COUNT>
__device__ __forceinline__ void cut_children(
    Filter &own, const Arena &arena, const u32 *rows, u32 *page, u32 directions, int ub,
    int n_now, int lane) {
  TightChildren<COUNT> children{own.model, lane};
  u32 idle = 0;
#pragma unroll
  for (int i = 0; i < COUNT; ++i) {
    const int place = i * LANES + lane;
    const u32 entry = own.list[place < n_now ? place : 0];
    const int parent = (int)(entry & 31), job = (int)(entry >> 16);
    State state = state_of_record(page, parent);
    extend<ROW_LOAD>(state, rows + job * STRIDE, directions >> parent & 1);
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
    const u32 entry = own.list[i * LANES + lane];
    atomicOr(&own.cut[entry >> 10 & 63][entry & 31], 1u << (entry >> 5 & 31));
  }
  __syncwarp();
}

// Take the children out of `open` whose bounds the model can tighten to ub: gathered side
// by side, whoever their parents are. `n` of them in all, of this lane `mine`, with those
// of later lanes `behind`; returns how many of its own are left.
__device__ __forceinline__ int tighten_children(
    Filter &filter, const Explorer &own, const Arena &arena, const u32 *rows, u32 *page,
    u32 directions, int ub, int n, int behind, int mine, u32 (&open)[N_MASK],
    int lane) {
  for (int w = 0; w < N_MASK; ++w) filter.cut[w][lane] = 0;
  int word = 0, place = n - behind;
  u32 left = 0;
  const int end = place + mine;
  for (int done = 0; done < n; done += SLOTS * LANES) {
    const int n_now = min(n - done, SLOTS * LANES);
    while (place < min(end, done + n_now)) {
      while (!left) left = word_of(open, word++);
      const int bit = (word - 1) * 32 + __ffs(left) - 1;
      left &= left - 1;
      const int job = job_of_bit(own, page, lane, bit);
      filter.list[place++ - done] = (u32)(lane | bit << 5 | job << 16);
    }
    __syncwarp();
    if (n_now > LANES)
      cut_children<SLOTS>(filter, arena, rows, page, directions, ub, n_now, lane);
    else
      cut_children<1>(filter, arena, rows, page, directions, ub, n_now, lane);
  }
  int kept = 0;
#pragma unroll
  for (int w = 0; w < N_MASK; ++w) {
    open[w] &= ~filter.cut[w][lane];
    kept += __popc(open[w]);
  }
  return kept;
}
#endif

extern "C" __global__ void __launch_bounds__(WARPS *LANES, MIN_BLOCKS)
    explore(const Arena *arena_at) {
  extern __shared__ __align__(16) u32 shared[];
  Arena &arena = *reinterpret_cast<Arena *>(shared);
  u32 *const tables = shared + sizeof(Arena) / 4;
  if (threadIdx.x == 0) arena = *arena_at;
  __syncthreads();
  Control *const control = arena.control;
  const int lane = threadIdx.x % LANES;
#if SHARED_ROWS
  for (int i = threadIdx.x; i < N * ROW; i += blockDim.x)
    tables[i / ROW * STRIDE + i % ROW] = arena.rows[i];
  const u32 *const rows = tables;
  u32 *below_rows = tables + (N * STRIDE + 3) / 4 * 4;
#if ONE_SIDE
  u32 *const pair_rows = below_rows;
  for (int i = threadIdx.x; i < N_PAIRS * PAIR_ROW; i += blockDim.x)
    pair_rows[i] = pair_row_word(arena.rows, i);
  below_rows += N_PAIRS * PAIR_ROW;
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
    const auto popped = levels.pop(depth);
    const u32 page_id = popped.page;
    const int records = popped.records;
    u32 *const page = page_at(arena, page_id);
    // what only the children need
    for (int q = DIRECTIONS_AT / 4; q < record_quads(depth); ++q)
      prefetch(record_at(page, lane) + 4 * q * LANES);
    const int slot = lane < records ? lane : 0;  // idle lanes copy: always valid data

    Node node = node_of(state_of_record(page, slot));
    // the tree's root is decomposed whatever its bound (architecture I4)
    const bool alive = lane < records && (depth == 0 || node_bound(node) < ub);
    int n_alive = __popc(__ballot_sync(ALL_LANES, alive));

    // ---- bound the children on both sides -------------------------------------------------
    u32 front[N_MASK], back[N_MASK];
#if ONE_SIDE
    const int last = max(depth - 1, 0);
    const bool last_back =
        *word_at(page, slot, DIRECTIONS_AT + last / 32) >> last % 32 & 1;
    Selector selector;
    bool has_children;
    {
      Node side = one_side(node, last_back);
      hold(side);
      __syncwarp();  // or the compiler keeps the node in registers
      children += find_open(
          side, pair_rows + last_back * ROW, page, slot, ub, own, lane, has_children);
      has_children = has_children && alive;
      __syncwarp();
    }
    const u32 parents = __ballot_sync(ALL_LANES, has_children);
    if (parents)
      children += bound_open(own, rows, page, parents, ub, lane, selector);
    __syncwarp();
#pragma unroll
    for (int w = 0; w < N_MASK; ++w) {
      front[w] = own.front[w][lane];
      back[w] = own.back[w][lane];
    }
    bool goes_back = selector.back(depth);
    const bool tie =
        has_children && !selector.preference && (int)(selector.least & 0xffffu) < ub;
    const u32 ties = __ballot_sync(ALL_LANES, tie);
    if (ties) {
      const int sum = sum_of_sides(own, rows, page, ties, lane);
      if (tie) goes_back = sum > 0;
    }
#else
    Selector selector;
    hold(node);
    if (OWN_JOBS) {
      children += N - depth;
      bound_own(
          arena, node, rows, page, slot, N - depth, ub, branching_ub, own.jobs, lane,
          front, back, selector);
    } else {
      children += bound_union(
          arena, node, rows, page, slot, ub, branching_ub, front, back, selector);
    }
    const bool goes_back = selector.back(depth);
#endif
    levels.put_first(depth, popped);
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
      for (int w = 0; w < N_MASK; ++w) below |= (front[w] | ONE_SIDE * back[w]) != 0;
      if (__any_sync(ALL_LANES, alive && below)) {
        int value = 0x7fffffff;
        for (int w = 0; w < N_MASK; ++w) {
          const u32 job = *word_at(page, slot, MASK_AT + w);
          if (job)
            value = leaf_value<ROW_LOAD, TWOS>(
                node_of(state_of_record(page, slot)),
                rows + (w * 32 + __ffs(job) - 1) * STRIDE);
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
    const u32 directions = __ballot_sync(ALL_LANES, goes_back);
    int survivors = 0;
#pragma unroll
    for (int w = 0; w < N_MASK; ++w) {
      const u32 taken = !alive ? 0 : goes_back ? back[w] : front[w];
      if (ONE_SIDE) back[w] = goes_back ? front[w] : back[w];  // the other side
      front[w] = taken;
      survivors += __popc(front[w]);
    }
    int behind = sum_behind(survivors, lane);
    int total = __shfl_sync(ALL_LANES, behind, 0);
    int rest = 0;  // records that wait
    if (total > MOST_CHILDREN) {
      const u32 fit = __ballot_sync(ALL_LANES, behind <= FEW_CHILDREN);
      rest = min(fit ? __ffs(fit) - 1 : LANES, records - 1);
      total = __shfl_sync(ALL_LANES, behind, rest);
      n_alive = __popc(__ballot_sync(ALL_LANES, alive && lane >= rest));
#pragma unroll
      for (int w = 0; w < N_MASK; ++w)
        if (lane < rest) front[w] = 0;
      if (lane < rest) survivors = 0;
    }

    const int depth_below = depth + 1;
#if TIGHTENS
    if (total && tightens_at(arena.rows + N * ROW, depth_below)) {
      survivors = tighten_children(
          filter, own, arena, rows, page, directions, ub, total, behind, survivors, front,
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

    int word = 0;  // of `front`, that `left` is the next one of
    u32 left = 0;
    int place = total - behind;  // of this lane's next child among all of them
    const int end = place + survivors;
    for (int n_made = 0; n_made < total;) {
      const int n_now = min(total - n_made, LANES);
      while (place < min(end, n_made + n_now)) {
        while (!left) left = word_of(front, word++);
        const int bit = (word - 1) * 32 + __ffs(left) - 1;
        left &= left - 1;
        own.ready[place++ - n_made] = (u16)(lane | bit << 5);
      }
      __syncwarp();
      const u32 entry = own.ready[lane < n_now ? lane : 0];
      const int parent = (int)(entry & 31), bit = (int)(entry >> 5);
      const int job = job_of_bit(own, page, parent, bit);
      const bool child_back = directions >> parent & 1;

      u32 second = NONE;
      if (!filled) target = cache.take(arena, lane);
      if (filled + n_now > LANES) second = cache.take(arena, lane);
      const u32 at_place = (u32)(filled + lane);
      u32 *const to = record_at(
          page_at(arena, at_place < LANES ? target : second), at_place % LANES);
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
      extend<ROW_LOAD>(state, rows + job * STRIDE, child_back);
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
            quad.word[i] = __shfl_sync(ALL_LANES, back[here - LEFT_AT], parent);
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
    const auto popped = levels.pop(depth);
    levels.put_first(depth, popped);
    leave_page(arena, depth, popped.page, popped.records, lane);
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
