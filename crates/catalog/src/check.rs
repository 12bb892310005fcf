//! Compares a catalog with its files.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow_schema::Schema;
use lath_parquet::DatasetOptions;
use lath_store::Snapshot;

use crate::catalog::Catalog;
use crate::error::Result;
use crate::file::{ContentOptions, Entry, Facts, ReadEntry, ReadFacts, facts};
use crate::records::{
    BLOCK_SLOTS, BLOCKS, BlockKey, BlockKind, COLUMNS, ColumnKind, ENDS, PAGE_INDEXES, PlanningColumn, number_key,
    roots,
};
use crate::slots::{BOUNDS_LEN, Bounds, bounds};

/// The result of [`Catalog::check`].
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct CatalogCheck {
    /// Number of files in the catalog.
    pub files: u64,
    /// The problems found, in the order of the files.
    pub problems: Vec<CatalogProblem>,
}

/// A problem of a catalog.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogProblem {
    /// The store, or a record in it, is damaged.
    Damaged(String),
    /// The metadata of a file in the catalog differ from the file, although the file has not changed.
    Differs {
        /// Path or URL.
        location: String,
        /// The difference.
        what: String,
    },
    /// A file has changed since the catalog read it.
    Changed(String),
    /// A file was removed.
    Gone(String),
    /// A file is not in the catalog.
    New(String),
    /// A file no longer belongs to the table.
    Dropped(String),
}

impl CatalogCheck {
    /// Whether the catalog itself is damaged: searches by it can miss rows.
    pub fn is_damaged(&self) -> bool {
        let is_damage =
            |problem: &CatalogProblem| matches!(problem, CatalogProblem::Damaged(_) | CatalogProblem::Differs { .. });
        self.problems.iter().any(is_damage)
    }
}

impl fmt::Display for CatalogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(what) => write!(f, "damaged: {what}"),
            Self::Differs { location, what } => write!(f, "{location}: {what}"),
            Self::Changed(location) => write!(f, "{location}: has changed since the catalog read it"),
            Self::Gone(location) => write!(f, "{location}: no longer exists"),
            Self::New(location) => write!(f, "{location}: is new"),
            Self::Dropped(location) => write!(f, "{location}: no longer belongs to the table"),
        }
    }
}

impl Catalog {
    /// Checks the store, lists the locations, and compares the metadata in the catalog with each file: version, footer, page index and
    /// bounds. Footers and page indexes are read, but no rows. Filters that the catalog made are not checked.
    ///
    /// ```no_run
    /// # fn main() -> lath_catalog::Result<()> {
    /// for problem in lath_catalog::Catalog::open_read_only("lake.catalog")?.check()?.problems {
    ///     println!("{problem}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the store or the files cannot be accessed. Damage is a problem in the result, not an error.
    pub fn check(&self) -> Result<CatalogCheck> {
        let mut check = CatalogCheck::default();
        let store = self.store.check()?;
        check.problems.extend(store.problems.iter().map(|problem| CatalogProblem::Damaged(problem.to_string())));
        if let Err(error) = self.check_files(&mut check) {
            match error {
                crate::Error::Corrupt { what } => check.problems.push(CatalogProblem::Damaged(what)),
                crate::Error::Store { source: lath_store::Error::Corrupt { .. } } => {
                    check.problems.push(CatalogProblem::Damaged(error.to_string()));
                }
                other => return Err(other),
            }
        }
        Ok(check)
    }

    fn check_files(&self, check: &mut CatalogCheck) -> Result<()> {
        let snapshot = self.store.snapshot()?;
        let table = self.table()?;
        let (options, in_table) = match &table {
            None => (Self::reading_options(), None),
            Some(table) => {
                let files: HashMap<String, String> = self.table_files()?.into_iter().collect();
                (self.table_options(table)?, Some(files))
            }
        };
        let columns = snapshot.tree(COLUMNS)?.map(PlanningColumn::read_all).transpose()?.unwrap_or_default();
        let mut names = HashSet::new();
        self.each_entry(&snapshot, |slot, entry| {
            check.files += 1;
            names.insert(entry.name.clone());
            let location = self.folder.location(&entry.name)?;
            if in_table.as_ref().is_some_and(|files| !files.contains_key(&entry.name)) {
                check.problems.push(CatalogProblem::Dropped(location));
                return Ok(());
            }
            check.problems.extend(check_file(&snapshot, &columns, slot, &entry, &location, &options)?);
            Ok(())
        })?;
        let expected = self.state(&snapshot)?.files;
        if check.files != u64::from(expected) {
            let what = format!("expected {expected} files, found {}", check.files);
            check.problems.push(CatalogProblem::Damaged(what));
        }
        if let Some(files) = in_table {
            let new = files.into_iter().filter(|(name, _)| !names.contains(name)).map(|(_, location)| location);
            let new: BTreeSet<String> = new.collect();
            check.problems.extend(new.into_iter().map(CatalogProblem::New));
            return Ok(());
        }
        let roots = roots::read(&snapshot)?;
        self.check_plain(&roots)?;
        for root in roots {
            let found = self.find(&root, &options, true)?;
            let new = found.into_iter().filter(|file| !names.contains(&file.name));
            check.problems.extend(new.map(|file| CatalogProblem::New(file.location)));
        }
        Ok(())
    }
}

