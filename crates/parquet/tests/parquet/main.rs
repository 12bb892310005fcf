//! Files read, searched and written, with the `parquet` crate as the oracle. One program, so that it is linked once.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod bit_packed_levels;
mod dictionary_columns;
mod errors;
mod evolution;
mod int96;
mod intervals;
mod memory;
mod modules;
mod old_lists;
mod property;
mod pruning;
mod reading;
mod registry;
mod runtime;
mod scan;
mod search;
mod tasks;
mod tiers;
mod write_alp;
mod write_atomic;
mod write_copy;
mod write_layout;
mod write_memory;
mod write_pairwise;
mod write_round_trip;
mod write_stored_types;
mod writing;

/// The footer of a file as the `parquet` crate reads it, with its page index.
fn library_metadata(file: &lath_parquet::ParquetFile) -> parquet::file::metadata::ParquetMetaData {
    use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
    let bytes = file.source().read(0..file.source().len()).expect("a file that can be read");
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    reader.parse_and_finish(&bytes).expect("a footer that the library reads")
}
