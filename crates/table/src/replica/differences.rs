//! Finds the changes that lead from a copy to a commit of its source.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use lath_store::{Snapshot, Tree};

use super::change_sink::{ChangeSink, Step};
use crate::error::{Error, Result};
use crate::records::history::{self, FROM_KEY, HISTORY, History};
use crate::records::{DATABASE, FILE_PLACES, STATE_KEY, TABLES, TreeName, VIEWS, all_trees};

/// A state that the copy has.
#[derive(Clone, Copy)]
pub(crate) enum Base<'s> {
    /// An earlier commit of the source, of which the target is a successor: takes as long as the changes.
    Earlier(&'s Snapshot),
    /// The copy itself: takes as long as reading both stores.
    Copy(&'s Snapshot),
}

impl<'s> Base<'s> {
    fn snapshot(self) -> &'s Snapshot {
        match self {
            Self::Earlier(snapshot) | Self::Copy(snapshot) => snapshot,
        }
    }
}

/// Whether the copy can go on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Succession {
    /// The changes were passed on; none, if the copy has them all.
    Continued {
        /// Number of commits that the copy gets.
        steps: u64,
    },
    /// The source has another history than the copy, so the copy begins again. The reason.
    Broken(String),
}

/// Passes the changes from the base to `target` to `sink`. `copy` is the copy's newest commit.
pub(crate) fn pass_changes(
    base: Base<'_>,
    copy: &Snapshot,
    target: &Snapshot,
    sink: &mut impl ChangeSink,
) -> Result<Succession> {
    check_places(target)?;
    let position = copy.sequence();
    if target.sequence() < position {
        let (now, had) = (target.sequence(), position);
        return Ok(Succession::Broken(format!("it is at commit {now}, and the copy has commit {had}")));
    }
    let (known, wanted) = (names(copy)?, names(target)?);
    if let Base::Copy(_) = base
        && let Some(why) = contradiction(copy, target, (&known, &wanted))?
    {
        return Ok(Succession::Broken(why));
    }
    let missing = |(name, commit): &(&String, &u64)| known.get(*name) != Some(commit);
    let missing: Vec<(&String, u64)> = wanted.iter().filter(missing).map(|(name, &commit)| (name, commit)).collect();
    if let Some((name, commit)) = missing.iter().find(|(_, commit)| *commit < position) {
        let why = format!("it has a snapshot {name:?} of commit {commit}, which the copy has passed");
        return Ok(Succession::Broken(why));
    }
    if target.sequence() == position {
        let is_same = matches!(base, Base::Earlier(_)) || is_same(copy, target)?;
        let why = || format!("its commit {position} differs from the copy's");
        return Ok(if is_same { Succession::Continued { steps: 0 } } else { Succession::Broken(why()) });
    }
    let stops: BTreeSet<u64> = missing.iter().map(|(_, commit)| *commit).filter(|&commit| commit > position).collect();
    let mut stops: Vec<Snapshot> =
        stops.into_iter().map(|commit| kept(target, &missing, commit)).collect::<Result<_>>()?;
    stops.push(target.committed());
    let mut before = base.snapshot().committed();
    let mut commit = position;
    for (at, now) in stops.iter().enumerate() {
        let is_last = at + 1 == stops.len();
        let kept: Vec<String> =
            missing.iter().filter(|(_, of)| *of == commit).map(|(name, _)| (*name).clone()).collect();
        let is_replaced = |name: &&String| kept.contains(*name) || (is_last && !wanted.contains_key(*name));
        let dropped = known.keys().filter(is_replaced).cloned().collect();
        sink.begin(&Step { commit: now.sequence(), dropped, kept })?;
        let is_copy = at == 0 && matches!(base, Base::Copy(_));
        let from = History::new(target)?.from()?.unwrap_or(now.sequence());
        let available = AvailableHistory { names: [&known, &wanted], from };
        pass_trees(&before, now, is_copy, (!is_last).then_some(&available), sink)?;
        sink.end()?;
        (before, commit) = (now.committed(), now.sequence());
    }
    Ok(Succession::Continued { steps: stops.len() as u64 })
}

/// Tables whose files are in a bucket have no followers: their objects belong to one table.
fn check_places(target: &Snapshot) -> Result<()> {
    let Some(places) = target.tree(FILE_PLACES)? else { return Ok(()) };
    if places.is_empty() {
        return Ok(());
    }
    Err(Error::place(
        "a table whose files are in a bucket cannot be followed, because its objects belong to one table: back it up, and follow a copy with \
         local files",
    ))
}

/// The named snapshots of a commit, and the numbers of their commits.
pub(crate) fn names(snapshot: &Snapshot) -> Result<BTreeMap<String, u64>> {
    Ok(snapshot.named_commits()?.into_iter().collect())
}

fn kept(target: &Snapshot, missing: &[(&String, u64)], commit: u64) -> Result<Snapshot> {
    let name = missing.iter().find(|(_, of)| *of == commit).map(|(name, _)| name.as_str());
    let snapshot = name.map(|name| target.snapshot(name)).transpose()?.flatten();
    snapshot.ok_or_else(|| Error::corrupt(format!("the snapshot of commit {commit} is missing")))
}

