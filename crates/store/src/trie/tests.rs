//! The operations of the trie against a `BTreeMap`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use super::shares::Shares;
use super::{Cursor, Mode, Writer, count, find, walk};
use crate::arena::{FIRST_UNIT, WriteArena};
use crate::error::{Error, Result};
use crate::extent::UNIT;
use crate::node::edit_leaf::LeafWriter;
use crate::node::leaf::hash;
use crate::node::{Kind, Slot, Word};
use crate::pending::Pending;
use crate::space::Space;
use crate::writer::RemovedSubtrees;

fn writer() -> Writer {
    let arena = WriteArena::in_memory(1 << 34, FIRST_UNIT * UNIT);
    Writer::new(arena, Space::new(FIRST_UNIT, FIRST_UNIT), 1)
}

/// Ends a transaction: afterwards no node is owned, and the retired nodes are free.
fn commit(writer: &mut Writer) {
    writer.generation += 1;
    for item in std::mem::take(&mut writer.retired) {
        writer.release(item.extent).expect("releases");
    }
    let mut removed = RemovedSubtrees::default();
    removed.add(&mut writer.removed_subtrees, writer.generation, writer.arena.shared());
    let mut nodes = Vec::new();
    let (mut shares, mut late) = (Shares::default(), Vec::new());
    while removed.visit(writer.arena.shared(), &mut shares, 10, &mut nodes, &mut late).is_some() {
        for node in nodes.drain(..) {
            writer.release(node.extent).expect("releases");
        }
    }
}

fn verify(writer: &Writer, root: Word, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let arena = writer.shared();
    assert_eq!(count::total(arena, root).unwrap(), model.len() as u64);
    let mut cursor = Cursor::new(arena, root);
    for (key, value) in model {
        assert!(cursor.next().unwrap());
        assert_eq!(cursor.key().unwrap(), key);
        assert_eq!(cursor.value().unwrap().unwrap(), value);
    }
    assert!(!cursor.next().unwrap());
    for (key, value) in model.iter().rev() {
        assert!(cursor.prev().unwrap());
        assert_eq!((cursor.key().unwrap(), cursor.value().unwrap().unwrap()), (&key[..], &value[..]));
    }
    assert!(!cursor.prev().unwrap());
    let mut units = 0;
    if !root.is_none() {
        walk::walk(arena, root, 0, &mut |reference, _| {
            units += u64::from(arena.extent(reference)?.units);
            Ok(true)
        })
        .unwrap();
    }
    assert_eq!(units, writer.space.used_units(), "no node leaks");
}

fn random_key(rng: &mut fastrand::Rng, shape: u32) -> Vec<u8> {
    match shape {
        0 => rng.u16(..2000).to_be_bytes().to_vec(),
        1 => {
            let len = rng.usize(..12);
            (0..len).map(|_| rng.u8(..3) * 100).collect()
        }
        2 => {
            let mut key = b"a/rather/long/path/that/all/keys/have/".repeat(rng.usize(..3));
            key.extend(rng.u16(..500).to_string().bytes());
            key
        }
        3 => vec![b'x'; rng.usize(..700)],
        4 => rng.u64(..).to_be_bytes()[..rng.usize(..9)].to_vec(),
        _ => (0..rng.usize(..2) * rng.usize(..20_000) + rng.usize(..4)).map(|i| (i / 3) as u8).collect(),
    }
}

fn random_value(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = match rng.u8(..20) {
        0 => rng.usize(..3000),
        1..4 => rng.usize(..300),
        _ => 8,
    };
    vec![rng.u8(..); len]
}

