//! Pages and chunks written by hand: valid, unusual and malformed.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use lath_format::CompressionCodec;

use super::{OPTIONS, level_bytes, pages};
use crate::error::{Error, Result};
use crate::options::Limits;
use crate::page::{
    BitOrder, ChunkSpec, DataPage, Encoding, Levels, Page, PageOptions, PagePlaces, PageReader, PageSummary,
};
use lath_format::thrift::ThriftWriter;
use lath_source::ByteRanges;

/// A Thrift structure of the compact protocol.
#[derive(Default)]
struct Thrift {
    bytes: Vec<u8>,
    last_id: u8,
}

impl Thrift {
    fn header(mut self, id: u8, wire_type: u8) -> Self {
        self.bytes.push((id - self.last_id) << 4 | wire_type);
        self.last_id = id;
        self
    }

    fn varint(mut self, mut value: u32) -> Self {
        while value >= 128 {
            self.bytes.push(value as u8 | 128);
            value >>= 7;
        }
        self.bytes.push(value as u8);
        self
    }

    fn int(self, id: u8, value: i32) -> Self {
        self.header(id, 5).varint((value << 1 ^ value >> 31).cast_unsigned())
    }

    fn bool(self, id: u8, value: bool) -> Self {
        self.header(id, if value { 1 } else { 2 })
    }

    fn binary(self, id: u8, value: &[u8]) -> Self {
        let mut this = self.header(id, 8).varint(value.len() as u32);
        this.bytes.extend(value);
        this
    }

