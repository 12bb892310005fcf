//! Every operation, on nested trees.

use std::ops::ControlFlow;

use lath_store::{Error, Item, Options, Store, TreePath};

use super::model::assert_sound;

fn store() -> Store {
    Options::new().open_in_memory().unwrap()
}

/// A store with the tree `users`, a tree nested at `ada`, with a value and another nested tree, and a value at `bob`.
fn users() -> Store {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut users = transaction.tree("users").unwrap();
    users.put(b"bob", b"a value").unwrap();
    let mut ada = users.tree_at(b"ada").unwrap();
    ada.put(b"born", b"1815").unwrap();
    let mut letters = ada.tree_at(b"letters").unwrap();
    for n in 0..2000_u32 {
        letters.put(&n.to_be_bytes(), &[7; 40]).unwrap();
    }
    letters.put(b"long", &[8; 9000]).unwrap();
    transaction.commit().unwrap();
    store
}

fn place(keys: &[&str]) -> TreePath {
    keys.iter().fold(TreePath::new("users"), TreePath::child)
}

#[test]
fn nested_tree_is_read_as_any_tree() {
    let store = users();
    let snapshot = store.snapshot().unwrap();
    let users = snapshot.tree("users").unwrap().unwrap();
    assert_eq!(users.len().unwrap(), 2);
    let letters = users.tree_at(b"ada").unwrap().unwrap().tree_at(b"letters").unwrap().unwrap();
    assert_eq!((letters.len().unwrap(), letters.rank(&5_u32.to_be_bytes()).unwrap()), (2001, 5));
    assert_eq!(letters.get(b"long").unwrap(), Some(&[8; 9000][..]));
    assert_eq!(letters.iter().rev().count(), 2001);
    assert_eq!(snapshot.tree_at(&place(&["ada", "letters"])).unwrap().unwrap().len().unwrap(), 2001);
    assert!(snapshot.tree_at(&place(&["absent", "letters"])).unwrap().is_none());
    assert!(snapshot.tree_at(&TreePath::new("none").child(b"a")).unwrap().is_none());
}

#[test]
fn key_of_tree_is_no_value_and_key_of_value_is_no_tree() {
    let store = users();
    let snapshot = store.snapshot().unwrap();
    let users = snapshot.tree("users").unwrap().unwrap();
    assert!(matches!(users.get(b"ada"), Err(Error::KeyHoldsTree)));
    assert!(matches!(users.get_unverified(b"ada"), Err(Error::KeyHoldsTree)));
    assert!(matches!(users.get_many(&["bob", "ada"]), Err(Error::KeyHoldsTree)));
    assert!(matches!(users.first(), Err(Error::KeyHoldsTree)));
    assert!(matches!(users.nth(0), Err(Error::KeyHoldsTree)));
    assert!(matches!(users.iter().next(), Some(Err(Error::KeyHoldsTree))));
    assert!(matches!(users.tree_at(b"bob"), Err(Error::KeyHoldsValue)));
    assert!(matches!(snapshot.tree_at(&place(&["bob", "x"])), Err(Error::KeyHoldsValue)));
    assert!(users.contains_key(b"ada").unwrap() && users.contains_key(b"bob").unwrap());
    assert!(matches!(users.item(b"ada").unwrap(), Some(Item::Tree(_))));
    assert!(matches!(users.item(b"bob").unwrap(), Some(Item::Value(b"a value"))));
    assert!(users.item(b"eve").unwrap().is_none());
    let mut cursor = users.cursor();
    assert!(cursor.next().unwrap());
    assert!(matches!(cursor.item().unwrap(), Some(Item::Tree(_))));
    // The error leaves the cursor where it is.
    assert!(matches!(cursor.value(), Err(Error::KeyHoldsTree)));
    assert!(cursor.next().unwrap());
    assert_eq!((cursor.key(), cursor.value().unwrap()), (Some(&b"bob"[..]), Some(&b"a value"[..])));

    let mut transaction = store.begin().unwrap();
    let mut users = transaction.tree("users").unwrap();
    assert!(matches!(users.tree_at(b"bob"), Err(Error::KeyHoldsValue)));
    assert!(matches!(users.existing_tree_at(b"bob"), Err(Error::KeyHoldsValue)));
    assert!(users.existing_tree_at(b"eve").unwrap().is_none());
    assert!(!users.insert(b"ada", b"").unwrap());
    assert!(matches!(users.get(b"ada"), Err(Error::KeyHoldsTree)));
    // These errors left everything as it was.
    transaction.commit().unwrap();
}

