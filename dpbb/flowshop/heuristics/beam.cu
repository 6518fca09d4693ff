// Levels of the beam search on a device; see dpbb.flowshop.heuristics.beam.
//
// A level is an array of records, a node each:
//     the model's state | idle times, pairs as the state's x | set of the unscheduled
//     jobs, a bit each | which sides hold a job | weights of front and back, floats
// The candidates of a level are its nodes' children, node by node, jobs ascending; a
// candidate is a key: the bits of its guide, a float above 0, so that keys compare as
// guides do; the bound itself where children are complete; NO_KEY if it is pruned or on
// the other side. Floats are added, multiplied and divided one by one, each rounded to
// nearest, in the order of the machines: so keys are those of the CPU to the bit.
//
// A level is made by: expand; (histogram, choose) three times; count; scan; take; make.
// The width least keys are taken, of equal ones those that come first.
// Twin: dpbb.flowshop.heuristics.beam_cpu.
#include "warp.cuh"

constexpr int SET_WORDS = (N_JOBS + 31) / 32;
constexpr int IDLE_AT = (STATE_WORDS + 3) / 4 * 4;
constexpr int SET_AT = IDLE_AT + ROW;
constexpr int SIDES_AT = SET_AT + SET_WORDS;
constexpr int WEIGHTS_AT = SIDES_AT + 1;
constexpr int RECORD_WORDS = (WEIGHTS_AT + 2 + 3) / 4 * 4;

constexpr int WARPS = BLOCK / LANES;
constexpr int LIST_WORDS = SET_WORDS * LANES / 2;
constexpr int LINE_WORDS = (M + 3) / 4 * 4;
constexpr int WARP_WORDS =
    2 * LINE_WORDS + SET_WORDS * LANES * WORDS_PER_PAIR + 2 * LIST_WORDS;

constexpr int BITS = 12, BINS = 1 << BITS;
constexpr int NO_KEY = 0x7fffffff;
constexpr int CHUNK = 128;  // nodes that a block counts and takes
constexpr float ONE_SIDED = 1e25f;

// What a level is about; all zero but `least` before expand.
struct Control {
  u64 alive;  // candidates that are not pruned
  u64 rank;   // the how-manieth of the keys from low on is wanted
  int least, most;
  int low, shift;
  u32 over;  // low is the largest key taken, rank how many of it
  u32 unused;
};

#if WIDE
typedef long long Sum;
#else
typedef int Sum;
#endif

__device__ __forceinline__ Sum lanes_sum(Sum value) {
#pragma unroll
  for (int step = 16; step; step >>= 1)
    value += __shfl_xor_sync(ALL_LANES, value, step);
  return value;
}

__device__ __forceinline__ Pair twice(int value) {
#if WIDE
  return {value, value};
#else
  return {(u32)value | (u32)value << 16};
#endif
}

__device__ __forceinline__ int half_of(Pair pair, int side) {
  return side ? back_of(pair) : front_of(pair);
}

__device__ __forceinline__ float share(int idle, int end) {
  return __fdiv_rn(__int2float_rn(idle), __int2float_rn(max(end, 1)));
}

// What a machine weighs that is so far behind the one before it; `lack`: at most.
__device__ __forceinline__ float lacking(float lack, int lag, int behind) {
  const float part =
      __fdiv_rn(__int2float_rn(max(lag - behind, 0)), __int2float_rn(lag));
  return __fmul_rn(lack, __fmul_rn(part, part));
}

__device__ __forceinline__ int key_of(
    bool complete, int bound, float weight, bool one_sided, float alpha) {
  if (complete) return bound;
  const float b = __int2float_rn(bound);
  float value;
  if (one_sided) {
    value = __fmul_rn(ONE_SIDED, b);
  } else {
    const float rest = __fmul_rn(__fmul_rn(__fsub_rn(1.0f, alpha), weight), b);
    value = __fadd_rn(__fmul_rn(alpha, b), rest);
  }
  return __float_as_int(value);
}

