// What the kernels for sequences and for machine orders share.
//
// N_JOBS, N_MACHINES, N_OPERATIONS, LONGEST: of the instance; LONGEST is the number of
// operations of its longest job. Operation i of job j stands at i * N_JOBS + j of the
// table, as solutions that are evaluated side by side are about equally far in all their
// jobs: neighbours in the table are neighbours in shared memory. Row LONGEST, and the
// rows behind the last operation of a shorter job, are of no machine (N_MACHINES).
//
// The word of a job is index of its next operation << READY_BITS | end of its last one;
// WIDE 1: 64 bits. An entry of the table is time << MACHINE_BITS | machine, in
// ENTRY_BYTES. The host chooses the widths so that nothing can overflow.
#pragma once

#include "warp.cuh"

#if WIDE
typedef u64 Word;
#else
typedef u32 Word;
#endif

#if ENTRY_BYTES == 2
typedef u16 Entry;
#elif ENTRY_BYTES == 4
typedef u32 Entry;
#else
typedef u64 Entry;
#endif

constexpr u32 N_ENTRIES = (LONGEST + 1) * N_JOBS;
constexpr u32 TABLE_WORDS = (N_ENTRIES * sizeof(Entry) + 15) / 16 * 4;
constexpr u32 WORD = sizeof(Word) / 4;
constexpr Word READY_MASK = ((Word)1 << READY_BITS) - 1;
constexpr u32 MACHINE_MASK = (1u << MACHINE_BITS) - 1;

constexpr long long CYCLIC = -1, INVALID = -2;

__device__ __forceinline__ u32 index_of(Word word) { return (u32)(word >> READY_BITS); }
__device__ __forceinline__ u32 ready_of(Word word) { return (u32)(word & READY_MASK); }
__device__ __forceinline__ Word word_of(u32 index, u32 ready) {
  return (Word)index << READY_BITS | ready;
}
__device__ __forceinline__ u32 machine_of(Entry entry) {
  return (u32)entry & MACHINE_MASK;
}
__device__ __forceinline__ u32 time_of(Entry entry) {
  return (u32)(entry >> MACHINE_BITS);
}

// All threads of a block copy the table into shared memory.
__device__ __forceinline__ void load_table(Entry *table, const Entry *entries) {
  for (u32 i = threadIdx.x; i < N_ENTRIES; i += blockDim.x) table[i] = entries[i];
  __syncthreads();
}

// CRITERION 0: makespan, 1: sum of ends, 2: weighted tardiness.
__device__ __forceinline__ long long add_cost(
    long long cost, u32 end, u32 job, const long long *due, const long long *weight) {
#if CRITERION == 0
  return max(cost, (long long)end);
#elif CRITERION == 1
  return cost + (long long)end;
#else
  return cost + weight[job] * max(0ll, (long long)end - due[job]);
#endif
}
