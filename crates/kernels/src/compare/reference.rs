//! One value at a time, in SQL's order.

use std::cmp::Ordering;

use super::Comparison;

pub(super) trait SqlOrder: Copy {
    fn order(self, other: Self) -> Ordering;
}

macro_rules! integers {
    ($($integer:ty)*) => { $(
        impl SqlOrder for $integer {
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }
        }
    )* };
}

integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64 u128);

macro_rules! floats {
    ($($float:ty)*) => { $(
        impl SqlOrder for $float {
            fn order(self, other: Self) -> Ordering {
                match (self.is_nan(), other.is_nan()) {
                    (true, true) => Ordering::Equal,
                    (true, false) => Ordering::Greater,
                    (false, true) => Ordering::Less,
                    // Adding 0 turns −0 into 0, and leaves any other number unchanged.
                    (false, false) => (self + 0.0).total_cmp(&(other + 0.0)),
                }
            }
        }
    )* };
}

floats!(f32 f64);

pub(super) fn holds<T: SqlOrder>(left: T, op: Comparison, right: T) -> bool {
    let order = left.order(right);
    match op {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }
}

/// A bitmap of answers.
pub(super) fn bitmap(answers: impl IntoIterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, answer) in answers.into_iter().enumerate() {
        if index % 64 == 0 {
            words.push(0);
        }
        if answer {
            *words.last_mut().unwrap() |= 1 << (index % 64);
        }
    }
    words
}
