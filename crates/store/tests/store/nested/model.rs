//! Trees with nested trees in maps, and random operations on them.

use std::collections::BTreeMap;

use fastrand::Rng;
use lath_store::{Error, Item, Snapshot, Store, Transaction, Tree, TreePath};

/// The value of a key, or its nested tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Value(Vec<u8>),
    Tree(Trees),
}

/// A tree with its nested trees.
pub(crate) type Trees = BTreeMap<Vec<u8>, Node>;

/// The trees of a commit. Their names are keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents(pub(crate) Trees);

impl Contents {
    /// The tree at a place, if it exists.
    pub(crate) fn tree(&mut self, path: &TreePath) -> Option<&mut Trees> {
        let mut tree = tree_in(&mut self.0, path.name().as_bytes())?;
        for key in path.keys() {
            tree = tree_in(tree, key)?;
        }
        Some(tree)
    }

    /// The tree around a place, if it exists, and the key there.
    fn around<'p>(&mut self, path: &'p TreePath) -> Option<(&mut Trees, &'p [u8])> {
        match path.parent() {
            None => Some((&mut self.0, path.name().as_bytes())),
            Some((parent, key)) => Some((self.tree(&parent)?, key)),
        }
    }

    /// Removes a tree from its place, and puts it at another one.
    fn relocate(&mut self, from: &TreePath, to: &TreePath) {
        let (around, key) = self.around(from).unwrap();
        let node = around.remove(key).unwrap();
        let (around, key) = self.around(to).unwrap();
        around.insert(key.to_vec(), node);
    }

    /// The places of all trees.
    pub(crate) fn places(&self) -> Vec<TreePath> {
        let mut found = Vec::new();
        let roots = self.0.iter().map(|(name, node)| (TreePath::new(String::from_utf8(name.clone()).unwrap()), node));
        let mut pending: Vec<(TreePath, &Node)> = roots.collect();
        while let Some((path, node)) = pending.pop() {
            let Node::Tree(tree) = node else { continue };
            pending.extend(tree.iter().map(|(key, node)| (path.clone().child(key), node)));
            found.push(path);
        }
        found
    }
}

fn tree_in<'t>(tree: &'t mut Trees, key: &[u8]) -> Option<&'t mut Trees> {
    match tree.get_mut(key)? {
        Node::Tree(tree) => Some(tree),
        Node::Value(_) => None,
    }
}

/// Asserts that a tree and its nested trees are as expected.
pub(crate) fn assert_same_tree(found: Tree<'_>, expected: &Trees, when: &str) {
    assert_eq!(found.len().unwrap(), expected.len() as u64, "{when}");
    let mut cursor = found.cursor();
    for (key, node) in expected {
        assert!(cursor.next().unwrap(), "{when}: {key:?} is missing");
        assert_eq!(cursor.key(), Some(&key[..]), "{when}");
        match (cursor.item().unwrap().unwrap(), node) {
            (Item::Value(found), Node::Value(expected)) => assert_eq!(found, expected, "{when}: {key:?}"),
            (Item::Tree(found), Node::Tree(expected)) => {
                assert!(matches!(cursor.value(), Err(Error::KeyHoldsTree)));
                assert_same_tree(found, expected, when);
            }
            (found, expected) => panic!("{when}: {key:?}: {found:?} instead of {expected:?}"),
        }
    }
    assert!(!cursor.next().unwrap(), "{when}");
}

pub(crate) fn assert_same(snapshot: &Snapshot, expected: &Contents, when: &str) {
    let names = snapshot.tree_names().unwrap();
    assert!(names.iter().map(String::as_bytes).eq(expected.0.keys().map(Vec::as_slice)), "{when}: {names:?}");
    for (name, node) in &expected.0 {
        let tree = snapshot.tree(std::str::from_utf8(name).unwrap()).unwrap().unwrap();
        let Node::Tree(expected) = node else { panic!("a name has a value") };
        assert_same_tree(tree, expected, when);
    }
}