#[test]
fn empty_nested_tree_exists_until_it_is_removed() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut outer = transaction.tree("outer").unwrap();
    assert!(outer.tree_at(b"inner").unwrap().is_empty());
    outer.tree_at(b"inner").unwrap().put(b"key", b"").unwrap();
    assert!(outer.tree_at(b"inner").unwrap().remove(b"key").unwrap());
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let outer = snapshot.tree("outer").unwrap().unwrap();
    let inner = outer.tree_at(b"inner").unwrap().unwrap();
    assert!(inner.is_empty() && inner.len().unwrap() == 0 && inner.iter().next().is_none());
    assert_sound(&store, "an empty nested tree");
    let mut transaction = store.begin().unwrap();
    assert!(transaction.tree("outer").unwrap().remove(b"inner").unwrap());
    assert!(transaction.tree("outer").unwrap().existing_tree_at(b"inner").unwrap().is_none());
    transaction.commit().unwrap();
}

/// The bytes of nodes that the store needs.
fn used_bytes(store: &Store) -> u64 {
    store.visit_removed_subtrees().unwrap();
    for _ in 0..3 {
        store.checkpoint().unwrap();
        let mut transaction = store.begin().unwrap();
        transaction.tree("other").unwrap();
        transaction.drop_tree("other").unwrap();
        transaction.commit().unwrap();
    }
    let stats = store.stats().unwrap();
    stats.file_bytes - stats.free_bytes
}

#[test]
fn removing_and_overwriting_key_of_tree_frees_all_trees_below() {
    for how in 0..6 {
        let store = users();
        let before = used_bytes(&store);
        let mut transaction = store.begin().unwrap();
        let mut users = transaction.tree("users").unwrap();
        match how {
            0 => assert!(users.remove(b"ada").unwrap()),
            1 => users.put(b"ada", b"a value").unwrap(),
            2 => assert!(!users.upsert(b"ada", &[1; 5000]).unwrap()),
            3 => assert_eq!(users.remove_range(b"a", Some(b"b")).unwrap(), 1),
            4 => assert_eq!(users.remove_prefix(b"").unwrap(), 2),
            _ => assert!(transaction.drop_tree("users").unwrap()),
        }
        transaction.commit().unwrap();
        assert_sound(&store, "after a removal");
        let after = used_bytes(&store);
        assert!(before > 80_000 && after < 20_000, "{how}: {before} and then {after}");
        assert_sound(&store, "at the end");
    }
}

#[test]
fn moved_tree_has_its_contents_and_its_old_place_is_empty() {
    let store = users();
    let mut transaction = store.begin().unwrap();
    let (letters, top) = (place(&["ada", "letters"]), TreePath::new("letters"));
    assert!(transaction.move_tree(&letters, &top).unwrap());
    assert_eq!(transaction.tree("letters").unwrap().len().unwrap(), 2001);
    assert_eq!(transaction.tree_at(&place(&["ada"])).unwrap().len().unwrap(), 1);
    assert!(transaction.move_tree(&top, &place(&["eve"])).unwrap());
    assert!(transaction.existing_tree("letters").unwrap().is_none());
    assert!(transaction.move_tree(&place(&["ada"]), &place(&["eve", "ada"])).unwrap());
    assert_eq!(transaction.tree_at(&place(&["eve", "ada"])).unwrap().get(b"born").unwrap(), Some(&b"1815"[..]));
    assert!(transaction.move_tree(&TreePath::new("users"), &TreePath::new("people")).unwrap());
    assert!(!transaction.move_tree(&letters, &top).unwrap());
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_names().unwrap(), ["people"]);
    let eve = snapshot.tree_at(&TreePath::new("people").child(b"eve")).unwrap().unwrap();
    assert_eq!(eve.len().unwrap(), 2002);
    assert_sound(&store, "moved trees");
}

