//! Footers of many similar chunks, which Lath reads by layouts and packs.

use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use lath_format::write::{Bound, ChunkStatistics, ColumnChunkMetaData, FooterMetaData, RowGroupMetaData};
use lath_format::{
    ColumnOrder, CompressionCodec, Encoding, Error, FileMetaData, PageEncodingStats, PageType, SortingColumn,
};
use lath_testkit::Seeded;
use parquet::basic::{Repetition, Type as PhysicalType};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};

use crate::against_crate::{by_crate, compare};
use crate::written_at_random::{chunk, number, value};

fn schema(columns: usize) -> SchemaDescriptor {
    let types = [
        PhysicalType::INT64,
        PhysicalType::BYTE_ARRAY,
        PhysicalType::DOUBLE,
        PhysicalType::INT32,
        PhysicalType::BOOLEAN,
    ];
    let column = |index: usize| {
        let name = format!("column {index}");
        let builder = Type::primitive_type_builder(&name, types[index % types.len()]);
        Arc::new(builder.with_repetition(Repetition::OPTIONAL).build().expect("a column"))
    };
    let root = Type::group_type_builder("schema").with_fields((0..columns).map(column).collect());
    SchemaDescriptor::new(Arc::new(root.build().expect("a schema")))
}

/// A number of about as many bits, which sometimes takes a byte more or less.
fn another(random: &mut Rng, number: i64) -> i64 {
    number.saturating_add(random.i64(0..=number / 8 + 3))
}

/// Other bytes, sometimes of another length.
fn change(random: &mut Rng, bound: &mut Bound, may_be_longer: bool) {
    if may_be_longer && random.u8(..8) == 0 {
        bound.value.push(0);
    }
    for byte in bound.value.iter_mut().rev().take(3) {
        *byte = random.u8(..2);
    }
}

/// A chunk with the fields of `chunk`, and other values.
fn alike(random: &mut Rng, chunk: &ColumnChunkMetaData) -> ColumnChunkMetaData {
    let mut chunk = chunk.clone();
    chunk.num_values = another(random, chunk.num_values);
    chunk.compressed_size = another(random, chunk.compressed_size);
    chunk.data_page_offset = another(random, chunk.data_page_offset);
    chunk.dictionary_page_offset = chunk.dictionary_page_offset.map(|offset| another(random, offset));
    if let Some(filter) = &mut chunk.bloom_filter {
        filter.offset = another(random, filter.offset);
    }
    if let Some(statistics) = &mut chunk.statistics {
        let is_string = chunk.column.physical_type() == PhysicalType::BYTE_ARRAY;
        for bound in [&mut statistics.min, &mut statistics.max].into_iter().flatten() {
            change(random, bound, is_string);
        }
        statistics.null_count = statistics.null_count.map(|count| another(random, count as i64) as u64);
    }
    chunk
}

/// A chunk as writers make it. Numbers that need all 32 bits would be read field by field.
fn kind(random: &mut Rng, column: &ColumnDescPtr) -> ColumnChunkMetaData {
    let mut chunk = chunk(random, column);
    for stats in chunk.page_encoding_stats.iter_mut().flatten() {
        stats.count %= 1_000;
    }
    if let Some(filter) = &mut chunk.bloom_filter {
        filter.len = filter.len.map(|len| len % 100_000);
    }
    chunk
}

/// A chunk with the fields that most writers write.
fn usual(random: &mut Rng, column: &ColumnDescPtr) -> ColumnChunkMetaData {
    let bound = |random: &mut Rng| {
        let mut value = value(random, column);
        value.resize(value.len().min(16), 0);
        Some(Bound { value, is_exact: true })
    };
    let statistics = ChunkStatistics {
        min: bound(random),
        max: bound(random),
        null_count: Some(random.u64(..1_000)),
        distinct_count: None,
        nan_count: None,
        is_deprecated: false,
    };
    let pages = |page_type, encoding, count| PageEncodingStats { page_type, encoding, count };
    let size = random.i64(1_000..1_000_000);
    let offset = random.i64(4..1 << 32);
    ColumnChunkMetaData {
        column: column.clone(),
        encodings: vec![Encoding::Plain, Encoding::Rle, Encoding::RleDictionary],
        codec: CompressionCodec::Snappy,
        num_values: random.i64(1_000..100_000),
        uncompressed_size: size * 2,
        compressed_size: size,
        data_page_offset: offset + size / 4,
        dictionary_page_offset: Some(offset),
        statistics: Some(statistics),
        page_encoding_stats: Some(vec![
            pages(PageType::DictionaryPage, Encoding::Plain, 1),
            pages(PageType::DataPage, Encoding::RleDictionary, random.i32(1..60)),
        ]),
        bloom_filter: None,
        size_statistics: None,
        geospatial_statistics: None,
        key_value_metadata: None,
        column_index: None,
        offset_index: None,
    }
}

