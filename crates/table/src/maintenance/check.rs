//! Checks that the parts of a table agree.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow_array::Array;
use lath_parquet::DeleteMask;

use super::file_check::check_file;
use super::vacuum::orphans;
use crate::error::Result;
use crate::read::scan::{RowMerge, RowSource};
use crate::read::{Changes, all_values, count_by_files, entries_of_rows, has_values, with_codec};
use crate::records::history::History;
use crate::records::{Index, TreeName, named_snapshots};
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, TableSchema};
use crate::view::{Commit, Engine, HotColumns, HotCursor, View, dead_rows};

/// Report of [`Table::check`](crate::Table::check).
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Number of files that were read, with the files of named snapshots.
    pub files: usize,
    /// The number of rows of the newest commit.
    pub rows: u64,
    /// The problems; none if the table is intact.
    pub problems: Vec<Problem>,
}

impl CheckReport {
    /// Whether there is no problem.
    pub fn is_intact(&self) -> bool {
        self.problems.is_empty()
    }
}

/// A problem of a table.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// The store is damaged.
    Store {
        /// The problem.
        what: String,
    },
    /// A file is missing, unreadable, or not what its entry says.
    File {
        /// Its name in the table's folder.
        name: String,
        /// The problem.
        what: String,
    },
    /// A file that no commit names.
    Orphan {
        /// Its name in the table's folder.
        name: String,
    },
    /// An index does not have the entries that the rows have.
    Index {
        /// Its name.
        name: String,
    },
    /// Rows have values of a foreign key that no row of the other table has.
    ForeignKey {
        /// Its name.
        name: String,
        /// The first of these rows by its values.
        values: String,
    },
    /// The changes that are kept cannot be read.
    Changes {
        /// The problem.
        what: String,
    },
    /// The rows of a commit contradict each other.
    Rows {
        /// The problem.
        what: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store { what } => write!(f, "the store: {what}"),
            Self::File { name, what } => write!(f, "file {name}: {what}"),
            Self::Orphan { name } => {
                write!(f, "no commit names the file {name}: opening the table for writing removes it")
            }
            Self::Index { name } => {
                write!(f, "the index {name:?} does not match the rows: Table::repair builds it anew")
            }
            Self::ForeignKey { name, values } => {
                write!(
                    f,
                    "no row is there for {values}, which the foreign key {name:?} requires: insert it, or change the rows that refer to it"
                )
            }
            Self::Changes { what } => write!(f, "the change feed: {what}"),
            Self::Rows { what } => f.write_str(what),
        }
    }
}

/// Compares all parts with each other, for the newest commit and the named snapshots.
pub(crate) fn check(engine: &Arc<Engine>) -> Result<CheckReport> {
    // So that no file comes or goes meanwhile.
    let _no_maintenance = engine.lock_maintenance();
    check_locked(engine)
}

/// The same for a caller that keeps files from coming and going.
pub(crate) fn check_locked(engine: &Arc<Engine>) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    let store = engine.store.check()?;
    report.problems.extend(store.problems.iter().map(|problem| Problem::Store { what: problem.to_string() }));
    let newest = Commit::newest(engine)?;
    let mut checked = BTreeSet::new();
    report.rows = check_view(engine, Arc::clone(&newest), &mut checked, &mut report.problems)?;
    check_foreign_keys(engine, &newest, &mut report.problems)?;
    if let Err(error) = Changes::new(Arc::clone(&newest), 0).try_for_each(|batch| batch.map(drop)) {
        report.problems.push(Problem::Changes { what: error.to_string() });
    }
    for named in named_snapshots(newest.snapshot())? {
        if let Some(named) = Commit::find(engine, named)? {
            check_view(engine, named, &mut checked, &mut report.problems)?;
        }
    }
    let history = History::new(newest.snapshot())?;
    for kept in history.commits()? {
        if let Some(kept) = Commit::find(engine, history.open(kept)?)? {
            check_view(engine, kept, &mut checked, &mut report.problems)?;
        }
    }
    report.files = checked.len();
    report.problems.extend(orphans(engine)?.into_iter().map(|name| Problem::Orphan { name }));
    Ok(report)
}

