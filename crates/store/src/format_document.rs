//! Tests that `docs/formats/store.md` agrees with the code.

use std::collections::BTreeMap;

use crate::arena::{FIRST_UNIT, HEADER_LEN, HEADER_SLOTS};
use crate::extent::UNIT;
use crate::log::Log;
use crate::node::{BODY_HEAD, CHECKSUM_LEN, Kind, REFERENCE_LIMIT, Word, edit_leaf, inner, leaf, value, word};
use crate::records::{Header, MAGIC, header};
use crate::root::{NAME_MAX, Root};
use crate::space::Space;
use crate::space::regions::REGION;
use crate::storage::{MemoryStorage, Storage};
use crate::trie::MAX_KEY_LEN;

const DOCUMENT: &str = include_str!("../../../docs/formats/store.md");

/// The rows of the table whose first heading is this, without the heading and the line below it.
fn rows(heading: &str) -> Vec<Vec<&'static str>> {
    let cells = |line: &'static str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let tables = DOCUMENT.lines().skip_while(|line| !line.starts_with(&format!("| {heading} |")));
    let rows: Vec<_> = tables.take_while(|line| line.starts_with('|')).map(cells).skip(2).collect();
    assert!(!rows.is_empty(), "there is no table of {heading}");
    rows
}

/// The offset and length of each field of a structure, from a table without gaps, and the end of the last field.
fn layout(structure: &str) -> (Vec<(usize, usize)>, usize) {
    let rows = rows(&format!("{structure}: offset"));
    let fields: Vec<(usize, usize)> =
        rows.iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap())).collect();
    let mut end = 0;
    for (at, len) in &fields {
        assert_eq!(*at, end, "the {structure} has a gap");
        end += len;
    }
    (fields, end)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().unwrap())
}

#[test]
fn constants_match_the_code() {
    let code = BTreeMap::from([
        ("`VERSION`", u64::from(header::VERSION)),
        ("`NESTED_VERSION`", u64::from(header::NESTED_VERSION)),
        ("`UNIT`", UNIT),
        ("`FIRST_UNIT`", FIRST_UNIT),
        ("`REFERENCE_LIMIT`", REFERENCE_LIMIT),
        ("`COUNT_LIMIT`", word::COUNT_LIMIT),
        ("`MAX_KEY_LEN`", MAX_KEY_LEN as u64),
        ("`MAX_VALUE_LEN`", value::MAX_LEN),
        ("`INLINE_MAX`", leaf::INLINE_MAX as u64),
        ("`EXTERNAL`", leaf::EXTERNAL.into()),
        ("`TREE`", leaf::TREE.into()),
        ("`LONG`", leaf::LONG.into()),
        ("`NAME_MAX`", NAME_MAX as u64),
        ("`MAX_DIVIDERS`", inner::MAX_DIVIDERS as u64),
        ("`REGION`", REGION.into()),
    ]);
    let document: BTreeMap<_, u64> =
        rows("constant").into_iter().map(|row| (row[0], row[1].parse().unwrap())).collect();
    assert_eq!(document, code);
}

#[test]
fn headers_match_the_format_document() {
    let root = Root { generation: 12, sequence: 13, catalog: Word::from_bits(14), snapshots: Word::from_bits(15) };
    let version = header::VERSION;
    let header = Header { version, identity: 10, number: 11, root, end: 16, free_map: Some(17), is_clean: true };
    let bytes = header.to_bytes();
    let (fields, len) = layout("header");
    assert_eq!(len, HEADER_LEN);
    assert_eq!(bytes[..fields[1].0], MAGIC);
    assert_eq!((bytes[fields[1].0], bytes[fields[2].0]), (2, 1));
    let found: Vec<u64> = fields[3..11].iter().map(|(at, _)| u64_at(&bytes, *at)).collect();
    assert_eq!(found, [10, 11, 12, 13, 14, 15, 16, 17]);
    assert_eq!(HEADER_SLOTS, [0, 4096]);
}

#[test]
fn nodes_match_the_format_document() {
    let (fields, common) = layout("node");
    assert_eq!((fields[1].0, common), (CHECKSUM_LEN, CHECKSUM_LEN + 12));
    let mut body = [0; BODY_HEAD];
    crate::node::write_head(&mut body, Kind::Root, 5, 6);
    let node = [&[0; CHECKSUM_LEN][..], &body].concat();
    assert_eq!((node[fields[1].0], node[fields[3].0], u64_at(&node, fields[4].0)), (4, 5, 6));
    let kinds = [Kind::Leaf, Kind::Inner, Kind::Value, Kind::Root].map(|kind| kind as u8);
    assert_eq!(kinds, [1, 2, 3, 4]);

    assert_eq!(layout("leaf").1, CHECKSUM_LEN + edit_leaf::body_len(0, 0, 0));
    assert_eq!(layout("inner").1, CHECKSUM_LEN + inner::PREFIX);
    assert_eq!(layout("value").1, value::HEAD);

    let root = Root { generation: 6, sequence: 7, catalog: Word::from_bits(8), snapshots: Word::from_bits(9) };
    let (fields, len) = layout("root record");
    root.write(&mut body);
    let node = [&[0; CHECKSUM_LEN][..], &body].concat();
    assert_eq!(len as u64, UNIT);
    assert_eq!([1, 2, 3].map(|field: usize| u64_at(&node, fields[field].0)), [8, 7, 9]);

    let (fields, len) = layout("named snapshot");
    let bytes = root.to_snapshot();
    assert_eq!(len, bytes.len());
    assert_eq!([0, 1, 2].map(|field: usize| u64_at(&bytes, fields[field].0)), [6, 7, 8]);
}

#[test]
fn free_maps_match_the_format_document() {
    let (fields, len) = layout("free map");
    let map = Space::new(FIRST_UNIT, 1000).save([]);
    assert_eq!(map.len(), len + 8, "a header and an entry of the directory");
    assert_eq!((u64_at(&map, fields[2].0), u64_at(&map, fields[3].0)), (FIRST_UNIT, 1000));
    assert_eq!(u64_at(&map, len), 1000 - FIRST_UNIT, "units that are free, and no checksum");
}

#[test]
fn log_records_match_the_format_document() {
    let storage = MemoryStorage::new(1 << 20).unwrap();
    let log = Log::open(&storage, 1, header::VERSION).unwrap();
    log.replay(4, |_, _| Ok(())).unwrap();
    log.append(5, &[b"pay", b"load"]).unwrap();
    let mut bytes = [0; 55];
    storage.log(0).unwrap().read_at(0, &mut bytes).unwrap();
    let (fields, len) = layout("log record");
    assert_eq!(&bytes[len..], b"payload");
    assert_ne!(u64_at(&bytes, fields[1].0), 0);
    assert_eq!(
        (u64_at(&bytes, fields[2].0), bytes[fields[3].0], &bytes[fields[4].0..fields[5].0]),
        (5, 7, &b"LOG"[..])
    );
    assert_eq!((u64_at(&bytes, fields[5].0), u64_at(&bytes, fields[6].0)), (0, 4));
}
