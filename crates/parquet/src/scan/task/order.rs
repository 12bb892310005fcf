//! The order of the rows of a plan, and of its tasks.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::DataType;

use super::{ScanPlan, ScanTask};
use crate::error::Result;
use crate::sorting::{SortingColumn, has_one_order};
use crate::statistics::{ColumnStatistics, Precision};

impl ScanPlan {
    /// The columns by which the rows of all tasks are sorted, one task after another, the most significant column first. Empty if
    /// no order is known.
    ///
    /// Files declare by which columns the rows of a row group are sorted; this is trusted, and `RowOrder` of `lath-writer`
    /// verifies it while they are read. Statistics show whether the row groups follow one another: with several tasks they have
    /// to be known, and without nulls. Only columns of integers, decimals, times, booleans, strings and bytes are considered. A
    /// deserialized plan has no order.
    pub fn ordering(&self) -> Vec<SortingColumn> {
        let mut common: Option<Vec<SortingColumn>> = None;
        for task in &self.tasks {
            let own = task.ordering(self);
            let mut columns = common.take().unwrap_or_else(|| own.clone());
            let shared = columns.iter().zip(&own).take_while(|(one, other)| one == other).count();
            columns.truncate(shared);
            if columns.is_empty() {
                return Vec::new();
            }
            common = Some(columns);
        }
        let mut columns = common.unwrap_or_default();
        if self.tasks.len() > 1 {
            let steps = columns.first().map_or(Steps::Unordered, |first| self.steps(first));
            columns.truncate(match steps {
                Steps::Apart => columns.len(),
                Steps::Touching => 1,
                Steps::Unordered => 0,
            });
        }
        columns
    }

    /// A copy of the plan that begins with the tasks that may have the first rows in the order of `column`, by statistics: a scan
    /// for the first rows of an order soon has them, and skips the others. Files and row groups without known bounds come first
    /// too.
    pub fn with_likely_first(&self, column: &SortingColumn) -> Self {
        let Some(bounds) = self.bounds(&column.path) else { return self.clone() };
        let mut tasks: Vec<(ScanTask, Option<OwnedRow>)> = Vec::with_capacity(self.tasks.len());
        for (task, bounds) in self.tasks.iter().zip(bounds) {
            let first = bounds.and_then(|bounds| {
                let may_begin_with_nulls = column.nulls_first && bounds.nulls != Some(0);
                (!may_begin_with_nulls).then_some(if column.descending { bounds.max } else { bounds.min })
            });
            tasks.push((task.clone(), first));
        }
        let order = |one: &OwnedRow, other: &OwnedRow| match column.descending {
            false => one.cmp(other),
            true => other.cmp(one),
        };
        tasks.sort_by(|(_, one), (_, other)| match (one, other) {
            (Some(one), Some(other)) => order(one, other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        });
        self.with_tasks(tasks.into_iter().map(|(task, _)| task).collect())
    }

    /// Relation of consecutive tasks.
    fn steps(&self, column: &SortingColumn) -> Steps {
        let bounds = self.bounds(&column.path).and_then(|bounds| bounds.into_iter().collect::<Option<Vec<Bounds>>>());
        let Some(bounds) = bounds.filter(|bounds| bounds.iter().all(|bounds| bounds.nulls == Some(0))) else {
            return Steps::Unordered;
        };
        let step = |pair: &[Bounds]| match column.descending {
            false => pair[0].max.cmp(&pair[1].min),
            true => pair[1].max.cmp(&pair[0].min),
        };
        bounds.windows(2).fold(Steps::Apart, |steps, pair| match (steps, step(pair)) {
            (Steps::Unordered, _) | (_, Ordering::Greater) => Steps::Unordered,
            (Steps::Touching, _) | (_, Ordering::Equal) => Steps::Touching,
            (Steps::Apart, Ordering::Less) => Steps::Apart,
        })
    }

    /// Bounds of a column in the row group of each task, from footers; `None` if none is known.
    fn bounds(&self, path: &str) -> Option<Vec<Option<Bounds>>> {
        let data_type = self.tasks.first()?.data_type(path)?;
        let converter = RowConverter::new(vec![SortField::new(data_type.clone())]).ok()?;
        let mut bounds = Vec::with_capacity(self.tasks.len());
        // The tasks of a file come together: its schema is searched once.
        for of_file in self.tasks.chunk_by(|one, other| one.file == other.file) {
            let row_groups: Vec<usize> = of_file.iter().map(|task| task.row_group).collect();
            let columns = of_file[0].statistics(path, &row_groups, &data_type).unwrap_or_default();
            let known = columns.iter().map(|column| Bounds::new(&converter, column));
            bounds.extend(known.chain(std::iter::repeat(None)).take(of_file.len()));
        }
        Some(bounds)
    }
}

/// Relation of the rows of consecutive tasks.
#[derive(Clone, Copy)]
enum Steps {
    /// The rows of each task come before the rows of the next.
    Apart,
    /// The last rows of one may equal the first of the next.
    Touching,
    Unordered,
}

/// Bounds of a row group: no value is smaller or larger.
#[derive(Clone)]
struct Bounds {
    min: OwnedRow,
    max: OwnedRow,
    nulls: Option<u64>,
}

impl Bounds {
    fn new(converter: &RowConverter, column: &ColumnStatistics) -> Option<Self> {
        let row = |bound: &Precision<ArrayRef>| {
            let rows = converter.convert_columns(&[Arc::clone(bound.value()?)]).ok()?;
            (rows.num_rows() == 1).then(|| rows.row(0).owned())
        };
        let nulls = if column.null_count.is_exact() { column.null_count.value().copied() } else { None };
        Some(Self { min: row(&column.min)?, max: row(&column.max)?, nulls })
    }
}

impl ScanTask {
    /// The columns of `plan` by which the task's rows are sorted.
    fn ordering(&self, plan: &ScanPlan) -> Vec<SortingColumn> {
        let Some((file, _)) = self.open.as_deref() else { return Vec::new() };
        let metadata = file.metadata();
        let declared = metadata.row_group(self.row_group).and_then(|row_group| row_group.sorting_columns());
        let column = |declared: &lath_format::SortingColumn| {
            let leaf = usize::try_from(declared.column_idx).ok()?;
            let path = file.flat_column(leaf)?;
            let field = plan.schema.field_with_name(path).ok()?;
            let is_same = file.schema().field_with_name(path).is_ok_and(|own| own.data_type() == field.data_type());
            (is_same && has_one_order(field.data_type())).then(|| SortingColumn {
                path: path.to_owned(),
                descending: declared.descending,
                nulls_first: declared.nulls_first,
            })
        };
        declared.unwrap_or_default().iter().map_while(column).collect()
    }

    fn data_type(&self, path: &str) -> Option<DataType> {
        let field = self.planner.dataset.schema().field_with_name(path).ok()?;
        Some(field.data_type().clone())
    }

    /// Statistics of a column in `row_groups` from the footer, if its values have `data_type`.
    fn statistics(&self, path: &str, row_groups: &[usize], data_type: &DataType) -> Result<Vec<ColumnStatistics>> {
        let Some((file, _)) = self.open.as_deref() else { return Ok(Vec::new()) };
        let columns = file.column_in_row_groups(path, row_groups)?;
        let is_same = columns.iter().all(|column| column.field.data_type() == data_type);
        Ok(if is_same { columns } else { Vec::new() })
    }
}
