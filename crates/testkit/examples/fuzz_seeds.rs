//! Writes the seeds of the fuzz targets, to the folder named by the argument: the bodies of pages that the `parquet`
//! crate wrote, behind the parameters that each target takes, and small whole files.
//!
//! The output is the same each time, so that the seeds in the repository change only when this does.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, FixedSizeBinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use lath_testkit::random::{FileShape, RandomFile, SchemaShape};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::column::page::Page;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// In the order of the target `codec`.
fn codecs() -> [(&'static str, Compression); 6] {
    [
        ("snappy", Compression::SNAPPY),
        ("gzip", Compression::GZIP(GzipLevel::default())),
        ("brotli", Compression::BROTLI(BrotliLevel::default())),
        ("zstd", Compression::ZSTD(ZstdLevel::default())),
        ("lz4-raw", Compression::LZ4_RAW),
        ("lz4", Compression::LZ4),
    ]
}

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fuzz_seeds FOLDER");
        std::process::exit(2);
    };
    pages(&folder)?;
    column_chunks(&folder)?;
    predicates(&folder)?;
    whole_files(&folder)
}

/// Expressions that use all that there is to them.
const PREDICATES: [&str; 10] = [
    "a = 1 AND b OR NOT c >= 18446744073709551615",
    "d BETWEEN -2.495 AND 1e60 AND d <> 10.050",
    "e = 'NaN' OR f > DOUBLE '-Infinity' OR f = 9007199254740993",
    "s LIKE 'a%_' ESCAPE '!' OR v NOT ILIKE '%ER%'",
    "g IN ('x', 'y', NULL) AND a NOT IN (1, 2, 3)",
    "t >= DATE '2025-01-31' AND u < TIMESTAMP '2025-01-31 08:30:00+01:00' AND x = TIME '08:30:00.25'",
    "(a = 1) IS NOT TRUE AND b IS UNKNOWN AND s IS NULL AND i = UUID '11111111-1111-1111-1111-111111111111'",
    "m['k'] = 1 AND r.age IS DISTINCT FROM NULL AND list_contains(l, 2) AND 1 = ANY(l)",
    "CAST(v AS INTEGER) = 12 OR TRY_CAST(v AS DATE) > '2024-01-01' OR d::DECIMAL(38, 10) = 0.5 OR w::DATE = t",
    r#"y < X'ff00' AND "a" <= c AND f <> d AND u = w AND CAST(i AS VARCHAR) LIKE '0%'"#,
];

fn predicates(folder: &Path) -> std::io::Result<()> {
    PREDICATES
        .iter()
        .enumerate()
        .try_for_each(|(index, text)| write(folder, "predicate", &index.to_string(), &[text.as_bytes()]))
}

fn write(folder: &Path, target: &str, name: &str, parts: &[&[u8]]) -> std::io::Result<()> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), parts.concat())
}

fn file(columns: Vec<ArrayRef>, nullable: bool, properties: WriterPropertiesBuilder) -> Bytes {
    let columns = columns.into_iter().enumerate().map(|(i, column)| (format!("c{i}"), column, nullable));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length");
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).expect("a sound schema");
    writer.write(&batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    bytes.into()
}

/// The bodies of the data pages of the first column chunk of a file of one column.
fn data_pages(column: ArrayRef, properties: WriterPropertiesBuilder) -> Vec<Bytes> {
    let reader = SerializedFileReader::new(file(vec![column], false, properties)).expect("the file is sound");
    let row_group = reader.get_row_group(0).expect("there is one");
    let pages = row_group.get_column_page_reader(0).expect("there is one");
    let pages = pages.map(|page| page.expect("the page is sound"));
    pages.filter(|page| !matches!(page, Page::DictionaryPage { .. })).map(|page| page.buffer().clone()).collect()
}

type Walk = fn(i64) -> i64;
type Text = fn(usize) -> String;

