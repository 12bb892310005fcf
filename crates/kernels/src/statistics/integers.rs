//! Minima and maxima, a loop that the compiler vectorises to what each tier has; and the list of a tier's functions.

/// The smallest and the largest value.
///
/// Tried and rejected: arrays of lanes, which the compiler split into scalars for `i64` (.54 instead of .18).
#[inline(always)]
pub(super) fn min_max<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    let &first = values.first()?;
    let (mut min, mut max) = (first, first);
    for &value in values {
        min = min.min(value);
        max = max.max(value);
    }
    Some((min, max))
}

/// The family's functions, inside the macro that enables a tier's features, or as plain ones.
macro_rules! functions {
    ($wrap:ident) => {
        $wrap! {
            pub(super) fn min_max_i32(values: &[i32]) -> Option<(i32, i32)> {
                integers::min_max(values)
            }

            pub(super) fn min_max_i64(values: &[i64]) -> Option<(i64, i64)> {
                integers::min_max(values)
            }

            pub(super) fn min_max_u32(values: &[u32]) -> Option<(u32, u32)> {
                integers::min_max(values)
            }

            pub(super) fn min_max_u64(values: &[u64]) -> Option<(u64, u64)> {
                integers::min_max(values)
            }

            pub(super) fn float_range_f16(values: &[[u8; 2]]) -> FloatRange<[u8; 2]> {
                floats::range(values)
            }

            pub(super) fn float_range_f32(values: &[f32]) -> FloatRange<f32> {
                floats::range(values)
            }

            pub(super) fn float_range_f64(values: &[f64]) -> FloatRange<f64> {
                floats::range(values)
            }
        }
    };
}
pub(super) use functions;
