// A Pair is one value of the prefix and one of the suffix, handled by one instruction.
//
// The recursion over the suffix is the recursion over the prefix on the mirrored
// machines. So word k holds (front of machine k, back of machine M-1-k), a job's row
// holds (p[k], p[M-1-k]), and one pass over k bounds a child in both directions.
//
// WIDE 0: two 16-bit halves of a word and the DPX instructions of sm_90 (emulated by
//         the CUDA headers below it). The host guarantees that no value reaches 2^15.
// WIDE 1: two 32-bit integers, for instances with larger values.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if WIDE

struct Pair {
  int front, back;
};
constexpr int WORDS_PER_PAIR = 2;

__device__ __forceinline__ Pair pair_of(int front, int back) { return {front, back}; }
__device__ __forceinline__ Pair pair_from_words(const u32 *w) {
  return {(int)w[0], (int)w[1]};
}
__device__ __forceinline__ void pair_to_words(Pair a, u32 *w) {
  w[0] = (u32)a.front;
  w[1] = (u32)a.back;
}
__device__ __forceinline__ int front_of(Pair a) { return a.front; }
__device__ __forceinline__ int back_of(Pair a) { return a.back; }
__device__ __forceinline__ Pair pair_add(Pair a, Pair b) {
  return {a.front + b.front, a.back + b.back};
}
__device__ __forceinline__ Pair pair_subtract(Pair a, Pair b) {
  return {a.front - b.front, a.back - b.back};
}
// max(a + b, c)
__device__ __forceinline__ Pair pair_add_max(Pair a, Pair b, Pair c) {
  return {max(a.front + b.front, c.front), max(a.back + b.back, c.back)};
}
__device__ __forceinline__ Pair pair_swap(Pair a) { return {a.back, a.front}; }
// The front of one pair and the back of another, by direction of an insertion.
__device__ __forceinline__ Pair pair_replace(Pair old, Pair now, bool back) {
  return {back ? old.front : now.front, back ? now.back : old.back};
}
#define PAIR_TOP Pair{0x3fffffff, 0x3fffffff}

#else

struct Pair {
  u32 both;  // front in the low half, back in the high half
};
constexpr int WORDS_PER_PAIR = 1;

__device__ __forceinline__ Pair pair_of(int front, int back) {
  return {(u32)front | (u32)back << 16};
}
__device__ __forceinline__ Pair pair_from_words(const u32 *w) { return {w[0]}; }
__device__ __forceinline__ void pair_to_words(Pair a, u32 *w) { w[0] = a.both; }
__device__ __forceinline__ int front_of(Pair a) { return (int)(a.both & 0xffffu); }
__device__ __forceinline__ int back_of(Pair a) { return (int)(a.both >> 16); }
// No carry passes between the halves: sums stay below 2^16, differences above -1.
__device__ __forceinline__ Pair pair_add(Pair a, Pair b) { return {a.both + b.both}; }
__device__ __forceinline__ Pair pair_subtract(Pair a, Pair b) {
  return {a.both - b.both};
}
__device__ __forceinline__ Pair pair_add_max(Pair a, Pair b, Pair c) {
  return {__viaddmax_s16x2(a.both, b.both, c.both)};
}
__device__ __forceinline__ Pair pair_swap(Pair a) {
  return {__byte_perm(a.both, a.both, 0x1032)};
}
__device__ __forceinline__ Pair pair_replace(Pair old, Pair now, bool back) {
  return {__byte_perm(old.both, now.both, back ? 0x7610 : 0x3254)};
}
#define PAIR_TOP Pair{0x7fff7fffu}

#endif