fn pages(folder: &Path) -> std::io::Result<()> {
    let encoded = |encoding| WriterProperties::builder().set_dictionary_enabled(false).set_encoding(encoding);
    let dictionary = WriterProperties::builder;

    let walks: [(&str, Walk); 4] = [
        ("constant", |_| 7),
        ("ascending", |i| i * 3),
        ("narrow", |i| i * i % 17),
        ("wide", |i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)),
    ];
    for (name, value) in walks {
        let bytes: Vec<u8> = (0..100).flat_map(|i| value(i).to_le_bytes()).collect();
        for what in 0..12 {
            write(folder, "compare", &format!("{name}-{what}"), &[&[what, what % 6, 5], &bytes])?;
        }
        for len in [1, 33, 300] {
            let name = format!("{name}-{len}");
            let wide: ArrayRef = Arc::new(Int64Array::from_iter_values((0..len).map(value)));
            let narrow: ArrayRef = Arc::new(Int32Array::from_iter_values((0..len).map(|i| value(i) as i32)));
            for (target, column) in [("delta_i32", &narrow), ("delta_i64", &wide)] {
                let page = &data_pages(column.clone(), encoded(Encoding::DELTA_BINARY_PACKED))[0];
                write(folder, target, &name, &[&[29, 0], page])?;
            }
            let page = &data_pages(narrow.clone(), encoded(Encoding::BYTE_STREAM_SPLIT))[0];
            write(folder, "byte_stream_split", &name, &[&[4], &(len as u16).to_le_bytes(), &[0, 0], page])?;
            let page = &data_pages(narrow.clone(), dictionary())[0];
            write(folder, "dictionary", &name, &[&(len as u16).to_le_bytes(), page])?;
            write(folder, "rle", &name, &[&page[..1], &[29, 0], &page[1..]])?;
            write(folder, "bitpack", &name, &[&page[..1], &[29, 0], &page[2..]])?;
        }
    }
    let texts: [(&str, Text); 3] = [
        ("short", |i| format!("{i}")),
        ("prefixed", |i| format!("a longer start and then {i:05}")),
        ("mixed", |i| "xyz".repeat(i % 11)),
    ];
    for (name, text) in texts {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(text)));
        let page = &data_pages(column.clone(), encoded(Encoding::PLAIN))[0];
        write(folder, "plain_byte_array", name, &[&[100, 0, 0], page])?;
        let page = &data_pages(column.clone(), encoded(Encoding::DELTA_LENGTH_BYTE_ARRAY))[0];
        write(folder, "delta_length", name, &[page])?;
        let page = &data_pages(column, encoded(Encoding::DELTA_BYTE_ARRAY))[0];
        write(folder, "delta_byte_array", name, &[page])?;
    }
    let bools: ArrayRef = Arc::new(BooleanArray::from_iter((0..200).map(|i| Some(i % 5 == 0 || i > 100))));
    let page = &data_pages(bools, encoded(Encoding::RLE))[0];
    write(folder, "rle", "booleans", &[&[1, 29, 0], &page[4..]])?;

    // Levels of a list: repetition levels, definition levels, each behind its length in four bytes.
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let items: Int32Array = (0..150).map(|i| (i % 4 > 0).then_some(i)).collect();
    let lengths = OffsetBuffer::from_lengths((0..50).map(|i| i % 7));
    let list: ArrayRef = Arc::new(ListArray::new(item, lengths, Arc::new(items.slice(0, 147)), None));
    let page = &data_pages(list, encoded(Encoding::PLAIN))[0];
    let (rep, rest) = take_levels(page);
    let (def, _) = take_levels(rest);
    let split = (def.len() as u16).to_le_bytes();
    write(folder, "levels", "list", &[&[2, 1, 1], &split, def, rep])
}

/// The bytes of the first column chunk, and its number of values.
fn column_chunk(file: &Bytes) -> (Bytes, u16) {
    let reader = SerializedFileReader::new(file.clone()).expect("the file is sound");
    let chunk = reader.metadata().row_group(0).column(0);
    let (start, len) = chunk.byte_range();
    (file.slice(start as usize..(start + len) as usize), chunk.num_values() as u16)
}

