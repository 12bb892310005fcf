//! Integer arithmetic over whole arrays: results wrap, and one bit says whether any did, so that the loop has no branches.

use std::fmt::Display;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};

use super::operation::Operation;

/// Integer types with operations that report overflow.
pub(super) trait Overflowing: ArrowPrimitiveType<Native: Display> {
    fn apply(operation: Operation, left: Self::Native, right: Self::Native) -> (Self::Native, bool);
}

macro_rules! overflowing {
    ($($array_type:ty),*) => {$(
        impl Overflowing for $array_type {
            #[inline(always)]
            fn apply(operation: Operation, left: Self::Native, right: Self::Native) -> (Self::Native, bool) {
                match operation {
                    Operation::Add => left.overflowing_add(right),
                    Operation::Subtract => left.overflowing_sub(right),
                    Operation::Multiply => left.overflowing_mul(right),
                    Operation::Negate => left.overflowing_neg(),
                }
            }
        }
    )*};
}

overflowing!(Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type);

/// The values of one side of an operation: one per row, or one for all rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side<'v, T> {
    Values(&'v [T]),
    Constant(T),
}

impl<T: Copy> Side<'_, T> {
    pub(super) fn value(&self, row: usize) -> T {
        match self {
            Self::Values(values) => values[row],
            Self::Constant(value) => *value,
        }
    }
}

/// Applies an operation to each row. Returns the results and whether any overflowed, including values of null rows.
pub(super) fn combine<T: Copy>(
    left: Side<'_, T>,
    right: Side<'_, T>,
    row_count: usize,
    operation: impl Fn(T, T) -> (T, bool),
) -> (Vec<T>, bool) {
    let mut any = false;
    let mut apply = |left, right| {
        let (result, overflows) = operation(left, right);
        any |= overflows;
        result
    };
    let results = match (left, right) {
        (Side::Values(left), Side::Values(right)) => {
            left.iter().zip(right).map(|(&left, &right)| apply(left, right)).collect()
        }
        (Side::Values(left), Side::Constant(right)) => left.iter().map(|&left| apply(left, right)).collect(),
        (Side::Constant(left), Side::Values(right)) => right.iter().map(|&right| apply(left, right)).collect(),
        (Side::Constant(left), Side::Constant(right)) => vec![apply(left, right); row_count],
    };
    (results, any)
}
