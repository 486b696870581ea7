// Atomics, bit tricks, conversions and arithmetic of the CUDA language.
#pragma once

// The second argument never takes part in deduction, so that literals convert as they do in CUDA.
#define EMU_VALUE typename emu::Same<T>::type
template <class T> static inline T atomicAdd(T* at, EMU_VALUE v) {
  static_assert(!std::is_same<T, long long>::value, "CUDA has no atomicAdd of long long");
  return emu::update(at, [v](T old) { return (T)(old + v); });
}
template <class T> static inline T atomicSub(T* at, EMU_VALUE v) {
  static_assert(std::is_same<T, unsigned>::value || std::is_same<T, int>::value, "32-bit integers only");
  return emu::update(at, [v](T old) { return (T)(old - v); });
}
template <class T> static inline T atomicMin(T* at, EMU_VALUE v) {
  static_assert(std::is_integral<T>::value, "CUDA has no atomicMin of floats");
  return emu::update(at, [v](T old) { return v < old ? v : old; });
}
template <class T> static inline T atomicMax(T* at, EMU_VALUE v) {
  static_assert(std::is_integral<T>::value, "CUDA has no atomicMax of floats");
  return emu::update(at, [v](T old) { return old < v ? v : old; });
}
template <class T> static inline T atomicAnd(T* at, EMU_VALUE v) {
  return emu::update(at, [v](T old) { return (T)(old & v); });
}
template <class T> static inline T atomicOr(T* at, EMU_VALUE v) {
  return emu::update(at, [v](T old) { return (T)(old | v); });
}
template <class T> static inline T atomicXor(T* at, EMU_VALUE v) {
  return emu::update(at, [v](T old) { return (T)(old ^ v); });
}
template <class T> static inline T atomicExch(T* at, EMU_VALUE v) {
  return emu::update(at, [v](T) { return v; });
}
template <class T> static inline T atomicCAS(T* at, EMU_VALUE expected, EMU_VALUE v) {
  static_assert(std::is_integral<T>::value, "CUDA has no atomicCAS of floats");
  if (emu::here->shaken) emu::shake();
  T old = expected;
  __atomic_compare_exchange(at, &old, &v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return old;
}
#undef EMU_VALUE

template <class T> static inline T __ldg(const T* at) { return *at; }
template <class T> static inline T __ldcg(const T* at) { return *at; }
template <class T> static inline T __ldcs(const T* at) { return *at; }
template <class T> static inline T __ldca(const T* at) { return *at; }
template <class T> static inline T __ldcv(const T* at) { return *at; }
template <class T> static inline void __stcg(T* at, T v) { *at = v; }
template <class T> static inline void __stcs(T* at, T v) { *at = v; }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
  unsigned out = 0;
  for (int bit = 0; bit < 32; ++bit) out |= (x >> bit & 1u) << (31 - bit);
  return out;
}
static inline unsigned long long __brevll(unsigned long long x) {
  return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32));
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
static inline int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
  return by & 31 ? high << (by & 31) | low >> (32 - (by & 31)) : high;
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
  return by & 31 ? low >> (by & 31) | high << (32 - (by & 31)) : low;
}

static inline unsigned __float_as_uint(float f) { return emu::unpack<unsigned>(emu::pack(f)); }
static inline int __float_as_int(float f) { return emu::unpack<int>(emu::pack(f)); }
static inline float __uint_as_float(unsigned u) { return emu::unpack<float>(u); }
static inline float __int_as_float(int i) { return emu::unpack<float>(emu::pack(i)); }
static inline long long __double_as_longlong(double d) { return emu::unpack<long long>(emu::pack(d)); }
static inline double __longlong_as_double(long long l) { return emu::unpack<double>(emu::pack(l)); }

