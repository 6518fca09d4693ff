// Unsigned integers by width, and four words that one instruction loads.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct Quad {
  u32 word[4];
};

__device__ __forceinline__ Quad load_quad(const u32 *address) {
  const uint4 v = *reinterpret_cast<const uint4 *>(address);
  return {{v.x, v.y, v.z, v.w}};
}
