// Reductions over the 32 lanes of a warp, and loads and stores with an order.
#pragma once

#include "pair.cuh"

constexpr u32 ALL_LANES = 0xffffffffu;

__device__ __forceinline__ u32 warp_or(u32 value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_or_sync(ALL_LANES, value);
#else
  for (int step = 16; step; step >>= 1)
    value |= __shfl_xor_sync(ALL_LANES, value, step);
  return value;
#endif
}

__device__ __forceinline__ int warp_sum(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(ALL_LANES, value);
#else
  for (int step = 16; step; step >>= 1)
    value += __shfl_xor_sync(ALL_LANES, value, step);
  return value;
#endif
}

__device__ __forceinline__ int warp_min(int value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_min_sync(ALL_LANES, value);
#else
  for (int step = 16; step; step >>= 1)
    value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
  return value;
#endif
}

// What one warp writes before a release is read by another after its acquire, also
// through the first-level cache, which is not coherent between multiprocessors.
__device__ __forceinline__ void store_release(u32 *address, u32 value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(address), "r"(value)
               : "memory");
}
__device__ __forceinline__ u32 load_acquire(const u32 *address) {
  u32 value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
               : "=r"(value)
               : "l"(address)
               : "memory");
  return value;
}
// Four words past the first-level cache.
__device__ __forceinline__ uint4 load_news(const u32 *address) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(address));
  return v;
}
__device__ __forceinline__ u64 global_nanoseconds() {
  u64 now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