fn history(seed: u64, shape: u32, steps: usize) {
    println!("seed {seed}, shape {shape}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut writer = writer();
    let mut root = Word::NONE;
    let mut model = BTreeMap::new();
    let mut growing = 8;
    for step in 0..steps {
        let key = random_key(&mut rng, shape);
        match rng.u8(..20) {
            0 => {
                let mut bounds = [key, random_key(&mut rng, shape)];
                bounds.sort();
                let [low, high] = bounds;
                let high = if rng.u8(..30) == 0 { None } else { Some(high) };
                if growing < 10 || rng.u8(..10) == 0 {
                    let removed = writer.remove_range(&mut root, &low, high.as_deref()).unwrap();
                    let before = model.len();
                    model.retain(|key: &Vec<u8>, _| *key < low || high.as_ref().is_some_and(|high| key >= high));
                    assert_eq!(removed, (before - model.len()) as u64);
                }
            }
            1 => {
                let arena = writer.shared();
                let rank = count::rank(arena, root, &key).unwrap();
                assert_eq!(rank, model.range(..key.clone()).count() as u64);
                let mut cursor = Cursor::new(arena, root);
                assert_eq!(cursor.seek_rank(rank).unwrap(), rank < model.len() as u64);
                let mut other = Cursor::new(arena, root);
                other.seek(&key).unwrap();
                assert_eq!(cursor.key(), other.key());
                let mut expected = model.range(key.clone()..);
                for _ in 0..5 {
                    assert_eq!(other.key(), expected.next().map(|(key, _)| &key[..]));
                    other.next().unwrap();
                }
            }
            2 if growing > 8 => {
                let mut pending = Pending::default();
                for _ in 0..rng.usize(1..150) {
                    let (key, value) = (random_key(&mut rng, shape), random_value(&mut rng));
                    pending.push(&key, &value);
                    model.insert(key, value);
                }
                pending.apply(&mut writer, &mut root).unwrap();
            }
            n if n < growing => {
                let value = random_value(&mut rng);
                let mode = if rng.bool() { Mode::Replace } else { Mode::Keep };
                let new = writer.put(&mut root, &key, &value, mode).unwrap();
                assert_eq!(new, !model.contains_key(&key));
                if new || mode == Mode::Replace {
                    model.insert(key, value);
                }
            }
            n if n < 18 => assert_eq!(writer.remove(&mut root, &key).unwrap(), model.remove(&key).is_some()),
            _ => {
                let found = find::get(writer.shared(), root, &key).unwrap();
                assert_eq!(found, model.get(&key).map(Vec::as_slice));
            }
        }
        if rng.u8(..10) == 0 {
            commit(&mut writer);
        }
        if step % 500 == 499 {
            growing = rng.u8(4..18);
            commit(&mut writer);
            verify(&writer, root, &model);
        }
    }
    commit(&mut writer);
    verify(&writer, root, &model);
}

#[test]
fn agrees_with_a_btreemap() {
    for shape in 0..6 {
        for round in 0..6 {
            history(lath_testkit::seed().wrapping_add(round), shape, 3000);
        }
    }
}

/// Unordered keys with common prefixes of different lengths.
fn small_keys() -> impl Iterator<Item = Vec<u8>> {
    let key = |number: u32| {
        let start = &b"a prefix "[..usize::from(number % 60 > 20) * 9];
        [start, &[(number * 7 % 60) as u8], &[7; 9][..number as usize % 9]].concat()
    };
    (0..60).map(key).chain([vec![b'x'; 400]])
}

/// A tree of a few leaves, with a value node and a long key.
fn small_tree() -> (Writer, Word, Vec<u64>) {
    let mut writer = writer();
    let mut root = Word::NONE;
    for (number, key) in small_keys().enumerate() {
        let value = vec![number as u8; if number == 30 { 700 } else { number % 30 }];
        writer.put(&mut root, &key, &value, Mode::Replace).unwrap();
    }
    commit(&mut writer);
    let mut nodes = Vec::new();
    walk::walk(writer.shared(), root, 0, &mut |reference, is_trie| {
        nodes.extend(is_trie.then_some(reference));
        Ok(true)
    })
    .unwrap();
    (writer, root, nodes)
}

#[test]
fn changing_damaged_nodes_never_panics() {
    type Change = fn(&mut Writer, &mut Word) -> Result<()>;
    let changes: [Change; 4] = [
        |writer, root| small_keys().try_for_each(|key| writer.put(root, &key, &[1; 40], Mode::Replace).map(drop)),
        |writer, root| small_keys().skip(10).try_for_each(|key| writer.remove(root, &key).map(drop)),
        |writer, root| writer.remove_range(root, &[3], Some(b"a prefix &")).map(drop),
        |writer, root| {
            let mut pending = Pending::default();
            for (number, key) in small_keys().enumerate() {
                pending.push(&[&key[..key.len().min(12)], &[number as u8; 3]].concat(), &[2; 20]);
            }
            pending.apply(writer, root)
        },
    ];
    let mut failed = 0;
    let (mut whole, _, nodes) = small_tree();
    for node in nodes {
        for at in 0..whole.arena.own(node, 0).unwrap().len() {
            for (number, change) in changes.iter().enumerate() {
                for way in [1, 8, 0xFF] {
                    let (mut writer, mut root, _) = small_tree();
                    writer.arena.own(node, 0).unwrap()[at] ^= way;
                    let changed =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| change(&mut writer, &mut root)));
                    let what = format!("change {number} of the node at {node} whose byte {at} was changed by {way}");
                    failed += usize::from(changed.unwrap_or_else(|_| panic!("{what}")).is_err());
                }
            }
        }
    }
    assert!(failed > 1000, "{failed}");
}

#[test]
fn leaves_with_unsorted_keys_are_not_rewritten() {
    // The common prefix of the first and the last key is longer than the second key, or the two are equal.
    for keys in [["common start 1", "common start 2", "c", "common start 9"], ["aa", "ab", "ab", "aa"]] {
        let mut writer = writer();
        let extent = writer.allocate_units(16).unwrap();
        let mut leaf = LeafWriter::new(writer.arena.fresh(extent, Kind::Leaf, 1).unwrap(), keys.len(), b"");
        keys.iter().for_each(|key| leaf.push(hash(key.as_bytes()), key.as_bytes(), Slot::Inline(&[1; 200])));
        leaf.finish();
        let mut root = Word::new(extent.start, keys.len() as u64);
        let result = writer.put(&mut root, b"z", &[1; 200], Mode::Replace);
        assert!(matches!(result, Err(Error::Corrupt { .. })), "{result:?}");
    }
}

#[test]
fn batch_put_equals_single_puts() {
    let start_seed = lath_testkit::seed();
    for seed in (start_seed..).take(60) {
        println!("seed {seed}");
        let mut rng = fastrand::Rng::with_seed(seed);
        let (mut writer, mut root, mut model) = (writer(), Word::NONE, BTreeMap::new());
        let shape = rng.u32(..7);
        for _ in 0..8 {
            let mut pending = Pending::default();
            let ascending = rng.bool();
            let mut number = rng.u64(..1 << 20);
            for _ in 0..rng.usize(..600) {
                number += rng.u64(..3);
                let key = if ascending { number.to_be_bytes().to_vec() } else { random_key(&mut rng, shape) };
                let value = random_value(&mut rng);
                pending.push(&key, &value);
                model.insert(key, value);
            }
            pending.apply(&mut writer, &mut root).unwrap();
            if rng.bool() {
                commit(&mut writer);
            }
            if rng.u8(..4) == 0
                && let Some(key) = model.keys().nth(rng.usize(..model.len().max(1))).cloned()
            {
                assert!(writer.remove(&mut root, &key).unwrap());
                model.remove(&key);
            }
        }
        commit(&mut writer);
        verify(&writer, root, &model);
    }
}
