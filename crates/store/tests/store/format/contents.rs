//! The contents of the fixtures, computed without a store.

use std::collections::BTreeMap;

pub(crate) type Tree = BTreeMap<Vec<u8>, Vec<u8>>;
pub(crate) type Trees = BTreeMap<String, Tree>;

fn trees(all: impl IntoIterator<Item = (&'static str, Tree)>) -> Trees {
    all.into_iter().map(|(name, tree)| (name.to_owned(), tree)).collect()
}

/// Keys that differ in every byte: 2,000 numbers in big-endian order, and their squares in little-endian order.
pub(crate) fn squares() -> Tree {
    (0..2000_u32).map(|n| (n.to_be_bytes().to_vec(), (u64::from(n) * u64::from(n)).to_le_bytes().to_vec())).collect()
}

/// Keys with long common prefixes, and values of all lengths around 252, the longest that is stored in a leaf.
pub(crate) fn words() -> Tree {
    const LENGTHS: [usize; 8] = [0, 1, 39, 251, 252, 253, 300, 5000];
    let key = |n: usize| format!("what all of these begin with/{n:03}/{}", "x".repeat(n % 5)).into_bytes();
    (0..300).map(|n| (key(n), vec![n as u8; LENGTHS[n % 8]])).collect()
}

/// An inner node with the maximum number of children: every byte, with longer keys after it.
pub(crate) fn bytes() -> Tree {
    let alone = (0..=255_u8).map(|byte| (vec![byte], vec![byte; 150]));
    let pairs = (0..=255_u8).flat_map(|byte| (0..4).map(move |n| (vec![byte, n * 60], vec![n; 150])));
    alone.chain(pairs).collect()
}

/// The empty key, and long ones, each a prefix of the next.
pub(crate) fn long() -> Tree {
    let lengths = [0, 1, 63, 64, 65, 254, 255, 256, 1000, 32_767, 32_768];
    lengths.into_iter().map(|len| (vec![b'k'; len], (len as u32).to_le_bytes().to_vec())).collect()
}

/// The first commit of the clean store.
pub(crate) fn first() -> Trees {
    let squares = squares().into_iter().take(1000).map(|(key, _)| (key, b"old".to_vec())).collect();
    let gone = [(b"key".to_vec(), b"value".to_vec()), (b"long".to_vec(), vec![9; 3000])].into();
    trees([("squares", squares), ("gone", gone)])
}

/// The clean store as it was closed.
pub(crate) fn clean() -> Trees {
    let names =
        [("squares", squares()), ("words", words()), ("bytes", bytes()), ("long", long()), ("empty", Tree::new())];
    trees(names)
}

/// In place of a value, for a key with a nested tree. The nested tree is there as `outer/key`.
pub(crate) const NESTED: &[u8] = b"a nested tree";

/// Adds a nested tree.
fn nest(trees: &mut Trees, outer: &str, key: &str, tree: Tree) {
    trees.get_mut(outer).unwrap().insert(key.as_bytes().to_vec(), NESTED.to_vec());
    trees.insert(format!("{outer}/{key}"), tree);
}

/// The first commit of the stores with nested trees.
pub(crate) fn nested_first() -> Trees {
    let mut trees = trees([("forest", squares().into_iter().take(300).collect()), ("small", Tree::new())]);
    nest(&mut trees, "forest", "oak", squares());
    nest(&mut trees, "forest/oak", "leaves", words());
    nest(&mut trees, "forest/oak", "roots", Tree::new());
    trees
}

/// The stores with nested trees at their end: a tree was moved, one copied and then changed, and one removed.
pub(crate) fn nested() -> Trees {
    let mut trees = nested_first();
    let leaves = trees.remove("forest/oak/leaves").unwrap();
    trees.get_mut("forest/oak").unwrap().remove(&b"leaves"[..]);
    nest(&mut trees, "small", "leaves", leaves);
    let mut copy = trees["forest/oak"].clone();
    copy.insert(b"new".to_vec(), b"value".to_vec());
    copy.remove(&b"roots"[..]);
    nest(&mut trees, "small", "oak", copy);
    trees
}

/// The checkpoint of the killed store.
pub(crate) fn checkpointed() -> Trees {
    trees([("squares", squares()), ("words", words()), ("gone", [(b"a".to_vec(), b"b".to_vec())].into())])
}

/// Its first commit after the checkpoint.
pub(crate) fn second() -> Trees {
    let mut trees = checkpointed();
    let words = trees.get_mut("words").unwrap();
    words.insert(b"new".to_vec(), vec![7; 10_000]);
    words.insert(b"empty".to_vec(), Vec::new());
    trees.insert("empty".to_owned(), Tree::new());
    trees
}

/// Its last commit.
pub(crate) fn killed() -> Trees {
    let mut trees = second();
    trees.remove("gone");
    trees.get_mut("words").unwrap().remove(&b"new"[..]);
    let squares = trees.get_mut("squares").unwrap();
    // Removes the keys from 100 to before 200, and from 1,900 on.
    squares.retain(|key, _| !(100..200).chain(1900..2000).any(|n: u32| key[..] == n.to_be_bytes()));
    trees
}
