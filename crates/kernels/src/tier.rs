//! The instruction set of the kernels: detected once, cached in a byte, lowered by `LATH_SIMD`.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction-set level for which kernels exist, lowest first within an architecture.
#[repr(u8)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Portable Rust.
    Scalar = 1,
    /// x86-64 with SSE4.1 and POPCNT.
    Sse41 = 2,
    /// x86-64-v3: AVX2, BMI1, BMI2, FMA, LZCNT, MOVBE, POPCNT.
    Avx2 = 3,
    /// AVX-512 F, BW, VL, DQ, CD, VBMI and VBMI2, over [`Tier::Avx2`].
    Avx512 = 4,
    /// AArch64 Advanced SIMD.
    Neon = 5,
}

/// Names a tier's features once, and makes both the gate and the attribute from them, so that the two cannot differ.
/// `$wrap! { fn … }` compiles the functions inside it with exactly the features that `$gate()` tests.
macro_rules! tier_features {
    ($d:tt $gate:ident $wrap:ident [$($feature:tt),+ $(,)?]) => {
        #[cfg(target_arch = "x86_64")]
        fn $gate() -> bool {
            $(std::arch::is_x86_feature_detected!($feature))&&+
        }

        #[cfg(target_arch = "x86_64")]
        #[allow(unused_macros, reason = "a family has only the tiers that pay")]
        macro_rules! $wrap {
            ($d($d item:item)*) => { $d($(#[target_feature(enable = $feature)])+ $d item)* };
        }

        #[cfg(target_arch = "x86_64")]
        #[allow(unused_imports, reason = "a family has only the tiers that pay")]
        pub(crate) use $wrap;
    };
}

tier_features!($ has_sse41 sse41 ["sse4.1", "ssse3", "popcnt"]);
tier_features!($ has_avx2 avx2 ["avx2", "bmi1", "bmi2", "fma", "lzcnt", "movbe", "popcnt"]);
tier_features!($ has_avx512 avx512 [
    "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512cd", "avx512vbmi", "avx512vbmi2",
    "avx2", "bmi1", "bmi2", "fma", "lzcnt", "movbe", "popcnt",
]);

/// Compiles the functions inside it with Advanced SIMD, which every AArch64 processor has.
#[cfg(target_arch = "aarch64")]
macro_rules! neon {
    ($($item:item)*) => { $(#[target_feature(enable = "neon")] $item)* };
}
#[cfg(target_arch = "aarch64")]
pub(crate) use neon;

impl Tier {
    /// The current tier of the kernels: the processor's best, lowered by `LATH_SIMD` if that is set.
    ///
    /// Read once per process. An unknown value, or one above the processor's best tier, selects the best tier.
    #[inline]
    pub fn current() -> Self {
        #[cfg(test)]
        if let Some(tier) = FORCED.get() {
            return tier;
        }
        // Every number is in range: a check would cost every call.
        match CURRENT.load(Ordering::Relaxed) {
            0 => detect_and_cache(),
            1 => Self::Scalar,
            2 => Self::Sse41,
            3 => Self::Avx2,
            4 => Self::Avx512,
            _ => Self::Neon,
        }
    }

    /// Makes all kernels of this process run at this tier from now on, or at the processor's best tier below it, and
    /// returns that tier. The results are the same: this is for measurements, and may raise the tier again.
    pub fn select(self) -> Self {
        let tier = Self::available().iter().copied().rfind(|&tier| tier <= self).unwrap_or(Self::Scalar);
        CURRENT.store(tier as u8, Ordering::Relaxed);
        tier
    }

    /// Returns whether [`Tier::current`] is known to be this tier or a higher one: `false` as long as [`Tier::current`]
    /// has not been called.
    ///
    /// One comparison, for functions that take a nanosecond.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub(crate) fn is_reached(self) -> bool {
        #[cfg(test)]
        if let Some(tier) = FORCED.get() {
            return tier >= self;
        }
        CURRENT.load(Ordering::Relaxed) >= self as u8
    }

    /// Every tier that this processor can run, lowest first, ignoring `LATH_SIMD`.
    pub fn available() -> &'static [Self] {
        #[cfg(target_arch = "x86_64")]
        {
            const ALL: [Tier; 4] = [Tier::Scalar, Tier::Sse41, Tier::Avx2, Tier::Avx512];
            let count = if !has_sse41() {
                1
            } else if !has_avx2() {
                2
            } else if !has_avx512() {
                3
            } else {
                4
            };
            &ALL[..count]
        }
        #[cfg(target_arch = "aarch64")]
        {
            &[Self::Scalar, Self::Neon]
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            &[Self::Scalar]
        }
    }

    /// The tier's name for `LATH_SIMD`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Sse41 => "sse41",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
thread_local! {
    /// The tier that a conformance test runs at on this thread.
    static FORCED: std::cell::Cell<Option<Tier>> = const { std::cell::Cell::new(None) };
}

#[cfg(test)]
impl Tier {
    /// The tiers of conformance tests: all available ones, or only the one that `LATH_TEST_TIER` names, for machines
    /// that run a tier slowly.
    ///
    /// # Panics
    /// If this machine lacks the requested tier: it must not be skipped silently.
    pub(crate) fn under_test() -> Vec<Self> {
        let only = std::env::var("LATH_TEST_TIER").ok();
        let named = |tier: &Self| only.as_deref().is_none_or(|name| name == tier.name());
        let tiers: Vec<Self> = Self::available().iter().copied().filter(named).collect();
        assert!(!tiers.is_empty(), "no tier {only:?} on this machine");
        tiers
    }

    /// Runs `test` once per tier under test, with [`Tier::current`] set to that tier on this thread.
    pub(crate) fn for_each_available(mut test: impl FnMut(Self)) {
        for tier in Self::under_test() {
            FORCED.set(Some(tier));
            test(tier);
        }
        FORCED.set(None);
    }
}

/// Zero until the first call; then the `Tier`'s number.
static CURRENT: AtomicU8 = AtomicU8::new(0);

#[cold]
fn detect_and_cache() -> Tier {
    let wanted = std::env::var("LATH_SIMD").ok();
    let tier = choose(Tier::available(), wanted.as_deref());
    CURRENT.store(tier as u8, Ordering::Relaxed);
    tier
}

/// The best of `available` (lowest first) that is not above `wanted`.
fn choose(available: &[Tier], wanted: Option<&str>) -> Tier {
    let best = available.last().copied().unwrap_or(Tier::Scalar);
    let Some(wanted) = wanted else { return best };
    let named = [Tier::Scalar, Tier::Sse41, Tier::Avx2, Tier::Avx512, Tier::Neon]
        .into_iter()
        .find(|tier| tier.name().eq_ignore_ascii_case(wanted));
    match named {
        Some(named) => available.iter().copied().rfind(|&tier| tier <= named).unwrap_or(Tier::Scalar),
        None => best,
    }
}

/// Calls `$f` of the best of the listed tier modules that [`Tier::current`] allows, otherwise `scalar::$f`, and returns
/// its value from the enclosing function. List tiers from highest to lowest: `dispatch!(unpack(src, out): avx512 avx2
/// neon)`.
macro_rules! dispatch {
    ($f:ident $args:tt : $($tier:ident)*) => {{
        #[allow(unused_variables, reason = "an architecture may have none of the tiers")]
        let tier = $crate::Tier::current();
        $( $crate::tier::dispatch_one!($tier tier $f $args); )*
        scalar::$f $args
    }};
}
pub(crate) use dispatch;

macro_rules! dispatch_one {
    (avx512 $current:ident $f:ident $args:tt) => {
        #[cfg(target_arch = "x86_64")]
        if $current == $crate::Tier::Avx512 {
            // SAFETY: the gate of the tier that is current has tested every feature that the callee enables.
            return unsafe { avx512::$f $args };
        }
    };
    (avx2 $current:ident $f:ident $args:tt) => {
        #[cfg(target_arch = "x86_64")]
        if $current >= $crate::Tier::Avx2 {
            // SAFETY: the gate of the tier that is current has tested every feature that the callee enables.
            return unsafe { avx2::$f $args };
        }
    };
    (sse41 $current:ident $f:ident $args:tt) => {
        #[cfg(target_arch = "x86_64")]
        if $current >= $crate::Tier::Sse41 {
            // SAFETY: the gate of the tier that is current has tested every feature that the callee enables.
            return unsafe { sse41::$f $args };
        }
    };
    (neon $current:ident $f:ident $args:tt) => {
        #[cfg(target_arch = "aarch64")]
        if $current == $crate::Tier::Neon {
            // SAFETY: Advanced SIMD is part of the AArch64 baseline that this is compiled for.
            return unsafe { neon::$f $args };
        }
    };
}
pub(crate) use dispatch_one;

#[cfg(test)]
mod tests {
    use super::{Tier, choose};

    const X86: [Tier; 4] = [Tier::Scalar, Tier::Sse41, Tier::Avx2, Tier::Avx512];

    #[test]
    fn the_variable_lowers_the_tier() {
        assert_eq!(choose(&X86, Some("avx2")), Tier::Avx2);
        assert_eq!(choose(&X86, Some("SCALAR")), Tier::Scalar);
        assert_eq!(choose(&[Tier::Scalar, Tier::Neon], Some("scalar")), Tier::Scalar);
    }

    #[test]
    fn the_variable_never_raises_the_tier() {
        assert_eq!(choose(&X86[..2], Some("avx512")), Tier::Sse41);
        assert_eq!(choose(&[Tier::Scalar], Some("neon")), Tier::Scalar);
    }

    #[test]
    fn unknown_value_keeps_the_best_tier() {
        assert_eq!(choose(&X86, Some("mmx")), Tier::Avx512);
        assert_eq!(choose(&X86, None), Tier::Avx512);
    }
}
