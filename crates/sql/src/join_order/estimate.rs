//! How many rows the join of some inputs has.
//!
//! Values of columns that are joined are taken to be spread evenly, and those of the column with fewer of them to be among those of the
//! other one.

use std::sync::Arc;

use datafusion::common::ColumnStatistics;
use datafusion::common::stats::Precision;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::graph::{InputColumn, Inputs, JoinGraph};
use crate::scan::number;

/// The share of rows that satisfy a condition beside the equality of columns. Not measured.
const FILTER: f64 = 0.4;

/// Ranges of values whose ends differ by less than this part of their length are taken to be the same.
const SAME_RANGE: f64 = 0.01;

/// What is known of the inputs of joins.
#[derive(Debug)]
pub(super) struct Estimate<'g> {
    graph: &'g JoinGraph,
    rows: Vec<f64>,
    /// For each list of equal columns, how many values they have.
    values: Vec<f64>,
}

/// What is known of a column's values.
#[derive(Debug, Clone, Copy)]
struct Values {
    count: f64,
    range: Option<(f64, f64)>,
}

impl<'g> Estimate<'g> {
    /// `None` if it is not known how many rows an input has.
    pub(super) fn of(graph: &'g JoinGraph) -> Option<Self> {
        let context = StatisticsContext::new();
        let of_input = |input: &Arc<dyn ExecutionPlan>| context.compute(input.as_ref(), &StatisticsArgs::new()).ok();
        let statistics = graph.inputs.iter().map(of_input).collect::<Option<Vec<_>>>()?;
        let rows = statistics.iter().map(|known| Some((*known.num_rows.get_value()? as f64).max(1.0)));
        let rows = rows.collect::<Option<Vec<_>>>()?;
        let of_column =
            |at: &InputColumn| of_column(&statistics[at.input].column_statistics[at.column], rows[at.input]);
        let values = graph.equal.iter().map(|equal| common(equal.iter().map(of_column).collect()));
        let values = values.collect();
        Some(Self { graph, rows, values })
    }

    /// How many rows the join of these inputs has.
    pub(super) fn rows(&self, inputs: Inputs) -> f64 {
        let mut rows: f64 =
            (0..self.rows.len()).filter(|input| inputs >> input & 1 == 1).map(|input| self.rows[input]).product();
        for (equal, values) in self.graph.equal.iter().zip(&self.values) {
            let joined =
                equal.iter().filter(|column| column.is_of(inputs)).fold(0_u32, |set, column| set | 1 << column.input);
            for _ in 1..joined.count_ones() {
                rows /= values;
            }
        }
        let filters = self.graph.filters.iter().filter(|filter| filter.is_of(inputs)).count();
        (rows * FILTER.powi(filters as i32)).max(1.0)
    }
}

fn of_column(known: &ColumnStatistics, rows: f64) -> Values {
    let range = number(known.min_value.get_value()).zip(number(known.max_value.get_value()));
    let count = match known.distinct_count {
        Precision::Exact(count) | Precision::Inexact(count) => count as f64,
        Precision::Absent => rows,
    };
    Values { count: count.max(1.0), range }
}

/// How many values equal columns have: as many as the column with most of them, unless another one has the same range and fewer. Of a column
/// that is not unique only a bound is known, and then that is the key which it refers to.
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
