//! A slow and plain reader of the format, written from `docs/formats/store.md` without any code of the crate.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::contents::{NESTED, Tree, Trees};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const UNIT: usize = 64;

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// A data file.
pub(crate) struct Store {
    bytes: Vec<u8>,
    pub(crate) identity: u64,
    pub(crate) sequence: u64,
    pub(crate) is_clean: bool,
    pub(crate) catalog: u64,
    snapshots: u64,
    generation: u64,
    end: u64,
    free_map: u64,
    /// The keys and words of nested trees of the tree that is read.
    nested: RefCell<Vec<(Vec<u8>, u64)>>,
}

impl Store {
    pub(crate) fn open(bytes: Vec<u8>) -> Self {
        let is_valid = |slot: &&[u8]| {
            slot[..8] == *b"LATHKV\r\n" && matches!(u32_at(slot, 8), 1..=3) && u64_at(slot, 80) == xxh3_64(&slot[..80])
        };
        let slots = [&bytes[..88], &bytes[4096..4096 + 88]];
        let newest = slots.into_iter().filter(is_valid).max_by_key(|slot| u64_at(slot, 24)).unwrap();
        let field = |at| u64_at(newest, at);
        let is_clean = u32_at(newest, 12) == 1;
        let (identity, generation, sequence) = (field(16), field(32), field(40));
        let (catalog, snapshots, end, free_map) = (field(48), field(56), field(64), field(72));
        Self {
            identity,
            sequence,
            is_clean,
            catalog,
            snapshots,
            generation,
            end,
            free_map,
            bytes,
            nested: RefCell::default(),
        }
    }

    fn node(&self, reference: u64) -> &[u8] {
        assert!((128..self.end).contains(&reference));
        let bytes = &self.bytes[reference as usize * UNIT..];
        let units = match bytes[4] {
            3 => (24 + u64_at(bytes, 16) as usize).div_ceil(UNIT),
            _ => u16_at(bytes, 6),
        };
        let node = &bytes[..units * UNIT];
        assert_eq!(u32_at(node, 0), (xxh3_64(&node[4..]) as u32).max(1), "the checksum of node {reference}");
        assert!(u64_at(node, 8) <= self.generation + u64::from(reference == self.free_map));
        node
    }

    fn value(&self, reference: u64) -> &[u8] {
        let node = self.node(reference);
        assert_eq!(node[4], 3);
        &node[24..24 + u64_at(node, 16) as usize]
    }

    /// Calls `visit` with all nodes below a word, adds the keys and values to `tree`, and returns their number.
    fn read(&self, word: u64, path: &[u8], is_root: bool, visit: &mut dyn FnMut(u64), tree: &mut Tree) -> u64 {
        let reference = word & ((1 << 40) - 1);
        if reference == 0 {
            assert!(is_root, "only a root refers to nothing");
            return 0;
        }
        visit(reference);
        let node = self.node(reference);
        let total = match node[4] {
            1 => self.read_leaf(node, path, visit, tree),
            2 => self.read_inner(node, path, is_root, visit, tree),
            kind => panic!("a node of kind {kind}"),
        };
        assert_eq!(word >> 40, total.min((1 << 24) - 1), "the count of node {reference}");
        total
    }

    fn read_leaf(&self, node: &[u8], path: &[u8], visit: &mut dyn FnMut(u64), tree: &mut Tree) -> u64 {
        let (count, prefix_len, heap_len, dead) =
            (u16_at(node, 16), u16_at(node, 18), u16_at(node, 20), u16_at(node, 22));
        let places = 24 + count;
        let prefix = &node[places + 2 * count..][..prefix_len];
        let heap = &node[node.len() - heap_len..];
        let (mut live, mut last) = (0, None);
        assert!(count > 0 && places + 2 * count + prefix_len + heap_len <= node.len());
        for index in 0..count {
            let entry = &heap[heap.len() - u16_at(node, places + 2 * index)..];
            let (suffix_at, suffix_len) =
                if entry[0] == 255 { (4, u16_at(entry, 2)) } else { (2, usize::from(entry[0])) };
            let value_at = suffix_at + suffix_len;
            let (value, value_len) = if entry[1] == 253 {
                let reference = u64_at(entry, value_at);
                visit(reference);
                (self.value(reference), 8)
            } else if entry[1] == 254 {
                // The word takes the place of the value until `nested` replaces it.
                self.nested
                    .borrow_mut()
                    .push(([path, prefix, &entry[suffix_at..value_at]].concat(), u64_at(entry, value_at)));
                (NESTED, 8)
            } else {
                assert!(entry[1] <= 252);
                (&entry[value_at..][..usize::from(entry[1])], usize::from(entry[1]))
            };
            live += value_at + value_len;
            let key = [path, prefix, &entry[suffix_at..value_at]].concat();
            assert_eq!(node[24 + index], hash(&key));
            assert!(last.is_none_or(|last| last < key), "keys are in order");
            tree.insert(key.clone(), value.to_vec());
            last = Some(key);
        }
        assert_eq!(live + dead, heap_len);
        count as u64
    }

