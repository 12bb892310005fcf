//! `kv`: the ordered store.

mod bytes_format;
mod entries;
mod load;
mod maintenance;

use std::cell::Cell;
use std::io;
use std::ops::Bound;

use lath_store::{Error, Item, Options, Snapshot, Store, Tree, TreeMut, TreePath, prefix_range, store_users};

use self::bytes_format::{format_bytes, parse_bytes};
use self::entries::Entries;
use crate::args::{
    BytesFormat, DelArgs, DumpArgs, EntryFileFormat, EntryFormat, GetArgs, Kv, KvCountArgs, PutArgs, RangeArgs,
    ScanArgs, StoreArgs, TreeArgs, TreesArgs,
};
use crate::console::quantity::plural;
use crate::destination;
use crate::encryption_key::{key_failure, store_options};
use crate::failure::{Failure, Outcome, Result};
use crate::target::Target;

pub(crate) fn run(what: &Kv) -> Result<Outcome> {
    match what {
        Kv::Get(args) => get(args),
        Kv::Put(args) => put(args),
        Kv::Del(args) => del(args),
        Kv::Scan(args) => scan(args),
        Kv::Count(args) => count(args),
        Kv::Trees(args) => trees(args),
        Kv::Load(args) => load::run(args),
        Kv::Dump(args) => dump(args),
        Kv::Check(args) => maintenance::check(args),
        Kv::Stats(args) => maintenance::stats(args),
        Kv::Compact(args) => maintenance::compact(args),
        Kv::Backup(args) => maintenance::backup(args),
        Kv::Repair(args) => maintenance::repair(args),
    }
}

/// Opens a store to write by turns with other processes, and creates it only if `create` is set.
fn open(args: &StoreArgs, create: bool) -> Result<Store> {
    let options = store_options(&args.store)?.create(create).busy_timeout(args.wait);
    if create {
        options.open(&args.store).map_err(|error| open_failure(args, error))
    } else {
        open_existing(args, &options)
    }
}

/// Opens a store for reading, while another process may write. No file is created or changed.
fn open_for_reading(args: &StoreArgs) -> Result<Store> {
    open_existing(args, &store_options(&args.store)?.create(false).read_only(true).wait(args.wait))
}

fn open_existing(args: &StoreArgs, options: &Options) -> Result<Store> {
    options.open(&args.store).map_err(|error| match error {
        Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Failure::Io(format!("{}: there is no store; lath kv put and lath kv load create one", args.store.display()))
        }
        other => open_failure(args, other),
    })
}

fn open_failure(args: &StoreArgs, error: Error) -> Failure {
    match error {
        Error::Busy | Error::BusyTimeout { .. } => Failure::Io(in_use(args)),
        other => store_failure(other),
    }
}

/// The message for a store that other processes have open, with their names as far as the system reports them.
fn in_use(args: &StoreArgs) -> String {
    let others = store_users(&args.store).into_iter().filter(|user| user.process != std::process::id());
    let users: Vec<String> = others.map(|user| user.to_string()).collect();
    let users = if users.is_empty() { String::new() } else { format!(": {}", users.join(", ")) };
    let (store, waited) = (args.store.display(), args.wait.as_secs_f32());
    format!(
        "{store}: another process has the store open{users}; waited for {waited} s: try again when it has ended, or wait \
         longer with --wait"
    )
}

fn store_failure(error: Error) -> Failure {
    match error {
        Error::Io { .. } | Error::Replaced { .. } => Failure::Io(error.to_string()),
        Error::Corrupt { .. } => Failure::Corrupt(error.to_string()),
        Error::Internal(_) => Failure::Internal(error.to_string()),
        Error::Cancelled => Failure::Interrupted,
        Error::Busy => {
            Failure::Io("another process has the store open for writing; wait longer for it with --wait".to_owned())
        }
        Error::BusyTimeout { .. } => Failure::Io(format!("{error}, or wait longer with --wait")),
        Error::Key(text) => key_failure(&text),
        Error::KeyHoldsTree => Failure::Usage(
            "a key has a nested tree and no value: --path KEY reads that tree, and lath kv trees --tree NAME lists such keys".to_owned(),
        ),
        Error::KeyHoldsValue => {
            Failure::Usage("a key of --path has a value, and no nested tree: remove it first, or name another key".to_owned())
        }
        other => Failure::Usage(other.to_string()),
    }
}

