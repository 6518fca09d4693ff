// Longest paths between all pairs: a matrix of lengths, max-plus algebra.
//
// floyd_step is the kernel of Bozejko, Uchronski and Wodecki (PPAM 2011), a launch for
// every k; only that lanes take several columns, so that rows may be longer than a block,
// and that "no path" is -1. The others work on tiles of TILE x TILE cells, in which no
// path is NONE, so low that whatever contains it stays below 0: one DPX instruction joins
// two paths and keeps the longer one. NARROW 1: 16-bit lengths, two columns a word; the
// host has seen to it that twice the longest path stays below -NONE.
//
// A block of 256 threads has a tile; thread (ty, tx) the rows 4 ty .. 4 ty + 3 and every
// 16th word from tx on. Shared memory: two tiles.
#include "words.cuh"

constexpr int NO_PATH = -1;
constexpr u32 TILE = 64, ROWS = 4, SIDE = 16;

#if NARROW
constexpr u32 COLUMNS = 2;
constexpr int NONE = -16384;
constexpr u32 EMPTY = 0xc000c000u;
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return __viaddmax_s16x2(a, b, c);
}
__device__ __forceinline__ u32 cell_of(const u32 *row, u32 column) {  // in both halves
  return __byte_perm(row[column / 2], 0, column % 2 ? 0x3232 : 0x1010);
}
__device__ __forceinline__ int length_of(const u32 *row, u32 column) {
  return (int)(short)(row[column / 2] >> 16 * (column % 2));
}
#else
constexpr u32 COLUMNS = 1;
constexpr int NONE = -(1 << 30);
constexpr u32 EMPTY = 0xc0000000u;
__device__ __forceinline__ u32 add_max(u32 a, u32 b, u32 c) {
  return (u32)__viaddmax_s32((int)a, (int)b, (int)c);
}
__device__ __forceinline__ u32 cell_of(const u32 *row, u32 column) { return row[column]; }
__device__ __forceinline__ int length_of(const u32 *row, u32 column) {
  return (int)row[column];
}
#endif

constexpr u32 WORDS = TILE / COLUMNS;  // of a row of a tile
constexpr u32 MINE = WORDS / SIDE;     // words of a row that a thread has
constexpr u32 PITCH = WORDS + 1;       // in shared memory: rows begin at other banks
constexpr u32 TILE_WORDS = TILE * PITCH;

// Step k of Floyd and Warshall. Grid: size. Block: any. Row and column k do not change.
extern "C" __global__ void floyd_step(int *paths, int size, int k) {
  int *const row = paths + (size_t)blockIdx.x * size;
  const int *const through = paths + (size_t)k * size;
  const int first = row[k];
  for (int x = (int)threadIdx.x; x < size; x += (int)blockDim.x) {
    const int second = through[x];
    if (first >= 0 && second >= 0) row[x] = max(row[x], first + second);
  }
}

// paths[size][size] into words[tiles * TILE][tiles * WORDS]. Grid: tiles * TILE.
extern "C" __global__ void pack_paths(const int *paths, int size, u32 *words, int tiles) {
  const int y = (int)blockIdx.x, pitch = tiles * (int)WORDS;
  for (int w = (int)threadIdx.x; w < pitch; w += (int)blockDim.x) {
    u32 word = EMPTY;
    for (int c = 0; c < (int)COLUMNS; ++c) {
      const int x = w * (int)COLUMNS + c;
      if (y >= size || x >= size) continue;
      const int length = paths[(size_t)y * size + x];
      if (length == NO_PATH) continue;
      const u32 bits = 32 / COLUMNS, mask = (u32)((1ull << bits) - 1);
      word = (word & ~(mask << bits * c)) | ((u32)length & mask) << bits * c;
    }
    words[(size_t)y * pitch + w] = word;
  }
}

// The way back. Grid: size.
extern "C" __global__ void unpack_paths(
    const u32 *words, int tiles, int *paths, int size) {
  const int y = (int)blockIdx.x, pitch = tiles * (int)WORDS;
  for (int x = (int)threadIdx.x; x < size; x += (int)blockDim.x) {
    const int length = length_of(words + (size_t)y * pitch, (u32)x);
    paths[(size_t)y * size + x] = length < 0 ? NO_PATH : length;
  }
}

struct Mine {
  u32 word[ROWS][MINE];
};

__device__ __forceinline__ u32 row_of(u32 r) { return threadIdx.x / SIDE * ROWS + r; }
__device__ __forceinline__ u32 word_of(u32 c) { return threadIdx.x % SIDE + c * SIDE; }

__device__ __forceinline__ const u32 *tile_at(const u32 *words, u32 tiles, u32 y, u32 x) {
  return words + (size_t)y * TILE * tiles * WORDS + x * WORDS;
}

__device__ __forceinline__ void tile_in(u32 *tile, const u32 *from, u32 tiles) {
  for (u32 i = threadIdx.x; i < TILE * WORDS; i += blockDim.x)
    tile[i / WORDS * PITCH + i % WORDS] = from[(size_t)(i / WORDS) * tiles * WORDS + i % WORDS];
}