    fn structure(self, id: u8, value: Self) -> Self {
        let mut this = self.header(id, 12);
        this.bytes.extend(value.end());
        this
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Page type and sizes; CRC and the type's own header are added later.
fn page_header(page_type: i32, uncompressed_len: usize, compressed_len: usize) -> Thrift {
    Thrift::default().int(1, page_type).int(2, uncompressed_len as i32).int(3, compressed_len as i32)
}

fn data_v1(value_count: i32, encoding: i32, level_encoding: i32) -> Thrift {
    Thrift::default().int(1, value_count).int(2, encoding).int(3, level_encoding).int(4, level_encoding)
}

fn data_v2(value_count: i32, def_len: usize, rep_len: usize) -> Thrift {
    let counts = Thrift::default().int(1, value_count).int(2, 1).int(3, 2).int(4, 0);
    counts.int(5, def_len as i32).int(6, rep_len as i32)
}

/// A data page of PLAIN values with no levels.
fn plain_page(value_count: i32, body: &[u8]) -> Vec<u8> {
    let mut page = page_header(0, body.len(), body.len()).structure(5, data_v1(value_count, 0, 3)).end();
    page.extend(body);
    page
}

fn dictionary_page(body: &[u8]) -> Vec<u8> {
    let dictionary = Thrift::default().int(1, 2).int(2, 2).bool(3, true);
    let mut page = page_header(2, body.len(), body.len()).structure(7, dictionary).end();
    page.extend(body);
    page
}

/// A required, uncompressed column of `value_count` values whose pages are the whole file.
fn chunk(file: &[u8], value_count: u64) -> ChunkSpec {
    ChunkSpec {
        file: Some("by hand".into()),
        path: "a.b".into(),
        row_group: 7,
        codec: CompressionCodec::Uncompressed,
        start: 0,
        len: file.len() as u64,
        value_count,
        max_def_level: 0,
        max_rep_level: 0,
        bit_order: BitOrder::MostSignificantFirst,
        ignores_compression_flag: false,
        decryptor: None,
    }
}

fn read(file: Vec<u8>, chunk: ChunkSpec) -> Result<Vec<Page>> {
    pages(Arc::new(Bytes::from(file)), chunk, OPTIONS)
}

fn data(page: &Page) -> &DataPage {
    match page {
        Page::Data(page) => page,
        Page::Dictionary(page) => unreachable!("{page:?} is no data page"),
    }
}

/// The error of a file of one such page, with its location.
fn corruption(file: Vec<u8>, chunk: ChunkSpec) -> (String, crate::error::Location) {
    match read(file, chunk).expect_err("a malformed page") {
        Error::Corrupt { what, at } => (what, *at),
        other => unreachable!("{other:?} where the page is malformed"),
    }
}

#[test]
fn levels_and_values_of_version_1_are_told_apart() {
    let body = [2, 0, 0, 0, 0xa, 0xb, 3, 0, 0, 0, 1, 2, 3, 99, 98];
    let mut file = page_header(0, body.len(), body.len()).structure(5, data_v1(8, 0, 3)).end();
    file.extend(body);
    let both = ChunkSpec { max_def_level: 3, max_rep_level: 1, ..chunk(&file, 8) };
    let read_pages = read(file.clone(), both).expect("a sound page");
    let page = data(&read_pages[0]);
    assert_eq!((level_bytes(&page.rep_levels), level_bytes(&page.def_levels)), (&[0xa, 0xb][..], &[1, 2, 3][..]));
    assert!(matches!(page.def_levels, Levels::Rle(_)));
    assert_eq!((page.values.as_slice(), page.value_count), (&[99, 98][..], 8));

    let neither = read(file.clone(), chunk(&file, 8)).expect("a sound page");
    assert!(matches!(data(&neither[0]).def_levels, Levels::None));
    assert_eq!(data(&neither[0]).values.as_slice(), body);
}

#[test]
fn bit_packed_levels_have_the_length_that_their_number_gives() {
    // Nine levels of at most 2, in two bits each, are three bytes; of at most 1, two.
    let body = [1, 2, 3, 4, 5, 6, 7];
    let mut file = page_header(0, body.len(), body.len()).structure(5, data_v1(9, 0, 4)).end();
    file.extend(body);
    let chunk = ChunkSpec { max_def_level: 1, max_rep_level: 2, ..chunk(&file, 9) };
    let read_pages = read(file, chunk).expect("a sound page");
    let page = data(&read_pages[0]);
    assert!(matches!(page.rep_levels, Levels::BitPacked(_, BitOrder::MostSignificantFirst)));
    assert_eq!((level_bytes(&page.rep_levels), level_bytes(&page.def_levels)), (&[1, 2, 3][..], &[4, 5][..]));
    assert_eq!(page.values.as_slice(), [6, 7]);
}

#[test]
fn values_alone_are_compressed_in_version_2() {
    let values = [7; 100];
    let compressed = snap::raw::Encoder::new().compress_vec(&values).expect("bytes that can be compressed");
    for (is_compressed, stored) in [(true, &compressed[..]), (false, &values)] {
        let header = data_v2(8, 3, 2).bool(7, is_compressed);
        let mut file = page_header(3, 105, 5 + stored.len()).structure(8, header).end();
        file.extend([1, 2, 3, 4, 5]);
        file.extend(stored);
        let spec = ChunkSpec { codec: CompressionCodec::Snappy, max_def_level: 1, max_rep_level: 1, ..chunk(&file, 8) };
        let read_pages = read(file.clone(), spec).expect("a sound page");
        let page = data(&read_pages[0]);
        assert_eq!((level_bytes(&page.rep_levels), level_bytes(&page.def_levels)), (&[1, 2][..], &[3, 4, 5][..]));
        assert_eq!(page.values.as_slice(), values);
    }
}

#[test]
fn some_writers_compress_values_of_version_2_and_deny_it() {
    let values = [7; 100];
    let compressed = snap::raw::Encoder::new().compress_vec(&values).expect("bytes that can be compressed");
    let header = data_v2(8, 0, 0).bool(7, false);
    let file = [page_header(3, 100, compressed.len()).structure(8, header).end(), compressed].concat();
    let codec = CompressionCodec::Snappy;
    let spec = ChunkSpec { codec, ignores_compression_flag: true, ..chunk(&file, 8) };
    let read_pages = read(file, spec).expect("a sound page");
    assert_eq!(data(&read_pages[0]).values.as_slice(), values);
}

#[test]
fn pages_without_values_and_of_other_kinds_are_passed_over() {
    let index = [page_header(1, 3, 3).structure(6, Thrift::default()).end(), vec![1, 2, 3]].concat();
    let unknown = [page_header(77, 9, 2).binary(9, b"what is this").end(), vec![1, 2]].concat();
    let empty = plain_page(0, &[5; 4]);
    let behind = plain_page(1, &[0xee; 8]);
    let file =
        [index, dictionary_page(&[1; 8]), unknown, plain_page(1, &[2; 4]), empty, plain_page(2, &[3; 8]), behind];
    let file = file.concat();
    let read_pages = read(file.clone(), chunk(&file, 3)).expect("sound pages");
    assert_eq!(read_pages.len(), 3);
    match &read_pages[0] {
        Page::Dictionary(page) => {
            assert_eq!((page.values.as_slice(), page.value_count), (&[1; 8][..], 2));
            assert_eq!(page.encoding, Encoding::PlainDictionary);
        }
        Page::Data(page) => unreachable!("{page:?} is no dictionary"),
    }
    assert_eq!(data(&read_pages[1]).values.as_slice(), [2; 4]);
    assert_eq!(data(&read_pages[2]).values.as_slice(), [3; 8]);
    assert!(read(file.clone(), chunk(&file, 0)).expect("no pages").is_empty());
}

#[test]
fn an_unknown_encoding_is_left_to_whoever_decodes_the_values() {
    let mut file = page_header(0, 4, 4).structure(5, data_v1(1, 11, 3)).end();
    file.extend([0; 4]);
    let read_pages = read(file.clone(), chunk(&file, 1)).expect("a page that can be taken apart");
    assert_eq!(data(&read_pages[0]).encoding, Encoding::Unknown(11));
}

#[test]
fn a_wrong_crc_is_found_unless_it_is_not_to_be_checked() {
    let body = b"123456789";
    // The check value of CRC-32.
    for (crc, right) in [(0xcbf4_3926_u32, true), (0xcbf4_3927, false)] {
        let header = page_header(0, 9, 9).int(4, crc.cast_signed()).structure(5, data_v1(1, 0, 3));
        let file = [header.end(), body.to_vec()].concat();
        assert_eq!(read(file.clone(), chunk(&file, 1)).is_ok(), right);
        let unchecked = PageOptions { verify_crc: false, ..OPTIONS };
        assert!(pages(Arc::new(Bytes::from(file.clone())), chunk(&file, 1), unchecked).is_ok());
        if !right {
            let (what, at) = corruption(file.clone(), chunk(&file, 1));
            assert_eq!(what, "page has CRC cbf43926 where its header says cbf43927");
            assert_eq!((at.page, at.offset, at.row_group), (Some(0), Some(0), Some(7)));
        }
    }
}

#[test]
fn errors_tell_the_page_and_its_offset() {
    let first = plain_page(1, &[0; 4]);
    let second_offset = first.len() as u64;
    let file = [first, page_header(0, 4, 4).structure(5, data_v1(-5, 0, 3)).end(), vec![0; 4]].concat();
    let (what, at) = corruption(file.clone(), chunk(&file, 2));
    assert_eq!(what, "number of values of a data page");
    assert_eq!((at.file.as_deref(), at.column.as_deref()), (Some("by hand"), Some("a.b")));
    assert_eq!((at.row_group, at.page, at.offset), (Some(7), Some(1), Some(second_offset)));

    let mut reader = PageReader::new(Arc::new(Bytes::from(file.clone())), chunk(&file, 2), OPTIONS).expect("a reader");
    reader.next_page().expect("a sound page");
    let error = reader.locate(Error::corrupt("values"));
    assert_eq!(error.location().map(|at| (at.page, at.offset)), Some((Some(0), Some(0))));
}

#[test]
fn a_chunk_may_be_a_header_longer_than_it_says_but_not_more() {
    let file = [dictionary_page(&[1; 8]), plain_page(2, &[2; 8])].concat();
    let uncounted = ChunkSpec { len: file.len() as u64 - 14, ..chunk(&file, 2) };
    assert_eq!(read(file.clone(), uncounted).expect("sound pages").len(), 2);

    let file = [dictionary_page(&[1; 8]), plain_page(2, &[2; 800])].concat();
    let short = ChunkSpec { len: file.len() as u64 - 101, ..chunk(&file, 2) };
    let (what, at) = corruption(file, short);
    assert_eq!(what, "page of 800 bytes where the column chunk has 799 left");
    assert_eq!(at.page, Some(1));
}

#[test]
fn a_chunk_that_ends_before_its_values_is_refused() {
    let file = plain_page(2, &[2; 8]);
    assert_eq!(corruption(file.clone(), chunk(&file, 5)).0, "column chunk ends 3 values before its 5 values are read");
    let outside = ChunkSpec { start: file.len() as u64 + 1, ..chunk(&file, 1) };
    assert!(matches!(read(file.clone(), outside), Err(Error::Corrupt { .. })));
    let endless = ChunkSpec { len: u64::MAX, value_count: u64::MAX, start: file.len() as u64, ..chunk(&file, 1) };
    assert!(matches!(read(file, endless), Err(Error::Corrupt { .. })));
}

#[test]
fn every_truncation_and_every_changed_header_byte_is_an_error_or_pages() {
    let statistics = Thrift::default().binary(5, &[1; 300]).binary(6, &[2; 300]).bool(7, true);
    let header = page_header(0, 8, 8).structure(5, data_v1(2, 0, 3).structure(5, statistics));
    let page = [header.end(), vec![4; 8]].concat();
    let file = [dictionary_page(&[1; 8]), page].concat();
    assert_eq!(read(file.clone(), chunk(&file, 2)).expect("sound pages").len(), 2);
    for len in 0..file.len() {
        assert!(read(file[..len].to_vec(), chunk(&file[..len], 2)).is_err(), "{len} bytes of {}", file.len());
    }
    for position in 0..file.len() {
        for byte in 0..=255 {
            let mut changed = file.clone();
            changed[position] = byte;
            drop(read(changed.clone(), chunk(&changed, 2)));
        }
    }
}

#[test]
fn a_header_over_the_limit_is_refused_and_one_below_it_read() {
    let statistics = Thrift::default().binary(5, &[1; 5000]);
    let header = page_header(0, 4, 4).structure(5, data_v1(1, 0, 3).structure(5, statistics)).end();
    let file = [header.clone(), vec![4; 4]].concat();
    for (limit, fits) in [(header.len() as u64, true), (header.len() as u64 - 1, false), (3000, false), (1, false)] {
        let options = PageOptions { limits: Limits { page_header_bytes: limit, ..OPTIONS.limits }, ..OPTIONS };
        let result = pages(Arc::new(Bytes::from(file.clone())), chunk(&file, 1), options);
        match result {
            Ok(_) => assert!(fits, "limit {limit}"),
            Err(Error::Limit { limit: passed, needed, .. }) => {
                assert!(!fits && passed == limit && needed > limit, "limit {limit}, needed {needed}");
            }
            Err(other) => unreachable!("{other} with limit {limit}"),
        }
    }
}

#[test]
fn pages_over_the_limit_are_refused() {
    let options = || PageOptions { limits: Limits { page_bytes: 7, ..OPTIONS.limits }, ..OPTIONS };
    let file = plain_page(1, &[0; 8]);
    let result = pages(Arc::new(Bytes::from(file.clone())), chunk(&file, 1), options());
    assert!(matches!(result, Err(Error::Limit { limit: 7, needed: 8, .. })));
    let file = plain_page(1, &[0; 7]);
    assert!(pages(Arc::new(Bytes::from(file.clone())), chunk(&file, 1), options()).is_ok());
}

#[test]
fn a_short_page_cannot_ask_for_gigabytes() {
    for codec in [
        CompressionCodec::Snappy,
        CompressionCodec::Gzip,
        CompressionCodec::Brotli,
        CompressionCodec::Zstd,
        CompressionCodec::Lz4,
        CompressionCodec::Lz4Raw,
    ] {
        for body in [vec![0; 100], vec![0xff; 100], (0..100).collect::<Vec<u8>>(), vec![0xff, 0xff, 0xff, 0xff, 0x07]] {
            let huge = i32::MAX as usize;
            let v1 = page_header(0, huge, body.len()).structure(5, data_v1(1, 0, 3)).end();
            let v2 = page_header(3, huge, body.len()).structure(8, data_v2(1, 0, 0)).end();
            let dictionary = Thrift::default().int(1, 2).int(2, 0);
            let dictionary = page_header(2, huge, body.len()).structure(7, dictionary).end();
            for header in [v1, v2, dictionary] {
                let file = [header, body.clone()].concat();
                let spec = ChunkSpec { codec, ..chunk(&file, 1) };
                let (_, at) = corruption(file, spec);
                assert_eq!(at.page, Some(0));
            }
        }
    }
}

#[test]
fn levels_that_the_page_does_not_have_are_refused() {
    let levels = |chunk| ChunkSpec { max_def_level: 1, max_rep_level: 1, ..chunk };
    for body in [&[9, 0, 0, 0, 1, 2][..], &[1, 0, 0], &[0xff, 0xff, 0xff, 0xff], &[0, 0, 0, 0], &[]] {
        let header = page_header(0, body.len(), body.len()).structure(5, data_v1(4, 0, 3));
        let file = [header.end(), body.to_vec()].concat();
        assert!(corruption(file.clone(), levels(chunk(&file, 4))).0.contains("levels"));
    }
    let header = page_header(0, 4, 4).structure(5, data_v1(i32::MAX, 0, 4));
    let file = [header.end(), vec![0; 4]].concat();
    assert!(corruption(file.clone(), levels(chunk(&file, 4))).0.contains("repetition levels of 268435456 bytes"));
    for (def_len, rep_len) in [(9, 0), (0, 9), (5, 4), (i32::MAX as usize, i32::MAX as usize)] {
        let file = [page_header(3, 8, 8).structure(8, data_v2(4, def_len, rep_len)).end(), vec![0; 8]].concat();
        assert!(corruption(file.clone(), levels(chunk(&file, 4))).0.contains("levels of"));
    }
    let file = [page_header(0, 4, 4).structure(5, data_v1(1, 0, 8)).end(), vec![0; 4]].concat();
    let error = read(file.clone(), levels(chunk(&file, 1))).expect_err("levels in a dictionary");
    assert!(matches!(error, Error::Unsupported { feature, .. } if feature == "RLE_DICTIONARY for repetition levels"));
}

#[test]
fn headers_that_lack_what_they_need_are_refused() {
    let data = || data_v1(1, 0, 3);
    for (header, what) in [
        (Thrift::default().int(2, 4).int(3, 4).structure(5, data()), "page header without page type"),
        (Thrift::default().int(1, 0).int(3, 4).structure(5, data()), "page header without uncompressed page size"),
        (Thrift::default().int(1, 0).int(2, 4).structure(5, data()), "page header without compressed page size"),
        (Thrift::default().int(1, 0).int(2, -4).int(3, 4).structure(5, data()), "uncompressed page size"),
        (Thrift::default().int(1, 0).int(2, 4).int(3, -4).structure(5, data()), "compressed page size"),
        (page_header(0, 4, 4), "data page without data page header"),
        (page_header(2, 4, 4), "dictionary page without dictionary page header"),
        (page_header(3, 4, 4).structure(5, data()), "data page of version 2 without its header"),
        (page_header(0, 4, 4).structure(5, Thrift::default().int(1, 1)), "data page header without encoding"),
        (
            page_header(2, 4, 4).structure(7, Thrift::default().int(2, 0)),
            "dictionary page header without number of values",
        ),
        (page_header(3, 4, 4).structure(8, data_v2(-1, 0, 0)), "number of values of a data page"),
    ] {
        let file = [header.end(), vec![0; 4]].concat();
        assert_eq!(corruption(file.clone(), chunk(&file, 1)).0, what);
    }
}

#[test]
fn pages_are_skipped_by_their_headers() {
    let file = [dictionary_page(&[1; 8]), plain_page(5, &[2; 20]), plain_page(6, &[3; 24]), plain_page(7, &[4; 28])];
    let file = file.concat();
    let mut reader = PageReader::new(Arc::new(Bytes::from(file.clone())), chunk(&file, 18), OPTIONS).expect("a reader");
    assert_eq!(reader.peek_page().expect("a header"), Some(PageSummary::Dictionary));
    assert!(matches!(reader.next_page(), Ok(Some(Page::Dictionary(_)))));
    assert_eq!(reader.peek_page().expect("a header"), Some(PageSummary::Data { value_count: 5, row_count: None }));
    reader.skip_page().expect("a page to skip");
    assert_eq!(reader.peek_page().expect("a header"), Some(PageSummary::Data { value_count: 6, row_count: None }));
    let page = reader.next_page().expect("a page").expect("a page");
    assert_eq!(data(&page).values.as_slice(), [3; 24]);
    reader.skip_page().expect("a page to skip");
    assert_eq!(reader.peek_page().expect("the end"), None);
    reader.skip_page().expect("the end");
    assert!(matches!(reader.next_page(), Ok(None)));
}

/// An offset index of 18 rows.
fn places(first_rows: &[u64], offsets: &[u64]) -> PagePlaces {
    let mut index = Vec::new();
    let mut writer = ThriftWriter::new(&mut index);
    writer.structures(1, offsets.iter().zip(first_rows), |page, (&offset, &row)| {
        page.i64(1, offset.cast_signed());
        page.i64(3, row.cast_signed());
    });
    writer.end();
    PagePlaces::read(&index, 18).expect("an index")
}

#[test]
fn pages_are_found_by_the_offset_index_and_an_index_of_other_pages_is_told() {
    let parts = [dictionary_page(&[1; 8]), plain_page(5, &[2; 20]), plain_page(6, &[3; 24]), plain_page(7, &[4; 28])];
    let offsets: Vec<u64> = (1..4).map(|page| parts[..page].iter().map(|part| part.len() as u64).sum()).collect();
    let file = parts.concat();
    let reader_by = |first_rows: [u64; 3], offsets: &[u64]| {
        let source = Arc::new(Bytes::from(file.clone()));
        let mut reader = PageReader::new(source, chunk(&file, 18), OPTIONS).expect("a reader");
        reader.set_places(Arc::new(places(&first_rows, offsets)));
        // Not before the dictionary.
        assert_eq!(reader.seek(17), 0);
        assert!(matches!(reader.next_page(), Ok(Some(Page::Dictionary(_)))));
        reader
    };
    for (row, page, passed) in [(4, 5, 0), (5, 6, 5), (10, 6, 5), (11, 7, 11), (1000, 7, 11)] {
        let mut reader = reader_by([0, 5, 11], &offsets);
        assert_eq!(reader.seek(row), passed, "row {row}");
        let found = Some(PageSummary::Data { value_count: page, row_count: None });
        assert_eq!(reader.peek_page().expect("a header"), found, "row {row}");
        let mut left = 18 - passed as usize;
        while let Some(page) = reader.next_page().expect("sound pages") {
            left -= data(&page).value_count;
        }
        assert_eq!(left, 0, "row {row}");
    }
    // Other rows than the pages have, and pages elsewhere.
    let other = reader_by([0, 5, 12], &offsets);
    let shifted = reader_by([0, 5, 11], &[offsets[0], offsets[1] + 1, offsets[2] + 1]);
    for (mut reader, row) in [(other, 12), (shifted, 11)] {
        assert!(reader.seek(row) > 0);
        assert!(matches!(reader.next_page(), Err(Error::Corrupt { .. })));
    }
    // `compare_places` finds the same mismatches, for all pages.
    let compare = |rows: &[u64], offsets: &[u64]| {
        let mut reader =
            PageReader::new(Arc::new(Bytes::from(file.clone())), chunk(&file, 18), OPTIONS).expect("a reader");
        reader.compare_places(&places(rows, offsets)).map_err(|error| error.to_string())
    };
    assert_eq!(compare(&[0, 5, 11], &offsets), Ok(()));
    let four = [&offsets[..], &[file.len() as u64]].concat();
    for (rows, offsets, what) in [
        (&[0, 5, 12][..], &offsets[..], "7 rows in a page of 6"),
        (&[0, 5, 11], &[offsets[0], offsets[1] + 1, offsets[2]], "for the one at"),
        (&[0, 11], &[offsets[0], offsets[2]], "11 rows in a page of 5"),
        (&[0, 5], &offsets[..2], "13 rows in a page of 6"),
        (&[0, 5, 11, 17], &four, "6 rows in a page of 7"),
    ] {
        let error = compare(rows, offsets).expect_err(what);
        assert!(error.contains(what), "{error}");
    }
    // Outside the chunk: ignored.
    assert_eq!(reader_by([0, 5, 11], &[offsets[0], offsets[1], file.len() as u64]).seek(12), 0);
}

#[test]
fn a_reader_turns_to_another_chunk_and_codec() {
    let plain = plain_page(1, &[9; 40]);
    let compressed = snap::raw::Encoder::new().compress_vec(&[8; 40]).expect("bytes that can be compressed");
    let header = page_header(0, 40, compressed.len()).structure(5, data_v1(1, 0, 3));
    let file = [plain.clone(), header.end(), compressed].concat();
    let first = ChunkSpec { len: plain.len() as u64, ..chunk(&file, 1) };
    let second = ChunkSpec {
        start: plain.len() as u64,
        len: (file.len() - plain.len()) as u64,
        codec: CompressionCodec::Snappy,
        ..chunk(&file, 1)
    };
    let mut reader = PageReader::new(Arc::new(Bytes::from(file)), first.clone(), OPTIONS).expect("a reader");
    for (chunk, byte) in [(second, 8), (first.clone(), 9), (first, 9)] {
        reader.restart(chunk).expect("another chunk");
        let page = reader.next_page().expect("a page").expect("a page");
        assert_eq!(data(&page).values.as_slice(), [byte; 40]);
        assert!(matches!(reader.next_page(), Ok(None)));
    }
}

/// A file that fails after some reads, and that copies into the buffers it is offered.
#[derive(Debug)]
struct Fallible {
    bytes: Vec<u8>,
    reads: AtomicUsize,
    fails_at: usize,
}

impl ByteRanges for Fallible {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.read_reusing(range, Vec::new())
    }

    fn read_reusing(&self, range: Range<u64>, mut buffer: Vec<u8>) -> io::Result<Bytes> {
        if self.reads.fetch_add(1, Ordering::Relaxed) == self.fails_at {
            return Err(io::Error::other("the disk is gone"));
        }
        let bytes = &self.bytes[range.start as usize..range.end as usize];
        if buffer.len() < bytes.len() {
            buffer.resize(bytes.len(), 0xdd);
        }
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(Bytes::from(buffer))
    }
}

#[test]
fn pages_larger_and_smaller_than_a_window_keep_their_bytes_while_buffers_are_used_again() {
    let lens = [10, 70_000, 65_536, 300_000, 1, 2, 3, 40_000, 40_000, 40_000, 131_072, 5, 64_000, 1_000_000, 7];
    let lens: Vec<usize> = lens.into_iter().cycle().take(60).collect();
    let body = |number: usize| (0..lens[number]).map(move |at| (at * 31 + number) as u8).collect::<Vec<_>>();
    let file = (0..lens.len()).map(|number| plain_page(1, &body(number))).collect::<Vec<_>>().concat();
    let source = Arc::new(Fallible { bytes: file.clone(), reads: AtomicUsize::new(0), fails_at: usize::MAX });
    let mut reader = PageReader::new(source, chunk(&file, lens.len() as u64), OPTIONS).expect("a reader");
    let mut held = Vec::new();
    for number in 0..lens.len() {
        let page = reader.next_page().expect("a sound page").expect("a page");
        assert!(data(&page).values.as_slice() == body(number), "page {number}");
        if number % 3 == 0 {
            held.push((number, page));
        }
    }
    for (number, page) in held {
        assert!(data(&page).values.as_slice() == body(number), "page {number} held to the end");
    }
}

#[test]
fn a_failing_source_is_reported_with_the_place() {
    let file = (0..50).map(|_| plain_page(1, &[1; 10_000])).collect::<Vec<_>>().concat();
    for fails_at in 0..4 {
        let source = Arc::new(Fallible { bytes: file.clone(), reads: AtomicUsize::new(0), fails_at });
        let error = pages(source, chunk(&file, 50), OPTIONS).expect_err("a failing source");
        let at = error.location().cloned().expect("a place");
        assert!(at.page.is_some() && at.offset.is_some() && at.column.is_some());
        assert!(matches!(error, Error::Io { op: "read", .. }), "{error:?}");
    }
}
