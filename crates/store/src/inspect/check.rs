//! Checks a store: every node that a root reaches, and every unit of the file.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};

use crate::arena::{Arena, FIRST_UNIT, HEADER_SLOTS};
use crate::error::{Error, Result};
use crate::extent::{Extent, Generation, UNIT};
use crate::node::edit_leaf::entry_len;
use crate::node::leaf::hash;
use crate::node::{Inner, Leaf, Slot, Word};
use crate::records::Header;
use crate::root::Root;
use crate::space::Space;
use crate::store::Store;
use crate::trie::find::Branch;
use crate::trie::{MAX_KEY_LEN, count};
use crate::writer::{PublishedCommit, State, sorted, walk_root};

/// Problems beyond this number are only counted.
const PROBLEMS_MAX: usize = 1000;

/// One problem found in a store.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The offset in the data file, in bytes, if known: the start of a node, of a header, or of a range of space.
    pub offset: Option<u64>,
    /// A description of the problem.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "byte {offset}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// The result of [`Store::check`].
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    /// The first 1,000 problems, in the order in which they were found.
    pub problems: Vec<Problem>,
    /// The number of further problems.
    pub omitted: u64,
    /// The number of nodes checked, including value nodes.
    pub nodes: u64,
    /// The number of keys in all trees of the newest commit.
    pub keys: u64,
    /// The number of bytes in these nodes.
    pub node_bytes: u64,
}

impl CheckReport {
    /// Returns whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, offset: Option<u64>, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem { offset, what: what.into() });
        } else {
            self.omitted += 1;
        }
    }

    fn add_error(&mut self, error: Error) {
        match error {
            Error::Corrupt { what, offset } => self.add(offset, what),
            other => self.add(None, other.to_string()),
        }
    }
}

impl Store {
    /// Checks everything that the newest commit, named snapshots and the commits held by readers reach: checksums, the
    /// order of keys, counts, and that no two nodes overlap. Then checks that exactly the reached space counts as used.
    /// Waits for an open transaction and for a running checkpoint, and keeps new ones from beginning meanwhile.
    ///
    /// Nodes that were written since the last checkpoint have no checksum yet. If the store was opened read-only and
    /// another process writes to it, or has written since, this checks only the newest commit, and not the space.
    ///
    /// # Errors
    /// Returns an error only if the store cannot be checked. The report contains the problems found.
    pub fn check(&self) -> Result<CheckReport> {
        let _use = self.engine.use_writer()?;
        let Some(_no_writer) = self.engine.exclude_writers()? else {
            let snapshot = self.snapshot()?;
            let mut checker = Checker::new(&self.engine.arena, 0);
            checker.check_root(&snapshot.root, true);
            return Ok(checker.report);
        };
        // A checkpoint writes a header without the writer lock, and a half-written header would be reported as damaged.
        let _no_checkpoint = self.engine.checkpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.engine.lock_state()?;
        let report = check_state(&self.engine.arena, &mut state);
        self.engine.unlock_state(state);
        Ok(report)
    }
}

fn check_state(arena: &Arc<Arena>, state: &mut State) -> CheckReport {
    let mut checker = Checker::new(arena, state.durable.generation);
    checker.may_share = state.has_nested;
    checker.check_headers();
    // Commits with sealed nodes, up to the durable generation, come first, then commits that only readers hold. Each
    // group starts with the newest, which has most of the shared nodes.
    let named = |is_there: bool| {
        state.named.iter().filter(move |named| named.dropped.is_none() == is_there).map(|named| named.root)
    };
    let mut kept: Vec<Root> = named(true).chain([state.durable]).collect();
    let readers = state.published.iter().map(|published| published.root);
    let mut held: Vec<Root> = readers.chain(state.checkpointing).chain(named(false)).collect();
    checker.check_root(&state.root, true);
    for roots in [&mut kept, &mut held] {
        roots.sort_unstable_by_key(|root| std::cmp::Reverse(root.generation));
        roots.dedup();
        roots.iter().filter(|root| **root != state.root).for_each(|root| checker.check_root(root, false));
        checker.durable = 0;
    }
    let records = state.published.iter().filter_map(PublishedCommit::record).chain([state.record]);
    for record in sorted(records.collect()) {
        checker.check_record(record);
    }
    checker.check_space(state);
    if state.has_nested {
        checker.check_shares(state);
    }
    checker.report
}