    fn read_inner(&self, node: &[u8], path: &[u8], is_root: bool, visit: &mut dyn FnMut(u64), tree: &mut Tree) -> u64 {
        let (total, prefix_len, dividers_len) = (u64_at(node, 16), u16_at(node, 24), u16_at(node, 26));
        let prefix = &node[28..28 + prefix_len];
        let dividers = &node[28 + prefix_len..][..dividers_len];
        let children = (28 + prefix_len + dividers_len).next_multiple_of(8);
        assert!(dividers.is_sorted_by(|a, b| a < b));
        assert!(is_root || prefix_len > 0);
        let path = [path, prefix].concat();
        let mut sum = 0;
        for index in 0..=dividers_len {
            let mut below = Tree::new();
            sum += self.read(u64_at(node, children + 8 * index), &path, false, visit, &mut below);
            for key in below.keys() {
                let next = key.get(path.len());
                assert!(index == 0 || next.is_some_and(|next| *next >= dividers[index - 1]));
                assert!(index == dividers_len || next.is_none_or(|next| *next < dividers[index]));
            }
            tree.extend(below);
        }
        assert_eq!(sum, total);
        total
    }

    fn tree(&self, word: u64, visit: &mut dyn FnMut(u64)) -> Tree {
        let mut tree = Tree::new();
        self.read(word, &[], true, visit, &mut tree);
        tree
    }

    fn trees_visiting(&self, catalog: u64, visit: &mut dyn FnMut(u64)) -> Trees {
        let catalog = self.tree(catalog, visit);
        let name = |name: Vec<u8>| String::from_utf8(name).unwrap();
        let mut pending: Vec<_> = catalog.into_iter().map(|(key, word)| (name(key), u64_at(&word, 0))).collect();
        let mut trees = Trees::new();
        while let Some((path, word)) = pending.pop() {
            trees.insert(path.clone(), self.tree(word, visit));
            let nested = self.nested.take().into_iter();
            pending.extend(nested.map(|(key, word)| (format!("{path}/{}", name(key)), word)));
        }
        trees
    }

    /// All trees below a catalog word.
    pub(crate) fn trees(&self, catalog: u64) -> Trees {
        self.trees_visiting(catalog, &mut |_| {})
    }

    /// The names of the named snapshots, their sequence numbers and catalog words.
    pub(crate) fn named(&self) -> Vec<(String, u64, u64)> {
        let named = self.tree(self.snapshots, &mut |_| {}).into_iter();
        named.map(|(name, at)| (String::from_utf8(name).unwrap(), u64_at(&at, 8), u64_at(&at, 16))).collect()
    }

    /// The nodes that are reachable.
    fn nodes(&self) -> BTreeSet<u64> {
        let mut nodes = BTreeSet::new();
        let mut visit = |reference| {
            nodes.insert(reference);
        };
        self.tree(self.snapshots, &mut visit);
        for catalog in self.named().into_iter().map(|(.., catalog)| catalog).chain([self.catalog]) {
            self.trees_visiting(catalog, &mut visit);
        }
        nodes
    }

    /// The numbers of leaves, inner nodes and value nodes.
    pub(crate) fn kinds(&self) -> [usize; 3] {
        let kinds: Vec<u8> = self.nodes().into_iter().map(|reference| self.node(reference)[4]).collect();
        [1, 2, 3].map(|kind| kinds.iter().filter(|other| **other == kind).count())
    }

    /// Compares the free map with the reachable nodes.
    pub(crate) fn check_free_map(&self) {
        const REGION: u64 = 1 << 15;
        let map = self.value(self.free_map);
        let (first, end) = (u64_at(map, 8), u64_at(map, 16));
        assert_eq!((u32_at(map, 4), first, end), (1, 128, self.end));
        let regions = end.div_ceil(REGION);
        let directory = &map[24..][..8 * regions as usize];
        assert_eq!(u32_at(map, 0), xxh3_64(&map[4..24 + directory.len()]) as u32);
        let mut bitmaps = map[24 + directory.len()..].chunks_exact(4096);
        let mut used = BTreeSet::new();
        for region in 0..regions {
            let [free, checksum] = [0, 4].map(|at| u32_at(directory, 8 * region as usize + at));
            let range = (region * REGION).max(first)..((region + 1) * REGION).min(end);
            if free == 0 || u64::from(free) == range.end - range.start {
                assert_eq!(checksum, 0);
                used.extend(range.filter(|_| free == 0));
                continue;
            }
            let bitmap = bitmaps.next().unwrap();
            assert_eq!(checksum, xxh3_64(bitmap) as u32);
            let is_set = |unit: u64| bitmap[(unit % REGION / 8) as usize] >> (unit % 8) & 1 == 1;
            assert!((region * REGION..(region + 1) * REGION).filter(|unit| !range.contains(unit)).all(is_set));
            used.extend(range.clone().filter(|unit| is_set(*unit)));
        }
        let mut expected = BTreeSet::new();
        for reference in self.nodes() {
            expected.extend(reference..reference + (self.node(reference).len() / UNIT) as u64);
        }
        let map_units = (self.free_map..end).take_while(|unit| used.contains(unit) && !expected.contains(unit));
        expected.extend(map_units.collect::<Vec<_>>());
        let differing: Vec<_> = used.symmetric_difference(&expected).collect();
        assert!(differing.is_empty(), "the free map is wrong about {differing:?} of {end}, it is at {}", self.free_map);
    }
}

