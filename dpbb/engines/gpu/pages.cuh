// Open nodes in pages of 32 nodes of one depth: the store, its allocator, the exchange.
//
// A record is quads of words: the model's state, mask of the unscheduled jobs,
// directions (bit d: the job of depth d went to the back), with ONE_SIDE the jobs whose
// children may be below the upper bound on the side that the last job did not take, path
// (the digits of law 2, one byte or two each). Record s of a page has its q-th
// quad at word (q * 32 + s) * 4: a warp that handles 32 records reads whole lines.
//
// The unit includes the model of the problem first (dpbb.kernels.cuda_model).
// Twin: dpbb.engines.gpu.layout.
#pragma once

#include "branching.cuh"
#include "warp.cuh"

constexpr int N = N_JOBS;
constexpr int N_MASK = (N + 31) / 32;
constexpr int MASK_AT = STATE_WORDS;
constexpr int DIRECTIONS_AT = MASK_AT + N_MASK;
constexpr int LEFT_AT = DIRECTIONS_AT + N_MASK;  // with ONE_SIDE alone
constexpr int PATH_AT = (LEFT_AT + ONE_SIDE * N_MASK + 3) / 4 * 4;
constexpr int DIGIT_BITS = N <= 256 ? 8 : 16;
constexpr int DIGITS_PER_WORD = 32 / DIGIT_BITS;
constexpr int DIGITS_PER_QUAD = 4 * DIGITS_PER_WORD;
#if N_JOBS <= 256
typedef u8 Digit;
#else
typedef u16 Digit;
#endif
constexpr int PATH_QUADS = (N + DIGITS_PER_QUAD - 1) / DIGITS_PER_QUAD;
constexpr int RECORD_WORDS = PATH_AT + 4 * PATH_QUADS;
constexpr int PAGE_WORDS = RECORD_WORDS * LANES;
constexpr int LEAF_WORDS = RECORD_WORDS - MASK_AT + 1;  // value, mask, ..., path
static_assert(PAGE_WORDS * 4 == PAGE_BYTES, "a page is not what dpbb.engines.gpu.layout says");
constexpr u32 NONE = 0xffffffffu;

enum StopReason {
  RUNNING = 0,
  SLICE_OVER = 1,
  OUT_OF_PAGES = 2,
  ALL_DONE = 3,
  OPTIMA_FULL = 4
};

// Shared by all warps of the device; the host reads and writes it between launches.
struct Control {
  u32 tickets;  // pages asked for by idle warps; with gifts, one aligned 64-bit word
  u32 gifts;    // pages given to them
  u32 stop;     // StopReason
  int ub;
  u32 pool_next, pool_size, n_out, n_warps;
  u32 free_next, free_end, lock, n_optima;  // the first two: one aligned word, too
  int best;
  int least_bound;
  u32 branching_ub, drain_batches;
  u32 spare_pages;  // free pages that explorers leave for fewer of them
  u32 shrinks;      // work deepest first: few open roots are to be left
  u64 decomposed, leaves;
  u64 batches, children, idle_ns, busy_ns;
  u64 open_roots, budget_ns;
};

// Where everything lies in device memory.
struct Arena {
  Control *control;
  u32 *pages;       // n_pages * PAGE_WORDS
  u32 *next;        // n_pages: next full page of the same depth in a warp's list
  u32 *meta;        // n_pages: depth << 8 | records, of pages in pool and out
  u32 *free_ring;   // free pages between the tickets free_next and free_end
  u32 *gift_ring;   // pages on their way to idle warps
  u32 *pool;        // pages to start from
  u32 *out;         // pages left at the end of a launch
  const u32 *rows;  // N * ROW + COMMON + ...: what the model knows
  const u32 *critical;  // with ONE_SIDE, 2 * N_CRITICAL: what decides on each side
  const u32 *root;  // a page whose first record has the state of the tree's root; N_MASK
                    // words with a bit for each job that is equal to the one before it
  u64 *closed;      // N + 1
  u32 *leaves;      // best leaf, or with all optima n_leaves of them: LEAF_WORDS each
  u32 free_bits, gift_bits;  // ring lengths less 1
  u32 n_leaves, all_optima;
};

// Quads of a record of this depth that hold something.
__device__ __forceinline__ int record_quads(int depth) {
  return PATH_AT / 4 + (depth + DIGITS_PER_QUAD - 1) / DIGITS_PER_QUAD;
}

__device__ __forceinline__ u32 *page_at(const Arena &arena, u32 page) {
  return arena.pages + (size_t)page * PAGE_WORDS;
}
// Quad q of a record lies 4 q LANES words behind this.
__device__ __forceinline__ u32 *record_at(u32 *page, u32 slot) { return page + slot * 4; }
__device__ __forceinline__ int word_offset(int word) {
  return (word >> 2) * LANES * 4 + (word & 3);
}
__device__ __forceinline__ u32 *word_at(u32 *page, int slot, int word) {
  return record_at(page, slot) + word_offset(word);
}
__device__ __forceinline__ Quad load_record_quad(const u32 *page, int slot, int quad) {
  return load_quad(page + (quad * LANES + slot) * 4);
}
__device__ __forceinline__ void store_quad(u32 *to, const Quad &v) {
  *reinterpret_cast<uint4 *>(to) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
}

