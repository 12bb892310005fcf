//! Files whose parts were sent, as rows.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::{Result, internal_err};
use lath_writer::{SentFile, SentObject};

/// The columns: the path below the folder, the store's name of the upload and of its parts, the length in bytes, and the number of rows.
static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let text = |name| Field::new(name, DataType::Utf8, false);
    let number = |name| Field::new(name, DataType::UInt64, false);
    let parts = Field::new_list("parts", Field::new_list_field(DataType::Utf8, true), false);
    Arc::new(Schema::new(vec![text("path"), text("upload"), parts, number("bytes"), number("rows")]))
});

pub(super) fn schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

/// The rows of files with their numbers of rows.
pub(super) fn write(files: &[(SentFile, u64)]) -> Result<RecordBatch> {
    let text = |value: fn(&SentFile) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(files.iter().map(|(file, _)| value(file))))
    };
    let mut parts = ListBuilder::new(StringBuilder::new());
    for (file, _) in files {
        file.object.parts.iter().for_each(|part| parts.values().append_value(part));
        parts.append(true);
    }
    let columns = vec![
        text(|file| &file.path),
        text(|file| &file.object.id),
        Arc::new(parts.finish()),
        Arc::new(UInt64Array::from_iter_values(files.iter().map(|(file, _)| file.object.len))),
        Arc::new(UInt64Array::from_iter_values(files.iter().map(|(_, rows)| *rows))),
    ];
    Ok(RecordBatch::try_new(schema(), columns)?)
}

/// The files of rows.
pub(super) fn read(batch: &RecordBatch) -> Result<Vec<(SentFile, u64)>> {
    if batch.schema_ref().fields() != SCHEMA.fields() {
        return internal_err!("the rows of written files have other columns: {:?}", batch.schema_ref().fields());
    }
    let text = |column: usize, row: usize| batch.column(column).as_string::<i32>().value(row).to_owned();
    let number = |column: usize, row: usize| batch.column(column).as_primitive::<UInt64Type>().value(row);
    let one = |row| {
        let parts = batch.column(2).as_list::<i32>().value(row);
        let parts = parts.as_string::<i32>().iter().map(|part| part.unwrap_or_default().to_owned()).collect();
        let object = SentObject { id: text(1, row), parts, len: number(3, row) };
        (SentFile { path: text(0, row), object }, number(4, row))
    };
    Ok((0..batch.num_rows()).map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_travel_as_rows() {
        let file = |path: &str, parts: &[&str], len| {
            let parts = parts.iter().map(|&part| part.to_owned()).collect();
            SentFile { path: path.to_owned(), object: SentObject { id: format!("id of {path}"), parts, len } }
        };
        let files = vec![(file("day=1/a", &["x", "y\""], 1 << 40), 7), (file("day=2/a", &["z"], 0), u64::MAX)];
        assert_eq!(read(&write(&files).unwrap()).unwrap(), files);
        assert_eq!(read(&write(&[]).unwrap()).unwrap(), []);
        assert!(read(&RecordBatch::new_empty(Arc::new(Schema::empty()))).is_err());
    }
}
