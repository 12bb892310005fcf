//! Every file of the `parquet-testing` collection with its expected result. A file without an entry fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lath_parquet::{DecryptionKeys, Error, Int96Unit, OpenOptions};
use lath_testkit::equality::{check_sound, same_values};
use lath_testkit::parquet_test_data;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::encryption::decrypt::FileDecryptionProperties;

use crate::reading::{Table, collect, read_with_crate};

/// The expected result of reading a file.
enum ExpectedRows {
    /// The same rows as the `parquet` crate's reader.
    Same,
    /// Rows that the crate cannot read; the function checks them.
    Values(fn(&RecordBatch)),
    /// An error with these words in its message.
    Error(&'static [&'static str]),
    /// An error that names this column; [`ExpectedRows::Same`] once checksums are not verified.
    WrongCrc(&'static str),
    /// [`ExpectedRows::Same`] given the keys, with INT96 timestamps in microseconds; an error without the keys.
    Encrypted(Keys),
    /// An error that names it, with or without keys: the counter mode that leaves pages unauthenticated.
    CounterMode(Keys),
    /// A file that is not Parquet, or that another test reads.
    NotHere,
}

/// The keys of the collection's encrypted files.
#[derive(Clone, Copy)]
struct Keys {
    /// Length of each key in bytes.
    len: usize,
    /// Whether the columns have separate keys.
    columns: bool,
    /// The prefix of the additional authenticated data, if the file does not store it.
    aad_prefix: Option<&'static str>,
}

const KEYS_128: Keys = Keys { len: 16, columns: true, aad_prefix: None };
const KEYS_256: Keys = Keys { len: 32, columns: true, aad_prefix: None };

impl Keys {
    fn footer_key(self) -> Vec<u8> {
        b"0123456789".iter().copied().cycle().take(self.len).collect()
    }

    /// The columns with separate keys, and these keys.
    fn column_keys(self) -> Vec<(&'static str, Vec<u8>)> {
        let (columns, last): (&[&str], _) = match (self.columns, self.len) {
            (false, _) => (&[], b'0'),
            (true, 16) => (&["double_field", "float_field"], b'0'),
            (true, _) => (&COLUMNS_256, b'2'),
        };
        let key = |last| b"1234567890".iter().copied().cycle().take(self.len - 1).chain([last]).collect();
        columns.iter().zip(last..).map(|(&column, last)| (column, key(last))).collect()
    }

    fn lath_keys(self) -> DecryptionKeys {
        let mut keys = DecryptionKeys::new(self.footer_key());
        for (column, key) in self.column_keys() {
            keys = keys.column_key(column, key);
        }
        if let Some(prefix) = self.aad_prefix {
            keys = keys.aad_prefix(prefix);
        }
        keys
    }

    fn crate_keys(self) -> Arc<FileDecryptionProperties> {
        let mut builder = FileDecryptionProperties::builder(self.footer_key());
        for (column, key) in self.column_keys() {
            builder = builder.with_column_key(column, key);
        }
        if let Some(prefix) = self.aad_prefix {
            builder = builder.with_aad_prefix(prefix.as_bytes().to_vec());
        }
        builder.build().unwrap()
    }
}

const COLUMNS_256: [&str; 8] = [
    "double_field",
    "float_field",
    "boolean_field",
    "int32_field",
    "ba_field",
    "flba_field",
    "int64_field.list.element",
    "int96_field",
];