// Conversions saturate and send NaN to 0, as the hardware's do.
namespace emu {
template <class I, class F> inline I saturate(F f) {
  constexpr I low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
  if (f != f) return 0;
  if (f <= (F)low) return low;
  return f >= (F)high ? high : (I)f;
}
}  // namespace emu
#define EMU_CONVERT(name, F, I)                                                              \
  static inline I name##_rz(F f) { return emu::saturate<I>(std::trunc(f)); }                \
  static inline I name##_rn(F f) { return emu::saturate<I>(std::nearbyint(f)); }            \
  static inline I name##_rd(F f) { return emu::saturate<I>(std::floor(f)); }                \
  static inline I name##_ru(F f) { return emu::saturate<I>(std::ceil(f)); }
EMU_CONVERT(__float2int, float, int)
EMU_CONVERT(__float2uint, float, unsigned)
EMU_CONVERT(__float2ll, float, long long)
EMU_CONVERT(__float2ull, float, unsigned long long)
EMU_CONVERT(__double2int, double, int)
EMU_CONVERT(__double2uint, double, unsigned)
EMU_CONVERT(__double2ll, double, long long)
EMU_CONVERT(__double2ull, double, unsigned long long)
#undef EMU_CONVERT
static inline float __int2float_rn(int v) { return (float)v; }
static inline float __uint2float_rn(unsigned v) { return (float)v; }
static inline float __ull2float_rn(unsigned long long v) { return (float)v; }
static inline float __ll2float_rn(long long v) { return (float)v; }
static inline float __double2float_rn(double v) { return (float)v; }
static inline double __ull2double_rn(unsigned long long v) { return (double)v; }
static inline double __ll2double_rn(long long v) { return (double)v; }
static inline double __uint2double_rn(unsigned v) { return (double)v; }
static inline double __int2double_rn(int v) { return (double)v; }

// Never fused on either side: the compiler is told not to contract.
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fdiv_rn(float a, float b) { return a / b; }
static inline float __frcp_rn(float a) { return 1.0f / a; }
static inline float __fsqrt_rn(float a) { return std::sqrt(a); }
static inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
static inline double __dadd_rn(double a, double b) { return a + b; }
static inline double __dsub_rn(double a, double b) { return a - b; }
static inline double __dmul_rn(double a, double b) { return a * b; }
static inline double __ddiv_rn(double a, double b) { return a / b; }
static inline double __drcp_rn(double a) { return 1.0 / a; }
static inline double __dsqrt_rn(double a) { return std::sqrt(a); }
static inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
static inline float __fdividef(float a, float b) { return a / b; }
// Macros where the C library has functions of these names.
#define __expf(a) std::exp((float)(a))
#define __logf(a) std::log((float)(a))
#define __log2f(a) std::log2((float)(a))
#define __powf(a, b) std::pow((float)(a), (float)(b))
#define __sinf(a) std::sin((float)(a))
#define __cosf(a) std::cos((float)(a))
static inline float __saturatef(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }
static inline float __frsqrt_rn(float a) { return (float)(1.0 / std::sqrt((double)a)); }
#define rsqrtf(a) (1.0f / std::sqrt((float)(a)))
#define rsqrt(a) (1.0 / std::sqrt((double)(a)))

// CUDA's overloads: mixed signedness goes to unsigned, floats take the number of a number and a NaN.
#define EMU_MIN_MAX(A, B, R)                                             \
  static inline R min(A a, B b) { return (R)b < (R)a ? (R)b : (R)a; }    \
  static inline R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
EMU_MIN_MAX(int, int, int)
EMU_MIN_MAX(unsigned, unsigned, unsigned)
EMU_MIN_MAX(int, unsigned, unsigned)
EMU_MIN_MAX(unsigned, int, unsigned)
EMU_MIN_MAX(long, long, long)
EMU_MIN_MAX(unsigned long, unsigned long, unsigned long)
EMU_MIN_MAX(long long, long long, long long)
EMU_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
EMU_MIN_MAX(long long, unsigned long long, unsigned long long)
EMU_MIN_MAX(unsigned long long, long long, unsigned long long)
#undef EMU_MIN_MAX
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
using std::isfinite;
using std::isinf;
using std::isnan;
