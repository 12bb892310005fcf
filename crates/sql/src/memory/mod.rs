//! How queries stay within a memory budget.
//!
//! | module | what it does |
//! | --- | --- |
//! | `pool` | shares the budget among operators, and keeps a part for those that cannot spill |
//! | `plain_sort` | sorts strings in a form whose size is known |
//! | `merge_joins` | makes joins that would keep too much in memory joins of sorted inputs, which go to disk |

mod merge_joins;
mod plain_sort;
mod pool;

pub(crate) use merge_joins::MergeJoins;
pub(crate) use plain_sort::PlainSorts;
pub(crate) use pool::BudgetPool;

/// Rows that operators pass on at once with this budget, where DataFusion has 8,192: a merge keeps a batch of each of its inputs.
pub(crate) fn batch_rows(budget_bytes: usize) -> usize {
    const BYTES_A_ROW: usize = 8 << 10;
    (budget_bytes / BYTES_A_ROW).next_power_of_two().clamp(512, 8192)
}
