// Bounds of nodes, a thread each: the kernel of the founding papers.
//
// A node is a permutation whose first `front` and last `back` jobs are fixed. The six
// structures have the papers' names: PTM times, MM pairs of machines, LM lags, JM jobs in
// Johnson's order, RM heads, QM tails. Sources: Melab, Chakroun, Mezmaz and Tuyttens,
// Cluster 2012; Chakroun, Mezmaz, Melab and Bendjoudi, Concurrency and Computation 25(8),
// 2013. Differences: on an empty side RM (QM) are the least heads (tails) of all jobs, LB1
// is part of the bound, and nodes of depths without pairs have LB1 alone.
//
// N_JOBS, N_MACHINES, N_PAIRS, THREADS; TIME, LAG, JOB: integer types of PTM, LM, JM;
// PLACEMENT 0: all in global memory, 1: JM and PTM in shared memory, 2: LM and MM, too.
#include "words.cuh"

constexpr int N = N_JOBS;
constexpr int M = N_MACHINES;
constexpr int P = N_PAIRS;
constexpr int WORDS = (N + 31) / 32;
constexpr int UNROLLED = M <= 64 ? M : 1;

// Bytes of the structures in shared memory, each rounded up to whole words.
constexpr int words_of(int bytes) { return (bytes + 3) / 4; }
constexpr int PTM_WORDS = words_of(N * M * (int)sizeof(TIME));
constexpr int JM_WORDS = words_of(P * N * (int)sizeof(JOB));
constexpr int LM_WORDS = words_of(P * N * (int)sizeof(LAG));

template <class T>
__device__ __forceinline__ const T *stage(u32 *to, const T *from, int count) {
  T *const copy = (T *)to;
  for (int i = (int)threadIdx.x; i < count; i += THREADS) copy[i] = from[i];
  return copy;
}

extern "C" __global__ void __launch_bounds__(THREADS) bound_pool(
    const u16 *rows, const u16 *fronts, const u16 *backs, const TIME *ptm_all,
    const u16 *mm_all, const LAG *lm_all, const JOB *jm_all, const int *heads,
    const int *tails, int first_depth, int last_depth, int ub, int count, int *bounds) {
  const TIME *ptm = ptm_all;
  const u16 *mm = mm_all;
  const LAG *lm = lm_all;
  const JOB *jm = jm_all;
#if PLACEMENT
  extern __shared__ __align__(16) u32 shared[];
  jm = stage(shared, jm_all, P * N);
  ptm = stage(shared + JM_WORDS, ptm_all, N * M);
#if PLACEMENT == 2
  lm = stage(shared + JM_WORDS + PTM_WORDS, lm_all, P * N);
  mm = stage(shared + JM_WORDS + PTM_WORDS + LM_WORDS, mm_all, 2 * P);
#endif
  __syncthreads();
#endif
  const int node = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (node >= count) return;
  const u16 *const row = rows + (u64)node * N;
  const int front = fronts[node], back = backs[node], end = N - back;
  int rm[M], qm[M], remain[M];
  u32 left[WORDS];
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) rm[k] = heads[k], qm[k] = tails[k], remain[k] = 0;
  for (int w = 0; w < WORDS; ++w) left[w] = 0;
  for (int i = 0; i < front; ++i) {
    const TIME *const times = ptm + row[i] * M;
    int last = 0;
#pragma unroll UNROLLED
    for (int k = 0; k < M; ++k) rm[k] = last = max(last, rm[k]) + (int)times[k];
  }
  for (int i = N - 1; i >= end; --i) {
    const TIME *const times = ptm + row[i] * M;
    int last = 0;
#pragma unroll UNROLLED
    for (int k = M - 1; k >= 0; --k) qm[k] = last = max(last, qm[k]) + (int)times[k];
  }
  for (int i = front; i < end; ++i) {
    const int job = row[i];
    const TIME *const times = ptm + job * M;
    left[job >> 5] |= 1u << (job & 31);
#pragma unroll UNROLLED
    for (int k = 0; k < M; ++k) remain[k] += (int)times[k];
  }
  int bound = 0;
#pragma unroll UNROLLED
  for (int k = 0; k < M; ++k) bound = max(bound, rm[k] + remain[k] + qm[k]);
  const int depth = front + back;
  if (depth >= first_depth && depth <= last_depth) {
    for (int pair = 0; pair < P && bound < ub; ++pair) {
      const int u = mm[2 * pair], v = mm[2 * pair + 1];
      const JOB *const order = jm + pair * N;
      const LAG *const lags = lm + pair * N;
      int on_first = rm[u], on_second = rm[v];
      for (int x = 0; x < N; ++x) {
        const int job = order[x];
        if (left[job >> 5] >> (job & 31) & 1) {
          on_first += (int)ptm[job * M + u];
          on_second = max(on_first + (int)lags[job], on_second);
          on_second += (int)ptm[job * M + v];
        }
      }
      bound = max(bound, max(on_second + qm[v], on_first + qm[u]));
    }
  }
  bounds[node] = bound;
}
