#include "common.cuh"

// A known answer: every block hashes the same 4096 numbers, exchanges the sums within its warps, folds
// them in shared memory and leaves one number, the same for every block. `salt` changes from call to
// call, so that an answer that was left there earlier does not count. Blocks of exactly 256 threads.
//@ answers: blocks
GL_KERNEL void GL_BOUNDS(256) canary_answer(u32 salt, u32* GL_RESTRICT answers) {
  __shared__ u32 part[256];
  const u32 t = threadIdx.x;
  u32 sum = 0;
  for (u32 i = t; i < 4096; i += 256) {
    sum = (sum << 5 | sum >> 27) + (u32)(hash64(salt, 1, i) >> 32);
  }
  sum ^= __shfl_xor_sync(GL_FULL, sum, 31) * 0x9E3779B1u;
  part[t] = sum;
  __syncthreads();
  for (u32 half = 128; half > 0; half >>= 1) {
    if (t < half) part[t] = part[t] * 31u + part[t + half];
    __syncthreads();
  }
  if (t == 0) answers[blockIdx.x] = part[0];
}
