// LB1 and LB2 of any nodes: a thread has NODES of them, side by side in its words.
//
// All threads walk the jobs in the Johnson order of the same pair of machines, so that
// what is read of a job is one broadcast from shared memory. Which jobs of a node are
// unscheduled says a byte for every job and node, 1 or 0: a product with it makes a
// scheduled job's times nothing. Its step then changes nothing, as a walk is never behind
// on the first machine: no branch, no divergence.
//
// N_JOBS, N_MACHINES, THREADS, WORDS (of a thread: 1 or even), CHUNK (pairs at a time). WIDE 0: two nodes a word, 16 bits
// each, for shops without a makespan of 2^15; WIDE 1: one node a word.
// Grid: any, nodes are dealt out. Shared: FREE_WORDS + CHUNK * N_JOBS quads.
// Twins: dpbb.flowshop.bounds.batch_cpu, and nodes.py, the oracle of both.
#include "words.cuh"

constexpr int N = N_JOBS;
constexpr int M = N_MACHINES;
constexpr int NODES_PER_WORD = WIDE ? 1 : 2;
constexpr int NODES = WORDS * NODES_PER_WORD;
constexpr int BLOCK_NODES = THREADS * NODES;
constexpr int FREE_WORDS = (N * BLOCK_NODES + 15) / 16 * 4;
constexpr int INVALID = -1;
constexpr int UNROLLED = M <= 64 ? M : 1;
constexpr int PER_QUAD = WIDE ? 4 : 8;
constexpr int QUADS = (M + PER_QUAD - 1) / PER_QUAD;

#if WIDE
typedef int End;
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return (u32)__viaddmax_s32((int)a, (int)b, (int)c);
}
#else
typedef u16 End;
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return __viaddmax_s16x2(a, b, c);
}
#endif

// The bytes of a thread's nodes for one job, as numbers in the places of their nodes.
struct Free {
  u32 in[WORDS];
};

__device__ __forceinline__ Free free_at(const u8 *own) {
  Free free;
#if WIDE
#pragma unroll
  for (int w = 0; w < WORDS; ++w) free.in[w] = own[w];
#elif WORDS == 1
  free.in[0] = __byte_perm(*(const u16 *)own, 0, 0x4140);
#else
#pragma unroll
  for (int w = 0; w < WORDS; w += 2) {
    const u32 four = *(const u32 *)(own + 2 * w);
    free.in[w] = __byte_perm(four, 0, 0x4140);
    free.in[w + 1] = __byte_perm(four, 0, 0x4342);
  }
#endif
  return free;
}

// A job's times; lanes want those of different jobs, so few wide loads are the cheapest.
struct Row {
  Quad quad[QUADS];
};

__device__ __forceinline__ Row load_row(const u32 *times, u32 job) {
  Row row;
#pragma unroll
  for (int q = 0; q < QUADS; ++q)
    row.quad[q] = load_quad(times + (job * QUADS + q) * 4);
  return row;
}

__device__ __forceinline__ int time_on(const Row &row, int k) {
  const u32 *const words = row.quad[k / PER_QUAD].word;
  return WIDE ? (int)words[k % 4] : (int)(words[k % 8 / 2] >> 16 * (k % 2) & 0xffffu);
}

// When one of some jobs can begin on each machine, at the earliest.
template <bool BACKWARDS>
__device__ __forceinline__ void least_begin(
    int *ends, const u16 *jobs, int first, int end, const u32 *times) {
  int least[M];
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) least[k] = 0x7fffffff;
  for (int i = first; i < end; ++i) {
    const Row row = load_row(times, jobs[i]);
    int begin = 0;
#pragma unroll UNROLLED
    for (int step = 0; step < M; ++step) {
      const int k = BACKWARDS ? M - 1 - step : step;
      begin = max(begin, ends[k]);
      least[k] = min(least[k], begin);
      begin += time_on(row, k);
    }
  }
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) ends[k] = least[k];
}

// Schedule the jobs of one side; `last` is where the walk ends, exclusive.
template <bool BACKWARDS>
__device__ __forceinline__ void grow(
    int *ends, const u16 *jobs, int first, int last, const u32 *times) {
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) ends[k] = 0;
  for (int i = first; i != last; i += BACKWARDS ? -1 : 1) {
    const Row row = load_row(times, jobs[i]);
    int end = 0;
#pragma unroll UNROLLED
    for (int step = 0; step < M; ++step) {
      const int k = BACKWARDS ? M - 1 - step : step;
      end = max(end, ends[k]) + time_on(row, k);
      ends[k] = end;
    }
  }
}

// Mark the unscheduled jobs of a node; false if it is none.
__device__ __forceinline__ bool mark_free(
    u8 *own, const u16 *jobs, int n_front, int n_back) {
  if (n_front < 0 || n_back < 0 || n_front > N - n_back) return false;
  for (int i = 0; i < N; ++i) {
    const u32 job = jobs[i];
    if (job >= (u32)N || own[job * BLOCK_NODES]) return false;
    own[job * BLOCK_NODES] = 1;
  }
  for (int i = 0; i < n_front; ++i) own[jobs[i] * BLOCK_NODES] = 0;
  for (int i = N - n_back; i < N; ++i) own[jobs[i] * BLOCK_NODES] = 0;
  return true;
}

