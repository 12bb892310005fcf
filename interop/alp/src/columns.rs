//! Values that suit ALP, and values that do not.

use lath_kernels::alp::Float;
use parquet::data_type::{DataType, DoubleType, FloatType};

pub trait Value: Float + Copy + Default + PartialEq + std::fmt::Debug {
    /// The type's name in the `parquet` crate.
    type Physical: DataType<T = Self>;
    fn random_bits(random: &mut fastrand::Rng) -> Self;
    fn decimal(number: i64, digits: i32) -> Self;
    fn bits(self) -> u64;
}

impl Value for f32 {
    type Physical = FloatType;

    fn random_bits(random: &mut fastrand::Rng) -> Self {
        Self::from_bits(random.u32(..))
    }

    fn decimal(number: i64, digits: i32) -> Self {
        format!("{number}e-{digits}").parse().expect("a number")
    }

    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Value for f64 {
    type Physical = DoubleType;

    fn random_bits(random: &mut fastrand::Rng) -> Self {
        Self::from_bits(random.u64(..))
    }

    fn decimal(number: i64, digits: i32) -> Self {
        format!("{number}e-{digits}").parse().expect("a number")
    }

    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Decimal numbers of one size, with exceptions of varying frequency.
pub fn values<T: Value>(random: &mut fastrand::Rng, len: usize) -> Vec<T> {
    let (digits, size) = (random.i32(0..12), 1_i64 << random.u8(1..60));
    let exceptions = *random.choice(&[0, 1, 10, 500, 1_000]).expect("some");
    let value = || {
        if random.u32(..1_000) < exceptions {
            T::random_bits(random)
        } else {
            T::decimal(random.i64(-size..size), digits)
        }
    };
    std::iter::repeat_with(value).take(len).collect()
}
