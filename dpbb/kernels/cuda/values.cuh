// Values of a model that was written from a text: dpbb.modeling.cuda.
//
// TWO_SIDES 1: a Pair, what the front sees and what the back sees, handled at once.
// TWO_SIDES 0: an integer. `Both` is a condition of a value: one for each side, or one.
#pragma once

#include "pair.cuh"
#include "ptx.cuh"

constexpr int LEFT_WORDS = (N_JOBS + 31) / 32;

#if TWO_SIDES

typedef Pair Value;
constexpr int VALUE_WORDS = WORDS_PER_PAIR;

struct Both {
  bool front, back;
};
__device__ __forceinline__ Both operator&(Both a, Both b) {
  return {a.front && b.front, a.back && b.back};
}
__device__ __forceinline__ Both operator|(Both a, Both b) {
  return {a.front || b.front, a.back || b.back};
}
__device__ __forceinline__ Both operator!(Both a) { return {!a.front, !a.back}; }
__device__ __forceinline__ Both condition_of(bool both) { return {both, both}; }

// Of each side by itself.
__device__ __forceinline__ Value value_of_sides(int front, int back) {
#if WIDE
  return {front, back};
#else
  return {((u32)front & 0xffffu) | (u32)back << 16};
#endif
}
__device__ __forceinline__ Value value_of(int both) { return value_of_sides(both, both); }
__device__ __forceinline__ Value operator+(Value a, Value b) { return pair_add(a, b); }
__device__ __forceinline__ Value operator-(Value a, Value b) { return pair_subtract(a, b); }
__device__ __forceinline__ Value operator*(Value a, Value b) {
  return value_of_sides(front_of(a) * front_of(b), back_of(a) * back_of(b));
}
__device__ __forceinline__ Value larger(Value a, Value b) {
  return pair_add_max(a, value_of(0), b);
}
__device__ __forceinline__ Value smaller(Value a, Value b) {
#if WIDE
  return {min(a.front, b.front), min(a.back, b.back)};
#else
  return {__viaddmin_s16x2(a.both, 0u, b.both)};
#endif
}
// max(a + b, c)
__device__ __forceinline__ Value add_larger(Value a, Value b, Value c) {
  return pair_add_max(a, b, c);
}
__device__ __forceinline__ Both less(Value a, Value b) {
  return {front_of(a) < front_of(b), back_of(a) < back_of(b)};
}
__device__ __forceinline__ Both equal(Value a, Value b) {
  return {front_of(a) == front_of(b), back_of(a) == back_of(b)};
}
__device__ __forceinline__ Value select(Both test, Value yes, Value no) {
  const Value front = test.front ? yes : no, back = test.back ? yes : no;
  return pair_replace(front, back, true);
}
__device__ __forceinline__ Value swapped(Value a) { return pair_swap(a); }
__device__ __forceinline__ Pair pair_of(Value a) { return a; }
__device__ __forceinline__ int first_of(Value a) { return front_of(a); }
__device__ __forceinline__ Value value_in(const u32 *words) { return pair_from_words(words); }
__device__ __forceinline__ u32 value_word(Value a, int i) { return pair_word(a, i); }
// What one side sees, for both.
__device__ __forceinline__ Value of_side(Value a, bool back) {
  return value_of(back ? back_of(a) : front_of(a));
}
__device__ __forceinline__ Value replaced(Value old, Value now, bool back) {
  return pair_replace(old, now, back);
}
__device__ __forceinline__ void keep_value(Value &a) {
#if !WIDE
  keep(a.both);
#endif
}

#else

typedef int Value;
typedef bool Both;
constexpr int VALUE_WORDS = 1;

__device__ __forceinline__ Both condition_of(bool test) { return test; }
__device__ __forceinline__ Value value_of(int value) { return value; }
__device__ __forceinline__ Value larger(Value a, Value b) { return max(a, b); }
__device__ __forceinline__ Value smaller(Value a, Value b) { return min(a, b); }
__device__ __forceinline__ Value add_larger(Value a, Value b, Value c) {
  return max(a + b, c);
}
__device__ __forceinline__ Both less(Value a, Value b) { return a < b; }
__device__ __forceinline__ Both equal(Value a, Value b) { return a == b; }
__device__ __forceinline__ Value select(Both test, Value yes, Value no) {
  return test ? yes : no;
}
__device__ __forceinline__ Pair pair_of(Value a) { return {a, 0x3fffffff}; }
__device__ __forceinline__ int first_of(Value a) { return a; }
__device__ __forceinline__ Value value_in(const u32 *words) { return (int)words[0]; }
__device__ __forceinline__ u32 value_word(Value a, int) { return (u32)a; }
__device__ __forceinline__ Value of_side(Value a, bool) { return a; }
__device__ __forceinline__ Value replaced(Value, Value now, bool) { return now; }
__device__ __forceinline__ void keep_value(Value &) {}

#endif

// Values one after the other in a row: of those that the compiler counts, VALUE_WORDS or
// two words are loaded at a time.
__device__ __forceinline__ Value row_value(const u32 *row, int word) {
  if (VALUE_WORDS == 2) {
    const uint2 two = *reinterpret_cast<const uint2 *>(row + word);
    const u32 words[2] = {two.x, two.y};
    return value_in(words);
  }
  const uint2 two = reinterpret_cast<const uint2 *>(row)[word / 2];
  const u32 one = word % 2 ? two.y : two.x;
  return value_in(&one);
}
// Value `first + k`, of which the compiler counts k: so many values are loaded at a time.
template <int ALONG>
__device__ __forceinline__ Value value_along(const u32 *row, int first, int k) {
  constexpr int WORDS = ALONG * VALUE_WORDS;
  const u32 *words = row + first * VALUE_WORDS;
  const int word = k * VALUE_WORDS;
  if (WORDS % 4 == 0) {
    const uint4 four = reinterpret_cast<const uint4 *>(words)[word / 4];
    const u32 all[5] = {four.x, four.y, four.z, four.w, 0};
    return value_in(all + word % 4);
  }
  if (WORDS % 2 == 0) {
    const uint2 two = reinterpret_cast<const uint2 *>(words)[word / 2];
    const u32 all[3] = {two.x, two.y, 0};
    return value_in(all + word % 2);
  }
  return value_in(words + word);
}
// A value of which `word(i)` is word i.
template <class WordAt>
__device__ __forceinline__ Value value_from(WordAt word, int place) {
  u32 words[VALUE_WORDS];
#pragma unroll
  for (int i = 0; i < VALUE_WORDS; ++i) words[i] = word(place * VALUE_WORDS + i);
  return value_in(words);
}
// Place k of so many, as the front sees it, of which the first half is there.
template <class WordAt>
__device__ __forceinline__ int half_in(WordAt word, int place, int size, int k) {
#if TWO_SIDES
  if (k >= (size + 1) / 2) return back_of(value_from(word, place + size - 1 - k));
#endif
  return first_of(value_from(word, place + k));
}
// How many jobs are in a set of which `left(w)` is word w.
template <class LeftAt>
__device__ __forceinline__ int count_in(LeftAt left) {
  int count = 0;
#pragma unroll
  for (int w = 0; w < LEFT_WORDS; ++w) count += __popc(left(w));
  return count;
}
__device__ __forceinline__ Value any_value(const u32 *row, int word) {
  return value_in(row + word);
}