// Bound the children of nodes first .. last - 1 and give the survivors on the better
// side their keys. One warp a node, a lane a job.
// rows[N_JOBS][ROW]; records[.][RECORD_WORDS]; sides[.], keys[.][r]: out.
// Grid: any. Shared: the rows if ROWS_SHARED, then WARP_WORDS a warp.
extern "C" __global__ void __launch_bounds__(BLOCK) expand(
    const u32 *rows, const u32 *records, int first, int last, int r, int ub,
    float alpha, float lack, int lag, u8 *sides, int *keys, Control *control) {
  extern __shared__ __align__(16) u32 shared[];
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const u32 *table = rows;
  u32 *own = shared;
  if (ROWS_SHARED) {
    for (int word = threadIdx.x; word < N_JOBS * ROW; word += BLOCK)
      shared[word] = rows[word];
    __syncthreads();
    table = shared;
    own += N_JOBS * ROW;
  }
  own += warp * WARP_WORDS;
  int *const line = (int *)own;         // fronts of the chosen side, by machine
  int *const past = line + LINE_WORDS;  // idle time less what is no wait
  u32 *const found = own + 2 * LINE_WORDS;
  u16 *const jobs = (u16 *)(found + SET_WORDS * LANES * WORDS_PER_PAIR);
  u16 *const alive_slots = jobs + SET_WORDS * LANES;
  const u32 before = (1u << lane) - 1;
  u64 total = 0;
  int least = NO_KEY, most = 0;

  for (int at = first + blockIdx.x * WARPS + warp; at < last;
       at += gridDim.x * WARPS) {
    const u32 *const record = records + (u64)at * RECORD_WORDS;
    __syncwarp();
    int slots = 0;
    for (int word = 0; word < SET_WORDS; ++word) {
      const u32 bits = record[SET_AT + word];
      if (bits >> lane & 1)
        jobs[slots + __popc(bits & before)] = (u16)(word * 32 + lane);
      slots += __popc(bits);
    }
    __syncwarp();
    int alive_front = 0, alive_back = 0;
    Sum sum_front = 0, sum_back = 0;
    {
      const Node node = node_of(
          load_state([&](int quad) { return load_quad(record + 4 * quad); }));
      for (int base = 0; base < r; base += LANES) {
        const int slot = base + lane;
        if (slot < r) {
          const Pair bound = child_bounds(node, table + jobs[slot] * ROW);
#pragma unroll
          for (int part = 0; part < WORDS_PER_PAIR; ++part)
            found[slot * WORDS_PER_PAIR + part] = pair_word(bound, part);
          if (front_of(bound) < ub) ++alive_front, sum_front += front_of(bound);
          if (back_of(bound) < ub) ++alive_back, sum_back += back_of(bound);
        }
      }
    }
    alive_front = warp_sum(alive_front);
    alive_back = warp_sum(alive_back);
    sum_front = lanes_sum(sum_front);
    sum_back = lanes_sum(sum_back);
    const int side = alive_back < alive_front ||
                     (alive_back == alive_front && sum_back > sum_front);
    if (lane == 0) sides[at] = (u8)side;
    const u32 used = record[SIDES_AT];
    const bool empty = !(used >> side & 1), one_sided = !(used >> (1 - side) & 1);
    const float other = __int_as_float((int)record[WEIGHTS_AT + 1 - side]);
    for (int k = lane; k < M; k += LANES) {
      const int end = half_of(pair_from_words(record + k * WORDS_PER_PAIR), side);
      const Pair idle = pair_from_words(record + IDLE_AT + k * WORDS_PER_PAIR);
      line[k] = end;
      past[k] = half_of(idle, side) - (empty ? 0 : end);
    }
    int *const own_keys = keys + (u64)at * r;
    int alive = 0;
    for (int base = 0; base < r; base += LANES) {
      const int slot = base + lane;
      const bool lives =
          slot < r &&
          half_of(pair_from_words(found + slot * WORDS_PER_PAIR), side) < ub;
      const u32 mask = __ballot_sync(ALL_LANES, lives);
      if (lives) alive_slots[alive + __popc(mask & before)] = (u16)slot;
      if (slot < r && !lives) own_keys[slot] = NO_KEY;
      alive += __popc(mask);
    }
    __syncwarp();
    for (int base = 0; base < alive; base += LANES) {
      if (base + lane >= alive) break;
      const int slot = alive_slots[base + lane];
      const u32 *const row = table + jobs[slot] * ROW;
      float weight = 0.0f;
      if (r > 1 && !one_sided) {
        int end = 0;
        for (int group = 0; group < M; group += PAIRS_PER_QUAD) {
          const Quad quad = load_quad(row + group * WORDS_PER_PAIR);
#pragma unroll
          for (int i = 0; i < PAIRS_PER_QUAD; ++i) {
            const int k = group + i;
            if (k >= M) break;
            const int before = end, start = max(end, line[k]);
            end = start + half_of(pair_in(quad, i), side);
            if (k == 0) continue;
            weight = __fadd_rn(weight, share(past[k] + start, end));
            if (lack > 0.0f)
              weight = __fadd_rn(weight, lacking(lack, lag, end - before));
          }
        }
        weight = __fadd_rn(weight, other);
      }
      const int bound = half_of(pair_from_words(found + slot * WORDS_PER_PAIR), side);
      const int key = key_of(r == 1, bound, weight, one_sided, alpha);
      own_keys[slot] = key;
      least = min(least, key);
      most = max(most, key);
    }
    if (lane == 0) total += alive;
  }
  least = warp_min(least);
  most = -warp_min(-most);
  if (lane == 0 && total) {
    atomicAdd(&control->alive, total);
    atomicMin(&control->least, least);
    atomicMax(&control->most, most);
  }
}

