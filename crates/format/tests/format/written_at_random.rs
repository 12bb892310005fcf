use bytes::Bytes;
use fastrand::Rng;
use lath_format::thrift::ThriftWriter;
use lath_format::write::{Bound, ChunkStatistics, ColumnChunkMetaData, FooterMetaData, RowGroupMetaData};
use lath_format::{
    BoundaryOrder, BoundingBox, ColumnIndex, ColumnOrder, CompressionCodec, Encoding, FileMetaData,
    GeospatialStatistics, IndexLocation, OffsetIndex, PageEncodingStats, PageLocation, PageType, SizeStatistics,
    SortingColumn,
};
use lath_testkit::Seeded;
use parquet::basic::Type as PhysicalType;
use parquet::data_type::AsBytes;
use parquet::file::metadata::{
    KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::schema::types::ColumnDescPtr;

use crate::against_crate::compare;
use crate::random_schema::schema;

pub(crate) fn maybe<T>(random: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    random.bool().then(|| make(random))
}

pub(crate) fn number(random: &mut Rng) -> i64 {
    let bits = random.u8(1..40);
    random.i64(0..1 << bits)
}

pub(crate) fn several<T>(random: &mut Rng, most: usize, mut make: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..random.usize(..=most)).map(|_| make(random)).collect()
}

fn location(random: &mut Rng) -> IndexLocation {
    IndexLocation { offset: number(random), len: Some(random.i32(0..)) }
}