// Read one node: its masks, its heads and tails, BLOCK_NODES apart; its LB1.
__device__ __forceinline__ int read_node(
    u8 *own, End *heads, End *tails, const u16 *jobs, int n_front, int n_back,
    const u32 *times, int strong) {
  constexpr int PITCH = BLOCK_NODES;
  for (int j = 0; j < N; ++j) own[j * BLOCK_NODES] = 0;
  if (!mark_free(own, jobs, n_front, n_back)) {
    for (int j = 0; j < N; ++j) own[j * BLOCK_NODES] = 0;
    for (int k = 0; k < M; ++k) heads[k * PITCH] = tails[k * PITCH] = 0;
    return INVALID;
  }
  const int end = N - n_back;
  int ends[M];
  grow<false>(ends, jobs, 0, n_front, times);
  if (n_front < end && (strong || n_front == 0))
    least_begin<false>(ends, jobs, n_front, end, times);
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) heads[k * PITCH] = (End)ends[k];
  int both[M];
  grow<true>(both, jobs, N - 1, end - 1, times);
  if (n_front < end && (strong || n_back == 0))
    least_begin<true>(both, jobs, n_front, end, times);
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) {
    tails[k * PITCH] = (End)both[k];
    both[k] += ends[k];
  }
  for (int i = n_front; i < end; ++i) {
    const Row row = load_row(times, jobs[i]);
#pragma unroll UNROLLED
    for (int k = 0; k < M; ++k) both[k] += time_on(row, k);
  }
  int bound = 0;
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) bound = max(bound, both[k]);
  return bound;
}

// permutations[count][N]; d1, d2 [count]; times[N][QUADS]; pairs[n_pairs][2];
// steps[n_pairs][N][4]: job, time on the first machine, lag, time on the second one;
// ends[gridDim.x][2][M][BLOCK_NODES]: room for heads and tails; bounds[count].
extern "C" __global__ void __launch_bounds__(THREADS) bound_nodes(
    const u16 *permutations, const int *d1, const int *d2, const u32 *times,
    const int *pairs, const u32 *steps, End *ends, int *bounds, int n_pairs, int strong,
    long long count) {
  extern __shared__ __align__(16) u32 shared[];
  uint4 *const stage = (uint4 *)(shared + FREE_WORDS);
  u8 *const own = (u8 *)shared + threadIdx.x * NODES;
  End *const heads = ends + (u64)blockIdx.x * 2 * M * BLOCK_NODES + threadIdx.x * NODES;
  End *const tails = heads + M * BLOCK_NODES;
  const long long step = (long long)gridDim.x * BLOCK_NODES;
  for (long long begin = (long long)blockIdx.x * BLOCK_NODES; begin < count;
       begin += step) {
    const long long first = begin + threadIdx.x * NODES;
    int found[NODES];
#pragma unroll 1
    for (int node = 0; node < NODES; ++node) {
      const long long at = min(first + node, count - 1);
      const int bound = read_node(
          own + node, heads + node, tails + node, permutations + at * N, d1[at], d2[at],
          times, strong);
#pragma unroll
      for (int other = 0; other < NODES; ++other)
        if (other == node) found[other] = bound;
    }
    u32 best[WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; ++w) best[w] = 0;
    for (int chunk = 0; chunk < n_pairs; chunk += CHUNK) {
      const int here = min(CHUNK, n_pairs - chunk);
      __syncthreads();
      for (int i = (int)threadIdx.x; i < here * N; i += THREADS) {
        const Quad job = load_quad(steps + ((u64)chunk * N + i) * 4);
        stage[i] = make_uint4(
            job.word[0] * BLOCK_NODES, job.word[1], job.word[2], job.word[3]);
      }
      __syncthreads();
      for (int pair = 0; pair < here; ++pair) {
        const int u = pairs[2 * (chunk + pair)], v = pairs[2 * (chunk + pair) + 1];
        u32 on_first[WORDS], on_second[WORDS];
#pragma unroll
        for (int w = 0; w < WORDS; ++w) {
          const u32 tail = ((const u32 *)(tails + v * BLOCK_NODES))[w];
          on_first[w] = ((const u32 *)(heads + u * BLOCK_NODES))[w] + tail;
          on_second[w] = ((const u32 *)(heads + v * BLOCK_NODES))[w] + tail;
        }
        const uint4 *const line = stage + pair * N;
#pragma unroll 5
        for (int i = 0; i < N; ++i) {
          const uint4 job = line[i];
          const Free free = free_at(own + job.x);
#pragma unroll
          for (int w = 0; w < WORDS; ++w) {
            on_first[w] += job.y * free.in[w];
            on_second[w] = add_max(on_first[w], job.z * free.in[w], on_second[w]) +
                           job.w * free.in[w];
          }
        }
#pragma unroll
        for (int w = 0; w < WORDS; ++w) best[w] = add_max(on_second[w], 0, best[w]);
      }
    }
#pragma unroll
    for (int node = 0; node < NODES; ++node) {
      const u32 word = best[node / NODES_PER_WORD];
      const int pair =
          WIDE ? (int)word : (int)(word >> 16 * (node % NODES_PER_WORD) & 0xffffu);
      if (first + node < count)
        bounds[first + node] = found[node] < 0 ? INVALID : max(found[node], pair);
    }
  }
}