/// A node that is still to be checked.
struct Visit {
    word: Word,
    /// The path to the node.
    path: Arc<[u8]>,
    /// Bounds for the next byte of its keys: at least the first, and less than the second. If there is no first, a key
    /// may end here.
    bounds: (Option<u8>, Option<u8>),
    /// The generation of the referring node: no child is younger.
    birth_max: Generation,
    is_root: bool,
}

impl Visit {
    fn has(&self, byte: Option<u8>) -> bool {
        match byte {
            None => self.bounds.0.is_none(),
            Some(byte) => self.bounds.0.is_none_or(|low| byte >= low) && self.bounds.1.is_none_or(|high| byte < high),
        }
    }
}

struct Checker<'a> {
    arena: &'a Arena,
    /// Nodes up to this generation have been sealed.
    durable: Generation,
    /// The units of all nodes that were found, and their first units.
    reached: Space,
    starts: Space,
    /// Whether nothing was reached from an earlier root.
    is_first_root: bool,
    /// Nodes of this root that earlier roots reach as well.
    shared: HashSet<u64>,
    /// Whether several places of a commit may have the same nodes.
    may_share: bool,
    /// Whether every node could be visited.
    is_complete: bool,
    report: CheckReport,
}

impl<'a> Checker<'a> {
    fn new(arena: &'a Arena, durable: Generation) -> Self {
        let end = (arena.len() / UNIT).max(FIRST_UNIT);
        Self {
            arena,
            durable,
            reached: Space::new(FIRST_UNIT, end),
            starts: Space::new(FIRST_UNIT, end),
            is_first_root: true,
            shared: HashSet::new(),
            may_share: false,
            is_complete: true,
            report: CheckReport::default(),
        }
    }

    fn problem(&mut self, reference: u64, what: impl Into<String>) {
        self.report.add(Some(reference.saturating_mul(UNIT)), what);
    }

    /// Reports a node that cannot be read, so the nodes below it are not reached.
    fn report_unreadable(&mut self, reference: u64, error: Error) {
        self.is_complete = false;
        match error {
            Error::Corrupt { what, offset: None } => self.problem(reference, what),
            other => self.report.add_error(other),
        }
    }

    /// A slot was either never used or holds a header, because a header is written in one sector.
    fn check_headers(&mut self) {
        for (slot, at) in HEADER_SLOTS.into_iter().enumerate() {
            match self.arena.header(slot).and_then(|bytes| Ok((bytes, Header::parse(&bytes)?))) {
                Ok((bytes, None)) if bytes.iter().any(|byte| *byte != 0) => {
                    self.report.add(Some(at), "a header is damaged");
                }
                Ok(_) => {}
                Err(error) => self.report.add(Some(at), error.to_string()),
            }
        }
    }

    fn check_root(&mut self, root: &Root, is_newest: bool) {
        self.shared.clear();
        self.check_tree(root.catalog, root.generation);
        self.check_tree(root.snapshots, root.generation);
        let mut keys = 0;
        match root.trees(self.arena) {
            Ok(trees) => {
                for (_, tree) in trees {
                    keys += self.check_tree(tree, root.generation);
                }
            }
            Err(error) => self.report_unreadable(root.catalog.reference(), error),
        }
        if is_newest {
            self.report.keys = keys;
        }
        if let Err(error) = root.named(self.arena) {
            self.report_unreadable(root.snapshots.reference(), error);
        }
        self.is_first_root = false;
    }

    fn check_record(&mut self, reference: u64) {
        let found = self.arena.extent(reference).and_then(|extent| {
            Root::read(self.arena.node(reference)?)?;
            Ok(extent)
        });
        match found {
            Ok(extent) => {
                if !self.reached.mark_used(extent) || !self.starts.mark_used(extent) {
                    self.problem(reference, "the record of a commit overlaps another node");
                }
            }
            Err(error) => self.report_unreadable(reference, error),
        }
    }

    /// Checks all nodes of a tree and of the trees nested in it, and returns the number of their keys in nodes that no earlier root has.
    fn check_tree(&mut self, root: Word, birth_max: Generation) -> u64 {
        let path: Arc<[u8]> = Arc::from([]);
        let mut pending = Vec::new();
        if !root.is_none() {
            pending.push(Visit { word: root, path, bounds: (None, None), birth_max, is_root: true });
        }
        let mut keys = 0;
        while let Some(visit) = pending.pop() {
            let reference = visit.word.reference();
            let Some((birth, is_new)) = self.enter(reference, visit.birth_max) else { continue };
            match Branch::at(self.arena, reference) {
                Ok(Branch::Leaf(leaf)) => {
                    if is_new {
                        keys += leaf.count() as u64;
                    }
                    if let Err(error) = self.check_leaf(&visit, &leaf, (birth, is_new), &mut pending) {
                        self.report_unreadable(reference, error);
                    }
                }
                Ok(Branch::Inner(inner)) => {
                    if let Err(error) = self.check_inner(&visit, &inner) {
                        self.report_unreadable(reference, error);
                    } else if is_new {
                        push_children(&visit, &inner, birth, &mut pending);
                    }
                }
                Err(error) => self.report_unreadable(reference, error),
            }
        }
        keys
    }