__device__ __forceinline__ int next_shift(int bits) { return max(bits - BITS, 0); }

// The range of keys that a pass counts: at the first one all of them.
__device__ __forceinline__ void range_of(
    const Control *control, int pass, int &low, int &shift) {
  low = pass ? control->low : control->least;
  shift = pass ? next_shift(control->shift)
               : next_shift(32 - __clz(control->most - control->least));
}

// Count the keys by their next BITS bits. Grid: any. Shared: BINS words.
extern "C" __global__ void __launch_bounds__(BLOCK) histogram(
    const int *keys, u64 n_keys, u64 width, int pass, const Control *control,
    u32 *bins) {
  extern __shared__ __align__(16) u32 shared[];
  if (control->alive <= width || control->over) return;
  for (int bin = threadIdx.x; bin < BINS; bin += BLOCK) shared[bin] = 0;
  __syncthreads();
  int low, shift;
  range_of(control, pass, low, shift);
  for (u64 at = (u64)blockIdx.x * BLOCK + threadIdx.x; at < n_keys;
       at += (u64)gridDim.x * BLOCK) {
    const int key = keys[at];
    if (key < low || key == NO_KEY) continue;
    const u32 bin = (u32)(key - low) >> shift;
    if (bin < BINS) atomicAdd(shared + bin, 1u);
  }
  __syncthreads();
  for (int bin = threadIdx.x; bin < BINS; bin += BLOCK)
    if (shared[bin]) atomicAdd(bins + bin, shared[bin]);
}

// Find the bin with the key that is wanted; empties the bins. One block, one warp.
extern "C" __global__ void __launch_bounds__(LANES) choose(
    u64 width, int pass, Control *control, u32 *bins) {
  const int lane = threadIdx.x;
  constexpr int SHARE = BINS / LANES;
  if (control->alive <= width || control->over) return;
  int low, shift;
  range_of(control, pass, low, shift);
  const u64 rank = pass ? control->rank : width;
  u64 own = 0;
#pragma unroll 16
  for (int i = 0; i < SHARE; ++i) own += bins[lane * SHARE + i];
  u64 upto = own;
  for (int step = 1; step < LANES; step *= 2) {
    const u64 other = __shfl_sync(ALL_LANES, upto, max(lane - step, 0));
    if (lane >= step) upto += other;
  }
  u64 counted = upto - own;
  __syncwarp();
  const bool here = counted < rank && rank <= upto;
  for (int i = 0; i < SHARE; ++i) {
    const u32 count = bins[lane * SHARE + i];
    if (here && counted < rank && rank <= counted + count) {
      control->low = low + (int)((u32)(lane * SHARE + i) << shift);
      control->shift = shift;
      control->rank = rank - counted;
      control->over = shift == 0;
    }
    counted += count;
    bins[lane * SHARE + i] = 0;
  }
}

// How many keys of a node are below the last one taken, and how many are equal to it.
__device__ __forceinline__ void count_node(
    const int *keys, int r, int limit, int lane, u32 &below, u32 &ties) {
  below = ties = 0;
  for (int base = 0; base < r; base += LANES) {
    const int key = base + lane < r ? keys[base + lane] : NO_KEY;
    below += __popc(__ballot_sync(ALL_LANES, key < limit));
    ties += __popc(__ballot_sync(ALL_LANES, key == limit && key != NO_KEY));
  }
}

