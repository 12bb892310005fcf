use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;

use bytes::Bytes;
use lath_format::{ColumnOrder, FileMetaData, PageEncodingStats};
use lath_testkit::parquet_test_data;
use parquet::basic::ColumnOrder as CrateOrder;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};

/// Every file of the collection whose footer is in the clear, with the footer's bytes.
pub(crate) fn footers() -> Vec<(PathBuf, Bytes)> {
    let Some(folder) = parquet_test_data() else { return Vec::new() };
    let mut folders = vec![folder];
    let mut footers = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder that can be read") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = fs::read(&path).expect("a file that can be read");
            let Some((rest, tail)) = bytes.split_last_chunk::<8>() else { continue };
            if &tail[4..] != b"PAR1" {
                continue;
            }
            let len = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
            if let Some(start) = rest.len().checked_sub(len) {
                footers.push((path, Bytes::copy_from_slice(&rest[start..])));
            }
        }
    }
    footers.sort();
    footers
}

/// What the crate reads; its parser panics where it relies on what a malformed footer does not have.
pub(crate) fn by_crate(footer: &Bytes) -> Option<ParquetMetaData> {
    let footer = footer.clone();
    let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let read = move || ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options)).ok();
    catch_unwind(read).ok().flatten()
}

fn compare_chunk(ours: lath_format::ColumnChunk<'_>, theirs: &ColumnChunkMetaData, at: &str) {
    assert_eq!(ours.num_values() as i64, theirs.num_values(), "{at}");
    assert_eq!(ours.uncompressed_size() as i64, theirs.uncompressed_size(), "{at}");
    assert_eq!(ours.compressed_size() as i64, theirs.compressed_size(), "{at}");
    assert_eq!(ours.data_page_offset() as i64, theirs.data_page_offset(), "{at}");
    assert_eq!(ours.dictionary_page_offset().map(u64::cast_signed), theirs.dictionary_page_offset(), "{at}");
    let codec = theirs.compression_codec().to_string();
    assert_eq!(ours.codec().to_string(), codec, "{at}");
    for (ours, theirs) in [
        (ours.bloom_filter(), (theirs.bloom_filter_offset(), theirs.bloom_filter_length())),
        (ours.column_index(), (theirs.column_index_offset(), theirs.column_index_length())),
        (ours.offset_index(), (theirs.offset_index_offset(), theirs.offset_index_length())),
    ] {
        assert_eq!(ours.map(|index| index.offset), theirs.0, "{at}");
        if theirs.1 != Some(-1) && theirs.0.is_some() {
            assert_eq!(ours.and_then(|index| index.len), theirs.1, "{at}");
        }
    }
    assert_eq!(ours.file_path().as_deref(), theirs.file_path(), "{at}");
    assert_eq!(ours.is_encrypted(), theirs.crypto_metadata().is_some(), "{at}");
    // The crate keeps a set, in the order of the numbers.
    let mut encodings = ours.encodings();
    encodings.sort_by_key(|encoding| encoding.id());
    encodings.dedup();
    let names: Vec<String> = encodings.iter().map(ToString::to_string).collect();
    assert_eq!(names, theirs.encodings().map(|encoding| encoding.to_string()).collect::<Vec<_>>(), "{at}");
    let describe = |stats: &PageEncodingStats| (stats.page_type.to_string(), stats.encoding.to_string(), stats.count);
    assert_eq!(
        ours.page_encoding_stats().map(|stats| stats.iter().map(describe).collect::<Vec<_>>()),
        theirs.page_encoding_stats().map(|stats| stats
            .iter()
            .map(|stats| (stats.page_type.to_string(), stats.encoding.to_string(), stats.count))
            .collect::<Vec<_>>()),
        "{at}"
    );
    let size = ours.size_statistics().unwrap_or_default();
    assert_eq!(size.unencoded_byte_array_data_bytes, theirs.unencoded_byte_array_data_bytes(), "{at}");
    let levels = theirs.definition_level_histogram().map(|levels| levels.values().to_vec());
    assert_eq!(size.definition_level_histogram, levels, "{at}");
    let levels = theirs.repetition_level_histogram().map(|levels| levels.values().to_vec());
    assert_eq!(size.repetition_level_histogram, levels, "{at}");
    let types = theirs.geo_statistics().and_then(|statistics| statistics.geospatial_types().cloned());
    assert_eq!(ours.geospatial_statistics().and_then(|statistics| statistics.types), types, "{at}");
    match (ours.statistics(), theirs.statistics()) {
        (Some(ours_read), Some(theirs)) => {
            assert_eq!(ours_read.min, theirs.min_bytes_opt(), "{at}");
            assert_eq!(ours_read.max, theirs.max_bytes_opt(), "{at}");
            assert_eq!(ours_read.null_count, theirs.null_count_opt(), "{at}");
            assert_eq!(ours.distinct_count(), theirs.distinct_count_opt(), "{at}");
            assert_eq!(ours_read.is_deprecated, theirs.is_min_max_deprecated(), "{at}");
            assert_eq!(ours_read.min_is_exact, theirs.min_is_exact(), "{at}");
            assert_eq!(ours_read.max_is_exact, theirs.max_is_exact(), "{at}");
        }
        (ours, theirs) => assert_eq!(ours.is_some(), theirs.is_some(), "{at}"),
    }
}

