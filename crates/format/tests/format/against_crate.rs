use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;

use bytes::Bytes;
use lath_format::{ColumnOrder, FileMetaData, PageEncodingStats};
use lath_testkit::parquet_test_data;
use parquet::basic::{ColumnOrder as CrateOrder, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};

use crate::conformity::first_breach;

/// All files of the collection with a plaintext footer, and its bytes.
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

/// The metadata that the crate reads. Its parser panics for some malformed footers.
pub(crate) fn by_crate(footer: &Bytes) -> Option<ParquetMetaData> {
    let footer = footer.clone();
    let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let read = move || ParquetMetaDataReader::decode_metadata_with_options(&footer, Some(&options)).ok();
    catch_unwind(read).ok().flatten()
}

/// The difference between two readers' values, in words.
#[derive(Default)]
pub(crate) struct Differences(Vec<String>);

impl Differences {
    fn note<T: PartialEq + Debug>(&mut self, at: &str, what: &str, ours: T, theirs: T) {
        if ours != theirs {
            self.0.push(format!("{at}: {what}: {ours:?}, by the crate {theirs:?}"));
        }
    }
}

fn compare_chunk(ours: lath_format::ColumnChunk<'_>, theirs: &ColumnChunkMetaData, at: &str, found: &mut Differences) {
    found.note(at, "number of values", ours.num_values() as i64, theirs.num_values());
    found.note(at, "uncompressed size", ours.uncompressed_size() as i64, theirs.uncompressed_size());
    found.note(at, "compressed size", ours.compressed_size() as i64, theirs.compressed_size());
    found.note(at, "data page offset", ours.data_page_offset() as i64, theirs.data_page_offset());
    let dictionary = ours.dictionary_page_offset().map(u64::cast_signed);
    found.note(at, "dictionary page offset", dictionary, theirs.dictionary_page_offset());
    found.note(at, "codec", ours.codec().to_string(), theirs.compression_codec().to_string());
    for (what, ours, theirs) in [
        ("Bloom filter", ours.bloom_filter(), (theirs.bloom_filter_offset(), theirs.bloom_filter_length())),
        ("column index", ours.column_index(), (theirs.column_index_offset(), theirs.column_index_length())),
        ("offset index", ours.offset_index(), (theirs.offset_index_offset(), theirs.offset_index_length())),
    ] {
        found.note(at, what, ours.map(|index| index.offset), theirs.0);
        if theirs.1 != Some(-1) && theirs.0.is_some() {
            found.note(at, what, ours.and_then(|index| index.len), theirs.1);
        }
    }
    found.note(at, "file path", ours.file_path().as_deref(), theirs.file_path());
    found.note(at, "encryption", ours.is_encrypted(), theirs.crypto_metadata().is_some());
    // The crate keeps a set, in the order of the numbers.
    let mut encodings = ours.encodings();
    encodings.sort_by_key(|encoding| encoding.id());
    encodings.dedup();
    let names: Vec<String> = encodings.iter().map(ToString::to_string).collect();
    found.note(at, "encodings", names, theirs.encodings().map(|encoding| encoding.to_string()).collect());
    let describe = |stats: &PageEncodingStats| (stats.page_type.to_string(), stats.encoding.to_string(), stats.count);
    let of_crate = theirs.page_encoding_stats().map(|stats| {
        let stats = stats.iter().map(|stats| (stats.page_type.to_string(), stats.encoding.to_string(), stats.count));
        stats.collect::<Vec<_>>()
    });
    let stats = ours.page_encoding_stats().map(|stats| stats.iter().map(describe).collect::<Vec<_>>());
    let is_of_dictionary = |stats: &Vec<(String, String, i32)>| {
        let mut data = stats.iter().filter(|(page_type, ..)| page_type.starts_with("DATA_PAGE")).peekable();
        data.peek().is_some() && data.all(|(_, encoding, _)| encoding.ends_with("_DICTIONARY"))
    };
    let throughout = of_crate.as_ref().is_some_and(is_of_dictionary);
    found.note(at, "page encoding statistics", stats, of_crate);
    found.note(at, "whether all is dictionary encoded", ours.is_dictionary_encoded_throughout(), throughout);
    let size = ours.size_statistics().unwrap_or_default();
    let bytes = theirs.unencoded_byte_array_data_bytes();
    found.note(at, "bytes of byte arrays", size.unencoded_byte_array_data_bytes, bytes);
    let levels = theirs.definition_level_histogram().map(|levels| levels.values().to_vec());
    found.note(at, "definition levels", size.definition_level_histogram, levels);
    let levels = theirs.repetition_level_histogram().map(|levels| levels.values().to_vec());
    found.note(at, "repetition levels", size.repetition_level_histogram, levels);
    let types = theirs.geo_statistics().and_then(|statistics| statistics.geospatial_types().cloned());
    found.note(at, "geospatial types", ours.geospatial_statistics().and_then(|statistics| statistics.types), types);
    let width = match theirs.column_type() {
        Type::BOOLEAN => Some(1),
        Type::INT32 | Type::FLOAT => Some(4),
        Type::INT64 | Type::DOUBLE => Some(8),
        Type::INT96 => Some(12),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => None,
    };
    match (ours.statistics(), theirs.statistics()) {
        (Some(bounds), Some(theirs)) => {
            // The crate converts them to values: the first bytes if there are too many, and `true` for all numbers but 0.
            let fits = |bound: &&[u8]| match width {
                Some(1) => matches!(bound, [0 | 1]),
                width => width.is_none_or(|width| bound.len() == width),
            };
            if bounds.min.is_none_or(|bound| fits(&bound)) && bounds.max.is_none_or(|bound| fits(&bound)) {
                found.note(at, "minimum", bounds.min, theirs.min_bytes_opt());
                found.note(at, "maximum", bounds.max, theirs.max_bytes_opt());
            }
            found.note(at, "number of nulls", bounds.null_count, theirs.null_count_opt());
            found.note(at, "number of distinct values", ours.distinct_count(), theirs.distinct_count_opt());
            found.note(at, "deprecated bounds", bounds.is_deprecated, theirs.is_min_max_deprecated());
            found.note(at, "exact minimum", bounds.min_is_exact, theirs.min_is_exact());
            found.note(at, "exact maximum", bounds.max_is_exact, theirs.max_is_exact());
        }
        (ours, theirs) => found.note(at, "statistics", ours.is_some(), theirs.is_some()),
    }
}

