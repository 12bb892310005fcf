//! Takes files as they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lath_parquet::{
    BlockChecksums, ChecksummedWriter, Dataset, DatasetFile, DatasetOptions, DeleteMask, FileVersion, ParquetFile,
};
use lath_writer::UncommittedFiles;

use super::file_keys::{KeysOfRows, for_each_key};
use super::schema::{column_with_nulls, difference};
use super::watch::Watch;
use crate::error::{Error, Result};
use crate::file::{DataFile, Files, copy_file, link_or_copy};
use crate::records::{FileEntry, NO_ORDER};
use crate::row::TableSchema;
use crate::write::{NewFile, NewFiles, OpenWrite};

/// A file of the dataset.
pub(super) enum Source {
    Taken(Box<TakenFile>),
    /// A file with this place in the dataset.
    Rewritten(usize),
}

/// A file that becomes one of the table.
pub(super) struct TakenFile {
    path: PathBuf,
    /// As it was before its keys were read.
    version: FileVersion,
    /// Its name is its path.
    entry: FileEntry,
    deleted: DeleteMask,
}

/// Reads the keys of a file of a dataset, if it can be taken as it is, into a table that `is_encrypted` or not: else the reason. `None` for a file in which no row counts.
pub(super) fn examine(
    schema: &Arc<TableSchema>,
    file: &DatasetFile,
    options: &DatasetOptions,
    is_encrypted: bool,
    watch: &mut Watch<'_>,
) -> Result<std::result::Result<Option<(TakenFile, KeysOfRows)>, String>> {
    if is_encrypted {
        return Ok(Err("the table is encrypted".to_owned()));
    }
    if file.partition().iter().any(|&row| row != DatasetFile::NO_CONSTANT) {
        return Ok(Err("columns have their values from names of folders or from the log".to_owned()));
    }
    let Some(path) = file.path() else { return Ok(Err("it is not on this machine".to_owned())) };
    let path = real_path(path)?;
    let Some(name) = path.to_str() else { return Ok(Err("its path is not UTF-8".to_owned())) };
    let metadata = fs::metadata(&path).map_err(Error::io("open", &path))?;
    let found = DatasetFile::find(&path, options)?.into_iter().next();
    let found = match found.ok_or_else(|| Error::import(format!("{name} is missing")))?.open() {
        Ok(found) if !may_be_encrypted(&found) => found,
        // The table has no keys.
        Ok(_) | Err(lath_parquet::Error::Encrypted { .. }) => return Ok(Err("it is encrypted".to_owned())),
        Err(error) => return Err(error.into()),
    };
    // The dataset can find columns by their numbers or under other names than the table, which finds them by their own names.
    let mapped = file.open()?;
    if let Some(difference) = [&found, &mapped].into_iter().find_map(|file| difference(file.schema(), schema)) {
        return Ok(Err(difference));
    }
    if let Some(column) = column_with_nulls(&found, schema) {
        return Ok(Err(format!("its column {column} may have nulls, and the table's has none")));
    }
    let deleted = match file.deleted() {
        Some(deleted) => DeleteMask::clone(deleted.mask()?),
        None => DeleteMask::new(),
    };
    if deleted.iter().last().is_some_and(|row| row >= found.row_count()) {
        return Err(Error::import(format!("{name} has fewer rows than are deleted in it")));
    }
    if deleted.len() == found.row_count() {
        return Ok(Ok(None));
    }
    let entry = FileEntry {
        number: 0,
        name: name.to_owned(),
        schema: schema.version(),
        level: 0,
        rows: found.row_count(),
        bytes: metadata.len(),
        masked: 0,
        mask_stamp: 0,
        born: 0,
        min: Vec::new(),
        max: Vec::new(),
        order: Vec::new(),
        is_checksummed: false,
        tag: String::new(),
    };
    let taken = TakenFile { path, version: FileVersion::from_metadata(&metadata), entry, deleted };
    let mut keys = KeysOfRows::default();
    // Keys of all rows, deleted ones too: the lookup of a key returns the first row that has it.
    let mut all: Vec<u64> = Vec::new();
    let mut has_null = false;
    taken.for_each_key(schema, options, |row, key| {
        let is_live = !taken.deleted.contains(row);
        watch.add_rows(1)?;
        match key {
            Some(key) => {
                all.push(xxhash_rust::xxh3::xxh3_64(key));
                keys.push(key, is_live)
            }
            None if is_live => Err(Error::import(format!(
                "row {row} of {} has a null in a key column: choose other key columns, or delete the row in the source",
                taken.entry.name
            ))),
            None => {
                has_null = true;
                Ok(())
            }
        }
    })?;
    if has_null {
        return Ok(Err("deleted rows have nulls as keys".to_owned()));
    }
    if !keys.is_sorted() {
        all.sort_unstable();
        if all.array_windows().any(|[one, other]| one == other) {
            return Ok(Err("it has rows with the same key, of which some are deleted".to_owned()));
        }
    }
    Ok(Ok(Some((taken, keys))))
}