const REGISTRY: &[(&str, ExpectedRows)] = &[
    ("data/_KEY_MATERIAL_FOR_external_key_material_java.parquet.encrypted.json", ExpectedRows::NotHere),
    ("data/aes256/encrypt_columns_and_footer.parquet.encrypted", ExpectedRows::Encrypted(KEYS_256)),
    ("data/aes256/encrypt_columns_and_footer_ctr.parquet.encrypted", ExpectedRows::CounterMode(KEYS_256)),
    (
        "data/aes256/encrypt_columns_and_footer_disable_aad_storage.parquet.encrypted",
        ExpectedRows::Encrypted(Keys { aad_prefix: Some("tester"), ..KEYS_256 }),
    ),
    ("data/aes256/encrypt_columns_plaintext_footer.parquet.encrypted", ExpectedRows::Encrypted(KEYS_256)),
    ("data/aes256/uniform_encryption.parquet.encrypted", ExpectedRows::Encrypted(Keys { columns: false, ..KEYS_256 })),
    ("data/alltypes_dictionary.parquet", ExpectedRows::Same),
    ("data/alltypes_plain.parquet", ExpectedRows::Same),
    ("data/alltypes_plain.snappy.parquet", ExpectedRows::Same),
    ("data/alltypes_tiny_pages.parquet", ExpectedRows::Same),
    ("data/alltypes_tiny_pages_plain.parquet", ExpectedRows::Same),
    ("data/binary.parquet", ExpectedRows::Same),
    ("data/binary_truncated_min_max.parquet", ExpectedRows::Same),
    ("data/bloom_filter.bin", ExpectedRows::NotHere),
    ("data/bloom_filter.xxhash.bin", ExpectedRows::NotHere),
    ("data/byte_array_decimal.parquet", ExpectedRows::Same),
    ("data/byte_stream_split.zstd.parquet", ExpectedRows::Same),
    ("data/byte_stream_split_extended.gzip.parquet", ExpectedRows::Same),
    ("data/column_chunk_key_value_metadata.parquet", ExpectedRows::Same),
    ("data/concatenated_gzip_members.parquet", ExpectedRows::Same),
    ("data/data_index_bloom_encoding_stats.parquet", ExpectedRows::Same),
    ("data/data_index_bloom_encoding_with_length.parquet", ExpectedRows::Same),
    ("data/datapage_v1-corrupt-checksum.parquet", ExpectedRows::WrongCrc("a")),
    ("data/datapage_v1-snappy-compressed-checksum.parquet", ExpectedRows::Same),
    ("data/datapage_v1-uncompressed-checksum.parquet", ExpectedRows::Same),
    ("data/datapage_v2.snappy.parquet", ExpectedRows::Same),
    ("data/datapage_v2_empty_datapage.snappy.parquet", ExpectedRows::Same),
    ("data/delta_binary_packed.parquet", ExpectedRows::Same),
    ("data/delta_binary_packed_expect.csv", ExpectedRows::NotHere),
    ("data/delta_byte_array.parquet", ExpectedRows::Same),
    ("data/delta_byte_array_expect.csv", ExpectedRows::NotHere),
    ("data/delta_encoding_optional_column.parquet", ExpectedRows::Same),
    ("data/delta_encoding_optional_column_expect.csv", ExpectedRows::NotHere),
    ("data/delta_encoding_required_column.parquet", ExpectedRows::Same),
    ("data/delta_encoding_required_column_expect.csv", ExpectedRows::NotHere),
    ("data/delta_length_byte_array.parquet", ExpectedRows::Same),
    ("data/dict-page-offset-zero.parquet", ExpectedRows::Values(thirty_nine_times_1552)),
    ("data/encrypt_columns_and_footer.parquet.encrypted", ExpectedRows::Encrypted(KEYS_128)),
    (
        "data/encrypt_columns_and_footer_aad.parquet.encrypted",
        ExpectedRows::Encrypted(Keys { aad_prefix: Some("tester"), ..KEYS_128 }),
    ),
    ("data/encrypt_columns_and_footer_bloom_filter.parquet.encrypted", ExpectedRows::Encrypted(KEYS_128)),
    ("data/encrypt_columns_and_footer_ctr.parquet.encrypted", ExpectedRows::CounterMode(KEYS_128)),
    (
        "data/encrypt_columns_and_footer_disable_aad_storage.parquet.encrypted",
        ExpectedRows::Encrypted(Keys { aad_prefix: Some("tester"), ..KEYS_128 }),
    ),
    ("data/encrypt_columns_plaintext_footer.parquet.encrypted", ExpectedRows::Encrypted(KEYS_128)),
    // Its keys are wrapped by a key management service.
    ("data/external_key_material_java.parquet.encrypted", ExpectedRows::Error(&["encrypted"])),
    ("data/fixed_length_byte_array.parquet", ExpectedRows::Same),
    ("data/fixed_length_decimal.parquet", ExpectedRows::Same),
    ("data/fixed_length_decimal_legacy.parquet", ExpectedRows::Same),
    ("data/float16_nonzeros_and_nans.parquet", ExpectedRows::Same),
    ("data/float16_zeros_and_nans.parquet", ExpectedRows::Same),
    ("data/floating_orders_nan_count.parquet", ExpectedRows::Same),
    ("data/geospatial/crs-arbitrary-value.parquet", ExpectedRows::Same),
    ("data/geospatial/crs-default.parquet", ExpectedRows::Same),
    ("data/geospatial/crs-geography.parquet", ExpectedRows::Same),
    ("data/geospatial/crs-projjson.parquet", ExpectedRows::Same),
    ("data/geospatial/crs-srid.parquet", ExpectedRows::Same),
    ("data/geospatial/geography-lines.parquet", ExpectedRows::Same),
    ("data/geospatial/geography-points.parquet", ExpectedRows::Same),
    ("data/geospatial/geography-polygons.parquet", ExpectedRows::Same),
    ("data/geospatial/geospatial-with-nan.parquet", ExpectedRows::Same),
    ("data/geospatial/geospatial.parquet", ExpectedRows::Same),
    ("data/hadoop_lz4_compressed.parquet", ExpectedRows::Same),
    ("data/hadoop_lz4_compressed_larger.parquet", ExpectedRows::Same),
    ("data/incorrect_map_schema.parquet", ExpectedRows::Same),
    ("data/int32_decimal.parquet", ExpectedRows::Same),
    ("data/int32_with_null_pages.parquet", ExpectedRows::Same),
    ("data/int64_decimal.parquet", ExpectedRows::Same),
    ("data/int96_from_spark.parquet", ExpectedRows::Error(&["9999-12-31 03:00:00", "column a", "row 2"])),
    // Two strings of 1 GiB each: the test of memory reads it.
    ("data/large_string_map.brotli.parquet", ExpectedRows::NotHere),
    ("data/list_columns.parquet", ExpectedRows::Same),
    ("data/lz4_raw_compressed.parquet", ExpectedRows::Same),
    ("data/lz4_raw_compressed_larger.parquet", ExpectedRows::Same),
    ("data/map_no_value.parquet", ExpectedRows::Same),
    ("data/nan_in_stats.parquet", ExpectedRows::Same),
    ("data/nation.dict-malformed.parquet", ExpectedRows::Values(the_nations)),
    ("data/nested_lists.snappy.parquet", ExpectedRows::Same),
    ("data/nested_maps.snappy.parquet", ExpectedRows::Same),
    ("data/nested_structs.rust.parquet", ExpectedRows::Same),
    ("data/non_hadoop_lz4_compressed.parquet", ExpectedRows::Same),
    ("data/nonnullable.impala.parquet", ExpectedRows::Same),
    ("data/null_list.parquet", ExpectedRows::Same),
    ("data/nullable.impala.parquet", ExpectedRows::Same),
    ("data/nulls.snappy.parquet", ExpectedRows::Same),
    ("data/old_list_structure.parquet", ExpectedRows::Same),
    ("data/overflow_i16_page_cnt.parquet", ExpectedRows::Same),
    ("data/page_v2_empty_compressed.parquet", ExpectedRows::Same),
    ("data/plain-dict-uncompressed-checksum.parquet", ExpectedRows::Same),
    ("data/repeated_no_annotation.parquet", ExpectedRows::Values(the_phone_numbers)),
    ("data/repeated_primitive_no_list.parquet", ExpectedRows::Same),
    ("data/rle-dict-snappy-checksum.parquet", ExpectedRows::Same),
    ("data/rle-dict-uncompressed-corrupt-checksum.parquet", ExpectedRows::WrongCrc("long_field")),
    ("data/rle_boolean_encoding.parquet", ExpectedRows::Same),
    ("data/single_nan.parquet", ExpectedRows::Same),
    ("data/sort_columns.parquet", ExpectedRows::Same),
    ("data/uniform_encryption.parquet.encrypted", ExpectedRows::Encrypted(Keys { columns: false, ..KEYS_128 })),
    ("data/unknown-logical-type.parquet", ExpectedRows::Same),
    ("bad_data/ARROW-GH-41317.parquet", ExpectedRows::Error(&[])),
    ("bad_data/ARROW-GH-41321.parquet", ExpectedRows::Error(&["int64"])),
    // Indices of width zero: sound, if odd.
    ("bad_data/ARROW-GH-43605.parquet", ExpectedRows::Same),
    ("bad_data/ARROW-GH-45185.parquet", ExpectedRows::Error(&["repetition level"])),
    ("bad_data/ARROW-GH-47662.parquet", ExpectedRows::Error(&[])),
    ("bad_data/ARROW-RS-GH-6229-DICTHEADER.parquet", ExpectedRows::Error(&[])),
    ("bad_data/ARROW-RS-GH-6229-LEVELS.parquet", ExpectedRows::Error(&[])),
    ("bad_data/PARQUET-1481.parquet", ExpectedRows::Error(&[])),
];