pub(crate) fn value(random: &mut Rng, column: &ColumnDescPtr) -> Vec<u8> {
    let len = match column.physical_type() {
        PhysicalType::BOOLEAN => return vec![random.u8(..2)],
        PhysicalType::INT32 | PhysicalType::FLOAT => 4,
        PhysicalType::INT64 | PhysicalType::DOUBLE => 8,
        PhysicalType::INT96 => 12,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => column.type_length() as usize,
        PhysicalType::BYTE_ARRAY => random.usize(..200),
    };
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

fn statistics(random: &mut Rng, column: &ColumnDescPtr) -> ChunkStatistics {
    // Bounds of fixed width are always exact.
    let is_cut = matches!(column.physical_type(), PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
    let bound = |random: &mut Rng| Bound { value: value(random, column), is_exact: !is_cut || random.bool() };
    let (min, max) = (maybe(random, bound), maybe(random, bound));
    let is_deprecated = min.is_none() && max.is_none() || random.u8(..4) == 0;
    let count = |random: &mut Rng| number(random).cast_unsigned();
    let [null_count, distinct_count, nan_count] = [0; 3].map(|_| maybe(random, count));
    ChunkStatistics { min, max, null_count, distinct_count, nan_count, is_deprecated }
}

fn encoding(random: &mut Rng) -> Encoding {
    Encoding::from_id([0, 2, 3, 4, 5, 6, 7, 8, 9][random.usize(..9)])
}

fn page_encoding_stats(random: &mut Rng) -> PageEncodingStats {
    let page_type = [PageType::DataPage, PageType::DictionaryPage, PageType::DataPageV2][random.usize(..3)];
    PageEncodingStats { page_type, encoding: encoding(random), count: random.i32(0..) }
}

fn geospatial_statistics(random: &mut Rng) -> Box<GeospatialStatistics> {
    let bounding_box = maybe(random, |random| BoundingBox {
        xmin: random.f64(),
        xmax: -random.f64(),
        ymin: random.f64(),
        ymax: 1e300,
        zmin: Some(random.f64()),
        zmax: Some(1.0),
        mmin: None,
        mmax: None,
    });
    let types = maybe(random, |random| vec![random.i32(1..18), 1003]);
    Box::new(GeospatialStatistics { bounding_box, types })
}

/// A list of pairs in Thrift's compact protocol.
fn pairs(random: &mut Rng) -> Bytes {
    let pairs = several(random, 20, |random| random.i64(..).to_string());
    let mut bytes = Vec::new();
    ThriftWriter::new(&mut bytes).structures(1, pairs.iter(), |writer, key| writer.binary(1, key));
    // Without the header of the field.
    Bytes::from(bytes).slice(1..)
}

pub(crate) fn chunk(random: &mut Rng, column: &ColumnDescPtr) -> ColumnChunkMetaData {
    ColumnChunkMetaData {
        column: column.clone(),
        encodings: several(random, 20, encoding),
        codec: CompressionCodec::from_id(random.i32(0..8)),
        num_values: number(random),
        uncompressed_size: number(random),
        compressed_size: number(random),
        data_page_offset: number(random),
        dictionary_page_offset: maybe(random, number),
        statistics: maybe(random, |random| statistics(random, column)),
        page_encoding_stats: maybe(random, |random| several(random, 4, page_encoding_stats)),
        bloom_filter: maybe(random, location),
        size_statistics: maybe(random, |random| SizeStatistics {
            unencoded_byte_array_data_bytes: maybe(random, number),
            repetition_level_histogram: maybe(random, |random| several(random, 20, number)),
            definition_level_histogram: maybe(random, |random| several(random, 20, number)),
        }),
        geospatial_statistics: maybe(random, geospatial_statistics),
        key_value_metadata: maybe(random, pairs),
        column_index: None,
        offset_index: None,
    }
}

fn offset_index(random: &mut Rng, pages: usize) -> OffsetIndex {
    let page = |random: &mut Rng| PageLocation {
        offset: number(random),
        compressed_page_size: random.i32(0..),
        first_row_index: number(random),
    };
    OffsetIndex {
        page_locations: (0..pages).map(|_| page(random)).collect(),
        unencoded_byte_array_data_bytes: maybe(random, |random| (0..pages).map(|_| number(random)).collect()),
    }
}

fn column_index(random: &mut Rng, column: &ColumnDescPtr, pages: usize) -> ColumnIndex {
    let null_pages: Vec<bool> = (0..pages).map(|_| random.bool()).collect();
    let bound = |random: &mut Rng, is_null: &bool| if *is_null { Vec::new() } else { value(random, column) };
    let counts = |random: &mut Rng, each: usize| (0..pages * each).map(|_| number(random)).collect();
    ColumnIndex {
        min_values: null_pages.iter().map(|is_null| bound(random, is_null)).collect(),
        max_values: null_pages.iter().map(|is_null| bound(random, is_null)).collect(),
        boundary_order: [BoundaryOrder::Unordered, BoundaryOrder::Ascending, BoundaryOrder::Descending]
            [random.usize(..3)],
        null_counts: maybe(random, |random| counts(random, 1)),
        repetition_level_histograms: maybe(random, |random| counts(random, 2)),
        definition_level_histograms: maybe(random, |random| counts(random, 3)),
        nan_counts: maybe(random, |random| counts(random, 1)),
        null_pages,
    }
}

/// A row group to be written.
struct RandomRowGroup {
    chunks: Vec<ColumnChunkMetaData>,
    /// By chunk, if it has any.
    indexes: Vec<(Option<ColumnIndex>, OffsetIndex)>,
    rows: i64,
    sorting: Option<Vec<SortingColumn>>,
}

fn row_group(random: &mut Rng, columns: &[ColumnDescPtr], has_indexes: bool, file: &mut Vec<u8>) -> RandomRowGroup {
    let mut chunks: Vec<_> = columns.iter().map(|column| chunk(random, column)).collect();
    let mut indexes = Vec::new();
    for chunk in chunks.iter_mut().filter(|_| has_indexes) {
        let pages = random.usize(1..40);
        let mut place = |write: &dyn Fn(&mut Vec<u8>)| {
            let start = file.len();
            write(file);
            Some(IndexLocation { offset: start as i64, len: Some((file.len() - start) as i32) })
        };
        let column_index = maybe(random, |random| column_index(random, &chunk.column, pages));
        if let Some(index) = &column_index {
            chunk.column_index = place(&|out| index.write(out));
        }
        let offset_index = offset_index(random, pages);
        chunk.offset_index = place(&|out| offset_index.write(out));
        indexes.push((column_index, offset_index));
    }
    let sorting_column = |random: &mut Rng| SortingColumn {
        column_idx: random.i32(0..),
        descending: random.bool(),
        nulls_first: random.bool(),
    };
    RandomRowGroup {
        chunks,
        indexes,
        rows: number(random),
        sorting: maybe(random, |random| several(random, 3, sorting_column)),
    }
}

fn read_by_crate(file: &Bytes) -> ParquetMetaData {
    let reader = ParquetMetaDataReader::new()
        .with_page_index_policy(PageIndexPolicy::Optional)
        .with_metadata_options(Some(ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false)));
    reader.parse_and_finish(file).expect("the crate reads what was written")
}

fn compare_column_index(ours: Option<&ColumnIndex>, theirs: Option<&ColumnIndexMetaData>) {
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        assert!(ours.is_none() && theirs.is_none_or(|theirs| matches!(theirs, ColumnIndexMetaData::NONE)));
        return;
    };
    macro_rules! compare {
        ($index:expr) => {
            for page in 0..ours.page_count() {
                assert_eq!($index.is_null_page(page), ours.null_pages[page]);
                let theirs = $index.min_value(page).zip($index.max_value(page));
                assert_eq!(theirs.map(|(min, max)| (min.as_bytes(), max.as_bytes())), ours.bounds(page));
                assert_eq!($index.null_count(page), ours.null_counts.as_ref().map(|counts| counts[page]));
                assert_eq!($index.definition_level_histogram(page), ours.definition_level_histogram(page));
                assert_eq!($index.repetition_level_histogram(page), ours.repetition_level_histogram(page));
            }
        };
    }
    assert_eq!(theirs.get_boundary_order().map(|order| order as i32), Some(ours.boundary_order.id()));
    match theirs {
        ColumnIndexMetaData::NONE => unreachable!("the crate reads no index"),
        ColumnIndexMetaData::BOOLEAN(index) => compare!(index),
        ColumnIndexMetaData::INT32(index) => compare!(index),
        ColumnIndexMetaData::INT64(index) => compare!(index),
        ColumnIndexMetaData::INT96(index) => compare!(index),
        ColumnIndexMetaData::FLOAT(index) => compare!(index),
        ColumnIndexMetaData::DOUBLE(index) => compare!(index),
        ColumnIndexMetaData::BYTE_ARRAY(index) | ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => compare!(index),
    }
}