fn hash(key: &[u8]) -> u8 {
    let mut parts = vec![key];
    if key.len() > 64 {
        parts = vec![&key[..32], &key[key.len() - 32..]];
    }
    let mut hash = key.len() as u64;
    for chunk in parts.iter().flat_map(|part| part.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// The valid records of a log file.
pub(crate) fn records(log: &[u8], identity: u64) -> Vec<(u64, &[u8])> {
    let mut records: Vec<(u64, &[u8])> = Vec::new();
    let mut rest = log;
    while rest.len() >= 32 && u64_at(rest, 8) != 0 && u64_at(rest, 8) == u64_at(log, 8) {
        let sequence = u64_at(rest, 16);
        let (head, len) = match &rest[29..32] {
            b"LOG" => (48, (u64_at(rest, 24) & ((1 << 40) - 1)) as usize),
            _ => (32, u64_at(rest, 24) as usize),
        };
        if records.last().is_some_and(|last| last.0 >= sequence) || head + len > rest.len() {
            break;
        }
        if u64_at(rest, 0) != xxh3_64_with_seed(&rest[8..head + len], identity) {
            break;
        }
        records.push((sequence, &rest[head..head + len]));
        rest = &rest[head + len..];
    }
    records
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, left) = rest.split_at(len);
    *rest = left;
    taken
}

fn number(rest: &mut &[u8]) -> usize {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let byte = take(rest, 1)[0];
        number |= usize::from(byte & 127) << shift;
        if byte < 128 {
            break;
        }
    }
    number
}

/// Adds a tree, and for a nested one its key.
fn add(trees: &mut Trees, path: &str, tree: Tree) {
    if let Some((outer, key)) = path.rsplit_once('/') {
        trees.get_mut(outer).unwrap().insert(key.as_bytes().to_vec(), NESTED.to_vec());
    }
    trees.entry(path.to_owned()).or_default().extend(tree);
}

/// Removes a tree, and for a nested one its key.
fn remove(trees: &mut Trees, path: &str) {
    trees.remove(path);
    if let Some((outer, key)) = path.rsplit_once('/')
        && let Some(tree) = trees.get_mut(outer)
    {
        tree.remove(key.as_bytes());
    }
}

/// Applies a record's payload to the trees, except for named snapshots.
pub(crate) fn replay(payload: &[u8], trees: &mut Trees) {
    let mut rest = payload;
    let mut names: Vec<String> = Vec::new();
    while let Some((&code, behind)) = rest.split_first() {
        rest = behind;
        if matches!(code, 1 | 5..=8) {
            let len = number(&mut rest);
            let name = String::from_utf8(take(&mut rest, len).to_vec()).unwrap();
            match code {
                1 => names.push(name),
                5 => drop(trees.entry(name).or_default()),
                6 => drop(trees.remove(&name)),
                _ => {}
            }
            continue;
        }
        let name = names[number(&mut rest)].clone();
        match code {
            9 => {
                let len = number(&mut rest);
                let key = std::str::from_utf8(take(&mut rest, len)).unwrap();
                names.push(format!("{name}/{key}"));
                continue;
            }
            10 => {
                add(trees, &name, Tree::new());
                continue;
            }
            11 | 12 => {
                let to = names[number(&mut rest)].clone();
                let is_within =
                    |path: &str| path.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                let found: Vec<_> =
                    trees.iter().filter(|(path, _)| is_within(path)).map(|(a, b)| (a.clone(), b.clone())).collect();
                for (path, tree) in found {
                    add(trees, &format!("{to}{}", &path[name.len()..]), tree);
                    if code == 11 {
                        remove(trees, &path);
                    }
                }
                continue;
            }
            _ => {}
        }
        let tree = trees.entry(name.clone()).or_default();
        match code {
            2 => {
                let (key_len, value_len) = (number(&mut rest), number(&mut rest));
                let key = take(&mut rest, key_len).to_vec();
                tree.insert(key, take(&mut rest, value_len).to_vec());
            }
            3 => {
                let len = number(&mut rest);
                let key = take(&mut rest, len);
                if tree.remove(key).is_some_and(|value| value == NESTED) {
                    let path = format!("{name}/{}", std::str::from_utf8(key).unwrap());
                    trees.retain(|other, _| *other != path && !other.starts_with(&format!("{path}/")));
                }
            }
            4 => {
                let (low_len, high_len) = (number(&mut rest), number(&mut rest));
                let low = take(&mut rest, low_len);
                let high = high_len.checked_sub(1).map(|len| take(&mut rest, len));
                tree.retain(|key, _| &key[..] < low || high.is_some_and(|high| &key[..] >= high));
            }
            other => panic!("an operation of number {other}"),
        }
    }
}
