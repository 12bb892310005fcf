//! Compares pages with the `parquet` crate's own page reader, whose bytes are split here by the specification.

use std::fs;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, types::Int32Type};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding as CrateEncoding};
use parquet::column::page::{Page as CratePage, PageReader as _};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::serialized_reader::SerializedPageReader;

use super::{OPTIONS, level_bytes, metadata, pages};
use crate::ParquetFile;
use crate::page::{ChunkSpec, Page};
use lath_source::{ByteRanges, LocalFile};

/// Files that the crate cannot read, or whose first bytes at the footer's offsets it misinterprets.
const NOT_COMPARED: [&str; 6] = [
    // Checksums that are wrong on purpose.
    "datapage_v1-corrupt-checksum.parquet",
    "rle-dict-uncompressed-corrupt-checksum.parquet",
    // 2 GiB of strings: compared by the reader's own test of memory.
    "large_string_map.brotli.parquet",
    // The crate refuses the footer of one and the dictionary offset of the other; the reader's registry compares them with their
    // known contents.
    "dict-page-offset-zero.parquet",
    "nation.dict-malformed.parquet",
    // A dictionary page without any values after it, which only the crate returns.
    "column_chunk_key_value_metadata.parquet",
];

fn crate_pages(file: &Bytes, metadata: &ParquetMetaData, row_group: usize, column: usize) -> Vec<CratePage> {
    let row_group = metadata.row_group(row_group);
    let rows = usize::try_from(row_group.num_rows()).expect("a number of rows");
    let reader = SerializedPageReader::new(Arc::new(file.clone()), row_group.column(column), rows, None);
    let mut reader = reader.expect("a column chunk");
    std::iter::from_fn(|| reader.get_next_page().expect("a sound page")).collect()
}

/// Checks every page of every chunk; returns their number.
fn compare(file: &Bytes, source: &Arc<dyn ByteRanges>) -> usize {
    let metadata = metadata(file);
    let ours = ParquetFile::from_bytes(file.clone()).expect("a sound file");
    let mut compared = 0;
    for row_group in 0..metadata.num_row_groups() {
        for column in 0..metadata.row_group(row_group).num_columns() {
            let chunk = ChunkSpec::new(ours.metadata(), row_group, column, None).expect("a sound chunk");
            let (max_rep, max_def) = (chunk.max_rep_level, chunk.max_def_level);
            let ours = pages(Arc::clone(source), chunk, OPTIONS).expect("sound pages");
            let theirs = crate_pages(file, &metadata, row_group, column);
            let theirs: Vec<_> =
                theirs.iter().filter(|page| page.is_dictionary_page() || page.num_values() > 0).collect();
            assert_eq!(ours.len(), theirs.len(), "pages of column {column} in row group {row_group}");
            for (ours, theirs) in ours.iter().zip(theirs) {
                compare_page(ours, theirs, max_rep > 0, max_def > 0);
                compared += 1;
            }
        }
    }
    compared
}

fn compare_page(ours: &Page, theirs: &CratePage, has_rep: bool, has_def: bool) {
    match (ours, theirs) {
        (Page::Dictionary(ours), CratePage::DictionaryPage { buf, num_values, encoding, .. }) => {
            assert_eq!(ours.values.as_slice(), &buf[..]);
            assert_eq!(ours.value_count, *num_values as usize);
            assert_eq!(ours.encoding.to_string(), encoding.to_string());
        }
        (Page::Data(ours), CratePage::DataPage { buf, num_values, encoding, rep_level_encoding, .. }) => {
            // Some writers name the deprecated encoding for levels that their columns do not have.
            if has_rep {
                assert_eq!(*rep_level_encoding, CrateEncoding::RLE, "the other encoding has a test of its own");
            }
            let mut rest = &buf[..];
            let mut levels = |present: bool| {
                if !present {
                    return &[][..];
                }
                let (len, tail) = rest.split_first_chunk().expect("a length");
                let (levels, tail) = tail.split_at(u32::from_le_bytes(*len) as usize);
                rest = tail;
                levels
            };
            assert_eq!(level_bytes(&ours.rep_levels), levels(has_rep));
            assert_eq!(level_bytes(&ours.def_levels), levels(has_def));
            assert_eq!(ours.values.as_slice(), rest);
            assert_eq!(ours.value_count, *num_values as usize);
            assert_eq!(ours.encoding.to_string(), encoding.to_string());
        }
        (
            Page::Data(ours),
            CratePage::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. },
        ) => {
            let (rep_levels, rest) = buf.split_at(*rep_levels_byte_len as usize);
            let (def_levels, values) = rest.split_at(*def_levels_byte_len as usize);
            assert_eq!(level_bytes(&ours.rep_levels), if has_rep { rep_levels } else { &[] });
            assert_eq!(level_bytes(&ours.def_levels), if has_def { def_levels } else { &[] });
            assert_eq!(ours.values.as_slice(), values);
            assert_eq!(ours.value_count, *num_values as usize);
            assert_eq!(ours.encoding.to_string(), encoding.to_string());
        }
        (ours, theirs) => unreachable!("{ours:?} where the crate has a {:?}", theirs.page_type()),
    }
}

#[test]
fn pages_of_the_test_collection_are_those_of_the_crate() {
    let Some(folder) = lath_testkit::parquet_test_data() else { return };
    let mut compared = 0;
    for entry in fs::read_dir(folder.join("data")).expect("the folder of files") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if !name.ends_with(".parquet") || NOT_COMPARED.contains(&name.as_str()) {
            continue;
        }
        // Shown if the comparison fails.
        println!("{name}");
        let file = Bytes::from(fs::read(&path).expect("a file that can be read"));
        let source: Arc<dyn ByteRanges> = Arc::new(LocalFile::open(&path).expect("a file that can be opened"));
        compared += compare(&file, &source);
    }
    assert!(compared > 500, "{compared} pages are too few for the collection");
}

/// A file with a flat, a nullable, a nested, a boolean and an empty column.
fn written(codec: Compression, version: WriterVersion, page_rows: usize) -> Bytes {
    let rows = 3000;
    let columns: [(&str, ArrayRef); 5] = [
        ("flat", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * row % 1013)))),
        ("text", Arc::new(StringArray::from_iter((0..rows).map(|row| (row % 3 > 0).then(|| format!("text {row}")))))),
        (
            "nested",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                (0..rows as i32).map(|row| (row % 5 > 0).then(|| (0..row % 7).map(Some))),
            )),
        ),
        ("boolean", Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(row % 3 == 0))))),
        ("empty", Arc::new(Int64Array::from_iter((0..rows).map(|_| None)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_writer_version(version)
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows.min(256))
        .set_max_row_group_row_count(Some(2000))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("a batch that can be written");
    writer.close().expect("a file that can be finished");
    Bytes::from(file)
}

#[test]
fn pages_of_every_codec_and_version_are_those_of_the_crate() {
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
    ] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for page_rows in [100, 100_000] {
                let file = written(codec, version, page_rows);
                let source: Arc<dyn ByteRanges> = Arc::new(file.clone());
                let compared = compare(&file, &source);
                assert!(compared >= if page_rows == 100 { 150 } else { 10 }, "{compared} pages with {codec}");
            }
        }
    }
}