/// Column chunks with their page headers, by the numbers of the columns in the targets `page` and `codec`.
fn column_chunks(folder: &Path) -> std::io::Result<()> {
    let len = 150_u16;
    let range = 0..i32::from(len);
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(range.clone().map(|i| i * i % 50)));
    let wide: ArrayRef = Arc::new(Int64Array::from_iter_values(range.clone().map(|i| i64::from(i) << (i % 60))));
    let nulls: ArrayRef = Arc::new(Int32Array::from_iter(range.clone().map(|i| (i % 3 > 0).then_some(i))));
    let bools: ArrayRef = Arc::new(BooleanArray::from_iter(range.clone().map(|i| Some(i % 5 == 0))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(range.clone().map(|i| format!("text {}", i % 30))));
    let fixed = FixedSizeBinaryArray::try_from_iter(range.map(|i| [i as u8 % 7; 12])).expect("twelve bytes each");
    let fixed: ArrayRef = Arc::new(fixed);
    let columns: [(&str, u8, bool, &ArrayRef, &[Encoding]); 6] = [
        ("boolean", 0, false, &bools, &[Encoding::PLAIN, Encoding::RLE]),
        ("int32", 1, false, &numbers, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
        ("int64", 2, false, &wide, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT]),
        ("optional-int32", 17, true, &nulls, &[Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED]),
        ("string", 7, false, &texts, &[Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]),
        ("fixed", 8, false, &fixed, &[Encoding::PLAIN, Encoding::BYTE_STREAM_SPLIT, Encoding::DELTA_BYTE_ARRAY]),
    ];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let properties = || WriterProperties::builder().set_writer_version(version).set_data_page_row_count_limit(60);
        for (name, column, nullable, array, encodings) in columns {
            let mut chunks = vec![("dictionary".to_owned(), properties().set_dictionary_enabled(true))];
            for &encoding in encodings {
                let plain = properties().set_dictionary_enabled(false).set_encoding(encoding);
                chunks.push((encoding.to_string().to_lowercase(), plain));
            }
            for (encoding, properties) in chunks {
                let (chunk, count) = column_chunk(&file(vec![array.clone()], nullable, properties));
                let name = format!("{name}-{encoding}-v{}", version.as_num());
                write(folder, "page", &name, &[&[column], &len.to_le_bytes(), &count.to_le_bytes(), &chunk])?;
            }
        }
    }
    for (number, (name, codec)) in codecs().into_iter().enumerate() {
        let properties = WriterProperties::builder().set_dictionary_enabled(false).set_compression(codec);
        let file = file(vec![fixed.clone()], false, properties);
        let (chunk, _) = column_chunk(&file);
        let reader = SerializedFileReader::new(file).expect("the file is sound");
        let indexed = reader.metadata().row_group(0).column(0);
        // The body: what lies behind the header, whose length is what the two sizes of the chunk leave for it.
        let header_len = indexed.uncompressed_size() as usize - 12 * usize::from(len);
        let body = &chunk[header_len..];
        write(folder, "codec", name, &[&[number as u8], &(12 * len).to_le_bytes(), body])?;
        if codec == Compression::SNAPPY {
            write(folder, "snappy", "values", &[&[72], body])?;
            write(folder, "snappy", "values-without-slack", &[&[0], body])?;
        }
    }
    Ok(())
}

fn take_levels(page: &[u8]) -> (&[u8], &[u8]) {
    let (len, rest) = page.split_first_chunk::<4>().expect("levels have a length");
    rest.split_at(u32::from_le_bytes(*len) as usize)
}

fn whole_files(folder: &Path) -> std::io::Result<()> {
    let shape = FileShape { schema: SchemaShape { fields: 2, depth: 3 }, row_count: 60 };
    let mut written = 0;
    for seed in 0.. {
        let file = RandomFile::new(&mut fastrand::Rng::with_seed(seed), shape);
        if file.bytes.len() <= 4_000 {
            write(folder, "whole_file", &format!("random-{seed}"), &[&file.bytes])?;
            written += 1;
        }
        if written == 60 {
            break;
        }
    }
    let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values((0..200).map(|i| i % 9)));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter((0..200).map(|i| (i % 3 > 0).then(|| format!("text {}", i % 20)))));
    for (name, codec) in codecs().into_iter().chain([("uncompressed", Compression::UNCOMPRESSED)]) {
        let columns = vec![numbers.clone(), texts.clone()];
        let bytes =
            file(columns, true, WriterProperties::builder().set_compression(codec).set_data_page_row_count_limit(50));
        write(folder, "whole_file", name, &[&bytes])?;
    }
    Ok(())
}
