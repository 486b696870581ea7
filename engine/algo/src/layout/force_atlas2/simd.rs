//! A few vector operations, with the widest instruction set that the processor has chosen at run time.
//!
//! A kernel is written once over [`Lanes`] and stamped out for every width by [`dispatch!`].

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as arch;

/// Instruction sets in rising order of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Isa {
    /// Whatever the compiler may assume.
    Portable,
    /// 8 lanes with fused multiply-add.
    Avx2,
    /// 16 lanes.
    Avx512,
}

impl Isa {
    /// The widest set of this processor.
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if std::is_x86_feature_detected!("avx512f")
                && std::is_x86_feature_detected!("avx512vl")
                && std::is_x86_feature_detected!("avx512dq")
                && std::is_x86_feature_detected!("avx2")
                && std::is_x86_feature_detected!("fma")
            {
                return Self::Avx512;
            }
            if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Portable
    }
}

/// A vector of `N` single-precision numbers.
pub(crate) trait Lanes: Copy {
    /// Lanes of one vector; divides 16.
    const N: usize;
    fn splat(v: f32) -> Self;
    /// The first `N` numbers of `s`.
    fn load(s: &[f32]) -> Self;
    /// Writes `N` numbers to the front of `s`.
    fn store(self, s: &mut [f32]);
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn sqrt(self) -> Self;
    /// `self * b + c`.
    fn fma(self, b: Self, c: Self) -> Self;
    /// `c - self * b`.
    fn fnma(self, b: Self, c: Self) -> Self;
    /// `1 / self` with a relative error below 1e-4.
    fn rcp_fast(self) -> Self;
    /// `a` where `self <= o`, else `b`.
    fn select_le(self, o: Self, a: Self, b: Self) -> Self;
    /// The sum of the lanes, in a fixed order.
    fn sum(self) -> f32;
}

/// Eight lanes in plain Rust: the widths below it, and every other processor.
#[derive(Clone, Copy)]
pub(crate) struct Plain([f32; 8]);

impl Plain {
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|i| f(self.0[i], o.0[i])))
    }
}

impl Lanes for Plain {
    const N: usize = 8;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self([v; 8])
    }
    #[inline(always)]
    fn load(s: &[f32]) -> Self {
        Self(std::array::from_fn(|i| s[i]))
    }
    #[inline(always)]
    fn store(self, s: &mut [f32]) {
        s[..8].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        self.zip(o, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        self.zip(o, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        self.zip(o, |a, b| a * b)
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        self.zip(o, |a, b| a / b)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.map(f32::sqrt))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        c.sub(self.mul(b))
    }
    #[inline(always)]
    fn rcp_fast(self) -> Self {
        Self(self.0.map(|v| 1.0 / v))
    }
    #[inline(always)]
    fn select_le(self, o: Self, a: Self, b: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] <= o.0[i] { a.0[i] } else { b.0[i] }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let v = self.0;
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
}

/// Eight lanes of AVX2 with FMA. Only made inside a kernel that [`dispatch!`] guards.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx2(arch::__m256);

/// Sixteen lanes of AVX-512F. Only made inside a kernel that [`dispatch!`] guards.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Avx512(arch::__m512);