/// Calls `work` with the tree at the last commit.
fn with_tree<T>(args: &TreeArgs, work: impl FnOnce(&Tree<'_>) -> Result<T>) -> Result<T> {
    let store = open_for_reading(&args.store)?;
    let snapshot = store.snapshot().map_err(store_failure)?;
    let path = tree_path(&args.tree, &args.path, args.keys)?;
    match snapshot.tree_at(&path).map_err(store_failure)? {
        Some(tree) => work(&tree),
        None if !args.path.is_empty() => Err(no_nested_tree(&path)),
        None => {
            let trees = snapshot.tree_names().map_err(store_failure)?;
            let there = if trees.is_empty() {
                "the store has none".to_owned()
            } else {
                format!("there are {}", trees.join(", "))
            };
            Err(Failure::Usage(format!("there is no tree {:?}; {there}; choose one with --tree", args.tree)))
        }
    }
}

/// The place of a tree: its name, and the keys below which it is nested.
fn tree_path(name: &str, keys: &[String], format: BytesFormat) -> Result<TreePath> {
    keys.iter().try_fold(TreePath::new(name), |path, key| Ok(path.child(parse_bytes(key, format, "key")?)))
}

fn no_nested_tree(path: &TreePath) -> Failure {
    Failure::Usage(format!(
        "there is no tree {path}; lath kv trees --tree {} lists the trees that are nested there",
        path.name()
    ))
}

fn get(args: &GetArgs) -> Result<Outcome> {
    with_tree(&args.tree, |tree| {
        let mut values = String::new();
        let mut outcome = Outcome::Done;
        for key in &args.list {
            match tree.get(&parse_bytes(key, args.tree.keys, "key")?).map_err(store_failure)? {
                Some(value) => values.push_str(&(format_bytes(value, args.tree.values, "value")? + "\n")),
                None => outcome = Outcome::Nothing,
            }
        }
        super::print(&values)?;
        Ok(outcome)
    })
}

fn put(args: &PutArgs) -> Result<Outcome> {
    let (key, value) =
        (parse_bytes(&args.key, args.tree.keys, "key")?, parse_bytes(&args.value, args.tree.values, "value")?);
    let path = tree_path(&args.tree.tree, &args.tree.path, args.tree.keys)?;
    let store = open(&args.tree.store, true)?;
    let mut transaction = store.begin().map_err(store_failure)?;
    let mut tree = transaction.tree_at(&path).map_err(store_failure)?;
    let is_done = if args.keep { tree.insert(&key, &value) } else { tree.upsert(&key, &value).map(|_| true) };
    let is_done = is_done.map_err(store_failure)?;
    transaction.commit().map_err(store_failure)?;
    Ok(if is_done { Outcome::Done } else { Outcome::Nothing })
}

fn del(args: &DelArgs) -> Result<Outcome> {
    let store = open(&args.tree.store, false)?;
    let path = tree_path(&args.tree.tree, &args.tree.path, args.tree.keys)?;
    let mut transaction = store.begin().map_err(store_failure)?;
    let mut outcome = Outcome::Done;
    if args.list.is_empty() {
        let removed = match transaction.existing_tree_at(&path).map_err(store_failure)? {
            Some(mut tree) => remove_range(&mut tree, bounds(&args.range, &args.tree)?)?,
            None => 0,
        };
        transaction.commit().map_err(store_failure)?;
        super::print(&format!("{removed}\n"))?;
        return Ok(if removed > 0 { Outcome::Done } else { Outcome::Nothing });
    }
    match transaction.existing_tree_at(&path).map_err(store_failure)? {
        None => outcome = Outcome::Nothing,
        Some(mut tree) => {
            for key in &args.list {
                if !tree.remove(&parse_bytes(key, args.tree.keys, "key")?).map_err(store_failure)? {
                    outcome = Outcome::Nothing;
                }
            }
        }
    }
    transaction.commit().map_err(store_failure)?;
    Ok(outcome)
}

fn remove_range(tree: &mut TreeMut<'_>, (low, high): Bounds) -> Result<u64> {
    let low = match low {
        Bound::Included(low) => low,
        _ => Vec::new(),
    };
    let high = match high {
        Bound::Excluded(high) => Some(high),
        _ => None,
    };
    tree.remove_range(&low, high.as_deref()).map_err(store_failure)
}

/// The bounds of a range of keys: the first is included, the second is not.
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn bounds(range: &RangeArgs, tree: &TreeArgs) -> Result<Bounds> {
    let key = |text: &Option<String>| text.as_ref().map(|text| parse_bytes(text, tree.keys, "key")).transpose();
    if let Some(prefix) = key(&range.prefix)? {
        return Ok(prefix_range(&prefix));
    }
    let from = key(&range.from)?.map_or(Bound::Unbounded, Bound::Included);
    Ok((from, key(&range.to)?.map_or(Bound::Unbounded, Bound::Excluded)))
}

fn scan(args: &ScanArgs) -> Result<Outcome> {
    let bounds = bounds(&args.range, &args.tree)?;
    with_tree(&args.tree, |tree| {
        let mut entries = Entries::new(Target::stdout()?, args.format, ["key", "value"]);
        let range = tree.range(bounds);
        let limit = args.limit.unwrap_or(usize::MAX);
        let mut count = 0u64;
        let nested = Cell::new(0);
        let mut add = |entry: lath_store::Result<lath_store::Entry<'_>>| -> Result<()> {
            let (key, value) = entry.map_err(store_failure)?;
            count += 1;
            entries.add(format_bytes(&key, args.tree.keys, "key")?, format_bytes(value, args.tree.values, "value")?)
        };
        if args.reverse {
            range.rev().filter(|entry| has_value(entry, &nested)).take(limit).try_for_each(&mut add)?;
        } else {
            range.filter(|entry| has_value(entry, &nested)).take(limit).try_for_each(&mut add)?;
        }
        entries.finish()?;
        note_nested(nested.get(), &args.tree);
        Ok(if count > 0 { Outcome::Done } else { Outcome::Nothing })
    })
}

