//! Exports the files of a table, with lists of their deleted rows.

use std::path::{Path, absolute};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lath_parquet::DeleteMask;
use lath_writer::{AtomicFile, AtomicFiles, ParquetWriter, UncommittedFiles, WriteOptions};

use super::assert_empty;
use crate::error::{Error, Result};
use crate::file::{DataFile, exported_name};
use crate::read::Snapshot;
use crate::records::FileEntry;
use crate::row::key::KeyRange;
use crate::row::{BATCH_ROWS, batch, with_id};
use crate::view::{Commit, Engine, Expiry, HotColumns, HotCursor, View, dead_rows};
use crate::write::ExpiredRows;

/// The numbers that the Iceberg specification has for the columns of position deletes.
const FILE_PATH_ID: u32 = 2_147_483_546;
const POS_ID: u32 = 2_147_483_545;

/// Counts of [`Snapshot::export_with_deletes`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportedWithDeletes {
    /// Number of rows in the data files without the deleted ones.
    pub rows: u64,
    /// Number of data files.
    pub files: usize,
    /// Number of these that are hard links to files of the table.
    pub links: usize,
    /// Number of rows that are listed as deleted.
    pub deleted: u64,
    /// Number of files with position deletes.
    pub delete_files: usize,
}

impl Snapshot {
    /// Exports the table's own files to `data/` in `folder`, without writing their rows again. The folder is created if it does not exist.
    /// Rows of the store are written to one more file in `data/`. For each file with deleted or replaced rows, a file in `deletes/` lists
    /// their positions, as the [Iceberg specification] defines position deletes: the columns `file_path` and `pos`, in this order.
    ///
    /// `file_path` begins with `location`, the place to which the folder will be moved, for example `s3://lake/orders`. With `None`, it
    /// begins with the absolute path of the folder. If the file system supports hard links, the table's files are linked instead of copied,
    /// so exported files must not be changed in place. Files from before the last schema change are rewritten, because other readers do not
    /// know the defaults of columns. All files appear together.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    /// use lath_table::{Table, TableOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    /// # let rows = RecordBatch::try_from_iter([("id", ids)])?;
    /// # let table = Table::create(folder.path().join("jobs"), &rows.schema(), &["id"], TableOptions::new())?;
    /// table.upsert(&rows)?;
    /// table.flush()?;
    /// table.delete([1])?;
    /// let exported = table.snapshot()?.export_with_deletes(folder.path().join("exported"), None)?;
    /// assert_eq!((exported.rows, exported.links, exported.deleted), (2, 1, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the folder has anything in it, [`Error::Encryption`] for an encrypted table, and whatever goes wrong while reading and writing.
    ///
    /// [Iceberg specification]: https://iceberg.apache.org/spec/#position-delete-files
    pub fn export_with_deletes(&self, folder: impl AsRef<Path>, location: Option<&str>) -> Result<ExportedWithDeletes> {
        let (engine, pinned) = self.parts();
        if engine.store.encryption_key().is_some() {
            let what =
                "the table is encrypted, and its own files are of no use without its key: export its rows to new files";
            return Err(Error::encryption(what));
        }
        let folder = folder.as_ref();
        assert_empty(folder)?;
        let location = match location {
            Some(location) => location.trim_end_matches('/').to_owned(),
            None => utf8(&absolute(folder).map_err(Error::io("find", folder))?)?.to_owned(),
        };
        let files = AtomicFiles::create_with(folder, "export", &UncommittedFiles::new())?;
        let mut export =
            Export { engine, view: Arc::clone(pinned), files, location, exported: ExportedWithDeletes::default() };
        export.write_cold()?;
        export.write_hot()?;
        export.files.commit()?;
        Ok(export.exported)
    }
}

struct Export<'s> {
    engine: &'s Arc<Engine>,
    view: Arc<Commit>,
    files: AtomicFiles,
    location: String,
    exported: ExportedWithDeletes,
}