pub(crate) fn assert_sound(store: &Store, when: &str) {
    let report = store.check().unwrap();
    assert!(report.is_sound(), "{when}: {:#?}", report.problems);
}

const NAMES: [&str; 3] = ["alders", "birches", "elms"];

/// A key that many operations meet, or a longer one.
fn some_key(random: &mut Rng) -> Vec<u8> {
    match random.u8(..12) {
        0 => vec![random.u8(..3); random.usize(..300)],
        1..=6 => vec![random.u8(..6)],
        _ => random.u16(..300).to_be_bytes().to_vec(),
    }
}

fn some_value(random: &mut Rng) -> Vec<u8> {
    vec![random.u8(..); [0, 3, 8, 8, 8, 60, 300, 5000][random.usize(..8)]]
}

/// The place of a tree that exists or could.
fn some_place(random: &mut Rng, contents: &Contents) -> TreePath {
    let places = contents.places();
    let new = TreePath::new(NAMES[random.usize(..NAMES.len())]);
    if places.is_empty() || random.u8(..8) == 0 {
        return new;
    }
    let place = places[random.usize(..places.len())].clone();
    if random.u8(..3) == 0 && place.keys().len() < 12 { place.child(some_key(random)) } else { place }
}

/// The number of keys of all trees.
fn size(tree: &Trees) -> usize {
    tree.values().map(|node| if let Node::Tree(tree) = node { 1 + size(tree) } else { 1 }).sum()
}

/// Runs one random operation on a transaction and on the model.
pub(crate) fn change(random: &mut Rng, transaction: &mut Transaction, contents: &mut Contents) {
    let place = some_place(random, contents);
    match random.u8(..20) {
        0..=3 => create(transaction, contents, &place),
        4 | 5 => relocate(random, transaction, contents, &place),
        // Copies of copies would soon be too large for the model.
        6 if size(&contents.0) > 20_000 => {
            let was_there = contents.0.remove(NAMES[0].as_bytes()).is_some();
            assert_eq!(transaction.drop_tree(NAMES[0]).unwrap(), was_there);
        }
        6 => copy(random, transaction, contents, &place),
        7 if place.keys().is_empty() => {
            let was_there = transaction.drop_tree(place.name()).unwrap();
            assert_eq!(was_there, contents.0.remove(place.name().as_bytes()).is_some());
        }
        _ => {
            let Some(tree) = contents.tree(&place) else {
                let found = transaction.existing_tree_at(&place);
                assert!(matches!(found, Ok(None) | Err(Error::KeyHoldsValue)), "{place}");
                return;
            };
            change_tree(random, transaction, tree, &place);
        }
    }
}

fn create(transaction: &mut Transaction, contents: &mut Contents, place: &TreePath) {
    let created = transaction.tree_at(place).map(drop);
    let mut tree = &mut contents.0;
    for key in [place.name().as_bytes()].into_iter().chain(place.keys().iter().map(Vec::as_slice)) {
        match tree.entry(key.to_vec()).or_insert_with(|| Node::Tree(Trees::new())) {
            Node::Tree(below) => tree = below,
            Node::Value(_) => return assert!(matches!(created, Err(Error::KeyHoldsValue)), "{place}"),
        }
    }
    created.unwrap();
}

fn relocate(random: &mut Rng, transaction: &mut Transaction, contents: &mut Contents, from: &TreePath) {
    let to = some_place(random, contents);
    let moved = transaction.move_tree(from, &to);
    if contents.tree(from).is_none() {
        assert!(matches!(moved, Ok(false) | Err(Error::KeyHoldsValue)), "{from} to {to}: {moved:?}");
    } else if to.is_within(from) {
        assert!(matches!(moved, Err(Error::Invalid(_))), "{from} to {to}: {moved:?}");
    } else {
        match contents.around(&to) {
            None => assert!(matches!(moved, Err(Error::Invalid(_) | Error::KeyHoldsValue)), "{to}: {moved:?}"),
            Some((around, key)) if around.contains_key(key) => assert!(matches!(moved, Err(Error::Exists(_)))),
            Some(_) => {
                assert!(moved.unwrap());
                contents.relocate(from, &to);
            }
        }
    }
}