__device__ __forceinline__ void mine_in(Mine &mine, const u32 *from, u32 tiles) {
#pragma unroll
  for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
    for (u32 c = 0; c < MINE; ++c)
      mine.word[r][c] = from[(size_t)row_of(r) * tiles * WORDS + word_of(c)];
}

__device__ __forceinline__ void mine_out(const Mine &mine, u32 *to, u32 tiles) {
#pragma unroll
  for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
    for (u32 c = 0; c < MINE; ++c)
      to[(size_t)row_of(r) * tiles * WORDS + word_of(c)] = mine.word[r][c];
}

// mine = max(mine, left x right).
__device__ __forceinline__ void join(Mine &mine, const u32 *left, const u32 *right) {
#pragma unroll 8
  for (u32 k = 0; k < TILE; ++k) {
    u32 first[ROWS], second[MINE];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) first[r] = cell_of(left + row_of(r) * PITCH, k);
#pragma unroll
    for (u32 c = 0; c < MINE; ++c) second[c] = right[k * PITCH + word_of(c)];
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
      for (u32 c = 0; c < MINE; ++c)
        mine.word[r][c] = add_max(first[r], second[c], mine.word[r][c]);
  }
}

// Phase 1 of round t: paths within the diagonal tile. Grid: 1.
extern "C" __global__ void __launch_bounds__(256)
    close_tile(u32 *words, u32 tiles, u32 t) {
  extern __shared__ __align__(16) u32 shared[];
  u32 *const tile = shared;
  u32 *const here = (u32 *)tile_at(words, tiles, t, t);
  tile_in(tile, here, tiles);
  Mine mine;
  mine_in(mine, here, tiles);
  __syncthreads();
  for (u32 k = 0; k < TILE; ++k) {
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
      const u32 first = cell_of(tile + row_of(r) * PITCH, k);
#pragma unroll
      for (u32 c = 0; c < MINE; ++c)
        mine.word[r][c] =
            add_max(first, tile[k * PITCH + word_of(c)], mine.word[r][c]);
    }
    __syncthreads();
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
      for (u32 c = 0; c < MINE; ++c) tile[row_of(r) * PITCH + word_of(c)] = mine.word[r][c];
    __syncthreads();
  }
  mine_out(mine, here, tiles);
}

// Phase 2: the tiles of row t and of column t, through the closed tile (t, t): one product
// does, as it has all paths within itself. Grid: 2 * (tiles - 1).
extern "C" __global__ void __launch_bounds__(256)
    cross_tiles(u32 *words, u32 tiles, u32 t) {
  extern __shared__ __align__(16) u32 shared[];
  const bool in_row = blockIdx.x < tiles - 1;
  u32 other = in_row ? blockIdx.x : blockIdx.x - (tiles - 1);
  other += other >= t;
  u32 *const here = (u32 *)tile_at(words, tiles, in_row ? t : other, in_row ? other : t);
  tile_in(shared, in_row ? tile_at(words, tiles, t, t) : here, tiles);
  tile_in(shared + TILE_WORDS, in_row ? here : tile_at(words, tiles, t, t), tiles);
  Mine mine;
  mine_in(mine, here, tiles);
  __syncthreads();
  join(mine, shared, shared + TILE_WORDS);
  mine_out(mine, here, tiles);
}

// Phase 3: all other tiles. Grid: (tiles - 1)^2.
extern "C" __global__ void __launch_bounds__(256)
    rest_tiles(u32 *words, u32 tiles, u32 t) {
  extern __shared__ __align__(16) u32 shared[];
  u32 y = blockIdx.x / (tiles - 1), x = blockIdx.x % (tiles - 1);
  y += y >= t;
  x += x >= t;
  u32 *const here = (u32 *)tile_at(words, tiles, y, x);
  tile_in(shared, tile_at(words, tiles, y, t), tiles);
  tile_in(shared + TILE_WORDS, tile_at(words, tiles, t, x), tiles);
  Mine mine;
  mine_in(mine, here, tiles);
  __syncthreads();
  join(mine, shared, shared + TILE_WORDS);
  mine_out(mine, here, tiles);
}

// result = max(words, words x words): paths of twice as many arcs. Grid: tiles^2.
extern "C" __global__ void __launch_bounds__(256)
    square_tiles(const u32 *words, u32 *result, u32 tiles) {
  extern __shared__ __align__(16) u32 shared[];
  const u32 y = blockIdx.x / tiles, x = blockIdx.x % tiles;
  Mine mine;
  mine_in(mine, tile_at(words, tiles, y, x), tiles);
  for (u32 k = 0; k < tiles; ++k) {
    __syncthreads();
    tile_in(shared, tile_at(words, tiles, y, k), tiles);
    tile_in(shared + TILE_WORDS, tile_at(words, tiles, k, x), tiles);
    __syncthreads();
    join(mine, shared, shared + TILE_WORDS);
  }
  mine_out(mine, (u32 *)tile_at(result, tiles, y, x), tiles);
}
