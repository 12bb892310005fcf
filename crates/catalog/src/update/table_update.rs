//! Brings the files of a table of Delta Lake or Iceberg up to date, by the log of the table.

use std::collections::BTreeSet;
#[cfg(feature = "lake")]
use std::collections::HashSet;
use std::sync::Arc;

use lath_parquet::DatasetOptions;
use lath_store::Transaction;
#[cfg(feature = "lake")]
use {
    lath_lake::{Lake, LakeOptions},
    lath_parquet::{ColumnMapping, DatasetFile, FolderFormat},
};

use super::changes::Changes;
use super::edit::Edit;
#[cfg(feature = "lake")]
use super::{
    discovery::{FILES_AT_A_TIME, FoundFile, read_into},
    edit::root_slots,
    partition_update,
};
use crate::catalog::Catalog;
use crate::error::{Error, Result};
#[cfg(feature = "lake")]
use crate::planning::{columns_from_json, columns_to_json};
#[cfg(feature = "lake")]
use crate::records::{BlockKind, PARTITIONS_KEY, TABLE_KEY, len_bytes, roots};
use crate::records::{META, Root, TableRecord};

/// The files that are read although the catalog has them.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "lake"), allow(dead_code, reason = "a build without lakes refuses before it reads files"))]
pub(super) enum Reread<'a> {
    /// All files.
    All,
    /// The files in these slots.
    Slots(&'a BTreeSet<u32>),
}

impl Catalog {
    /// The table whose files the catalog has; `None` for plain files.
    pub(crate) fn table(&self) -> Result<Option<TableRecord>> {
        TableRecord::read(self.store.snapshot()?.tree(META)?)
    }
}

/// A build without lakes refuses tables.
#[cfg(not(feature = "lake"))]
impl Catalog {
    pub(super) fn table_root<'r>(&self, has_table: bool, _: &[Root], _: &'r [Root]) -> Result<Option<&'r Root>> {
        if has_table { Err(Error::without_lakes()) } else { Ok(None) }
    }

    pub(super) fn update_table(
        &self,
        _: Edit<'_>,
        _: &Root,
        _: Option<&TableRecord>,
        _: Reread<'_>,
    ) -> Result<Changes> {
        Err(Error::without_lakes())
    }

    pub(super) fn refresh_table(&self, _: Transaction, _: &TableRecord, _: &BTreeSet<u32>) -> Result<Changes> {
        Err(Error::without_lakes())
    }

    pub(super) fn is_latest_table(&self, _: &TableRecord) -> Result<bool> {
        Err(Error::without_lakes())
    }

    pub(crate) fn table_files(&self) -> Result<Vec<(String, String)>> {
        Err(Error::without_lakes())
    }

    pub(crate) fn table_options(&self, _: &TableRecord) -> Result<Arc<DatasetOptions>> {
        Err(Error::without_lakes())
    }
}