/// Whether the pages of a column are encrypted, as far as the footer tells without keys.
fn may_be_encrypted(file: &ParquetFile) -> bool {
    let metadata = file.metadata();
    let is_plain = |leaf| metadata.chunk(0, leaf).is_ok_and(|chunk| !chunk.is_encrypted());
    metadata.row_group_count() > 0 && !(0..metadata.schema_descr().num_columns()).all(is_plain)
}

impl TakenFile {
    pub(super) fn live_rows(&self) -> u64 {
        self.entry.rows - self.deleted.len()
    }

    fn for_each_key(
        &self,
        schema: &Arc<TableSchema>,
        options: &DatasetOptions,
        visit: impl FnMut(u64, Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        // Its entry has the whole path.
        let files = Files::in_folder(PathBuf::new(), options.clone(), UncommittedFiles::new());
        let file = DataFile::without_keys(&files, &self.entry, schema, None)?;
        let columns = schema.key().columns();
        for_each_key(schema, file.numbered(file.scan(columns)?, columns)?, visit)
    }

    /// Whether the file is the one whose keys were read. A link to a file changes its metadata, not its contents.
    fn is_unchanged(&self) -> Result<bool> {
        let metadata = fs::metadata(&self.path).map_err(Error::io("open", &self.path))?;
        Ok(self.version.has_same_contents(&FileVersion::from_metadata(&metadata)))
    }

    /// Gives the file a name in the table, and adds it. Returns whether it is a link.
    pub(super) fn add(self, write: &mut OpenWrite, files: &mut NewFiles, keys: KeysOfRows, copy: bool) -> Result<bool> {
        let engine = Arc::clone(write.engine());
        engine.files.prepare()?;
        let (number, name) = engine.new_file(write.state());
        let path = files.begin(name.clone());
        let is_link = match copy {
            true => copy_file(&self.path, &path).map(|()| false).map_err(Error::io("copy", &self.path))?,
            false => link_or_copy(&self.path, &path)?,
        };
        let checksums = checksums(&path).map_err(Error::io("read", &path))?;
        if checksums.file_len() != self.entry.bytes || !self.is_unchanged()? {
            return Err(Error::import(format!("{} has changed while it was imported", self.path.display())));
        }
        let is_sorted = keys.is_sorted();
        let (blocks, min, max) = keys.blocks()?;
        let born = write.state().stamp - 1;
        let order = if is_sorted { Vec::new() } else { vec![NO_ORDER] };
        let entry = FileEntry { number, name, born, min, max, order, is_checksummed: true, ..self.entry };
        write.add_file(&NewFile { entry, keys: blocks, checksums })?;
        write.add_to_mask(number, &self.deleted)?;
        Ok(is_link)
    }
}

/// The checksums of the blocks of a file, whose bytes are durable then.
fn checksums(path: &Path) -> io::Result<BlockChecksums> {
    let mut file = fs::File::open(path)?;
    file.sync_all()?;
    let mut sink = ChecksummedWriter::new(io::sink());
    io::copy(&mut file, &mut sink)?;
    Ok(sink.finish().1)
}

impl Source {
    /// Calls `visit` with the keys of rows that are not deleted.
    pub(super) fn for_each_live_key(
        &self,
        schema: &Arc<TableSchema>,
        source: &Dataset,
        options: &DatasetOptions,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Taken(taken) => taken.for_each_key(schema, options, |row, key| match key {
                Some(key) if !taken.deleted.contains(row) => visit(key),
                _ => Ok(()),
            }),
            Self::Rewritten(at) => {
                let names = schema.key().fields().iter().map(|field| field.name().clone());
                for batch in source.subset([*at])?.scan().select(names).build()? {
                    let keys = schema.conform_key(&batch?)?;
                    for key in &schema.key().encode(&keys)? {
                        visit(key.data())?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// The absolute path of a file, behind all links.
fn real_path(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(Error::io("open", path))
}