    /// Checks the properties that all nodes have. Returns the node's generation, and whether this is its first visit.
    fn enter(&mut self, reference: u64, birth_max: Generation) -> Option<(Generation, bool)> {
        let found = self.arena.extent(reference).and_then(|extent| Ok((extent, self.arena.birth(reference)?)));
        let (extent, birth) = match found {
            Ok(found) => found,
            Err(error) => {
                self.report_unreadable(reference, error);
                return None;
            }
        };
        if birth > birth_max {
            self.problem(reference, "a node is younger than what refers to it");
        }
        let start = Extent { start: reference, units: 1 };
        if self.starts.is_used(start) {
            if self.may_share && (self.is_first_root || self.shared.contains(&reference)) {
                return None;
            }
            if self.is_first_root || !self.shared.insert(reference) {
                self.problem(reference, "two references in one commit lead to this node");
                self.is_complete = false;
                return None;
            }
            return Some((birth, false));
        }
        if !self.reached.mark_used(extent) {
            self.problem(reference, "a node overlaps another one");
            self.is_complete = false;
        }
        self.starts.mark_used(start);
        self.report.nodes += 1;
        self.report.node_bytes += u64::from(extent.units) * UNIT;
        match self.arena.checksums(reference) {
            Ok((stored, right)) if stored == right || (stored == 0 && birth > self.durable) => Some((birth, true)),
            Ok(_) => {
                self.problem(reference, "the checksum of a node is wrong");
                self.is_complete = false;
                None
            }
            Err(error) => {
                self.report_unreadable(reference, error);
                None
            }
        }
    }

    /// Checks a leaf of this generation, and whether this is its first visit. Adds its nested trees to `pending`.
    fn check_leaf(
        &mut self,
        visit: &Visit,
        leaf: &Leaf<'_>,
        (birth, is_new): (Generation, bool),
        pending: &mut Vec<Visit>,
    ) -> Result<()> {
        let reference = visit.word.reference();
        if visit.word.count() != Some(leaf.count() as u64) {
            self.problem(reference, "a leaf has another number of keys than its parent says");
        }
        let mut key = [&visit.path[..], leaf.prefix()].concat();
        let base = key.len();
        let mut last = Vec::new();
        let mut heap_len = leaf.dead_len();
        for index in 0..leaf.count() {
            let entry = leaf.entry(index)?;
            heap_len += entry_len(entry.suffix.len(), entry.value);
            key.truncate(base);
            key.extend_from_slice(entry.suffix);
            if index > 0 && key <= last {
                self.problem(reference, "the keys of a leaf are not in order");
            }
            if key.len() > MAX_KEY_LEN {
                self.problem(reference, "a key is longer than keys can be");
            }
            if !visit.has(key.get(visit.path.len()).copied()) {
                self.problem(reference, "a key belongs in another leaf");
            }
            if leaf.hash_at(index) != hash(&key) {
                self.problem(reference, "the hash of a key is wrong");
            }
            match entry.value {
                Slot::External(value) if is_new => self.check_value(value, birth),
                Slot::Tree(word) if is_new && word.is_none() && word != Word::NONE => {
                    self.problem(reference, "a nested tree without nodes counts keys");
                }
                Slot::Tree(word) if is_new && !word.is_none() => {
                    let path = Arc::from([]);
                    pending.push(Visit { word, path, bounds: (None, None), birth_max: birth, is_root: true });
                }
                _ => {}
            }
            last.clone_from(&key);
        }
        if heap_len != leaf.heap().len() {
            self.problem(reference, "the entries of a leaf do not fill its heap");
        }
        Ok(())
    }

    fn check_value(&mut self, reference: u64, birth_max: Generation) {
        if let Some((_, true)) = self.enter(reference, birth_max)
            && let Err(error) = self.arena.value(reference)
        {
            self.report_unreadable(reference, error);
        }
    }

