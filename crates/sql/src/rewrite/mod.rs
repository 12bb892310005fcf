//! What makes DataFusion 55 answer as SQL says: statements and plans that it would read otherwise become others.
//!
//! | module | what it changes |
//! | --- | --- |
//! | `date_arithmetic` | a date plus an interval with hours is a timestamp |
//! | `intervals` | intervals compare by their length |
//! | `multisets` | `INTERSECT ALL` and `EXCEPT ALL` count copies |
//! | `overflow` | integers, decimals and sums that grow out of their type are an error |
//! | `using_joins` | the column that `USING` and `NATURAL` merge has the values of both sides |

mod date_arithmetic;
mod intervals;
mod multisets;
mod overflow;
mod using_joins;

pub(crate) use date_arithmetic::DateArithmetic;
pub(crate) use intervals::{ComparedIntervals, IntervalWindows};
pub(crate) use multisets::Multisets;
pub(crate) use overflow::{CheckedArithmetic, checked_sum};
pub(crate) use using_joins::merge_join_columns;