/// Checks a commit and the files that were not checked yet; the number of its rows.
fn check_view(
    engine: &Arc<Engine>,
    mut view: Arc<Commit>,
    checked: &mut BTreeSet<u64>,
    problems: &mut Vec<Problem>,
) -> Result<u64> {
    let manifest = Arc::clone(view.manifest());
    let before = problems.len();
    for entry in manifest.files() {
        let is_new = checked.insert(entry.number);
        match check_file(engine, &mut view, entry, is_new) {
            Ok(()) => {}
            Err(what) => problems.push(Problem::File { name: entry.name.clone(), what }),
        }
    }
    if problems.len() > before {
        // The rows of such a table are unknown.
        return Ok(0);
    }
    for index in View::indexes(&view).iter() {
        check_index(engine, &mut Arc::clone(&view), index, problems)?;
    }
    let dead = dead_rows(engine, &mut view, manifest.files())?;
    match count_rows(engine, &mut view, &dead)? {
        Ok(rows) => {
            let counted = count_by_files(engine, &mut view)?;
            if rows != counted {
                problems.push(Problem::Rows { what: format!("there are {rows} rows, and {counted} are counted") });
            }
            Ok(rows)
        }
        Err(what) => {
            problems.push(Problem::Rows { what });
            Ok(0)
        }
    }
}

/// Compares the entries of an index with the entries that the rows have.
fn check_index(engine: &Arc<Engine>, view: &mut Arc<Commit>, index: &Index, problems: &mut Vec<Problem>) -> Result<()> {
    let expected = entries_of_rows(engine, view, index)?;
    let mut expected = expected.iter();
    let mut is_right = true;
    if let Some(tree) = view.index_tree(index.number())? {
        for entry in tree.iter() {
            let (key, value) = entry?;
            let wanted = expected.next();
            is_right &= wanted.is_some_and(|wanted| wanted.bytes() == &key[..] && wanted.tree_value() == *value);
        }
    }
    if !is_right || expected.next().is_some() {
        problems.push(Problem::Index { name: index.name().to_owned() });
    }
    Ok(())
}

/// Looks for the rows to which the foreign keys of a commit refer.
fn check_foreign_keys(engine: &Arc<Engine>, commit: &Arc<Commit>, problems: &mut Vec<Problem>) -> Result<()> {
    let Some(siblings) = &engine.siblings else { return Ok(()) };
    for key in &commit.foreign_keys().own {
        let referred = siblings.engine(key.referred)?;
        let mut other = Commit::of(&referred, Arc::clone(commit.shared_snapshot()))?;
        let values = all_values(&mut Arc::clone(commit), key.index)?;
        let values = values.iter().map(Vec::as_slice);
        let arrays = with_codec(commit, key.index, |codec, _| codec.decode(values))?;
        let is_there = has_values(&referred, &mut other, key.target, &arrays)?;
        let has_null = |row: usize| arrays.iter().any(|array| array.is_null(row));
        if let Some(row) = (0..is_there.len()).find(|&row| !is_there[row] && !has_null(row)) {
            let values = with_codec(commit, key.index, |codec, _| Ok(codec.describe(&arrays, row)))?;
            problems.push(Problem::ForeignKey { name: key.name.clone(), values });
        }
    }
    Ok(())
}

/// The number of rows, if no key comes twice.
fn count_rows(engine: &Engine, view: &mut Arc<Commit>, dead: &[Arc<DeleteMask>]) -> Result<Result<u64, String>> {
    let schema = Arc::clone(View::schema(view));
    let manifest = Arc::clone(view.manifest());
    let mut sources = Vec::new();
    let file_count = dead.len();
    for (entry, dead) in manifest.files().iter().zip(dead) {
        let file = engine.cold(view, entry)?;
        sources.push(RowSource::all_by_key(&file, dead, &[], file_count)?);
    }
    sources.push(RowSource::hot(HotCursor::new(KeyRange::default(), HotColumns::all(&schema)?), u64::MAX));
    let mut merge = RowMerge::by_key(Arc::clone(&schema), Vec::new(), sources);
    let (mut count, mut last): (u64, Option<Vec<u8>>) = (0, None);
    loop {
        let rows = merge.next(view, BATCH_ROWS, true)?;
        if rows.row_count == 0 {
            break;
        }
        for key in rows.keys.iter() {
            if last.as_ref().is_some_and(|last| key <= &last[..]) {
                return Ok(Err(format!("there are two rows with one key, {}", shown(&schema, key)?)));
            }
            last = Some(key.to_vec());
            count += 1;
        }
    }
    let (hot, tombstones) = (view.shared_tree(TreeName::Hot)?, view.shared_tree(TreeName::Tombstones)?);
    if let (Some(hot), Some(tombstones)) = (hot, tombstones) {
        for entry in tombstones.iter() {
            let (key, _) = entry?;
            if hot.contains_key(&key)? {
                return Ok(Err(format!("a key is hot and deleted, {}", shown(&schema, &key)?)));
            }
        }
    }
    Ok(Ok(count))
}

fn shown(schema: &TableSchema, key: &[u8]) -> Result<String> {
    Ok(schema.key().describe(&schema.key().decode([key])?, 0))
}
