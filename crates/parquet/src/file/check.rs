//! Whether what a footer says can be true.
//!
//! Only what other code relies on is checked. Writers have left much that is odd but harmless: dictionary offsets of 0, chunk
//! lengths that miss the dictionary's header, row counts of the file that are not the sum of its row groups'.

use parquet::file::metadata::ParquetMetaData;

use crate::error::{Error, Result};
use crate::page::ChunkSpec;

/// Number of rows of each row group. Their sum does not overflow.
pub(super) fn row_counts(metadata: &ParquetMetaData) -> Result<Vec<u64>> {
    let mut counts = Vec::with_capacity(metadata.num_row_groups());
    let mut sum = 0i64;
    for (row_group, group) in metadata.row_groups().iter().enumerate() {
        let rows = group.num_rows();
        let locate = |error: Error| error.locate(|at| at.row_group = Some(row_group));
        let count = u64::try_from(rows).map_err(|_| locate(Error::corrupt(format!("a row group of {rows} rows"))))?;
        sum = sum.checked_add(rows).ok_or_else(|| locate(Error::corrupt("the file has more than 2⁶³ rows")))?;
        counts.push(count);
    }
    Ok(counts)
}

/// No offset or length of a column chunk is negative, as the `parquet` crate's accessors assert.
pub(super) fn check_chunks(metadata: &ParquetMetaData) -> Result<()> {
    for (row_group, group) in metadata.row_groups().iter().enumerate() {
        for chunk in group.columns() {
            let numbers = [
                ("offset of the data pages", Some(chunk.data_page_offset())),
                ("offset of the dictionary page", chunk.dictionary_page_offset()),
                ("compressed size", Some(chunk.compressed_size())),
                ("uncompressed size", Some(chunk.uncompressed_size())),
                ("number of values", Some(chunk.num_values())),
            ];
            let negative = numbers.iter().find_map(|(what, number)| Some((what, (*number)?)).filter(|(_, n)| *n < 0));
            if let Some((what, number)) = negative {
                return Err(Error::corrupt(format!("{what} is {number}")).locate(|at| {
                    at.row_group = Some(row_group);
                    at.column = Some(chunk.column_path().string().into());
                }));
            }
        }
    }
    Ok(())
}

/// The chunk lies within the file. Asked for when the chunk is needed, so that others can be read where one is damaged.
pub(super) fn check_range(spec: &ChunkSpec, file_bytes: u64) -> Result<()> {
    match spec.start.checked_add(spec.len) {
        Some(end) if end <= file_bytes => Ok(()),
        _ => {
            let what = format!("a column chunk of {} bytes ends past the file's {file_bytes} bytes", spec.len);
            Err(Error::corrupt(what).locate(|at| at.offset = Some(spec.start)))
        }
    }
}
