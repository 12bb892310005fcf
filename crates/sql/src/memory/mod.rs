//! Keeps queries within a memory budget.
//!
//! | module | what it does |
//! | --- | --- |
//! | `pool` | Shares the budget among operators, and keeps a part for operators that cannot spill. |
//! | `plain_sort` | Sorts strings in a form whose size is known. |
//! | `merge_joins` | Replaces hash joins that would keep too much in memory by sort-merge joins, which spill to disk. |
//! | `spill_files` | Creates the temporary files that operators spill to. |

mod merge_joins;
mod plain_sort;
mod pool;
mod spill_files;

pub(crate) use merge_joins::MergeJoins;
pub(crate) use plain_sort::PlainSorts;
#[cfg(feature = "remote")]
pub(crate) use plain_sort::{plain_sort, sort_of_views};
pub(crate) use pool::BudgetPool;
pub(crate) use spill_files::SpillFiles;

/// Rows of a batch with this budget (DataFusion's default is 8,192): a merge keeps one batch of each of its inputs.
pub(crate) fn batch_rows(budget_bytes: usize) -> usize {
    const BYTES_A_ROW: usize = 8 << 10;
    (budget_bytes / BYTES_A_ROW).next_power_of_two().clamp(512, 8192)
}
