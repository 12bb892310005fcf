//! Powers of ten, and pairs of exponent and factor.

use super::Float;

/// `10^n` and `10^-n` from `n = 0` on, each the nearest value to the decimal literal, as the specification requires.
#[derive(Debug, Clone, Copy)]
pub struct Powers<T: 'static> {
    pub(super) positive: &'static [T],
    pub(super) negative: &'static [T],
}

pub(super) const POWERS_F32: Powers<f32> = Powers {
    positive: &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10],
    negative: &[1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10],
};

pub(super) const POWERS_F64: Powers<f64> = Powers {
    positive: &[1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18],
    negative: &[
        1e-0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16,
        1e-17, 1e-18,
    ],
};

/// A pair of exponent and factor, with its powers of ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale<T> {
    pub(super) exponent: u8,
    pub(super) factor: u8,
    /// The factors that convert a value to an integer, applied one after the other: `10^exponent` and `10^-factor`.
    pub(super) to_integer: [T; 2],
    /// The factors that convert an integer to a value: `10^factor` and `10^-exponent`.
    pub(super) to_value: [T; 2],
}

impl<T: Float> Scale<T> {
    /// `None` unless `factor ≤ exponent ≤` the type's largest exponent.
    #[inline]
    pub(super) fn new(exponent: u8, factor: u8) -> Option<Self> {
        if factor > exponent {
            return None;
        }
        let (e, f) = (usize::from(exponent), usize::from(factor));
        let Powers { positive, negative } = T::POWERS;
        Some(Self {
            exponent,
            factor,
            to_integer: [*positive.get(e)?, *negative.get(f)?],
            to_value: [*positive.get(f)?, *negative.get(e)?],
        })
    }

    /// The pair that leaves integers unchanged.
    pub(super) fn integers() -> Self {
        let [one, ..] = T::POWERS.positive else { unreachable!("the type has powers of ten") };
        Self { exponent: 0, factor: 0, to_integer: [*one; 2], to_value: [*one; 2] }
    }

    /// The number of exponents, from 0 on.
    pub(super) fn count_exponents() -> u8 {
        T::POWERS.positive.len() as u8
    }

    /// The index of the pair among all of its type.
    pub(super) fn number(&self) -> usize {
        let (exponent, factor) = (usize::from(self.exponent), usize::from(self.factor));
        exponent * (exponent + 1) / 2 + factor
    }

    /// All pairs: the one that leaves integers unchanged, then the others with large exponents and factors first, as
    /// the paper prefers them.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let exponents = (0..Self::count_exponents()).rev();
        let pairs = exponents.flat_map(|exponent| (0..=exponent).rev().filter_map(move |f| Self::new(exponent, f)));
        std::iter::once(Self::integers()).chain(pairs)
    }
}