__device__ __forceinline__ int limit_of(const Control *control, u64 width) {
  return control->alive <= width ? NO_KEY : control->low;
}

// Keys below the limit and equal to it, of every CHUNK nodes.
// totals[chunks][2]: out. Grid: chunks. Shared: 2 * CHUNK words.
extern "C" __global__ void __launch_bounds__(BLOCK) count(
    const int *keys, int n_nodes, int r, u64 width, const Control *control,
    u32 *totals) {
  extern __shared__ __align__(16) u32 shared[];
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int limit = limit_of(control, width);
  const int begin = blockIdx.x * CHUNK, end = min(begin + CHUNK, n_nodes);
  u32 sum_below = 0, sum_ties = 0;
  for (int node = begin + warp; node < end; node += WARPS) {
    u32 below, ties;
    count_node(keys + (u64)node * r, r, limit, lane, below, ties);
    sum_below += below;
    sum_ties += ties;
  }
  if (lane == 0) shared[2 * warp] = sum_below, shared[2 * warp + 1] = sum_ties;
  __syncthreads();
  if (threadIdx.x < 2) {
    u32 sum = 0;
    for (int other = 0; other < WARPS; ++other) sum += shared[2 * other + threadIdx.x];
    totals[2 * blockIdx.x + threadIdx.x] = sum;
  }
}

// Sums of what is before each chunk, in place. One block. Shared: 2 * BLOCK words.
extern "C" __global__ void __launch_bounds__(BLOCK) scan(u32 *totals, int n_chunks) {
  extern __shared__ __align__(16) u32 shared[];
  const int share = (n_chunks + BLOCK - 1) / BLOCK;
  const int begin = min((int)threadIdx.x * share, n_chunks);
  const int end = min(begin + share, n_chunks);
  u32 below = 0, ties = 0;
  for (int chunk = begin; chunk < end; ++chunk) {
    below += totals[2 * chunk];
    ties += totals[2 * chunk + 1];
  }
  shared[2 * threadIdx.x] = below;
  shared[2 * threadIdx.x + 1] = ties;
  __syncthreads();
  if (threadIdx.x < 2) {
    u32 sum = 0;
    for (int thread = 0; thread < BLOCK; ++thread) {
      const u32 own = shared[2 * thread + threadIdx.x];
      shared[2 * thread + threadIdx.x] = sum;
      sum += own;
    }
  }
  __syncthreads();
  below = shared[2 * threadIdx.x];
  ties = shared[2 * threadIdx.x + 1];
  for (int chunk = begin; chunk < end; ++chunk) {
    const u32 own_below = totals[2 * chunk], own_ties = totals[2 * chunk + 1];
    totals[2 * chunk] = below;
    totals[2 * chunk + 1] = ties;
    below += own_below;
    ties += own_ties;
  }
}

// List what is taken, in the order of candidates: parent, move (job, and side in the
// highest bit), key. Grid: chunks. Shared: 2 * CHUNK words.
extern "C" __global__ void __launch_bounds__(BLOCK) take(
    const u32 *records, const u8 *sides, const int *keys, int n_nodes, int r, u64 width,
    const Control *control, const u32 *totals, u32 *parents, u16 *moves, int *taken) {
  extern __shared__ __align__(16) u32 shared[];
  const int lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const int limit = limit_of(control, width);
  const u32 quota = limit == NO_KEY ? 0 : (u32)control->rank;
  const int begin = blockIdx.x * CHUNK, end = min(begin + CHUNK, n_nodes);
  for (int node = begin + warp; node < end; node += WARPS) {
    u32 below, ties;
    count_node(keys + (u64)node * r, r, limit, lane, below, ties);
    if (lane == 0) {
      shared[2 * (node - begin)] = below;
      shared[2 * (node - begin) + 1] = ties;
    }
  }
  __syncthreads();
  if (threadIdx.x < 2) {
    u32 sum = totals[2 * blockIdx.x + threadIdx.x];
    for (int node = 0; node < end - begin; ++node) {
      const u32 own = shared[2 * node + threadIdx.x];
      shared[2 * node + threadIdx.x] = sum;
      sum += own;
    }
  }
  __syncthreads();
  const u32 before = (1u << lane) - 1;
  for (int node = begin + warp; node < end; node += WARPS) {
    u32 below = shared[2 * (node - begin)], ties = shared[2 * (node - begin) + 1];
    const u32 *const set = records + (u64)node * RECORD_WORDS + SET_AT;
    const int *const own_keys = keys + (u64)node * r;
    const u32 side = (u32)sides[node] << 15;
    int slots = 0;
    for (int word = 0; word < SET_WORDS; ++word) {
      const u32 bits = set[word];
      const int key =
          bits >> lane & 1 ? own_keys[slots + __popc(bits & before)] : NO_KEY;
      slots += __popc(bits);
      const u32 less = __ballot_sync(ALL_LANES, key < limit);
      const u32 equal = __ballot_sync(ALL_LANES, key == limit && key != NO_KEY);
      const u32 own_ties = ties + __popc(equal & before);
      if (key < limit || (equal >> lane & 1 && own_ties < quota)) {
        const u32 place = below + __popc(less & before) + min(own_ties, quota);
        parents[place] = (u32)node;
        moves[place] = (u16)(side | (u32)(word * 32 + lane));
        taken[place] = key;
      }
      below += __popc(less);
      ties += __popc(equal);
    }
  }
}