fn thirty_nine_times_1552(batch: &RecordBatch) {
    assert_eq!(batch.schema().field(0).name(), "l_partkey");
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[1552; 39]);
}

/// The file's row count is wrong, and the crate trusts it; the row counts of its row groups are right.
fn the_phone_numbers(batch: &RecordBatch) {
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[1, 2, 3, 4, 5, 6]);
    let options = FormatOptions::default().with_null("null");
    let numbers = ArrayFormatter::try_new(batch.column(1), &options).unwrap();
    let expected = [
        "null",
        "null",
        "{phone: []}",
        "{phone: [{number: 5555555555, kind: null}]}",
        "{phone: [{number: 1111111111, kind: home}]}",
        "{phone: [{number: 1111111111, kind: home}, {number: 2222222222, kind: null}, {number: 3333333333, kind: mobile}]}",
    ];
    assert_eq!((0..6).map(|row| numbers.value(row).to_string()).collect::<Vec<_>>(), expected);
}

fn the_nations(batch: &RecordBatch) {
    let keys: Vec<i32> = (0..25).collect();
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &keys[..]);
    let text = |column: usize, row| {
        ArrayFormatter::try_new(batch.column(column), &FormatOptions::default()).map(|f| f.value(row).to_string())
    };
    // Bytes are shown in hexadecimal.
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(text(1, 0).unwrap(), hex("ALGERIA"));
    assert_eq!(text(1, 24).unwrap(), hex("UNITED STATES"));
    assert_eq!(text(3, 5).unwrap(), hex("ven packages wake quickly. regu"));
    let regions = [0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1];
    assert_eq!(batch.column(2).as_primitive::<Int32Type>().values(), &regions);
}