/// Compares all values of both readers. Also returns the number of chunks that only the crate reads, with the reasons.
pub(crate) fn differences(ours: &FileMetaData, theirs: &ParquetMetaData, at: &str) -> (Differences, Vec<String>) {
    let (mut found, mut refused) = (Differences::default(), Vec::new());
    let file = theirs.file_metadata();
    found.note(at, "version", ours.version(), file.version());
    found.note(at, "number of rows", ours.num_rows(), file.num_rows());
    found.note(at, "creator", ours.created_by(), file.created_by());
    let pairs = file.key_value_metadata().cloned().unwrap_or_default();
    found.note(at, "key-value metadata", ours.key_value_metadata(), pairs);
    found.note(at, "schema", ours.schema_descr().root_schema(), file.schema_descr().root_schema());
    found.note(at, "number of row groups", ours.row_group_count(), theirs.num_row_groups());
    for leaf in 0..ours.column_count() {
        match (ours.column_order(leaf), file.column_order(leaf)) {
            (ColumnOrder::TypeDefined, CrateOrder::TYPE_DEFINED_ORDER(_))
            | (ColumnOrder::Undefined, CrateOrder::UNDEFINED)
            | (ColumnOrder::Unknown | ColumnOrder::Ieee754Total, CrateOrder::UNKNOWN) => {}
            (ours, theirs) => found.0.push(format!("{at}: order of column {leaf}: {ours:?}, by the crate {theirs:?}")),
        }
    }
    for (row_group, theirs) in ours.row_groups().zip(theirs.row_groups()) {
        let at = &format!("{at}, row group {}", row_group.index());
        found.note(at, "number of rows", row_group.num_rows() as i64, theirs.num_rows());
        found.note(at, "bytes", row_group.total_byte_size(), Some(theirs.total_byte_size()));
        found.note(at, "offset", row_group.file_offset(), theirs.file_offset());
        // The crate counts them if the file has no number.
        let counted = i16::try_from(row_group.index()).ok();
        found.note(at, "ordinal", row_group.ordinal().or(counted), theirs.ordinal());
        let sorting = theirs.sorting_columns().map(|columns| {
            let columns = columns.iter().map(|column| (column.column_idx, column.descending, column.nulls_first));
            columns.collect::<Vec<_>>()
        });
        let ours_sorting = row_group.sorting_columns().map(|columns| {
            let columns = columns.iter().map(|column| (column.column_idx, column.descending, column.nulls_first));
            columns.collect::<Vec<_>>()
        });
        found.note(at, "sorting columns", ours_sorting, sorting);
        for (leaf, (ours, theirs)) in row_group.columns().zip(theirs.columns()).enumerate() {
            match ours {
                Ok(ours) => compare_chunk(ours, theirs, &format!("{at}, column {leaf}"), &mut found),
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    (found, refused)
}

pub(crate) fn compare(ours: &FileMetaData, theirs: &ParquetMetaData, at: &str) {
    let (found, refused) = differences(ours, theirs, at);
    assert!(found.0.is_empty(), "{:#?}", found.0);
    // The crate accepts negative sizes and offsets.
    assert!(refused.iter().all(|error| error.contains(" is -")), "{at}: {refused:#?}");
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

/// Footers with changed, removed, repeated and truncated bytes.
///
/// If the readers differ, or only one reads a footer, the footer violates the format: nearly always a field has a wrong type, and the crate reads it
/// although Lath treats it as absent. In valid footers, only the crate accepts negative numbers of rows, sizes and offsets. The crate refuses
/// unknown numbers of encodings, codecs and types, and text that is not UTF-8; Lath reads the rest of such footers.
#[test]
fn mutated_footers_are_read_as_by_the_crate_or_by_one_of_both() {
    let footers: Vec<_> = footers().into_iter().filter(|(_, footer)| footer.len() < 20_000).collect();
    if footers.is_empty() {
        return;
    }
    let seed = lath_testkit::seed();
    println!("LATH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let rounds = if std::env::var_os("LATH_FULL").is_some() { 10_000 } else { 2_000 };
    let (mut both, mut ours_alone, mut crate_alone, mut neither) = (0, 0, 0, 0);
    let mut reasons = Vec::new();
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
            // Reading all of it must not panic.
            for group in ours.row_groups() {
                let _ = (group.total_byte_size(), group.sorting_columns(), group.compressed_size());
                for chunk in group.columns().flatten() {
                    let _ = (chunk.statistics(), chunk.encodings(), chunk.page_encoding_stats());
                    let _ = (chunk.size_statistics(), chunk.geospatial_statistics(), chunk.key_value_metadata());
                    let _ = (chunk.file_path(), chunk.distinct_count(), chunk.nan_count(), chunk.decryptor().is_ok());
                }
            }
        }
        let breach = first_breach(&bytes).err();
        // The footer lacks the field in question.
        let reason = breach.as_deref().map_or("it follows the specification", |breach| {
            breach.split_once(' ').filter(|(field, _)| field.contains('.')).map_or(breach, |(_, reason)| reason)
        });
        let because = |what: &str| format!("{what}: {reason}");
        match (&ours, by_crate(&bytes)) {
            (Ok(ours), Some(theirs)) => {
                both += 1;
                let (found, refused) = differences(ours, &theirs, &path.display().to_string());
                // Values differ only in footers that violate the specification.
                assert!(found.0.is_empty() || breach.is_some(), "{:#?}", found.0);
                reasons.extend(found.0.first().map(|_| because("other values")));
                reasons.extend(refused.first().map(|_| because("a chunk that only the crate reads")));
            }
            (Ok(_), None) => {
                ours_alone += 1;
                reasons.push(because("only Lath"));
            }
            (Err(error), Some(_)) => {
                crate_alone += 1;
                reasons.push(because(&format!("only the crate ({error})")));
            }
            (Err(_), None) => neither += 1,
        }
    }
    println!("both {both}, Lath alone {ours_alone}, the crate alone {crate_alone}, neither {neither}");
    let mut counts = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason.replace(|c: char| c.is_ascii_digit(), "")).or_insert(0) += 1;
    }
    println!("{counts:#?}");
}
