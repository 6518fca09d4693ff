// What only the assembler can say: loads and stores with an order, and the clock.
#pragma once

#include "words.cuh"

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
// Have a value stay in its register, and not be computed anew where it is used.
__device__ __forceinline__ void keep(u32 &value) { asm volatile("" : "+r"(value)); }
// Have a line in the first-level cache soon.
__device__ __forceinline__ void prefetch(const u32 *address) {
  asm volatile("prefetch.global.L1 [%0];" ::"l"(address));
}