#[test]
fn every_file_reads_as_the_registry_says() {
    let Some(folder) = parquet_test_data() else { return };
    let mut failures = Vec::new();
    for (path, expected) in REGISTRY {
        if let Err(what) = check(&folder.join(path), expected) {
            failures.push(format!("{path}: {what}"));
        }
    }
    assert!(failures.is_empty(), "{} of {} files:\n{}", failures.len(), REGISTRY.len(), failures.join("\n"));
}

/// Spark's last timestamp, 290000-12-31, overflowed 64 bits on its way to INT96 and is stored as one in 294555 BC.
#[test]
fn timestamps_of_spark_are_read_in_microseconds() {
    let Some(folder) = parquet_test_data() else { return };
    let options = OpenOptions::new().int96_unit(Int96Unit::Microseconds);
    let file = options.open(folder.join("data/int96_from_spark.parquet")).unwrap();
    let (_, batches) = file.scan().rows(0..5).build().and_then(collect).unwrap();
    let micros: Vec<Option<i64>> = batches[0].column(0).as_primitive::<TimestampMicrosecondType>().iter().collect();
    let expected = [
        Some(1_704_141_296_123_456),
        Some(1_704_070_800_000_000),
        Some(253_402_225_200_000_000),
        Some(1_735_599_600_000_000),
        None,
    ];
    assert_eq!(micros, expected);
    let error = file.scan().build().and_then(collect).unwrap_err();
    assert_eq!(error.location().unwrap().row, Some(5), "{error}");
}

