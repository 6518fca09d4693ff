// Costs of sequences: a thread a solution, o steps, no divergence.
//
// sequences[count][N_OPERATIONS]: ids of ID_BYTES bytes, read UNIT bytes at a time: 4, or
// those of an id where rows are not aligned. A warp loads CHUNK bytes of its 32 rows into
// shared memory, so that device memory is read in whole sectors, once; then every lane
// goes through its own. The state of a lane, a word for every job and every machine, lies
// in shared memory as [slot][lane]: no two lanes ever want the same bank.
//
// Whatever the input is, no access leaves its array: an id that is no job has a slot of
// its own, and a job that is named too often stays behind its last operation. Both show at
// the end, and the answer is INVALID.
//
// Grid: any, solutions are dealt out. Block: WARPS * 32. Shared: table + WARPS * state.
// Twin: dpbb.jobshop.cpu_batch.
#include "costs.cuh"

constexpr u32 CHUNK = 32;
constexpr u32 CHUNK_WORDS = CHUNK / 4;
constexpr u32 STAGE_PITCH = CHUNK_WORDS + 1;  // odd: lanes read different banks
constexpr u32 PER_WORD = 4 / ID_BYTES;
constexpr u32 PER_CHUNK = CHUNK / ID_BYTES;
constexpr u32 STATE_WORDS = LANES * ((N_JOBS + 1) * WORD + N_MACHINES + 1 + STAGE_PITCH);
constexpr u32 LAST_ENTRY = N_ENTRIES - 1;  // of no machine

// Bring bytes from .. from + CHUNK - 1 of all rows; what is behind their ends stays.
__device__ __forceinline__ void load_chunk(
    u32 *stage, const u8 *rows, u32 n_rows, u32 from, u32 lane) {
  constexpr u32 ROW_BYTES = N_OPERATIONS * ID_BYTES;
#if UNIT == 4
  typedef u32 Unit;
#elif UNIT == 2
  typedef u16 Unit;
#else
  typedef u8 Unit;
#endif
  constexpr u32 PER_ROW = CHUNK / UNIT;  // lanes that read one row
  constexpr u32 AT_ONCE = PER_ROW >= LANES ? 1 : LANES / PER_ROW;
  const u32 place = lane % PER_ROW * UNIT;
#pragma unroll
  for (u32 first = 0; first < LANES; first += AT_ONCE) {
    const u32 row = first + lane / PER_ROW;
    if (row < n_rows && from + place < ROW_BYTES) {
      const u8 *source = rows + (u64)row * ROW_BYTES + from + place;
      u8 *target = (u8 *)(stage + row * STAGE_PITCH) + place;
      *(Unit *)target = *(const Unit *)source;
    }
  }
}

// Schedule the next operation of a job; all pointers are those of the lane.
__device__ __forceinline__ void schedule_next(
    Word *jobs, u32 *ends, const Entry *table, u32 id) {
  Word *const job = jobs + min(id, (u32)N_JOBS) * LANES;
  const u32 index = min(index_of(*job), LAST_ENTRY);
  const Entry entry = table[index];
  u32 *const machine = ends + machine_of(entry) * LANES;
  const u32 end = max(ready_of(*job), *machine) + time_of(entry);
  *machine = end;
  *job = word_of(index + N_JOBS, end);
}

__device__ __forceinline__ u32 id_at(u32 word, u32 place) {
  if (ID_BYTES == 4) return word;
  return word >> 8 * ID_BYTES * place & ((1u << 8 * (ID_BYTES % 4)) - 1);
}

// entries[N_ENTRIES]; starts[N_JOBS]: words of the jobs at first; finals[N_JOBS]: their
// indices at the end; due, weight [N_JOBS]; costs[count].
extern "C" __global__ void __launch_bounds__(WARPS * 32) evaluate_sequences(
    const u8 *sequences, const Entry *entries, const Word *starts, const u32 *finals,
    const long long *due, const long long *weight, long long *costs, long long count) {
  extern __shared__ __align__(16) u32 shared[];
  const u32 lane = threadIdx.x % LANES, warp = threadIdx.x / LANES;
  Entry *const table = (Entry *)shared;
  load_table(table, entries);
  u32 *const state = shared + TABLE_WORDS + warp * STATE_WORDS;
  Word *const jobs = (Word *)state + lane;
  u32 *const ends = state + LANES * (N_JOBS + 1) * WORD + lane;
  u32 *const stage = state + LANES * ((N_JOBS + 1) * WORD + N_MACHINES + 1);
  const long long step = (long long)gridDim.x * WARPS * LANES;
  long long begin = ((long long)blockIdx.x * WARPS + warp) * LANES;
  for (; begin < count; begin += step) {
    for (u32 j = 0; j < N_JOBS; ++j) jobs[j * LANES] = starts[j];
    jobs[N_JOBS * LANES] = word_of(LAST_ENTRY, 0);
    for (u32 k = 0; k <= N_MACHINES; ++k) ends[k * LANES] = 0;
    const u8 *const rows = sequences + (u64)begin * N_OPERATIONS * ID_BYTES;
    const u32 n_rows = (u32)min((long long)LANES, count - begin);
    const u32 *const own = stage + lane * STAGE_PITCH;
    for (u32 t = 0; t < N_OPERATIONS; t += PER_CHUNK) {
      load_chunk(stage, rows, n_rows, t * ID_BYTES, lane);
      __syncwarp();
      if (t + PER_CHUNK <= N_OPERATIONS) {
#pragma unroll
        for (u32 w = 0; w < CHUNK_WORDS; ++w) {
          const u32 word = own[w];
#pragma unroll
          for (u32 i = 0; i < PER_WORD; ++i)
            schedule_next(jobs, ends, table, id_at(word, i));
        }
      } else {
        for (u32 i = 0; i < N_OPERATIONS - t; ++i)
          schedule_next(jobs, ends, table, id_at(own[i / PER_WORD], i % PER_WORD));
      }
      __syncwarp();
    }
    long long cost = 0;
    bool valid = true;
    for (u32 j = 0; j < N_JOBS; ++j) {
      const Word word = jobs[j * LANES];
      valid &= index_of(word) == finals[j];
      cost = add_cost(cost, ready_of(word), j, due, weight);
    }
    if (begin + lane < count) costs[begin + lane] = valid ? cost : INVALID;
  }
}