/// The problem of one file, if it has one.
fn check_file(
    snapshot: &Snapshot,
    columns: &[PlanningColumn],
    slot: u32,
    entry: &Entry,
    location: &str,
    options: &Arc<DatasetOptions>,
) -> Result<Option<CatalogProblem>> {
    let content = ContentOptions { keys: Vec::new(), filter_budget_bytes: 0 };
    let Some(Facts { version, read }) = facts::read(location, None, options, &content)? else {
        return Ok(Some(CatalogProblem::Gone(location.to_owned())));
    };
    if version != entry.version {
        return Ok(Some(CatalogProblem::Changed(location.to_owned())));
    }
    let what = match (&entry.read, &read) {
        (None, Err(_)) => None,
        (Some(own), Ok(file)) => difference(snapshot, columns, slot, own, file)?,
        (Some(_), Err(why)) => Some(format!("the catalog has a footer, but the file's cannot be read ({why})")),
        (None, Ok(_)) => Some("the footer can be read, but the catalog has none".to_owned()),
    };
    Ok(what.map(|what| CatalogProblem::Differs { location: location.to_owned(), what }))
}

/// The difference between the metadata in the catalog and in an unchanged file.
fn difference(
    snapshot: &Snapshot,
    columns: &[PlanningColumn],
    slot: u32,
    own: &ReadEntry,
    file: &ReadFacts,
) -> Result<Option<String>> {
    if (own.rows, own.row_groups) != (file.rows, file.row_groups) {
        let (rows, groups) = (own.rows, own.row_groups);
        return Ok(Some(format!(
            "expected {} rows in {} row groups, found {rows} in {groups} in the catalog",
            file.rows, file.row_groups
        )));
    }
    let key = number_key(slot);
    let value = |tree: &str| -> Result<Option<Vec<u8>>> {
        Ok(snapshot
            .tree(tree)?
            .map(|tree| tree.get(&key).map(|value| value.map(<[u8]>::to_vec)))
            .transpose()?
            .flatten())
    };
    if value(ENDS)?.as_deref() != Some(&*file.end) {
        return Ok(Some("the footer in the catalog differs from the file's".to_owned()));
    }
    let page_index = file.page_index.as_ref().map(|(offset, bytes)| [&offset.to_le_bytes()[..], bytes].concat());
    if value(PAGE_INDEXES)? != page_index {
        return Ok(Some("the page index in the catalog differs from the file's".to_owned()));
    }
    for (field, bounds) in &file.bounds {
        let schema = Schema::new(vec![Arc::clone(field)]);
        let Some(column) = columns.iter().find(|column| column.is_like(ColumnKind::File, &schema)) else { continue };
        let own = stored_bounds(snapshot, column.id, slot)?;
        if own.is_some_and(|own| own.min > bounds.min || own.max < bounds.max) && *bounds != Bounds::NO_VALUE {
            return Ok(Some(format!(
                "the bounds of column {:?} in the catalog are narrower than the file's",
                field.name()
            )));
        }
    }
    Ok(None)
}

/// The bounds of a column in the catalog.
fn stored_bounds(snapshot: &Snapshot, column: u32, slot: u32) -> Result<Option<Bounds>> {
    let key = BlockKey { kind: BlockKind::Bounds, column, block: slot / BLOCK_SLOTS };
    let Some(blocks) = snapshot.tree(BLOCKS)? else { return Ok(None) };
    let Some(block) = blocks.get(&key.to_bytes())? else { return Ok(None) };
    let pairs: &[[u8; BOUNDS_LEN]] = block.as_chunks().0;
    Ok(pairs.get((slot % BLOCK_SLOTS) as usize).map(bounds::from_bytes))
}