#[test]
fn every_file_has_an_entry() {
    let Some(folder) = parquet_test_data() else { return };
    let mut found = BTreeSet::new();
    for part in ["data", "bad_data"] {
        list_files(&folder, part, &mut found);
    }
    let listed: BTreeSet<String> = REGISTRY.iter().map(|(path, _)| (*path).to_owned()).collect();
    assert_eq!(listed.len(), REGISTRY.len(), "a file is listed twice");
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "files without an entry: {missing:?}");
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "entries without a file: {gone:?}");
}

/// Adds the paths, relative to `root`, of all files below `part`, except for notes about the collection.
fn list_files(root: &Path, part: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(root.join(part)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{part}/{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            list_files(root, &path, found);
        } else if !path.ends_with(".md") {
            found.insert(path);
        }
    }
}

/// Reads a shredded Variant file for each case in the collection's list, and compares with the crate: the defects of
/// some of them are in the Variants, not in the Parquet files.
#[test]
fn shredded_variants_read_as_their_storage() {
    let Some(folder) = parquet_test_data() else { return };
    let folder = folder.join("shredded_variant");
    let cases = fs::read_to_string(folder.join("cases.json")).unwrap();
    let mut found = BTreeSet::new();
    list_files(&folder, ".", &mut found);
    let mut failures = Vec::new();
    let mut count = 0;
    for path in found.iter().filter(|path| path.ends_with(".parquet")) {
        let name = path.trim_start_matches("./");
        if !cases.contains(&format!("\"{name}\"")) {
            failures.push(format!("{name}: not listed in cases.json"));
        }
        if let Err(what) = check(&folder.join(name), &ExpectedRows::Same) {
            failures.push(format!("{name}: {what}"));
        }
        count += 1;
    }
    assert!(failures.is_empty(), "{} of {count} files:\n{}", failures.len(), failures.join("\n"));
}

