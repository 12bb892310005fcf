//! Reads files with the `parquet` crate, for tests.

use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};

use crate::ParquetFile;

/// The footer of a file, with its page index.
pub(crate) fn library_metadata(file: &ParquetFile) -> ParquetMetaData {
    let bytes = file.source().read(0..file.source().len()).expect("a file that can be read");
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.parse_and_finish(&bytes).expect("a footer that the library reads")
}