/// A footer in which one chunk in `unlike` has another kind than the previous chunk of its column.
fn footer(random: &mut Rng, columns: usize, row_groups: usize, unlike: usize) -> Bytes {
    let schema = schema(columns);
    let kinds = schema.columns().iter().map(|column| kind(random, column)).collect();
    make_footer(random, &schema, kinds, row_groups, unlike)
}

/// As [`footer`], with first chunks like `kinds`.
fn make_footer(
    random: &mut Rng,
    schema: &SchemaDescriptor,
    mut kinds: Vec<ColumnChunkMetaData>,
    row_groups: usize,
    unlike: usize,
) -> Bytes {
    let columns = kinds.len();
    let mut chunks = Vec::new();
    for _ in 0..row_groups {
        for last in &mut kinds {
            if random.usize(..unlike) == 0 {
                // Some with numbers of 32 bits that no layout is made for.
                let make = if random.u8(..4) == 0 { chunk } else { kind };
                *last = make(random, &last.column.clone());
            }
            chunks.push(alike(random, last));
        }
    }
    let sorting = [SortingColumn { column_idx: 0, descending: true, nulls_first: false }];
    let row_groups = chunks.chunks(columns).enumerate().map(|(index, chunks)| RowGroupMetaData {
        columns: chunks.iter().collect(),
        num_rows: number(random),
        sorting_columns: (index % 3 == 0).then_some(&sorting),
        file_offset: (index % 5 > 0).then(|| number(random)),
        ordinal: i16::try_from(index).ok(),
    });
    let footer = FooterMetaData {
        version: 2,
        schema: schema.root_schema(),
        row_groups: row_groups.collect(),
        key_value_metadata: &[],
        created_by: Some("a test"),
        column_orders: &vec![ColumnOrder::TypeDefined; columns],
    };
    let mut bytes = Vec::new();
    footer.write(&mut bytes);
    bytes.into()
}

fn check(footer: &Bytes, at: &str) -> FileMetaData {
    let ours = FileMetaData::from_bytes(footer.clone()).expect(at);
    compare(&ours, &by_crate(footer).expect("the crate reads what was written"), at);
    ours
}

#[test]
fn chunks_that_are_alike_are_read_as_by_the_crate() {
    let mut random = Seeded::new("chunks that are alike are read as by the crate");
    for (columns, row_groups) in [(1, 100), (7, 40), (300, 2), (60, 9)] {
        for unlike in [usize::MAX, 200, 20, 3, 1] {
            let footer = footer(&mut random, columns, row_groups, unlike);
            check(&footer, &format!("{columns} columns, {row_groups} row groups, unlike {unlike}"));
        }
    }
}

#[test]
fn files_of_very_many_row_groups_are_read_as_by_the_crate() {
    let mut random = Seeded::new("files of very many row groups are read as by the crate");
    for unlike in [usize::MAX, 300, 20, 1] {
        let footer = footer(&mut random, 3, 3_000, unlike);
        let file = check(&footer, &format!("very many row groups, unlike {unlike}"));
        // The memory of each chunk, and of decoded chunks without a layout.
        assert!(file.memory_bytes() < footer.len() + 3_000 * 3 * 250, "{} of {}", file.memory_bytes(), footer.len());
    }
}