/// Counts an entry whose key has a nested tree.
fn has_value(entry: &lath_store::Result<lath_store::Entry<'_>>, nested: &Cell<u64>) -> bool {
    let is_nested = matches!(entry, Err(Error::KeyHoldsTree));
    nested.set(nested.get() + u64::from(is_nested));
    !is_nested
}

/// Says that keys with nested trees are not in the output.
fn note_nested(nested: u64, tree: &TreeArgs) {
    if nested > 0 {
        let keys = plural(nested, "key");
        eprintln!(
            "{keys} with nested trees left out: --path KEY reads such a tree, and lath kv trees --tree {} lists them",
            tree.tree
        );
    }
}

fn count(args: &KvCountArgs) -> Result<Outcome> {
    let bounds = bounds(&args.range, &args.tree)?;
    with_tree(&args.tree, |tree| super::print(&format!("{}\n", tree.count(bounds).map_err(store_failure)?)))
}

fn trees(args: &TreesArgs) -> Result<Outcome> {
    let store = open_for_reading(&args.store)?;
    let snapshot = store.snapshot().map_err(store_failure)?;
    if let Some(name) = &args.tree {
        return nested_trees(args, &snapshot, &tree_path(name, &args.path, args.keys)?);
    }
    let mut entries = Entries::new(Target::stdout()?, args.format, ["tree", "keys"]);
    for name in snapshot.tree_names().map_err(store_failure)? {
        let tree = snapshot.tree(&name).map_err(store_failure)?;
        let count = tree.map(|tree| tree.len()).transpose().map_err(store_failure)?.unwrap_or(0);
        entries.add(name, count.to_string())?;
    }
    entries.finish()?;
    Ok(Outcome::Done)
}

/// Lists the trees at the keys of a tree.
fn nested_trees(args: &TreesArgs, snapshot: &Snapshot, path: &TreePath) -> Result<Outcome> {
    let tree = snapshot.tree_at(path).map_err(store_failure)?.ok_or_else(|| no_nested_tree(path))?;
    let mut entries = Entries::new(Target::stdout()?, args.format, ["tree", "keys"]);
    let mut cursor = tree.cursor();
    let mut outcome = Outcome::Nothing;
    while cursor.next().map_err(store_failure)? {
        if let (Some(key), Some(Item::Tree(nested))) = (cursor.key(), cursor.item().map_err(store_failure)?) {
            let count = nested.len().map_err(store_failure)?;
            entries.add(format_bytes(key, args.keys, "key")?, count.to_string())?;
            outcome = Outcome::Done;
        }
    }
    entries.finish()?;
    Ok(outcome)
}

fn dump(args: &DumpArgs) -> Result<Outcome> {
    let format = match (args.format, &args.output) {
        (Some(format), _) => format,
        (None, Some(path)) => load::entry_format(path)?,
        (None, None) => EntryFileFormat::Jsonl,
    };
    let format = match format {
        EntryFileFormat::Csv => EntryFormat::Csv,
        EntryFileFormat::Jsonl => EntryFormat::Jsonl,
    };
    with_tree(&args.tree, |tree| {
        let target = match &args.output {
            Some(path) => {
                destination::check(path, args.force, None)?;
                Target::file(path)?
            }
            None => Target::stdout()?,
        };
        let mut entries = Entries::new(target, Some(format), ["key", "value"]);
        let nested = Cell::new(0);
        for entry in tree.iter().filter(|entry| has_value(entry, &nested)) {
            let (key, value) = entry.map_err(store_failure)?;
            entries.add(format_bytes(&key, args.tree.keys, "key")?, format_bytes(value, args.tree.values, "value")?)?;
        }
        entries.finish()?;
        note_nested(nested.get(), &args.tree);
        Ok(Outcome::Done)
    })
}
