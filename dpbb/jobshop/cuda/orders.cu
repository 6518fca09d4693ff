// Costs of machine orders: a warp a solution, a lane a machine.
//
// In every round a machine whose next job has come takes it; a job has come when its next
// operation is on this machine. What a lane sees of another one in the same round does not
// matter: the end of an operation is the same whenever it is found. No machine moves any
// more: all is done, or the orders have a cycle, or are none. GROUP lanes have a solution:
// the power of two that holds the machines, at most 32; then lanes have several machines.
//
// orders[count][N_MACHINES][WIDTH], int16.
//
// Grid: any, solutions are dealt out. Block: WARPS * 32. Shared: table + WARPS * state.
// Twin: dpbb.jobshop.cpu_batch.
#include "costs.cuh"

constexpr u32 GROUPS = LANES / GROUP;  // solutions of a warp
constexpr u32 PER_LANE = (N_MACHINES + GROUP - 1) / GROUP;
constexpr u32 CELLS = N_MACHINES * WIDTH;
constexpr u32 JOB_WORDS = ((N_JOBS + 1) * WORD + 1) / 2 * 2;
constexpr u32 STATE_WORDS = (JOB_WORDS + (CELLS + 1) / 2 + 1) / 2 * 2;
constexpr int TRIES = 2;  // of every machine in a round

// Whether a machine has not exactly the jobs that visit it.
__device__ __noinline__ bool is_wrong(
    const u16 *row, u32 machine, const int *visits, const int *lengths) {
  for (u32 j = 0; j < N_JOBS; ++j) {
    int found = 0;
    for (u32 t = 0; t < (u32)lengths[machine]; ++t) found += row[t] == j;
    if (found != visits[machine * N_JOBS + j]) return true;
  }
  return false;
}

// entries, starts, due, weight, costs: as of evaluate_sequences; lengths[N_MACHINES]:
// operations on every machine; visits[N_MACHINES][N_JOBS].
extern "C" __global__ void __launch_bounds__(WARPS * 32) evaluate_orders(
    const u16 *orders, const Entry *entries, const Word *starts, const int *lengths,
    const int *visits, const long long *due, const long long *weight, long long *costs,
    long long count) {
  extern __shared__ __align__(16) u32 shared[];
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  const u32 member = lane % GROUP, group = lane / GROUP;
  Entry *const table = (Entry *)shared;
  load_table(table, entries);
  u32 *const state = shared + TABLE_WORDS + (warp * GROUPS + group) * STATE_WORDS;
  Word *const jobs = (Word *)state;
  u16 *const cells = (u16 *)(state + JOB_WORDS);
  const long long step = (long long)gridDim.x * WARPS * GROUPS;
  long long begin = ((long long)blockIdx.x * WARPS + warp) * GROUPS;
  for (; begin < count; begin += step) {
    const long long solution = min(begin + group, count - 1);
    const u16 *const source = orders + (u64)solution * CELLS;
    __syncwarp();
    if (CELLS % 2 == 0) {  // rows begin at whole words
      for (u32 i = member; i < CELLS / 2; i += GROUP)
        ((u32 *)cells)[i] = ((const u32 *)source)[i];
    } else {
      for (u32 i = member; i < CELLS; i += GROUP) cells[i] = source[i];
    }
    for (u32 j = member; j < N_JOBS; j += GROUP) jobs[j] = starts[j];
    if (member == 0) jobs[N_JOBS] = word_of(N_ENTRIES - 1, 0);
    __syncwarp();
    u32 left[PER_LANE], end[PER_LANE], head[PER_LANE];
    const u16 *next[PER_LANE];
#pragma unroll
    for (u32 i = 0; i < PER_LANE; ++i) {
      const u32 machine = member + i * GROUP;
      left[i] = machine < N_MACHINES ? (u32)lengths[machine] : 0;
      end[i] = 0;
      next[i] = cells + machine * WIDTH;
      head[i] = left[i] ? min((u32)*next[i], (u32)N_JOBS) : N_JOBS;
    }
    bool moved = true;
    while (__any_sync(ALL_LANES, moved)) {
      moved = false;
#pragma unroll
      for (int attempt = 0; attempt < TRIES; ++attempt) {
#pragma unroll
        for (u32 i = 0; i < PER_LANE; ++i) {
          const Word word = jobs[head[i]];
          const u32 index = index_of(word);
          const Entry entry = table[index];
          if (machine_of(entry) == member + i * GROUP && left[i]) {
            end[i] = max(end[i], ready_of(word)) + time_of(entry);
            jobs[head[i]] = word_of(index + N_JOBS, end[i]);
            --left[i];
            ++next[i];
            head[i] = left[i] ? min((u32)*next[i], (u32)N_JOBS) : N_JOBS;
            moved = true;
          }
        }
        __syncwarp();
      }
    }
    bool stuck = false, wrong = false;
#pragma unroll
    for (u32 i = 0; i < PER_LANE; ++i) stuck |= left[i] != 0;
    long long cost = 0;
    for (u32 j = member; j < N_JOBS; j += GROUP)
      cost = add_cost(cost, ready_of(jobs[j]), j, due, weight);
    const u32 mask = (u32)((1ull << GROUP) - 1) << group * GROUP;
    const bool fails = (__ballot_sync(ALL_LANES, stuck) & mask) != 0;
    if (fails)
      for (u32 k = member; k < N_MACHINES; k += GROUP)
        wrong |= is_wrong(cells + k * WIDTH, k, visits, lengths);
    const bool invalid = (__ballot_sync(ALL_LANES, wrong) & mask) != 0;
#pragma unroll
    for (u32 distance = GROUP / 2; distance; distance /= 2) {
      const long long other = __shfl_xor_sync(ALL_LANES, cost, (int)distance);
#if CRITERION == 0
      cost = max(cost, other);
#else
      cost += other;
#endif
    }
    if (member == 0 && begin + group < count)
      costs[solution] = invalid ? INVALID : fails ? CYCLIC : cost;
  }
}