// Jobs of a word that are equal to the one before them; none in trees of rule version 1.
__device__ __forceinline__ u32 equal_jobs(const Arena &arena, int word) {
  return EQUAL_JOBS ? arena.root[PAGE_WORDS + word] : 0u;
}

// Whether a job is a copy of the one before it among a node's unscheduled jobs.
__device__ __forceinline__ bool is_copy(const Arena &arena, int before, int job) {
  return before == job - 1 && equal_jobs(arena, job >> 5) >> (job & 31) & 1;
}

__device__ __forceinline__ State state_of_record(const u32 *page, int slot) {
  return load_state([=](int quad) { return load_record_quad(page, slot, quad); });
}

// Free pages of one warp: a register of 32, and a claim on the common ring.
struct PageCache {
  u32 page;  // lane i < count: a free page
  int count;
  u32 claim, claim_end;  // tickets of the common ring that are this warp's

  __device__ __forceinline__ PageCache() : page(NONE), count(0), claim(0), claim_end(0) {}

  // Make sure that `needed` calls of take succeed; false when all but the spare pages
  // are used up.
  //
  // A warp that sees many more free pages than all of them take at once adds to the
  // counter. It compares and swaps only where they run short: at the start of a launch all
  // warps come at once, and that needs half as many tries as the square of their number.
  // What was added beyond the end, as others took a lot since the look, is undone: none
  // claims behind it but who has added, too, and undoes that first, or has seen a later
  // end, which this one's claim is before.
  __device__ __forceinline__ bool reserve(const Arena &arena, int needed, int lane) {
    const int missing = needed - count - (int)(claim_end - claim);
    if (missing <= 0) return true;
    while (claim != claim_end) give(arena, take_claimed(arena, lane), lane);
    u32 begin = 0, taken = 0;
    if (lane == 0) {
      Control *control = arena.control;
      const int wanted = max(needed - count, 16), spare = (int)control->spare_pages;
      while (!taken) {
        const u64 both = *(volatile u64 *)&control->free_next;
        const u32 seen = (u32)both;
        u32 end = (u32)(both >> 32);
        const int free = (int)(end - seen);  // below 0 until such a claim is undone
        if (wanted <= LANES && free >= (int)(control->n_warps + 1) * LANES + spare) {
          begin = atomicAdd(&control->free_next, (u32)wanted);
          const u32 behind = begin + wanted;
          taken = wanted;
          while (taken && (int)(end - behind) < 0) {
            if (atomicCAS(&control->free_next, behind, begin) == behind) taken = 0;
            end = *(volatile u32 *)&control->free_end;
          }
        } else {
          if (free < wanted + spare) break;
          begin = atomicCAS(&control->free_next, seen, seen + wanted);
          if (begin == seen) taken = wanted;
        }
      }
    }
    claim = __shfl_sync(ALL_LANES, begin, 0);
    claim_end = claim + __shfl_sync(ALL_LANES, taken, 0);
    return claim_end != claim;
  }

  __device__ __forceinline__ u32 take(const Arena &arena, int lane) {
    if (count) return __shfl_sync(ALL_LANES, page, --count);
    return take_claimed(arena, lane);
  }

  __device__ __forceinline__ void give(const Arena &arena, u32 freed, int lane) {
    if (count == LANES) give_back(arena, LANES / 2, lane);
    if (lane == count) page = freed;
    ++count;
  }

  // The last `amount` pages go to the common ring.
  __device__ __forceinline__ void give_back(const Arena &arena, int amount, int lane) {
    if (!amount) return;
    u32 begin = 0;
    if (lane == 0) begin = atomicAdd(&arena.control->free_end, (u32)amount);
    begin = __shfl_sync(ALL_LANES, begin, 0);
    const u32 mine = __shfl_sync(ALL_LANES, page, (count - amount + lane) & 31);
    __threadfence();  // what was written to a page stays before what its taker writes
    if (lane < amount) {
      volatile u32 *place = &arena.free_ring[(begin + lane) & arena.free_bits];
      *place = mine;
    }
    count -= amount;
  }

  __device__ __forceinline__ void give_back_all(const Arena &arena, int lane) {
    give_back(arena, count, lane);
    while (claim != claim_end) {
      give(arena, take_claimed(arena, lane), lane);
      give_back(arena, count, lane);
    }
  }

 private:
  // A claimed ticket's page may still be on its way: its giver counts before it writes.
  __device__ __forceinline__ u32 take_claimed(const Arena &arena, int lane) {
    u32 got = 0;
    if (lane == 0) {
      volatile u32 *place = &arena.free_ring[claim & arena.free_bits];
      while ((got = *place) == NONE) {
      }
      *place = NONE;
      __threadfence();
    }
    ++claim;
    return __shfl_sync(ALL_LANES, got, 0);
  }
};