impl Export<'_> {
    fn write_cold(&mut self) -> Result<()> {
        let manifest = Arc::clone(self.view.manifest());
        let dead = dead_rows(self.engine, &mut self.view, manifest.files())?;
        for (entry, dead) in manifest.files().iter().zip(dead) {
            let dead = self.with_expired(entry, &dead)?;
            let left = entry.rows - dead.len();
            if left == 0 {
                continue;
            }
            self.exported.rows += left;
            self.exported.files += 1;
            let path = self.files.path(format!("data/{}", exported_name(&entry.name)))?;
            if entry.schema == View::schema(&self.view).version() {
                self.exported.links += usize::from(self.engine.files.copy_to(entry, &path)?);
                self.write_deletes(entry, &dead)?;
            } else {
                let file = self.engine.cold(&mut self.view, entry)?;
                self.rewrite(&file, &dead, &path)?;
            }
        }
        Ok(())
    }

    /// The dead rows of a file, and the ones that have expired.
    fn with_expired(&mut self, entry: &Arc<FileEntry>, dead: &Arc<DeleteMask>) -> Result<Arc<DeleteMask>> {
        let Some(expiry) = self.view.expiry().cloned() else { return Ok(Arc::clone(dead)) };
        let mut all = DeleteMask::clone(dead);
        for expired in ExpiredRows::find(self.engine, &mut self.view, &expiry, std::slice::from_ref(entry))? {
            all |= &expired.rows;
        }
        Ok(Arc::new(all))
    }

    /// The list of these rows of a file.
    fn write_deletes(&mut self, entry: &FileEntry, dead: &DeleteMask) -> Result<()> {
        if dead.is_empty() {
            return Ok(());
        }
        self.exported.deleted += dead.len();
        self.exported.delete_files += 1;
        let path = self.files.path(format!("deletes/{}", exported_name(&entry.name)))?;
        let schema = deletes_schema();
        let mut writer = ParquetWriter::create(path, &schema, WriteOptions::default())?;
        let file_path = format!("{}/data/{}", self.location, exported_name(&entry.name));
        let mut rows = dead.iter().map(|row| row as i64);
        loop {
            let numbers = Int64Array::from_iter_values(rows.by_ref().take(BATCH_ROWS));
            if numbers.is_empty() {
                break;
            }
            let paths = StringArray::from_iter_values(std::iter::repeat_n(&file_path, numbers.len()));
            let columns: Vec<ArrayRef> = vec![Arc::new(paths), Arc::new(numbers)];
            writer.write(&RecordBatch::try_new(Arc::clone(&schema), columns)?)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// The rows of a file that are not dead, in the schema of now.
    fn rewrite(&self, file: &DataFile, dead: &DeleteMask, path: &Path) -> Result<()> {
        let schema = Arc::clone(file.schema());
        let all: Vec<usize> = (0..schema.arrow().fields().len()).collect();
        let scan = file.scan(&all)?.deleted([(0, dead.clone())]);
        let mut writer = self.create(path)?;
        for rows in file.numbered(scan, &all)? {
            let (columns, numbers) = rows?;
            writer.write(&schema.file_batch(batch(schema.arrow(), columns, numbers.len())?)?)?;
        }
        writer.finish()?;
        Ok(())
    }

    /// The rows of the store; also if there are none, and no file has any, so that the columns can be seen.
    fn write_hot(&mut self) -> Result<()> {
        let schema = Arc::clone(View::schema(&self.view));
        let mut cursor = HotCursor::new(KeyRange::default(), HotColumns::all(&schema)?);
        let mut writer = None;
        loop {
            let rows = cursor.next(&mut self.view, BATCH_ROWS)?;
            if writer.is_none() && (rows.is_some() || self.exported.files == 0) {
                let path = self.files.path("data/store.parquet")?;
                self.exported.files += 1;
                writer = Some(self.create(&path)?);
            }
            let (Some(writer), Some((keys, columns))) = (&mut writer, rows) else { break };
            let mut rows = batch(schema.arrow(), columns, keys.len())?;
            if let Some(live) = self.view.expiry().map(|expiry: &Expiry| expiry.are_live(rows.column(expiry.column())))
            {
                rows = filter_record_batch(&rows, &live)?;
            }
            self.exported.rows += rows.num_rows() as u64;
            writer.write(&schema.file_batch(rows)?)?;
        }
        if let Some(writer) = writer {
            writer.finish()?;
        }
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<ParquetWriter<AtomicFile>> {
        let schema = View::schema(&self.view);
        Ok(ParquetWriter::create(path, schema.file_schema(), self.engine.options.write.clone())?)
    }
}

fn deletes_schema() -> SchemaRef {
    let path = with_id(&Field::new("file_path", DataType::Utf8, false), FILE_PATH_ID);
    let pos = with_id(&Field::new("pos", DataType::Int64, false), POS_ID);
    Arc::new(Schema::new(vec![path, pos]))
}

fn utf8(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| Error::batch(format!("{} is not UTF-8: say the location in another way", path.display())))
}