fn compare_offset_index(ours: &OffsetIndex, theirs: &parquet::file::page_index::offset_index::OffsetIndexMetaData) {
    assert_eq!(theirs.unencoded_byte_array_data_bytes(), ours.unencoded_byte_array_data_bytes.as_ref());
    let theirs = theirs.page_locations().iter();
    let theirs = theirs.map(|page| (page.offset, page.compressed_page_size, page.first_row_index));
    let ours = ours.page_locations.iter().map(|page| (page.offset, page.compressed_page_size, page.first_row_index));
    assert_eq!(theirs.collect::<Vec<_>>(), ours.collect::<Vec<_>>());
}

fn check(random: &mut Rng) {
    let schema = schema(random);
    let mut file = b"PAR1".to_vec();
    let has_indexes = random.bool();
    let row_groups: Vec<_> =
        (0..random.usize(..4)).map(|_| row_group(random, schema.columns(), has_indexes, &mut file)).collect();
    let orders = [ColumnOrder::TypeDefined, ColumnOrder::Ieee754Total];
    let column_orders: Option<Vec<_>> =
        maybe(random, |random| schema.columns().iter().map(|_| orders[random.usize(..2)]).collect());
    let key_value_metadata = several(random, 3, |random| KeyValue {
        key: random.char(..).to_string(),
        value: maybe(random, |random| random.char(..).to_string()),
    });
    let creator = maybe(random, |random| random.char(..).to_string());
    let file_offset = maybe(random, number);
    let has_ordinals = random.bool();
    let footer = FooterMetaData {
        version: random.i32(1..3),
        schema: schema.root_schema(),
        row_groups: row_groups
            .iter()
            .zip(0..)
            .map(|(row_group, ordinal)| RowGroupMetaData {
                columns: row_group.chunks.iter().collect(),
                num_rows: row_group.rows,
                sorting_columns: row_group.sorting.as_deref(),
                file_offset,
                ordinal: has_ordinals.then_some(ordinal),
            })
            .collect(),
        key_value_metadata: &key_value_metadata,
        created_by: creator.as_deref(),
        column_orders: column_orders.as_deref().unwrap_or_default(),
    };
    let footer_start = file.len();
    footer.write(&mut file);
    let footer_bytes = file.len() - footer_start;
    file.extend_from_slice(&(footer_bytes as u32).to_le_bytes());
    file.extend_from_slice(b"PAR1");
    let file = Bytes::from(file);

    let ours = FileMetaData::from_bytes(file.slice(footer_start..footer_start + footer_bytes)).expect("a footer");
    let theirs = read_by_crate(&file);
    compare(&ours, &theirs, "a random footer");
    assert_eq!(ours.schema_descr().root_schema(), schema.root_schema());
    assert_eq!(ours.version(), footer.version);
    assert_eq!(ours.created_by(), creator.as_deref());
    assert_eq!(ours.key_value_metadata(), key_value_metadata);
    assert_eq!(ours.num_rows(), row_groups.iter().map(|row_group| row_group.rows).sum::<i64>());
    assert_eq!(ours.row_group_count(), row_groups.len());
    for leaf in 0..schema.num_columns() {
        let order = column_orders.as_ref().map_or(ColumnOrder::Undefined, |orders| orders[leaf]);
        assert_eq!(ours.column_order(leaf), order);
    }
    for (at, written) in row_groups.iter().enumerate() {
        let read = ours.row_group(at).expect("a row group");
        assert_eq!(read.num_rows().cast_signed(), written.rows);
        assert_eq!(read.sorting_columns(), written.sorting);
        assert_eq!((read.file_offset(), read.ordinal()), (file_offset, has_ordinals.then_some(at as i16)));
        let sum = |size: fn(&ColumnChunkMetaData) -> i64| written.chunks.iter().map(size).sum::<i64>();
        assert_eq!(read.total_byte_size(), Some(sum(|chunk| chunk.uncompressed_size)));
        assert_eq!(read.compressed_size().cast_signed(), sum(|chunk| chunk.compressed_size));
        for (chunk, written) in read.columns().zip(&written.chunks) {
            assert_eq!(&ColumnChunkMetaData::from(&chunk.expect("a chunk")), written);
        }
        for (leaf, (column_index, offset_index)) in written.indexes.iter().enumerate() {
            let chunk = &written.chunks[leaf];
            let bytes = |location: Option<IndexLocation>| {
                let IndexLocation { offset, len } = location.expect("written");
                file.slice(offset as usize..offset as usize + len.expect("written") as usize)
            };
            assert_eq!(&OffsetIndex::from_bytes(&bytes(chunk.offset_index)).expect("an index"), offset_index);
            compare_offset_index(offset_index, &theirs.offset_index().expect("offset indexes")[at][leaf]);
            if let Some(index) = column_index {
                assert_eq!(&ColumnIndex::from_bytes(&bytes(chunk.column_index)).expect("an index"), index);
            }
            compare_column_index(column_index.as_ref(), theirs.column_index().map(|index| &index[at][leaf]));
        }
    }
}

