//! Decimal arithmetic with Arrow's result types, and values checked against the digits of the type.

use super::integer::Side;
use super::operation::Operation;

/// The smallest number with too many digits for a 128-bit decimal.
pub(super) const DIGITS_END: u128 = 10_u128.pow(38);
const MAX_DIGITS: u8 = 38;

/// A planned operation on two 128-bit decimals.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecimalOperation {
    operation: Operation,
    /// Factors that bring each side to the scale of the result.
    pub(super) left_factor: i128,
    pub(super) right_factor: i128,
    /// Whether results can have more digits than the type, which has at most 38.
    is_capped: bool,
}

impl DecimalOperation {
    /// Plans the operation for these precisions and scales; `None` if the scales differ by more digits than a decimal has.
    pub(super) fn new(operation: Operation, (p1, s1): (u8, i8), (p2, s2): (u8, i8)) -> Option<Self> {
        let digits = |precision: u8, scale: i8| i16::from(precision) - i16::from(scale);
        let (left_factor, right_factor, needed) = match operation {
            Operation::Multiply => (1, 1, i16::from(p1) + i16::from(p2) + 1),
            Operation::Negate => (1, 1, i16::from(p1)),
            Operation::Add | Operation::Subtract => {
                let scale = s1.max(s2);
                let factor = |own: i8| 10_i128.checked_pow(u32::from(own.abs_diff(scale)));
                (factor(s1)?, factor(s2)?, i16::from(scale) + digits(p1, s1).max(digits(p2, s2)) + 1)
            }
        };
        Some(Self { operation, left_factor, right_factor, is_capped: needed > i16::from(MAX_DIGITS) })
    }

    pub(super) fn may_overflow(self) -> bool {
        self.is_capped
    }

    /// Returns the result and whether it overflows.
    #[inline(always)]
    pub(super) fn apply(self, left: i128, right: i128) -> (i128, bool) {
        match self.operation {
            Operation::Multiply => match (i64::try_from(left), i64::try_from(right)) {
                // At most 2^126, which has 38 digits.
                (Ok(left), Ok(right)) => (i128::from(left) * i128::from(right), false),
                _ => self.check(left.overflowing_mul(right)),
            },
            Operation::Add => self.check(left.overflowing_add(right)),
            Operation::Subtract => self.check(left.overflowing_sub(right)),
            Operation::Negate => (left.wrapping_neg(), false),
        }
    }

    /// Like [`apply`](Self::apply), for (value, factor) pairs, which are multiplied first.
    #[inline(always)]
    pub(super) fn apply_scaled(self, left: (i128, i128), right: (i128, i128)) -> (i128, bool) {
        let (left, left_wraps) = left.0.overflowing_mul(left.1);
        let (right, right_wraps) = right.0.overflowing_mul(right.1);
        let (result, overflows) = self.apply(left, right);
        (result, overflows | left_wraps | right_wraps)
    }

    #[inline(always)]
    fn check(self, (result, wrapped): (i128, bool)) -> (i128, bool) {
        (result, wrapped | (self.is_capped & (result.unsigned_abs() >= DIGITS_END)))
    }
}

impl Side<'_, i128> {
    /// Multiplies a constant once instead of in each row. Returns the remaining factor.
    pub(super) fn scaled(self, factor: i128) -> (Self, i128) {
        match self {
            Self::Constant(value) => match value.checked_mul(factor) {
                Some(value) => (Self::Constant(value), 1),
                None => (self, factor),
            },
            Self::Values(_) => (self, factor),
        }
    }
}

/// Formats a decimal, even with more digits than its type has.
pub(super) fn decimal_text(value: i128, scale: i8) -> String {
    let Ok(scale @ 1..) = usize::try_from(scale) else { return value.to_string() };
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{whole}.{fraction}")
}