pub(crate) fn compare(ours: &FileMetaData, theirs: &ParquetMetaData, at: &str) {
    let file = theirs.file_metadata();
    assert_eq!(ours.version(), file.version(), "{at}");
    assert_eq!(ours.num_rows(), file.num_rows(), "{at}");
    assert_eq!(ours.created_by(), file.created_by(), "{at}");
    let pairs = file.key_value_metadata().cloned().unwrap_or_default();
    assert_eq!(ours.key_value_metadata(), pairs, "{at}");
    assert_eq!(ours.schema_descr().root_schema(), file.schema_descr().root_schema(), "{at}");
    assert_eq!(ours.row_group_count(), theirs.num_row_groups(), "{at}");
    for leaf in 0..ours.column_count() {
        match (ours.column_order(leaf), file.column_order(leaf)) {
            (ColumnOrder::TypeDefined, CrateOrder::TYPE_DEFINED_ORDER(_))
            | (ColumnOrder::Undefined, CrateOrder::UNDEFINED)
            | (ColumnOrder::Unknown | ColumnOrder::Ieee754Total, CrateOrder::UNKNOWN) => {}
            (ours, theirs) => unreachable!("{at}: {ours:?}, by the crate {theirs:?}"),
        }
    }
    for (row_group, theirs) in ours.row_groups().zip(theirs.row_groups()) {
        let at = format!("{at}, row group {}", row_group.index());
        assert_eq!(row_group.num_rows() as i64, theirs.num_rows(), "{at}");
        assert_eq!(row_group.total_byte_size(), Some(theirs.total_byte_size()), "{at}");
        assert_eq!(row_group.file_offset(), theirs.file_offset(), "{at}");
        let sorting = theirs.sorting_columns().map(|columns| {
            let columns = columns.iter().map(|column| (column.column_idx, column.descending, column.nulls_first));
            columns.collect::<Vec<_>>()
        });
        let ours_sorting = row_group.sorting_columns().map(|columns| {
            let columns = columns.iter().map(|column| (column.column_idx, column.descending, column.nulls_first));
            columns.collect::<Vec<_>>()
        });
        assert_eq!(ours_sorting, sorting, "{at}");
        for (leaf, (ours, theirs)) in row_group.columns().zip(theirs.columns()).enumerate() {
            let at = format!("{at}, column {leaf}");
            match ours {
                Ok(ours) => compare_chunk(ours, theirs, &at),
                // The crate lets negative sizes and offsets pass.
                Err(error) => assert!(error.to_string().contains(" is -"), "{at}: {error}"),
            }
        }
    }
}

#[test]
fn every_footer_of_the_collection_says_what_the_crate_reads() {
    let mut read_by_both = 0;
    let mut only_ours = Vec::new();
    for (path, footer) in footers() {
        let at = path.display().to_string();
        match (FileMetaData::from_bytes(footer.clone()), by_crate(&footer)) {
            (Ok(ours), Some(theirs)) => {
                read_by_both += 1;
                compare(&ours, &theirs, &at);
            }
            (Ok(_), None) => only_ours.push(at),
            (Err(error), Some(_)) => panic!("{at}: the crate reads it, and here it is {error}"),
            (Err(_), None) => {}
        }
    }
    println!("read by both {read_by_both}, by Lath alone: {only_ours:#?}");
}

/// Footers with bytes changed, removed, repeated and cut off.
#[test]
fn mutated_footers_are_read_as_by_the_crate_or_by_one_of_both() {
    let footers: Vec<_> = footers().into_iter().filter(|(_, footer)| footer.len() < 20_000).collect();
    if footers.is_empty() {
        return;
    }
    let seed = std::env::var("LATH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("LATH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let rounds = if std::env::var_os("LATH_FULL").is_some() { 10_000 } else { 2_000 };
    let (mut both, mut ours_alone, mut crate_alone, mut neither) = (0, 0, 0, 0);
    let mut refused = Vec::new();
    for _ in 0..rounds {
        let (path, footer) = &footers[random.usize(..footers.len())];
        let mut bytes = footer.to_vec();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..bytes.len().max(1)).min(bytes.len().saturating_sub(1));
            match random.u8(..5) {
                0 if !bytes.is_empty() => bytes[at] = random.u8(..),
                1 if !bytes.is_empty() => bytes[at] ^= 1 << random.u8(..8),
                2 if !bytes.is_empty() => drop(bytes.remove(at)),
                3 => bytes.insert(at, random.u8(..)),
                _ => bytes.truncate(bytes.len() - random.usize(..=bytes.len().min(4))),
            }
        }
        let bytes = Bytes::from(bytes);
        let ours = FileMetaData::from_bytes(bytes.clone());
        if let Ok(ours) = &ours {
            // Whatever it says, nothing of it panics.
            for group in ours.row_groups() {
                let _ = (group.total_byte_size(), group.sorting_columns(), group.compressed_size());
                for chunk in group.columns().flatten() {
                    let _ = (chunk.statistics(), chunk.encodings(), chunk.page_encoding_stats());
                    let _ = (chunk.size_statistics(), chunk.geospatial_statistics(), chunk.key_value_metadata());
                    let _ = (chunk.file_path(), chunk.distinct_count(), chunk.nan_count(), chunk.decryptor().is_ok());
                }
            }
        }
        match (&ours, by_crate(&bytes)) {
            (Ok(_), Some(_)) => both += 1,
            (Ok(_), None) => ours_alone += 1,
            (Err(error), Some(_)) => {
                crate_alone += 1;
                refused.push(format!("{}: {error}", path.display()));
            }
            (Err(_), None) => neither += 1,
        }
    }
    println!("both {both}, Lath alone {ours_alone}, the crate alone {crate_alone}, neither {neither}");
    for refused in refused.iter().take(20) {
        println!("{refused}");
    }
}