/// Commits are lost from the newest on. So if the last commit that both keep by name is the same, all before it are.
fn contradiction(
    copy: &Snapshot,
    target: &Snapshot,
    (known, wanted): (&BTreeMap<String, u64>, &BTreeMap<String, u64>),
) -> Result<Option<String>> {
    let common = known.iter().filter(|(name, commit)| wanted.get(*name) == Some(*commit));
    let Some((name, commit)) = common.max_by_key(|(_, commit)| **commit) else { return Ok(None) };
    let (Some(here), Some(there)) = (copy.snapshot(name)?, target.snapshot(name)?) else { return Ok(None) };
    let why = || format!("its commit {commit}, which is kept as {name:?}, differs from the copy's");
    Ok((!is_same_commit(&here, &there)?).then(why))
}

/// Whether two commits with the same number have the same tables, made by the same writers.
fn is_same_commit(here: &Snapshot, there: &Snapshot) -> Result<bool> {
    for name in [DATABASE, TABLES, VIEWS] {
        if !is_same_tree(here.tree(name)?, there.tree(name)?)? {
            return Ok(false);
        }
    }
    let state = |snapshot: &Snapshot, tree: &str| -> Result<Option<Vec<u8>>> {
        let Some(tree) = snapshot.tree(tree)? else { return Ok(None) };
        Ok(tree.get(STATE_KEY)?.map(<[u8]>::to_vec))
    };
    for trees in all_trees(there)? {
        let meta = trees.get(TreeName::Meta);
        if state(here, meta)? != state(there, meta)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_same(here: &Snapshot, there: &Snapshot) -> Result<bool> {
    let names = there.tree_names()?;
    if here.tree_names()? != names || self::names(here)? != self::names(there)? {
        return Ok(false);
    }
    for name in &names {
        if !is_same_tree(here.tree(name)?, there.tree(name)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_same_tree(here: Option<Tree<'_>>, there: Option<Tree<'_>>) -> Result<bool> {
    let (Some(here), Some(there)) = (&here, &there) else { return Ok(here.is_none() && there.is_none()) };
    let mut is_same = true;
    compare(Some(here), there, |_, _| {
        is_same = false;
        Ok(())
    })?;
    Ok(is_same)
}

/// The part of the history that the copy has at a step before the last one. The source has dropped commits since that it had then.
struct AvailableHistory<'n> {
    names: [&'n BTreeMap<String, u64>; 2],
    /// The first commit whose state can be read.
    from: u64,
}

impl AvailableHistory<'_> {
    fn has(&self, commit: u64) -> bool {
        let name = history::kept_name(commit);
        self.names.iter().any(|names| names.contains_key(&name))
    }
}

fn pass_trees(
    before: &Snapshot,
    now: &Snapshot,
    is_copy: bool,
    available: Option<&AvailableHistory<'_>>,
    sink: &mut impl ChangeSink,
) -> Result<()> {
    let (old, new) = (before.tree_names()?, now.tree_names()?);
    for name in old.iter().filter(|name| new.binary_search(name).is_err()) {
        sink.drop_tree(name)?;
    }
    for name in &new {
        if old.binary_search(name).is_err() {
            sink.create_tree(name)?;
        }
        let Some(tree) = now.tree(name)? else { continue };
        let available = available.filter(|_| name == HISTORY);
        let is_missing = |key: &[u8]| {
            let commit = history::commit_in_key(key);
            available.is_some_and(|available| commit.is_some_and(|commit| !available.has(commit)))
        };
        let mut change = |key: &[u8], value: Option<&[u8]>| match value {
            Some(_) if is_missing(key) => Ok(()),
            Some(value) => sink.put(name, key, value),
            None => sink.remove(name, key),
        };
        if is_copy {
            compare(before.tree(name)?.as_ref(), &tree, change)?;
        } else {
            before.for_each_change(name, tree, |key, _, value| change(key, value))?;
        }
        if let (Some(available), Some(tree)) = (available, now.tree(name)?)
            && tree.get(FROM_KEY)?.is_some()
        {
            sink.put(name, FROM_KEY, &history::number_to_bytes(available.from))?;
        }
    }
    Ok(())
}

/// Calls `change` with the keys whose values differ between two trees of different stores, and with their values in `new`.
fn compare(
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
    mut change: impl FnMut(&[u8], Option<&[u8]>) -> Result<()>,
) -> Result<()> {
    let mut new = new.cursor();
    let mut has_new = new.next()?;
    if let Some(old) = old {
        let mut old = old.cursor();
        let mut has_old = old.next()?;
        while let Some(before) = old.key().filter(|_| has_old) {
            let order = match new.key().filter(|_| has_new) {
                Some(now) => before.cmp(now),
                None => Ordering::Less,
            };
            match order {
                Ordering::Less => change(before, None)?,
                Ordering::Equal if old.value()? == new.value()? => {}
                Ordering::Equal | Ordering::Greater => {
                    if let (Some(key), value) = (new.key(), new.value()?) {
                        change(key, value)?;
                    }
                }
            }
            if order.is_le() {
                has_old = old.next()?;
            }
            if order.is_ge() {
                has_new = new.next()?;
            }
        }
    }
    while let (true, Some(key), value) = (has_new, new.key(), new.value()?) {
        change(key, value)?;
        has_new = new.next()?;
    }
    Ok(())
}