/// A call of an intrinsic from inside a guarded kernel.
#[cfg(target_arch = "x86_64")]
macro_rules! op {
    ($e:expr) => {
        // SAFETY: the vector types are only made inside kernels which `dispatch!` enters after the
        // processor reported the instruction set, and slices are checked to hold a whole vector.
        unsafe { $e }
    };
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx2 {
    const N: usize = 8;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self(op!(arch::_mm256_set1_ps(v)))
    }
    #[inline(always)]
    fn load(s: &[f32]) -> Self {
        let s = &s[..8];
        Self(op!(arch::_mm256_loadu_ps(s.as_ptr())))
    }
    #[inline(always)]
    fn store(self, s: &mut [f32]) {
        let s = &mut s[..8];
        op!(arch::_mm256_storeu_ps(s.as_mut_ptr(), self.0));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(op!(arch::_mm256_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(op!(arch::_mm256_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(op!(arch::_mm256_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Self(op!(arch::_mm256_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(op!(arch::_mm256_sqrt_ps(self.0)))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(op!(arch::_mm256_fmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        Self(op!(arch::_mm256_fnmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn rcp_fast(self) -> Self {
        // The instruction gives 12 bits; one Newton step doubles them.
        let y = Self(op!(arch::_mm256_rcp_ps(self.0)));
        y.mul(self.fnma(y, Self::splat(2.0)))
    }
    #[inline(always)]
    fn select_le(self, o: Self, a: Self, b: Self) -> Self {
        Self(op!({
            let mask = arch::_mm256_cmp_ps::<{ arch::_CMP_LE_OQ }>(self.0, o.0);
            arch::_mm256_blendv_ps(b.0, a.0, mask)
        }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let mut v = [0.0; 8];
        self.store(&mut v);
        Plain(v).sum()
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for Avx512 {
    const N: usize = 16;
    #[inline(always)]
    fn splat(v: f32) -> Self {
        Self(op!(arch::_mm512_set1_ps(v)))
    }
    #[inline(always)]
    fn load(s: &[f32]) -> Self {
        let s = &s[..16];
        Self(op!(arch::_mm512_loadu_ps(s.as_ptr())))
    }
    #[inline(always)]
    fn store(self, s: &mut [f32]) {
        let s = &mut s[..16];
        op!(arch::_mm512_storeu_ps(s.as_mut_ptr(), self.0));
    }
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(op!(arch::_mm512_add_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(op!(arch::_mm512_sub_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(op!(arch::_mm512_mul_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Self(op!(arch::_mm512_div_ps(self.0, o.0)))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(op!(arch::_mm512_sqrt_ps(self.0)))
    }
    #[inline(always)]
    fn fma(self, b: Self, c: Self) -> Self {
        Self(op!(arch::_mm512_fmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn fnma(self, b: Self, c: Self) -> Self {
        Self(op!(arch::_mm512_fnmadd_ps(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn rcp_fast(self) -> Self {
        // 14 bits: a relative error of 6e-5.
        Self(op!(arch::_mm512_rcp14_ps(self.0)))
    }
    #[inline(always)]
    fn select_le(self, o: Self, a: Self, b: Self) -> Self {
        Self(op!({
            let mask = arch::_mm512_cmp_ps_mask::<{ arch::_CMP_LE_OQ }>(self.0, o.0);
            arch::_mm512_mask_blend_ps(mask, b.0, a.0)
        }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let mut v = [0.0; 16];
        self.store(&mut v);
        let half: [f32; 8] = std::array::from_fn(|i| v[i] + v[i + 8]);
        Plain(half).sum()
    }
}

/// Defines `fn $name(isa, args)` that calls the generic kernel `$kernel::<L>(args)` with the lanes of
/// `isa`, which must come from [`Isa::detect`] or be narrower.
macro_rules! dispatch {
    ($(#[$doc:meta])* $vis:vis fn $name:ident = $kernel:ident($($arg:ident: $ty:ty),* $(,)?)) => {
        $(#[$doc])*
        $vis fn $name(isa: $crate::layout::force_atlas2::simd::Isa, $($arg: $ty),*) {
            use $crate::layout::force_atlas2::simd as s;
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx2,fma")]
                fn full($($arg: $ty),*) {
                    $kernel::<s::Avx512>($($arg),*);
                }
                #[target_feature(enable = "avx2,fma")]
                fn half($($arg: $ty),*) {
                    $kernel::<s::Avx2>($($arg),*);
                }
                match isa {
                    // SAFETY: the variant is only made after the processor reported these features.
                    s::Isa::Avx512 => return unsafe { full($($arg),*) },
                    // SAFETY: as above.
                    s::Isa::Avx2 => return unsafe { half($($arg),*) },
                    s::Isa::Portable => {}
                }
            }
            let _ = isa;
            $kernel::<s::Plain>($($arg),*);
        }
    };
}
pub(super) use dispatch;
