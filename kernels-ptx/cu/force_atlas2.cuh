// What the kernels of the layout share: the tree, the state, the knobs.
#pragma once
#include "common.cuh"

// Bodies of a leaf, and cells below a cell: leaf i holds bodies 16 i .. 16 i + 16, and cell i of a level
// the cells 4 i .. 4 i + 4 of the level below.
#define FA_LEAF 16u
#define FA_FAN 4u
// Most levels: 2^32 bodies.
#define FA_LEVELS 16u
// Added to squared distances: bodies on one spot do not push each other.
#define FA_SOFTENING 1.1920929e-7f
// Coordinates beyond this would leave the range of f32 when squared.
#define FA_COORDINATE_MAX 1e15f

// State of a layout, all of it f64.
enum {
  FA_INDEX = 0,
  FA_SWING = 1,
  FA_TRACTION = 2,
  FA_SPEED = 3,
  FA_EFFICIENCY = 4,
  FA_MOVED = 5,
  // Bounding box.
  FA_LOW_X = 6,
  FA_LOW_Y = 7,
  FA_HIGH_X = 8,
  FA_HIGH_Y = 9,
  // Factor from coordinates to those of the moments: a power of two that brings all into the unit box.
  FA_SCALE = 10,
  FA_CENTRE_X = 11,
  FA_CENTRE_Y = 12,
  // How well the order still serves: iterations since the sort, work of the first, excess of the others.
  FA_WEAR_ITERATIONS = 13,
  FA_WEAR_FRESH = 14,
  FA_WEAR_EXCESS = 15,
  FA_SORT_DUE = 16,
  FA_QUIET = 17,
  // Mean radius of a leaf when the order was fresh.
  FA_WEAR_RADIUS = 18,
  FA_STATE = 24
};

// Parameters of the forces, all of them f32.
enum {
  FA_REPULSION = 0,
  FA_GRAVITY = 1,
  FA_STRONG_GRAVITY = 2,
  FA_OVERLAP = 3,
  FA_CLEARANCE = 4,
  FA_RATIO = 5,
  FA_UNIFORM = 6,
  FA_TOLERANCE = 7,
  // Sum of the FA_MODE_ bits.
  FA_MODES = 8,
  FA_SORT_COST = 9,
  FA_KNOBS = 16
};
#define FA_MODE_LIN_LOG 1u
#define FA_MODE_RIMS 2u
#define FA_MODE_STRONG 4u
#define FA_MODE_LOCKED_X 8u
#define FA_MODE_LOCKED_Y 16u
#define FA_MODE_LOCKED_R 32u
#define FA_MODE_WEIGHTED 64u

// Counters of work: more than one, so that adding to them is not a queue.
#define FA_WORK_SLOTS 32u

// Cells of a level over n bodies.
GL_DEVICE u32 fa_cells(u32 n, u32 level) {
  const u32 shift = 4u + 2u * level;
  return (u32)(((u64)n + ((u64)1 << shift) - 1) >> shift);
}

GL_DEVICE f32 fa_length(f32 x, f32 y) { return sqrtf(x * x + y * y); }

// 1 / v for normal v, to within an ulp or two.
GL_DEVICE f32 fa_inverse(f32 v) {
#ifdef GL_HOST
  return 1.0f / v;
#else
  f32 r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
#endif
}
