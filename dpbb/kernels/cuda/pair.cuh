// A Pair is one value of the front and one of the back, handled by one instruction.
//
// A tree grows from both ends of a permutation: what is computed for a job that comes
// next is often the same recursion on both sides, and so are the comparisons of bounds.
//
// WIDE 0: two 16-bit halves of a word and the DPX instructions of sm_90 (emulated by
//         the CUDA headers below it). The host guarantees that no value reaches 2^15.
// WIDE 1: two 32-bit integers, for instances with larger values.
// Twin: dpbb.kernels.pairs.
#pragma once

#include "words.cuh"

#if WIDE

struct Pair {
  int front, back;
};
constexpr int WORDS_PER_PAIR = 2;

__device__ __forceinline__ Pair pair_from_words(const u32 *w) {
  return {(int)w[0], (int)w[1]};
}
// The i-th of its words.
__device__ __forceinline__ u32 pair_word(Pair a, int i) {
  return (u32)(i ? a.back : a.front);
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
__device__ __forceinline__ Pair pair_max3(Pair a, Pair b, Pair c) {
  return {max(max(a.front, b.front), c.front), max(max(a.back, b.back), c.back)};
}
__device__ __forceinline__ Pair pair_swap(Pair a) { return {a.back, a.front}; }
// The front of one pair and the back of another, by direction of an insertion.
__device__ __forceinline__ Pair pair_replace(Pair old, Pair now, bool back) {
  return {back ? old.front : now.front, back ? now.back : old.back};
}
// 1 in each half of a word where a bound reaches a limit.
__device__ __forceinline__ u32 limit_of(int limit) { return (u32)limit; }
__device__ __forceinline__ u32 pair_reaches(Pair bound, u32 limit) {
  return (u32)(bound.front >= (int)limit) | (u32)(bound.back >= (int)limit) << 16;
}
#define PAIR_TOP Pair{0x3fffffff, 0x3fffffff}

#else

struct Pair {
  u32 both;  // front in the low half, back in the high half
};
constexpr int WORDS_PER_PAIR = 1;

__device__ __forceinline__ Pair pair_from_words(const u32 *w) { return {w[0]}; }
__device__ __forceinline__ u32 pair_word(Pair a, int) { return a.both; }
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
__device__ __forceinline__ Pair pair_max3(Pair a, Pair b, Pair c) {
  return {__vimax3_s16x2(a.both, b.both, c.both)};
}
__device__ __forceinline__ Pair pair_swap(Pair a) {
  return {__byte_perm(a.both, a.both, 0x1032)};
}
__device__ __forceinline__ Pair pair_replace(Pair old, Pair now, bool back) {
  return {__byte_perm(old.both, now.both, back ? 0x7610 : 0x3254)};
}
// One half of a pair twice.
__device__ __forceinline__ Pair pair_double(Pair a, bool back) {
  return {__byte_perm(a.both, a.both, back ? 0x3232 : 0x1010)};
}
__device__ __forceinline__ u32 both_halves(int value) {
  return ((u32)value & 0xffffu) * 0x00010001u;
}
// 1 in each half of a word where a bound reaches a limit, that is given as `limit_of` it.
__device__ __forceinline__ u32 limit_of(int limit) { return both_halves(1 - limit); }
__device__ __forceinline__ u32 pair_reaches(Pair bound, u32 limit) {
  return __viaddmin_s16x2_relu(bound.both, limit, 0x00010001u);
}
#define PAIR_TOP Pair{0x7fff7fffu}

#endif

constexpr int PAIRS_PER_QUAD = 4 / WORDS_PER_PAIR;

__device__ __forceinline__ Pair pair_in(const Quad &quad, int index) {
  return pair_from_words(quad.word + index * WORDS_PER_PAIR);
}