#[test]
fn move_that_would_make_cycle_or_overwrite_is_refused_and_changes_nothing() {
    let store = users();
    let mut transaction = store.begin().unwrap();
    transaction.tree("other").unwrap();
    let ada = place(&["ada"]);
    let refused = [
        (ada.clone(), ada.clone()),
        (ada.clone(), ada.clone().child(b"letters").child(b"x")),
        (TreePath::new("users"), ada.clone().child(b"new")),
        (ada.clone(), place(&["none", "x"])),
    ];
    for (from, to) in refused {
        let error = transaction.move_tree(&from, &to).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{from} to {to}: {error}");
    }
    for to in [place(&["bob"]), TreePath::new("other"), TreePath::new("users")] {
        let error = transaction.move_tree(&ada, &to).unwrap_err();
        assert!(matches!(error, Error::Exists(_)), "{to}: {error}");
    }
    assert!(matches!(transaction.move_tree(&ada, &place(&["bob", "x"])), Err(Error::KeyHoldsValue)));
    let long = place(&[]).child(vec![1; 40_000]);
    assert!(matches!(transaction.move_tree(&ada, &long), Err(Error::Limit { .. })));
    assert!(matches!(transaction.tree_at(&long).map(drop), Err(Error::Limit { .. })));
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_at(&place(&["ada", "letters"])).unwrap().unwrap().len().unwrap(), 2001);
    assert_sound(&store, "refused moves");
}

#[test]
fn handles_of_outer_and_inner_trees_are_used_in_turn() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut outer = transaction.tree("outer").unwrap();
    for n in 0..300_u32 {
        outer.put(&n.to_be_bytes(), b"").unwrap();
        let mut inner = outer.tree_at(b"inner").unwrap();
        inner.put(&n.to_be_bytes(), b"").unwrap();
        inner.tree_at(b"deep").unwrap().put(&n.to_be_bytes(), b"").unwrap();
        inner.put(&(n + 1000).to_be_bytes(), b"").unwrap();
        assert_eq!(inner.len().unwrap(), u64::from(2 * n + 3));
        assert_eq!(outer.len().unwrap(), u64::from(n + 2));
    }
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let path = TreePath::new("outer").child(b"inner").child(b"deep");
    assert_eq!(snapshot.tree_at(&path).unwrap().unwrap().len().unwrap(), 300);
    assert_sound(&store, "three trees in turn");
}

#[test]
fn trees_nest_deeply() {
    const DEPTH: usize = 3000;
    let store = store();
    let mut path = TreePath::new("top");
    for _ in 0..DEPTH {
        path = path.child(b"below");
    }
    let mut transaction = store.begin().unwrap();
    transaction.tree_at(&path).unwrap().put(b"key", b"value").unwrap();
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.tree_at(&path).unwrap().unwrap().get(b"key").unwrap(), Some(&b"value"[..]));
    assert_sound(&store, "a deep tree");
    store.checkpoint().unwrap();
    assert!(store.compact_with(|_| ControlFlow::Continue(())).unwrap().is_complete);
    let mut transaction = store.begin().unwrap();
    let to = TreePath::new("moved");
    assert!(transaction.move_tree(&TreePath::new("top").child(b"below"), &to).unwrap());
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_tree("moved").unwrap());
    transaction.commit().unwrap();
    drop(snapshot);
    assert_sound(&store, "after the removal of a deep tree");
    assert!(used_bytes(&store) < 20_000);
}

#[test]
fn many_nested_trees_are_made_in_one_transaction() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    let mut outer = transaction.tree("outer").unwrap();
    for n in 0..20_000_u32 {
        outer.tree_at(&n.to_be_bytes()).unwrap().put(b"key", &n.to_be_bytes()).unwrap();
    }
    transaction.commit().unwrap();
    let snapshot = store.snapshot().unwrap();
    let outer = snapshot.tree("outer").unwrap().unwrap();
    assert_eq!(outer.len().unwrap(), 20_000);
    for n in (0..20_000_u32).step_by(997) {
        let inner = outer.tree_at(&n.to_be_bytes()).unwrap().unwrap();
        assert_eq!(inner.get(b"key").unwrap(), Some(&n.to_be_bytes()[..]));
    }
    assert_sound(&store, "many nested trees");
}

