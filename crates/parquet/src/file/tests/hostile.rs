use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

use super::{WatchedSource, written};
use crate::error::{Error, Result};
use crate::file::{OpenOptions, ParquetFile};
use crate::options::Limits;
use crate::other_format::OtherFormat;

/// A file that consists of `footer` alone.
fn file_with_footer(footer: &[u8]) -> Bytes {
    let mut bytes = b"PAR1".to_vec();
    bytes.extend_from_slice(footer);
    bytes.extend_from_slice(&u32::try_from(footer.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(b"PAR1");
    Bytes::from(bytes)
}

fn corrupt<T: Debug>(result: Result<T>) -> String {
    match result {
        Err(Error::Corrupt { what, .. }) => what,
        other => panic!("{other:?}"),
    }
}

/// A number as a varint of the Thrift compact protocol.
fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

fn list_header(count: u64) -> Vec<u8> {
    [vec![0xfc], varint(count)].concat()
}

/// A schema element: name, and number of children if it is a group; an INT32 column otherwise.
fn element(children: Option<u64>) -> Vec<u8> {
    match children {
        // repetition_type (3) REQUIRED, name (4) "g", num_children (5)
        Some(children) => [vec![0x35, 0, 0x18, 1, b'g', 0x15], varint(children << 1), vec![0]].concat(),
        // type (1) INT32, repetition_type (3) REQUIRED, name (4) "a"
        None => vec![0x15, 2, 0x25, 0, 0x18, 1, b'a', 0],
    }
}

/// version (1), schema (2), num_rows (3) and row_groups (4), which claims `row_groups` but has none.
fn footer(elements: &[Vec<u8>], row_groups: u64) -> Vec<u8> {
    let schema = [vec![0x15, 2, 0x19], list_header(elements.len() as u64), elements.concat()].concat();
    [schema, vec![0x16, 0, 0x19], list_header(row_groups), vec![0]].concat()
}

#[test]
fn a_file_of_hand_made_thrift_opens() {
    let footer = footer(&[element(Some(1)), element(None)], 0);
    let file = ParquetFile::from_bytes(file_with_footer(&footer)).unwrap();
    assert_eq!((file.row_count(), file.schema().fields().len()), (0, 1));
    assert_eq!(file.name(), None);
}

#[test]
fn what_is_no_parquet_file_is_refused() {
    let none_at_all = ParquetFile::from_bytes(Bytes::new()).unwrap_err();
    assert!(matches!(none_at_all, Error::NotParquet { looks_like: Some(OtherFormat::Empty), .. }), "{none_at_all}");
    assert_eq!(
        corrupt(ParquetFile::from_bytes(Bytes::from_static(b"PAR1PAR1"))),
        "a file of 8 bytes is too short for Parquet"
    );
    let text = Bytes::from_static(b"this is some text, which is not Parquet");
    let error = OpenOptions::new().name("some.txt").from_bytes(text).unwrap_err();
    assert_eq!(error.to_string(), "not a Parquet file: it is text, perhaps CSV (file some.txt, offset 31)");
    let bytes = ParquetFile::from_bytes(Bytes::from_static(&[0x80; 100])).unwrap_err();
    assert!(matches!(bytes, Error::NotParquet { looks_like: None, .. }), "{bytes}");
    let whole = written(10);
    let cut = "the file begins as a Parquet file and does not end as one: it was cut short";
    assert_eq!(corrupt(ParquetFile::from_bytes(whole.slice(..whole.len() - 9))), cut);
    assert!(matches!(ParquetFile::open("/nowhere/at/all.parquet"), Err(Error::Io { op: "open", .. })));
}

#[test]
fn footers_longer_than_the_file_or_the_limit_are_refused_before_they_are_read() {
    let mut bytes = written(10).to_vec();
    let len_at = bytes.len() - 8;
    bytes[len_at..len_at + 4].copy_from_slice(&200_000_000u32.to_le_bytes());
    let source = WatchedSource::new(Bytes::from(bytes));
    assert!(corrupt(ParquetFile::from_source(source.clone())).starts_with("a footer of 200000000 bytes in a file of"));
    assert_eq!(source.reads().len(), 1);

    let limits = Limits { footer_bytes: 100, ..Limits::default() };
    let error = OpenOptions::new().limits(limits).from_bytes(written(10)).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 100, .. }), "{error}");
}

#[test]
fn footers_are_read_in_one_read_or_two() {
    let short = WatchedSource::new(written(1000));
    ParquetFile::from_source(short.clone()).unwrap();
    let len = short.bytes.len() as u64;
    assert_eq!(short.reads().len(), 1);
    assert_eq!(short.reads()[0], len.saturating_sub(64 << 10)..len);

    let long = WatchedSource::new(written(100 * 600));
    let file = ParquetFile::from_source(long.clone()).unwrap();
    assert_eq!(file.row_count(), 60_000);
    assert_eq!(long.reads().len(), 2);
}