// Write the nodes of what was taken, a thread a node. Grid: any.
extern "C" __global__ void __launch_bounds__(BLOCK) make(
    const u32 *rows, const u32 *records, const u32 *parents, const u16 *moves,
    int count, float lack, int lag, u32 *below) {
  for (int at = blockIdx.x * BLOCK + threadIdx.x; at < count;
       at += gridDim.x * BLOCK) {
    const u32 *const record = records + (u64)parents[at] * RECORD_WORDS;
    u32 *const child = below + (u64)at * RECORD_WORDS;
    const u32 move = moves[at], job = move & 0x7fffu;
    const int side = (int)(move >> 15);
    const u32 *const row = rows + job * ROW;
    State state =
        load_state([&](int quad) { return load_quad(record + 4 * quad); });
    extend(state, row, side);
    const u32 used = record[SIDES_AT];
    const bool empty = !(used >> side & 1);
    float weight = 0.0f;
#pragma unroll
    for (int k = 0; k < M; ++k) {
      Pair idle = pair_from_words(record + IDLE_AT + k * WORDS_PER_PAIR);
      if (k > 0) {
        const int end = half_of(state.x[k], side);
        const int start = end - half_of(pair_from_words(row + k * WORDS_PER_PAIR), side);
        const Pair old = pair_from_words(record + k * WORDS_PER_PAIR);
        const int sum = half_of(idle, side) + start - (empty ? 0 : half_of(old, side));
        weight = __fadd_rn(weight, share(sum, end));
        if (lack > 0.0f) {
          const int behind = end - half_of(state.x[k - 1], side);
          weight = __fadd_rn(weight, lacking(lack, lag, behind));
        }
        idle = pair_replace(idle, twice(sum), side);
      }
#pragma unroll
      for (int part = 0; part < WORDS_PER_PAIR; ++part)
        child[IDLE_AT + k * WORDS_PER_PAIR + part] = pair_word(idle, part);
    }
#pragma unroll
    for (int word = 0; word < STATE_WORDS; ++word) child[word] = state_word(state, word);
    for (int word = 0; word < SET_WORDS; ++word)
      child[SET_AT + word] =
          record[SET_AT + word] & ~((u32)word == job / 32 ? 1u << job % 32 : 0u);
    child[SIDES_AT] = used | 1u << side;
    child[WEIGHTS_AT + side] = (u32)__float_as_int(weight);
    child[WEIGHTS_AT + 1 - side] = record[WEIGHTS_AT + 1 - side];
  }
}

// Moves from the root to some nodes of a level, a thread a node.
// parents, moves: as `take` wrote them, `stride` entries a level; paths[n_rows][depth]:
// out.
extern "C" __global__ void __launch_bounds__(BLOCK) trace(
    const u32 *parents, const u16 *moves, u64 stride, int depth, const u32 *ends,
    int n_rows, u16 *paths) {
  const int at = blockIdx.x * BLOCK + threadIdx.x;
  if (at >= n_rows) return;
  u32 node = ends[at];
  for (int level = depth - 1; level >= 0; --level) {
    paths[(u64)at * depth + level] = moves[level * stride + node];
    node = parents[level * stride + node];
  }
}