#[test]
fn random_footers_and_indexes_are_read_back_here_and_by_the_crate() {
    let mut random = Seeded::new("random_footers_and_indexes_are_read_back_here_and_by_the_crate");
    let rounds = if std::env::var_os("LATH_FULL").is_some() { 10_000 } else { 500 };
    for _ in 0..rounds {
        check(&mut random);
    }
}

#[test]
fn orders_without_a_number_leave_the_list_out() {
    let schema = schema(&mut Rng::with_seed(1));
    for order in [ColumnOrder::Unknown, ColumnOrder::Undefined] {
        let mut orders = vec![ColumnOrder::TypeDefined; schema.num_columns()];
        orders.extend([order]);
        let mut bytes = Vec::new();
        let footer = FooterMetaData {
            version: 1,
            schema: schema.root_schema(),
            row_groups: Vec::new(),
            key_value_metadata: &[],
            created_by: None,
            column_orders: &orders,
        };
        footer.write(&mut bytes);
        let read = FileMetaData::from_bytes(bytes).expect("a footer");
        assert_eq!(read.column_order(0), ColumnOrder::Undefined);
    }
}

#[test]
fn pages_are_not_moved_past_the_largest_offset() {
    let page = |offset| PageLocation { offset, compressed_page_size: 1, first_row_index: 0 };
    let index = OffsetIndex { page_locations: vec![page(4), page(5)], unencoded_byte_array_data_bytes: None };
    assert_eq!(index.clone().moved(-4).expect("in range").page_locations, [page(0), page(1)]);
    assert_eq!(index.clone().moved(i64::MAX - 5).expect("in range").page_locations[1], page(i64::MAX));
    assert_eq!(index.moved(i64::MAX - 4), None);
}
