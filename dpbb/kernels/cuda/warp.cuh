// A warp and reductions over its lanes.
#pragma once

#include "ptx.cuh"

constexpr int LANES = 32;
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

__device__ __forceinline__ long long warp_sum(long long value) {
  for (int step = 16; step; step >>= 1)
    value += __shfl_xor_sync(ALL_LANES, value, step);
  return value;
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