#[cfg(feature = "lake")]
impl Catalog {
    /// The table, if the catalog has the files of one or if `added` is one. `known` are the locations of the catalog, and `added` the
    /// locations that are added.
    pub(super) fn table_root<'r>(
        &self,
        has_table: bool,
        known: &[Root],
        added: &'r [Root],
    ) -> Result<Option<&'r Root>> {
        let is_table = |root: &Root| -> Result<bool> {
            let format = lath_lake::format_at(&self.folder.location(&root.name)?, &Self::reading_options())?;
            Ok(matches!(format, Some(FolderFormat::DeltaLake | FolderFormat::Iceberg)))
        };
        if has_table {
            return match added.iter().find(|root| !known.contains(root)) {
                None => Ok(added.first()),
                Some(other) => Err(Error::invalid(format!(
                    "{} is not added: the catalog has the files of a table, and of nothing else; make another catalog for it",
                    self.folder.location(&other.name)?
                ))),
            };
        }
        for root in added {
            if known.contains(root) || !is_table(root)? {
                continue;
            }
            if !known.is_empty() || added.len() > 1 {
                return Err(Error::invalid(format!(
                    "{} is a table, which needs a catalog without other files: add it by itself, with --catalog and another file",
                    self.folder.location(&root.name)?
                )));
            }
            return Ok(Some(root));
        }
        Ok(None)
    }

    /// Brings the files of the table up to date, and reads the files in some slots again.
    pub(super) fn refresh_table(
        &self,
        mut transaction: Transaction,
        table: &TableRecord,
        stale: &BTreeSet<u32>,
    ) -> Result<Changes> {
        let snapshot = self.store.snapshot()?;
        if stale.is_empty() && self.is_latest_table(table)? {
            let (mut changes, mut unreadable) = (Changes::default(), false);
            self.each_entry(&snapshot, |_, entry| {
                changes.unchanged += 1;
                unreadable |= entry.read.is_none();
                Ok(())
            })?;
            if !unreadable {
                transaction.abort();
                return Ok(changes);
            }
        }
        let roots = roots::read(&snapshot)?;
        let root = roots.first().ok_or_else(|| Error::corrupt("a catalog of a table without its location"))?;
        let edit = Edit::new(&mut transaction)?;
        let changes = self.update_table(edit, root, Some(table), Reread::Slots(stale))?;
        transaction.commit()?;
        self.publish()?;
        Ok(changes)
    }

    /// Whether the catalog has the latest version of the table.
    pub(super) fn is_latest_table(&self, table: &TableRecord) -> Result<bool> {
        let (_, location) = self.table_location(&self.store.snapshot()?)?;
        self.has_latest(&location, table, &Self::reading_options())
    }

    /// Options to read files of the table as the catalog has read them.
    pub(crate) fn table_options(&self, table: &TableRecord) -> Result<Arc<DatasetOptions>> {
        let columns = Arc::new(columns_from_json(&table.columns)?);
        Ok(Arc::new(Self::reading_options().as_ref().clone().columns(columns)))
    }

    /// Names and locations of the files of the latest version of the table.
    pub(crate) fn table_files(&self) -> Result<Vec<(String, String)>> {
        let (_, location) = self.table_location(&self.store.snapshot()?)?;
        let lake = self.find_table(&location, &LakeOptions::new())?;
        let file = |file: &DatasetFile| Ok((self.folder.name(file.location())?, file.location().to_owned()));
        lake.dataset().files().iter().map(file).collect()
    }

    /// Reads the log of the table at `root`, and the files that are new. `known` is the version that the catalog has.
    pub(super) fn update_table(
        &self,
        mut edit: Edit<'_>,
        root: &Root,
        known: Option<&TableRecord>,
        reread: Reread<'_>,
    ) -> Result<Changes> {
        let location = self.folder.location(&root.name)?;
        let lake = self.find_table(&location, &LakeOptions::new())?;
        let columns = columns_to_json(lake.columns())?;
        let mut before = HashSet::new();
        if let Some(known) = known
            && (known.id != lake.id() || !keeps_columns(known, &columns)?)
        {
            before = edit.clear()?;
        }
        let changes = self.update_files(&mut edit, root, &lake, &before, reread)?;
        let log = lake.log_file()?.map(|log| (log.name, log.version));
        let record = TableRecord {
            format: lake.format(),
            id: lake.id().to_owned(),
            version: lake.version(),
            log,
            schema: Arc::clone(lake.schema()),
            columns,
        };
        edit.transaction.tree(META)?.put(TABLE_KEY, &record.to_record()?)?;
        edit.finish()?;
        Ok(changes)
    }

    /// Reads the new files of a table, and removes the others' records. `before` are the names of files whose records were removed.
    fn update_files(
        &self,
        edit: &mut Edit<'_>,
        root: &Root,
        lake: &Lake,
        before: &HashSet<String>,
        reread: Reread<'_>,
    ) -> Result<Changes> {
        let options = Self::reading_options();
        let options = Arc::new(options.as_ref().clone().columns(Arc::clone(lake.columns())));
        let files = lake.dataset().files();
        let mut changes = Changes::default();
        let mut to_read = Vec::new();
        let mut names = Vec::with_capacity(files.len());
        for file in files {
            let name = self.folder.name(file.location())?;
            if has_file(edit, root, &name, file, reread)? {
                changes.unchanged += 1;
            } else {
                let location = file.location().to_owned();
                to_read.push(FoundFile { root: root.number, name: name.clone(), location, version: None });
                if to_read.len() == FILES_AT_A_TIME {
                    read_into(edit, &mut to_read, &options, &mut changes)?;
                }
            }
            names.push(name);
        }
        read_into(edit, &mut to_read, &options, &mut changes)?;
        let read_again = names.iter().filter(|name| before.contains(*name)).count() as u64;
        changes.added = changes.added.saturating_sub(read_again);
        changes.updated += read_again;
        changes.removed = before.len() as u64 - read_again;
        let mut slots = Vec::with_capacity(files.len());
        for (name, file) in names.iter().zip(files) {
            let slot = edit.slot(root.number, name)?.ok_or_else(|| {
                Error::invalid(format!("{}: the table has this file, and it does not exist", file.location()))
            })?;
            edit.blocks.set_bit(edit.transaction, BlockKind::Deleted, 0, slot, file.deleted().is_some())?;
            slots.push(slot);
        }
        let kept: BTreeSet<u32> = slots.iter().copied().collect();
        for slot in root_slots(edit, root.number)?.into_iter().filter(|slot| !kept.contains(slot)) {
            edit.remove(slot)?;
            changes.removed += 1;
        }
        if !lake.dataset().partitions().is_empty() || edit.transaction.tree(META)?.get(PARTITIONS_KEY)?.is_some() {
            let rows = |at: usize| files[at].partition();
            partition_update::store(edit, lake.dataset().partitions(), &slots, rows)?;
        }
        Ok(changes)
    }
}

/// Whether the catalog has read a file. Files of a table never change.
#[cfg(feature = "lake")]
fn has_file(edit: &mut Edit<'_>, root: &Root, name: &str, file: &DatasetFile, reread: Reread<'_>) -> Result<bool> {
    let Some(slot) = edit.slot(root.number, name)? else { return Ok(false) };
    let is_read = match reread {
        Reread::All => false,
        Reread::Slots(slots) => !slots.contains(&slot),
    };
    let entry = edit.entry(slot)?;
    let has_length = file.size().is_none_or(|len| len == len_bytes(&entry.version));
    Ok(is_read && has_length && entry.read.is_some())
}

/// Whether the columns by which the catalog has read files still are what they were: columns may only have been added.
#[cfg(feature = "lake")]
fn keeps_columns(known: &TableRecord, columns: &str) -> Result<bool> {
    if known.columns == columns {
        return Ok(true);
    }
    let (then, now): (ColumnMapping, ColumnMapping) = (columns_from_json(&known.columns)?, columns_from_json(columns)?);
    Ok(then.columns().iter().all(|column| now.column(column.name()) == Some(column)))
}
