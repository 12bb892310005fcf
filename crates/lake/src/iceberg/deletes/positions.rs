//! Files of positions: the path of a data file and the number of a row, on each line.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::{DataType, Field, Schema};
use lath_iceberg::DataFile;
use lath_parquet::{ColumnMapping, Dataset, DatasetFile, DatasetOptions, DeleteMask, Error, MappedColumn, Result};

use crate::iceberg::manifests::{DELETED_PATH_ID, Entry};
use crate::iceberg::paths::Locations;

/// The field of the number of a row.
const POSITION_ID: i32 = i32::MAX - 102;

/// Number of rows of each data file that a file of positions names.
type Positions = HashMap<String, Vec<u64>>;

/// A file of positions, read at most once.
#[derive(Debug)]
pub(super) struct PositionFile {
    named: String,
    location: String,
    sequence_number: i64,
    locations: Arc<Locations>,
    options: Arc<DatasetOptions>,
    record_count: u64,
    positions: OnceLock<Positions>,
}

impl PositionFile {
    pub(super) fn new(
        entry: &Entry,
        location: String,
        locations: &Arc<Locations>,
        options: &DatasetOptions,
    ) -> Result<Self> {
        let columns = ColumnMapping::new([
            MappedColumn::new("file_path").id(DELETED_PATH_ID).stored_name("file_path"),
            MappedColumn::new("pos").id(POSITION_ID).stored_name("pos"),
        ]);
        Ok(Self {
            named: entry.file.file_path.clone(),
            location,
            sequence_number: entry.sequence_number,
            locations: Arc::clone(locations),
            options: Arc::new(options.clone().columns(Arc::new(columns))),
            record_count: entry.file.record_count,
            positions: OnceLock::new(),
        })
    }

    /// The bound of the paths of data files in a file, if both bounds are the same: the path of the only data file, or the beginning to
    /// which the writer has cut the paths of several.
    pub(super) fn equal_bounds(file: &DataFile) -> Option<String> {
        let bound = |bounds: &[(i32, Vec<u8>)]| {
            let (_, bytes) = bounds.iter().find(|(id, _)| *id == DELETED_PATH_ID)?;
            String::from_utf8(bytes.clone()).ok()
        };
        let (lower, upper) = (bound(&file.lower_bounds)?, bound(&file.upper_bounds)?);
        (lower == upper).then_some(lower)
    }

    pub(super) fn sequence_number(&self) -> i64 {
        self.sequence_number
    }

    /// Adds the deleted rows of a data file.
    pub(super) fn delete(&self, data_file: &str, mask: &mut DeleteMask) -> Result<()> {
        let positions = match self.positions.get() {
            Some(positions) => positions,
            None => {
                let read = self.read().map_err(|error| self.locations.explain(error, &self.named, &self.location))?;
                self.positions.get_or_init(|| read)
            }
        };
        positions.get(data_file).into_iter().flatten().for_each(|row| mask.insert(*row));
        Ok(())
    }

    fn read(&self) -> Result<Positions> {
        let schema = Schema::new(vec![
            Field::new("file_path", DataType::Utf8View, false),
            Field::new("pos", DataType::Int64, false),
        ]);
        let file = DatasetFile::at(&self.location, None, [], &self.options)?;
        let dataset = Dataset::with_schema(Arc::new(schema), Vec::new(), vec![file])?;
        let mut by_path: HashMap<String, Vec<u64>> = HashMap::new();
        let mut row_count = 0;
        for batch in dataset.scan().build()? {
            let batch = batch?;
            row_count += batch.num_rows() as u64;
            self.add(&batch, &mut by_path)?;
        }
        if row_count != self.record_count {
            let (location, expected) = (&self.location, self.record_count);
            return Err(Error::corrupt(format!("{location} has {row_count} rows; its manifest says {expected}")));
        }
        let mut found = HashMap::with_capacity(by_path.len());
        for (path, rows) in by_path {
            found.entry(self.locations.find(&path)?).or_insert_with(Vec::new).extend(rows);
        }
        Ok(found)
    }

    fn add(&self, batch: &RecordBatch, by_path: &mut Positions) -> Result<()> {
        let (paths, rows) = (batch.column(0).as_string_view(), batch.column(1).as_primitive::<Int64Type>());
        // Rows are sorted by path.
        let mut start = 0;
        while start < batch.num_rows() {
            let path = paths.value(start);
            let end = (start..batch.num_rows()).find(|&row| paths.value(row) != path).unwrap_or(batch.num_rows());
            let of_path = by_path.entry(path.to_owned()).or_default();
            for row in &rows.values()[start..end] {
                let row = u64::try_from(*row);
                of_path.push(
                    row.map_err(|_| Error::corrupt(format!("{} deletes a row with a negative number", self.location)))?,
                );
            }
            start = end;
        }
        Ok(())
    }
}
