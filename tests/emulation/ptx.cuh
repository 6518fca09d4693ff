// In place of the file of this name in dpbb/kernels/cuda: see cuda.h.
#pragma once

#include "words.cuh"

inline void store_release(u32 *address, u32 value) {
  __atomic_store_n(address, value, __ATOMIC_RELEASE);
}
inline u32 load_acquire(const u32 *address) {
  return __atomic_load_n(address, __ATOMIC_ACQUIRE);
}
inline uint4 load_news(const u32 *address) {
  u32 words[4];
  for (int i = 0; i < 4; ++i) words[i] = __atomic_load_n(address + i, __ATOMIC_RELAXED);
  return {words[0], words[1], words[2], words[3]};
}
inline u64 global_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (u64)now.tv_sec * 1000000000ull + (u64)now.tv_nsec;
}
inline void keep(u32 &) {}
inline void prefetch(const u32 *) {}
