//! Estimates the number of rows of joins.
//!
//! It assumes that values of join columns are spread evenly, and that the column with fewer values has a subset of the other column's.

use std::sync::Arc;

use datafusion::common::ColumnStatistics;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::graph::{InputColumn, Inputs, JoinGraph};
use crate::scan::number;

/// Selectivity of a join condition other than an equality of columns. Not measured.
const FILTER: f64 = 0.4;

/// Ranges of values are considered equal if their ends differ by less than this share of their length.
const SAME_RANGE: f64 = 0.01;

/// Statistics of the inputs of joins.
#[derive(Debug)]
pub(super) struct Estimate<'g> {
    graph: &'g JoinGraph,
    rows: Vec<f64>,
    /// The number of distinct values of each list of equal columns.
    values: Vec<f64>,
}

/// Statistics of a column's values.
#[derive(Debug, Clone, Copy)]
struct Values {
    count: f64,
    range: Option<(f64, f64)>,
}

impl<'g> Estimate<'g> {
    /// Returns `None` if the number of rows of an input is unknown.
    pub(super) fn new(graph: &'g JoinGraph) -> Option<Self> {
        let context = StatisticsContext::new();
        let compute = |input: &Arc<dyn ExecutionPlan>| context.compute(input.as_ref(), &StatisticsArgs::new()).ok();
        let statistics = graph.inputs.iter().map(compute).collect::<Option<Vec<_>>>()?;
        let rows = statistics.iter().map(|known| Some((*known.num_rows.get_value()? as f64).max(1.0)));
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let column_values =
            |at: &InputColumn| column_values(&statistics[at.input].column_statistics[at.column], rows[at.input]);
        let values = graph.equal.iter().map(|equal| common(equal.iter().map(column_values).collect()));
        let values = values.collect();
        Some(Self { graph, rows, values })
    }

    /// Estimates the number of rows of the join of these inputs.
    pub(super) fn rows(&self, inputs: Inputs) -> f64 {
        let mut rows: f64 =
            (0..self.rows.len()).filter(|input| inputs >> input & 1 == 1).map(|input| self.rows[input]).product();
        for (equal, values) in self.graph.equal.iter().zip(&self.values) {
            let joined =
                equal.iter().filter(|column| column.is_in(inputs)).fold(0_u32, |set, column| set | 1 << column.input);
            for _ in 1..joined.count_ones() {
                rows /= values;
            }
        }
        let filters = self.graph.filters.iter().filter(|filter| filter.uses_only(inputs)).count();
        (rows * FILTER.powi(filters as i32)).max(1.0)
    }
}

fn column_values(known: &ColumnStatistics, rows: f64) -> Values {
    let range = number(known.min_value.get_value()).zip(number(known.max_value.get_value()));
    let count = match known.distinct_count {
        Precision::Exact(count) | Precision::Inexact(count) => count as f64,
        Precision::Absent => rows,
    };
    Values { count: count.max(1.0), range }
}

/// The number of distinct values of equal columns: the largest of their counts, unless another column has the same range and fewer values.
/// For a column that is not unique, the count is only an upper bound; the column with fewer values is then the key that it refers to.
fn common(columns: Vec<Values>) -> f64 {
    let Some(most) = columns.iter().copied().reduce(|a, b| if b.count > a.count { b } else { a }) else { return 1.0 };
    let is_same = |other: &&Values| match (most.range, other.range) {
        (Some(a), Some(b)) => {
            let slack = SAME_RANGE * (a.1 - a.0);
            (a.0 - b.0).abs() <= slack && (a.1 - b.1).abs() <= slack
        }
        _ => false,
    };
    columns.iter().filter(is_same).fold(most.count, |least, other| least.min(other.count))
}