fn copy(random: &mut Rng, transaction: &mut Transaction, contents: &mut Contents, from: &TreePath) {
    let to = some_place(random, contents);
    let copied = transaction.copy_tree(from, &to);
    let Some(tree) = contents.tree(from).cloned() else {
        return assert!(matches!(copied, Ok(false) | Err(Error::KeyHoldsValue)), "{from} to {to}: {copied:?}");
    };
    match contents.around(&to) {
        None => assert!(matches!(copied, Err(Error::Invalid(_) | Error::KeyHoldsValue)), "{to}: {copied:?}"),
        Some((around, key)) if around.contains_key(key) => assert!(matches!(copied, Err(Error::Exists(_)))),
        Some((around, key)) => {
            assert!(copied.unwrap());
            around.insert(key.to_vec(), Node::Tree(tree));
        }
    }
}

fn change_tree(random: &mut Rng, transaction: &mut Transaction, expected: &mut Trees, place: &TreePath) {
    let mut tree = transaction.existing_tree_at(place).unwrap().unwrap();
    let index = random.usize(..expected.len().max(1));
    let near = expected.keys().nth(index).cloned().filter(|_| random.bool());
    let key = near.unwrap_or_else(|| some_key(random));
    match random.u8(..12) {
        0..=3 => {
            let value = some_value(random);
            tree.put(&key, &value).unwrap();
            expected.insert(key, Node::Value(value));
        }
        4 => {
            let value = some_value(random);
            let is_new = tree.upsert(&key, &value).unwrap();
            assert_eq!(is_new, expected.insert(key, Node::Value(value)).is_none());
        }
        5 => {
            let value = some_value(random);
            assert_eq!(tree.insert(&key, &value).unwrap(), !expected.contains_key(&key));
            expected.entry(key).or_insert(Node::Value(value));
        }
        6 => assert_eq!(tree.remove(&key).unwrap(), expected.remove(&key).is_some()),
        7 => {
            let low = some_key(random);
            let high = random.bool().then(|| some_key(random));
            let removed = tree.remove_range(&low, high.as_deref()).unwrap();
            let before = expected.len();
            expected.retain(|key, _| *key < low || high.as_ref().is_some_and(|high| key >= high));
            assert_eq!(removed, (before - expected.len()) as u64);
        }
        8 | 9 => {
            for _ in 0..random.usize(..200) {
                let (key, value) = (random.u16(..).to_be_bytes().to_vec(), some_value(random));
                tree.put(&key, &value).unwrap();
                expected.insert(key, Node::Value(value));
            }
        }
        10 => match (tree.item(&key).unwrap(), expected.get(&key)) {
            (None, None) => {}
            (Some(Item::Value(found)), Some(Node::Value(expected))) => assert_eq!(found, expected),
            (Some(Item::Tree(found)), Some(Node::Tree(expected))) => assert_same_tree(found, expected, "an item"),
            (found, expected) => panic!("{key:?}: {found:?} instead of {expected:?}"),
        },
        _ => assert_same_tree(tree.as_tree().unwrap(), expected, "the own changes"),
    }
}

/// The contents of all trees.
pub(crate) fn dump(snapshot: &Snapshot) -> Contents {
    let names = snapshot.tree_names().unwrap();
    let tree = |name: String| {
        let tree = dump_tree(snapshot.tree(&name).unwrap().unwrap());
        (name.into_bytes(), Node::Tree(tree))
    };
    Contents(names.into_iter().map(tree).collect())
}

fn dump_tree(tree: Tree<'_>) -> Trees {
    let mut found = Trees::new();
    let mut cursor = tree.cursor();
    while cursor.next().unwrap() {
        let node = match cursor.item().unwrap().unwrap() {
            Item::Value(value) => Node::Value(value.to_vec()),
            Item::Tree(tree) => Node::Tree(dump_tree(tree)),
        };
        found.insert(cursor.key().unwrap().to_vec(), node);
    }
    found
}