#[test]
fn files_of_very_many_row_groups_take_less_memory_than_their_footers() {
    let mut random = Seeded::new("files of very many row groups take less memory than their footers");
    let schema = schema(3);
    // Chunks of random kinds can have little in common.
    let kinds = schema.columns().iter().map(|column| usual(&mut random, column)).collect();
    let footer = make_footer(&mut random, &schema, kinds, 3_000, usize::MAX);
    let file = check(&footer, "very many row groups");
    assert!(file.memory_bytes() < footer.len() * 2 / 3, "{} of {}", file.memory_bytes(), footer.len());
}

/// The place of the varint in the first occurrence of `header` and `number` after `from`.
fn find(bytes: &[u8], from: usize, pattern: &[u8]) -> usize {
    let place = bytes[from..].windows(pattern.len()).position(|window| window == pattern);
    from + place.expect("the pattern") + pattern.len() - 1
}

/// Damage in one chunk is an error of that chunk only, with and without a shared layout, packed and not.
#[test]
fn a_chunk_that_is_wrong_is_an_error_of_that_chunk() {
    let mut random = Seeded::new("a chunk that is wrong is an error of that chunk");
    let schema = schema(1);
    for row_groups in [3, 100, 2_000] {
        let mut kind = kind(&mut random, &schema.columns()[0]);
        (kind.num_values, kind.statistics, kind.dictionary_page_offset) = (1_000_000, None, Some(2_000_000));
        let sizes = |index: usize| (3_000_000 + index as i64, 4_000_000, 5_000_000);
        let chunks = (0..row_groups).map(|index| {
            let mut chunk = kind.clone();
            (chunk.uncompressed_size, chunk.compressed_size, chunk.data_page_offset) = sizes(index);
            chunk
        });
        let groups = chunks.collect::<Vec<_>>();
        let row_group = |chunk| RowGroupMetaData {
            columns: vec![chunk],
            num_rows: 1,
            sorting_columns: None,
            file_offset: None,
            ordinal: None,
        };
        let mut bytes = Vec::new();
        FooterMetaData {
            version: 2,
            schema: schema.root_schema(),
            row_groups: groups.iter().map(row_group).collect(),
            key_value_metadata: &[],
            created_by: None,
            column_orders: &[],
        }
        .write(&mut bytes);
        let wrong = row_groups / 2;
        let varint = |number: i64| {
            let mut zigzag = (number << 1) as u64;
            let mut bytes = Vec::new();
            while zigzag >= 0x80 {
                bytes.push(zigzag as u8 | 0x80);
                zigzag >>= 7;
            }
            bytes.push(zigzag as u8);
            bytes
        };
        // The number that only this chunk has, before the others.
        let start = find(&bytes, 0, &varint(sizes(wrong).0));
        for (number, what) in [
            (4_000_000, "compressed size is -"),
            (5_000_000, "offset of the data pages is -"),
            (2_000_000, "offset of the dictionary page is -"),
        ] {
            let mut bytes = bytes.clone();
            let end = find(&bytes, start, &varint(number));
            bytes[end + 1 - varint(number).len()] |= 1;
            let file = FileMetaData::from_bytes(bytes).expect("a file");
            for index in 0..row_groups {
                match file.chunk(index, 0) {
                    Err(Error::CorruptChunk { what: found, row_group, column: 0 }) => {
                        assert_eq!((index, row_group), (wrong, wrong));
                        assert!(found.contains(what), "{found}");
                    }
                    Err(error) => panic!("{error}"),
                    Ok(chunk) => {
                        assert_ne!(index, wrong, "{what}");
                        assert_eq!(chunk.uncompressed_size() as i64, sizes(index).0);
                    }
                }
            }
        }
    }
}

/// Every truncated footer is refused, and takes memory only in proportion to its bytes.
#[test]
fn footers_that_are_cut_off_anywhere_are_refused() {
    let mut random = Seeded::new("footers that are cut off anywhere are refused");
    let whole = footer(&mut random, 2, 24, 30);
    for len in 0..whole.len() {
        assert!(FileMetaData::from_bytes(whole.slice(..len)).is_err(), "{len} of {}", whole.len());
    }
    check(&whole, "the whole footer");
}