fn check(path: &Path, expected: &ExpectedRows) -> Result<(), String> {
    let open = || OpenOptions::new().name("corpus.parquet");
    match expected {
        ExpectedRows::NotHere => Ok(()),
        ExpectedRows::Same => {
            let read = read_sound(path, open(), true)?;
            same_as_crate(path, ArrowReaderOptions::new(), &read)?;
            same_as_csv(path, &read)
        }
        ExpectedRows::Values(check) => {
            let (schema, batches) = read_sound(path, open(), true)?;
            check(&arrow_select::concat::concat_batches(&schema, &batches).unwrap());
            Ok(())
        }
        ExpectedRows::Error(words) => {
            let error = fails(path, open())?;
            let message = error.to_string();
            match words.iter().find(|word| !message.contains(**word)) {
                Some(word) => Err(format!("the error does not say {word:?}: {message}")),
                None => Ok(()),
            }
        }
        ExpectedRows::WrongCrc(column) => {
            let error = fails(path, open())?;
            let at = error.location().cloned().unwrap_or_default();
            if at.column.as_deref() != Some(*column) || at.page != Some(0) || !error.to_string().contains("CRC") {
                return Err(format!("the error does not say where the wrong CRC is: {error}"));
            }
            same_as_crate(path, ArrowReaderOptions::new(), &read_sound(path, open(), false)?)
        }
        ExpectedRows::CounterMode(keys) => match fails(path, open().decryption(keys.lath_keys()))? {
            Error::Unsupported { feature, .. } if feature.contains("AES_GCM_CTR_V1") => Ok(()),
            error => Err(format!("the error does not name the mode: {error}")),
        },
        ExpectedRows::Encrypted(keys) => {
            fails(path, open())?;
            // Some have INT96 values that are no timestamps.
            let micros = open().int96_unit(Int96Unit::Microseconds);
            let read = read_sound(path, micros.decryption(keys.lath_keys()), true)?;
            let options = ArrowReaderOptions::new().with_file_decryption_properties(keys.crate_keys());
            same_as_crate(path, options.with_schema(Arc::clone(&read.0)), &read)
        }
    }
}

fn read(path: &Path, options: OpenOptions, verify_crc: bool) -> lath_parquet::Result<Table> {
    collect(options.open(path)?.scan().verify_crc(verify_crc).build()?)
}

fn read_sound(path: &Path, options: OpenOptions, verify_crc: bool) -> Result<Table, String> {
    let table = read(path, options, verify_crc).map_err(|error| error.to_string())?;
    check_sound(&table.1)?;
    Ok(table)
}

/// The error of reading, which must name the file.
fn fails(path: &Path, options: OpenOptions) -> Result<Error, String> {
    match read(path, options, true) {
        Ok((_, batches)) => {
            Err(format!("reads {} rows and should fail", batches.iter().map(RecordBatch::num_rows).sum::<usize>()))
        }
        // An error about the caller's request, such as a missing key, has no location in the file.
        Err(error) if error.location().is_some() && !error.to_string().contains("corpus.parquet") => {
            Err(format!("the error does not name the file: {error}"))
        }
        Err(error) => Ok(error),
    }
}

fn same_as_crate(path: &Path, options: ArrowReaderOptions, (schema, batches): &Table) -> Result<(), String> {
    let bytes = fs::read(path).unwrap().into();
    let expected =
        read_with_crate(&bytes, options, None).map_err(|error| format!("the crate cannot read it: {error}"))?;
    same_values((&expected.0, &expected.1), (schema, batches))
}

/// Compares with the file's `…_expect.csv`, if there is one: values as text, an empty cell for null.
fn same_as_csv(path: &Path, (schema, batches): &Table) -> Result<(), String> {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let Ok(csv) = fs::read_to_string(path.with_file_name(format!("{stem}_expect.csv"))) else { return Ok(()) };
    let batch = arrow_select::concat::concat_batches(schema, batches).unwrap();
    let options = FormatOptions::default();
    let columns: Vec<ArrayFormatter<'_>> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let rows: Vec<Vec<String>> = csv.lines().skip(1).map(csv_cells).collect();
    if rows.len() != batch.num_rows() {
        return Err(format!("{} rows, and the CSV file has {}", batch.num_rows(), rows.len()));
    }
    for (row, cells) in rows.iter().enumerate() {
        for (column, (formatter, cell)) in columns.iter().zip(cells).enumerate() {
            let value =
                if batch.column(column).is_null(row) { String::new() } else { formatter.value(row).to_string() };
            if value != *cell {
                return Err(format!("row {row} of column {column} is {value:?}, and {cell:?} in the CSV file"));
            }
        }
    }
    Ok(())
}

/// The cells of a line, without quotes: no cell of these files contains a quote or a line break.
fn csv_cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().unwrap().push(letter),
        }
    }
    cells
}
