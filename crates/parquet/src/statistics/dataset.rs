use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, FieldRef};
use lath_predicate::value_at;

use super::column::{Edge, Values};
use super::{ColumnStatistics, Precision, Statistics};
use crate::dataset::{Dataset, DatasetFile};
use crate::error::Result;
use crate::file::ParquetFile;

/// Number of files whose statistics are in memory at the same time: they take 750 bytes a column.
const FILES_AT_ONCE: usize = 1024;

impl Dataset {
    /// Combined statistics from the footers of all files, in the order of [`Dataset::schema`]. Files whose footers are not cached
    /// are opened, several at a time.
    ///
    /// # Errors
    /// As [`DatasetFile::open`].
    pub fn statistics(&self) -> Result<Statistics> {
        let fields = self.schema().fields();
        let mut columns: Vec<JoinedStatistics> = fields.iter().map(JoinedStatistics::new).collect();
        let mut whole = (Precision::Exact(0), Precision::Exact(0));
        let read = |file: &ParquetFile| {
            let columns = file.column_mapping();
            let defaults = columns.map(|columns| columns.missing_defaults(file.schema()));
            let owned = |(name, value): (&str, &ArrayRef)| (name.to_owned(), Arc::clone(value));
            Ok((file.statistics()?, defaults.into_iter().flatten().map(owned).collect::<Vec<_>>()))
        };
        let in_parts =
            self.files().chunks(FILES_AT_ONCE).flat_map(|files| files.iter().zip(self.read_each(files, read)));
        for (entry, read) in in_parts {
            let (statistics, defaults) = read?;
            let rows = statistics.row_count;
            whole = (whole.0.plus(rows), whole.1.plus(statistics.byte_count));
            for (at, (field, joined)) in fields.iter().zip(&mut columns).enumerate() {
                match self.constant(entry, at) {
                    Some(value) => joined.add_constant(&value, rows),
                    None => {
                        // Names may occur twice; then the order decides.
                        let here = statistics.columns.get(at).filter(|column| column.field.name() == field.name());
                        let found = || statistics.columns.iter().find(|column| column.field.name() == field.name());
                        let default = || defaults.iter().find(|(name, _)| name == field.name());
                        match (here.or_else(found), default()) {
                            (Some(column), _) => joined.add(column),
                            (None, Some((_, value))) => joined.add_constant(value, rows),
                            (None, None) => joined.add_nulls(rows),
                        }
                    }
                }
            }
        }
        let columns = columns.into_iter().map(JoinedStatistics::finish).collect();
        Ok(Statistics { row_count: whole.0, byte_count: whole.1, columns })
    }

    /// The value of a partition column that all rows of a file have.
    fn constant(&self, file: &DatasetFile, place: usize) -> Option<ArrayRef> {
        let partition = self.partition_at(place)?;
        let (column, &row) = (self.partitions().get(partition)?, file.partition().get(partition)?);
        (row != DatasetFile::NO_CONSTANT).then(|| column.values().slice(row as usize, 1))
    }
}

/// Statistics of a column, combined file by file.
struct JoinedStatistics {
    statistics: ColumnStatistics,
    values: Values,
    /// Maximum of the files' counts of distinct values.
    distinct: Option<Precision<u64>>,
}

impl JoinedStatistics {
    fn new(field: &FieldRef) -> Self {
        let none = Precision::Exact(0);
        let statistics = ColumnStatistics {
            null_count: none,
            nan_count: none,
            byte_count: none,
            uncompressed_byte_count: none,
            ..ColumnStatistics::unknown(Arc::clone(field))
        };
        Self { statistics, values: Values::NONE, distinct: None }
    }

    fn add(&mut self, other: &ColumnStatistics) {
        self.add_distinct(other.distinct_count);
        let all = &mut self.statistics;
        all.null_count = all.null_count.plus(other.null_count);
        all.nan_count = all.nan_count.plus(other.nan_count);
        all.byte_count = all.byte_count.plus(other.byte_count);
        all.uncompressed_byte_count = all.uncompressed_byte_count.plus(other.uncompressed_byte_count);
        let data_type = all.field.data_type().clone();
        self.values.join(Values { min: edge(&other.min, &data_type), max: edge(&other.max, &data_type) });
    }

    fn add_distinct(&mut self, count: Precision<u64>) {
        self.distinct = Some(self.distinct.map_or(count, |distinct| distinct.distinct_in_both(count)));
    }

    /// Adds rows without a value.
    fn add_nulls(&mut self, rows: Precision<u64>) {
        self.statistics.null_count = self.statistics.null_count.plus(rows);
    }

    /// Adds rows that all have one value.
    fn add_constant(&mut self, value: &ArrayRef, rows: Precision<u64>) {
        if value.is_null(0) {
            self.add_nulls(rows);
        } else if rows.value() != Some(&0) {
            let value = edge(&Precision::Exact(Arc::clone(value)), self.statistics.field.data_type());
            self.values.join(Values { min: value.clone(), max: value });
            self.add_distinct(Precision::Exact(1));
        }
    }

    fn finish(mut self) -> ColumnStatistics {
        let data_type = self.statistics.field.data_type().clone();
        self.statistics.min = self.values.min.to_array(&data_type);
        self.statistics.max = self.values.max.to_array(&data_type);
        self.statistics.distinct_count = self.distinct.unwrap_or_default();
        self.statistics
    }
}

/// An array of one value as a bound of `data_type`.
fn edge(value: &Precision<ArrayRef>, data_type: &DataType) -> Edge {
    let Some(array) = value.value() else { return Edge::Unknown };
    if array.is_null(0) {
        return Edge::None;
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = match array.data_type() == data_type {
        true => Ok(Arc::clone(array)),
        false => cast_with_options(array, data_type, &options),
    };
    match cast.ok().and_then(|array| value_at(&array, 0)) {
        Some(known) => Edge::Known { value: known, is_exact: value.is_exact() },
        None => Edge::Unknown,
    }
}
