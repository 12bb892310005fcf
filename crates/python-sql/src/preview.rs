//! Formats the first rows of a result as text.

use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lath::arrow::array::{Array, RecordBatch};
use lath::arrow::schema::ArrowError;

/// Number of rows to show.
pub(crate) const SHOWN_ROWS: usize = 20;

/// A row as text; `None` stands for null.
type Row = Vec<Option<String>>;

/// The first [`SHOWN_ROWS`] rows, and whether there are more.
pub(crate) fn first_rows(batches: &[RecordBatch]) -> Result<(Vec<Row>, bool), ArrowError> {
    let options = FormatOptions::default();
    let (mut rows, mut row_count) = (Vec::new(), 0);
    for batch in batches {
        row_count += batch.num_rows();
        let formatters = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options));
        let formatters = formatters.collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows().min(SHOWN_ROWS - rows.len()) {
            let cells = batch.columns().iter().zip(&formatters).map(|(column, formatter)| {
                column.is_valid(row).then(|| formatter.value(row).try_to_string()).transpose()
            });
            rows.push(cells.collect::<Result<Row, _>>()?);
        }
    }
    Ok((rows, row_count > SHOWN_ROWS))
}
