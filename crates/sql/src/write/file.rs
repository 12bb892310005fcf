use std::io::BufWriter;

use lath_parquet::Error;
use lath_writer::{AtomicFile, ParquetWriter};

/// Finishes a file and gives it its final name.
pub(super) fn commit(writer: ParquetWriter<BufWriter<AtomicFile>>) -> lath_parquet::Result<()> {
    let (file, _) = writer.finish_into()?;
    let file =
        file.into_inner().map_err(|error| Error::Io { op: "write", source: error.into_error(), at: Box::default() })?;
    file.commit()
}