#[test]
fn compaction_moves_nested_trees() {
    let store = Options::new().background_checkpoints(false).open_in_memory().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut filler = transaction.tree("filler").unwrap();
    (0..20_000_u32).for_each(|n| filler.put(&n.to_be_bytes(), &[1; 200]).unwrap());
    filler.put(b"long", &vec![2; 1 << 20]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    let mut outer = transaction.tree("outer").unwrap();
    for n in 0..300_u32 {
        let mut inner = outer.tree_at(&n.to_be_bytes()).unwrap();
        (0..100_u32).for_each(|n| inner.put(&n.to_be_bytes(), &[3; 30]).unwrap());
        inner.tree_at(b"deep").unwrap().put(b"long", &[4; 3000]).unwrap();
    }
    transaction.commit().unwrap();
    let mut transaction = store.begin().unwrap();
    assert!(transaction.drop_tree("filler").unwrap());
    transaction.commit().unwrap();
    store.visit_removed_subtrees().unwrap();
    let before = super::model::dump(&store.snapshot().unwrap());
    let done = store.compact().unwrap();
    let used = store.check().unwrap().node_bytes;
    assert!(done.is_complete && done.before_bytes > 4 << 20, "{done:?}");
    assert!(done.after_bytes < used + used / 4 + (1 << 20), "{done:?}, {used} used");
    assert!(done.moved_bytes > used / 2, "{done:?}, {used} used");
    assert_eq!(super::model::dump(&store.snapshot().unwrap()), before);
    assert_sound(&store, "after a compaction");
}

#[test]
fn changes_of_nested_trees_are_found_with_their_path() {
    let store = users();
    let before = store.snapshot().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.tree_at(&place(&["ada", "letters"])).unwrap().put(&5_u32.to_be_bytes(), b"new").unwrap();
    transaction.tree_at(&place(&["ada", "letters"])).unwrap().remove(b"long").unwrap();
    transaction.tree_at(&place(&["ada"])).unwrap().put(b"died", b"1852").unwrap();
    transaction.tree_at(&place(&["eve"])).unwrap().put(b"born", b"1900").unwrap();
    transaction.tree("users").unwrap().remove(b"bob").unwrap();
    transaction.commit().unwrap();
    let now = store.snapshot().unwrap();
    let tree = now.tree("users").unwrap().unwrap();
    let mut found = Vec::new();
    let each = |path: &[Vec<u8>], key: &[u8], before: Option<Item<'_>>, now: Option<Item<'_>>| {
        let kind = |item: Option<Item<'_>>| match item {
            None => "none",
            Some(Item::Value(_)) => "value",
            Some(Item::Tree(_)) => "tree",
        };
        found.push((path.join(&b'/'), key.to_vec(), kind(before), kind(now)));
        Ok::<_, Error>(())
    };
    before.for_each_nested_change("users", tree, each).unwrap();
    let expected: [(&[u8], &[u8], &str, &str); 5] = [
        (b"", b"bob", "value", "none"),
        (b"", b"eve", "none", "tree"),
        (b"ada", b"died", "none", "value"),
        (b"ada/letters", &5_u32.to_be_bytes(), "value", "value"),
        (b"ada/letters", b"long", "value", "none"),
    ];
    let expected = expected.map(|(path, key, before, now)| (path.to_vec(), key.to_vec(), before, now));
    assert_eq!(found, expected);
    // Without nested trees there is no path to report.
    let plain = before.for_each_change("users", tree, |_, _, _| Ok::<_, Error>(()));
    assert!(matches!(plain, Err(Error::KeyHoldsTree)));
}

#[test]
fn changes_of_trees_that_were_moved_are_found() {
    let store = store();
    let mut transaction = store.begin().unwrap();
    for (name, byte) in [("a", 1_u8), ("b", 2)] {
        let mut tree = transaction.tree(name).unwrap();
        (0..3000_u32).for_each(|n| tree.put(&n.to_be_bytes(), &[byte; 20]).unwrap());
    }
    transaction.commit().unwrap();
    let before = store.snapshot().unwrap();
    let mut transaction = store.begin().unwrap();
    transaction.drop_tree("a").unwrap();
    assert!(transaction.move_tree(&TreePath::new("b"), &TreePath::new("a")).unwrap());
    transaction.commit().unwrap();
    let now = store.snapshot().unwrap();
    let mut changes = 0;
    let each = |_: &[u8], before: Option<&[u8]>, now: Option<&[u8]>| {
        assert_eq!((before, now), (Some(&[1; 20][..]), Some(&[2; 20][..])));
        changes += 1;
        Ok::<_, Error>(())
    };
    before.for_each_change("a", now.tree("a").unwrap().unwrap(), each).unwrap();
    assert_eq!(changes, 3000);
}