#[test]
fn claims_of_children_that_do_not_come_are_refused() {
    for children in [2, 1000, (1 << 31) - 1] {
        let footer = footer(&[element(Some(1)), element(Some(children)), element(None)], 0);
        let what = corrupt(ParquetFile::from_bytes(file_with_footer(&footer)));
        assert_eq!(what, format!("schema element 1 claims {children} children"));
    }
    let two_roots = footer(&[element(Some(1)), element(None), element(None)], 0);
    assert_eq!(corrupt(ParquetFile::from_bytes(file_with_footer(&two_roots))), "the schema has more than one root");
    let incomplete = footer(&[element(Some(2)), element(Some(1)), element(None)], 0);
    assert_eq!(
        corrupt(ParquetFile::from_bytes(file_with_footer(&incomplete))),
        "the schema ends before its last element"
    );
}

#[test]
fn claims_of_row_groups_that_do_not_come_are_refused() {
    for row_groups in [1, 1000, (1 << 31) - 1, 1 << 40] {
        let footer = footer(&[element(Some(1)), element(None)], row_groups);
        corrupt(ParquetFile::from_bytes(file_with_footer(&footer)));
    }
}

#[test]
fn schemas_too_deep_are_refused_before_they_are_walked() {
    let deep = |depth: usize| {
        let mut elements = vec![element(Some(1)); depth];
        elements.push(element(None));
        file_with_footer(&footer(&elements, 0))
    };
    ParquetFile::from_bytes(deep(100)).unwrap();
    for depth in [101, 100_000, 1_000_000] {
        let error = ParquetFile::from_bytes(deep(depth)).unwrap_err();
        assert!(matches!(error, Error::Limit { limit: 100, .. }), "{error}");
    }
    // The deepest that any limit allows is walked on the stack of a thread.
    let limits = Limits { schema_depth: usize::MAX, ..Limits::default() };
    let options = OpenOptions::new().limits(limits);
    options.clone().from_bytes(deep(512)).unwrap();
    let error = options.from_bytes(deep(513)).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 512, .. }), "{error}");
}

#[test]
fn negative_numbers_in_the_footer_are_refused() {
    // Row counts are recognizable in the footer's bytes: 77 rows are 0x9a 0x01 as a zigzag varint.
    let bytes = written(77).to_vec();
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let footer_start = bytes.len() - 8 - footer_len;
    let positions: Vec<usize> =
        (footer_start..bytes.len() - 1).filter(|&at| bytes[at..at + 2] == [0x9a, 0x01]).collect();
    assert!(positions.len() >= 4, "file, row group and two chunks");
    let mut refused = 0;
    for at in positions {
        let mut changed = bytes.clone();
        changed[at..at + 2].copy_from_slice(&[0x99, 0x01]);
        match ParquetFile::from_bytes(Bytes::from(changed)) {
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }) && error.to_string().contains("-77"), "{error}");
                refused += 1;
            }
            Ok(file) => {
                assert_eq!(file.row_count(), 77);
                // A chunk's own numbers are checked on request.
                let errors = file.metadata().row_groups().flat_map(|row_group| row_group.columns());
                for error in errors.filter_map(Result::err) {
                    assert!(error.to_string().contains("-77"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused >= 3);
}

#[test]
fn chunks_beyond_the_end_of_the_file_are_refused_when_they_are_needed() {
    let bytes = written(1000);
    // The footer after less data.
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    let cut = [b"PAR1", &bytes[bytes.len() - 8 - footer_len..]].concat();
    let file = ParquetFile::from_bytes(Bytes::from(cut)).unwrap();
    let error = file.plan(None, None).unwrap_err();
    let at = error.location().unwrap();
    assert!(matches!(error, Error::Corrupt { .. }) && at.row_group.is_some() && at.column.is_some(), "{error}");
}

#[test]
fn every_change_of_a_footer_byte_opens_or_is_refused() {
    let bytes = written(150);
    let footer_len = u32::from_le_bytes(bytes[bytes.len() - 8..bytes.len() - 4].try_into().unwrap()) as usize;
    for at in bytes.len() - 8 - footer_len..bytes.len() {
        for value in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x10, bytes[at] ^ 0x80] {
            let mut changed = bytes.to_vec();
            changed[at] = value;
            if let Ok(file) = ParquetFile::from_bytes(Bytes::from(changed)) {
                let _ = (file.page_index().is_ok(), file.plan(None, None).is_ok());
            }
        }
    }
    for len in bytes.len() - 8 - footer_len..bytes.len() {
        assert!(ParquetFile::from_bytes(bytes.slice(..len)).is_err());
    }
}

#[test]
fn a_source_that_gives_too_little_is_an_error() {
    #[derive(Debug)]
    struct Short(Bytes);
    impl lath_source::ByteRanges for Short {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }
        fn read(&self, range: std::ops::Range<u64>) -> std::io::Result<Bytes> {
            lath_source::ByteRanges::read(&self.0, range.start..range.end - 1)
        }
    }
    assert!(matches!(ParquetFile::from_source(Arc::new(Short(written(10)))), Err(Error::Io { .. })));
}