    fn check_inner(&mut self, visit: &Visit, inner: &Inner<'_>) -> Result<()> {
        let reference = visit.word.reference();
        if visit.word.count() != Word::new(reference, inner.total()).count() {
            self.problem(reference, "an inner node has another number of keys than its parent says");
        }
        let mut total = 0_u64;
        for index in 0..inner.count() {
            total = total.saturating_add(count::total(self.arena, inner.child(index))?);
            if inner.child(index).is_none() {
                return Err(Error::corrupt("an inner node has an empty child"));
            }
        }
        if total != inner.total() {
            self.problem(reference, "an inner node has another number of keys than its children together");
        }
        if inner.dividers().windows(2).any(|pair| pair[0] >= pair[1]) {
            self.problem(reference, "the dividers of an inner node are not in order");
        }
        if !visit.is_root {
            match inner.prefix().first() {
                None => return Err(Error::corrupt("an inner node below the root has no prefix")),
                Some(&byte) if !visit.has(Some(byte)) => {
                    self.problem(reference, "an inner node belongs below another one");
                }
                Some(_) => {}
            }
        }
        if visit.path.len() + inner.prefix().len() > MAX_KEY_LEN {
            return Err(Error::corrupt("the path to a node is longer than the maximum length of a key"));
        }
        Ok(())
    }

    /// Checks that the counts of references are the numbers of references.
    fn check_shares(&mut self, state: &State) {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        let mut count = |extent: Extent| {
            let count = counts.entry(extent.start).or_insert(0);
            *count += 1;
            Ok(*count == 1)
        };
        let walked = walk_root(state.writer.shared(), &state.root, 0, &mut count)
            .and_then(|()| state.removed_subtrees.walk(self.arena, &mut count));
        if let Err(error) = walked {
            return self.report.add_error(error);
        }
        let shares = &state.writer.shares;
        counts.retain(|_, count| *count > 1);
        let counted = shares.nodes().map(|node| (node, shares.references(node))).filter(|(_, count)| *count > 1);
        for (node, count) in counted {
            let found = counts.remove(&node).unwrap_or(1);
            if found != count {
                self.problem(node, format!("a node has {found} references, and {count} were counted"));
            }
        }
        for (node, found) in counts {
            self.problem(node, format!("a node has {found} references, and one was counted"));
        }
    }

    /// Checks that the used space is exactly the reached nodes and the nodes that wait to become free.
    fn check_space(&mut self, state: &mut State) {
        let space = &mut state.writer.space;
        for run in self.reached.used_outside(space, 10).1 {
            self.problem(run.start, format!("{} bytes of nodes lie in free space", u64::from(run.units) * UNIT));
        }
        if space.freed_twice() > 0 {
            self.report.add(None, "space was freed twice");
        }
        for region in space.damaged_regions() {
            self.report.add(None, format!("the free map is damaged in region {region} of 2 MiB"));
        }
        if !self.is_complete || !space.damaged_regions().is_empty() {
            return;
        }
        let retired = state.writer.retired.iter().chain(&state.writer.retired_records).map(|item| item.extent);
        let dead = state.reclaimer.unneeded(&[]).chain(state.records.unneeded(&[]));
        for extent in dead.chain(retired).chain(state.free_map) {
            // A valid commit may reach it.
            if !self.starts.is_used(Extent { units: 1, ..extent }) && !self.reached.mark_used(extent) {
                self.problem(extent.start, "space of replaced nodes overlaps a node");
            }
        }
        let walked = state.removed_subtrees.walk(self.arena, &mut |extent| {
            if self.starts.is_used(Extent { units: 1, ..extent }) {
                return Ok(false);
            }
            if !self.reached.mark_used(extent) {
                let what = "space of a removed subtree overlaps a node";
                self.report.add(Some(extent.start.saturating_mul(UNIT)), what);
            }
            // Several removed subtrees may share it.
            self.starts.mark_used(Extent { units: 1, ..extent });
            Ok(true)
        });
        if let Err(error) = walked {
            return self.report.add_error(error);
        }
        for run in space.used_outside(&mut self.reached, 10).1 {
            let what = format!("{} bytes are marked as used, but nothing refers to them", u64::from(run.units) * UNIT);
            self.problem(run.start, what);
        }
    }
}

fn push_children(visit: &Visit, inner: &Inner<'_>, birth: Generation, pending: &mut Vec<Visit>) {
    let path: Arc<[u8]> = [&visit.path[..], inner.prefix()].concat().into();
    let dividers = inner.dividers();
    for index in (0..inner.count()).rev() {
        let low = index.checked_sub(1).map(|index| dividers[index]);
        let bounds = (low, dividers.get(index).copied());
        let word = inner.child(index);
        pending.push(Visit { word, path: Arc::clone(&path), bounds, birth_max: birth, is_root: false });
    }
}
