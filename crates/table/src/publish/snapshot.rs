//! Writes a commit as a snapshot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use lath_iceberg::{
    DataFile, EntryStatus, ManifestContent, ManifestEntry, ManifestFile, ManifestLocation, ManifestSettings,
    PartitionSpec, PuffinWriter, Schema, Snapshot, SnapshotReference, SortOrder, TableMetadata, read_manifest,
    read_manifest_list, write_deletion_vector, write_manifest, write_manifest_list,
};

use super::commit_files::CommitFiles;
use super::folder::{COMMIT, CurrentMetadata, MetadataFolder, PARTS, Part, VERSION};
use super::identity::{new_uuid, now_ms, random_number, uuid_text};
use super::metrics::data_file;
use super::schema::{check_widening, iceberg_schema};
use crate::error::{Error, Result};
use crate::records::{FileEntry, Publishing};
use crate::row::TableSchema;
use crate::view::{Commit, Engine};

/// Deletion vectors of more files than these are written again into one: each snapshot names all of them.
const MAX_VECTOR_FILES: usize = 16;

/// The branch that readers take.
const MAIN: &str = "main";

/// Publishes a commit, unless it is published already. Returns the metadata file, and the version of the table that it shows.
pub(super) fn publish(engine: &Arc<Engine>, files: &CommitFiles<'_>, setting: Publishing) -> Result<(PathBuf, u64)> {
    let folder = MetadataFolder::new(&engine.files)?;
    engine.files.claim()?;
    folder.create()?;
    let current = folder.current()?;
    let schema = iceberg_schema(files.schema(), setting.map_types)?;
    check_files(files, &schema)?;
    // Metadata has absolute paths, which lead elsewhere once the folder was moved.
    let previous = current.as_ref().filter(|current| current.metadata.location == folder.location());
    let published = PublishedFiles::read(&folder, previous)?;
    let next = Next::new(engine, &folder, files, current.as_ref(), schema, setting.map_types);
    let parts = next.write(&published)?;
    let mut version = files.version();
    let number = match (parts, &current) {
        // The newest snapshot has the same rows.
        (None, Some(current)) => {
            if !folder.has_hint(current.number) {
                folder.write_hint(current.number)?;
            }
            version = current.version().unwrap_or(version);
            current.number
        }
        (parts, _) => {
            let metadata = next.metadata(previous, parts.unwrap_or_default(), setting)?;
            folder.sync()?;
            // A commit that could still be lost must not be published: its files are removed then.
            engine.store.sync()?;
            let number = current.as_ref().map_or(1, |current| current.number + 1);
            folder.commit(number, &metadata)?;
            folder.clean(number, &metadata, setting.keep)?;
            number
        }
    };
    Ok((folder.file_path(number), version))
}

/// Refuses files that readers of Iceberg would read in another way.
fn check_files(files: &CommitFiles<'_>, schema: &Schema) -> Result<()> {
    let versions: BTreeSet<u32> = files.files().iter().map(|entry| entry.schema).collect();
    for version in versions {
        check_widening(&*files.schema().with_version(version)?, schema)?;
    }
    Ok(())
}

/// The files of the newest published snapshot.
#[derive(Debug, Default)]
struct PublishedFiles {
    data: HashMap<String, ManifestEntry>,
    /// By the location of the data file.
    vectors: HashMap<String, ManifestEntry>,
    data_manifest: Option<ManifestFile>,
    deletes_manifest: Option<ManifestFile>,
    schema_id: Option<i32>,
    order_id: Option<i32>,
}

impl PublishedFiles {
    fn read(folder: &MetadataFolder, current: Option<&CurrentMetadata>) -> Result<Self> {
        let Some(current) = current else { return Ok(Self::default()) };
        let mut published = Self {
            schema_id: Some(current.metadata.current_schema_id),
            order_id: Some(current.metadata.default_sort_order_id),
            ..Self::default()
        };
        let ManifestLocation::List(list) = &current.snapshot.manifests else { return Ok(Self::default()) };
        for manifest in read_manifest_list(&folder.read(file_name(list))?)? {
            for entry in read_manifest(&folder.read(file_name(&manifest.manifest_path))?, &manifest, |_| true)? {
                match manifest.content {
                    ManifestContent::Data => published.data.insert(entry.data_file.file_path.clone(), entry),
                    ManifestContent::Deletes => {
                        let data = entry.data_file.referenced_data_file.clone();
                        published.vectors.insert(data.unwrap_or_default(), entry)
                    }
                };
            }
            match manifest.content {
                ManifestContent::Data => published.data_manifest = Some(manifest),
                ManifestContent::Deletes => published.deletes_manifest = Some(manifest),
            }
        }
        Ok(published)
    }
}

fn file_name(location: &str) -> &str {
    location.rsplit('/').next().unwrap_or(location)
}

/// The manifests of the next snapshot.
#[derive(Debug, Default)]
struct Parts {
    manifests: Vec<ManifestFile>,
    /// The names of the files next to the manifest list.
    names: BTreeSet<String>,
    summary: BTreeMap<String, String>,
    added_rows: u64,
}

/// The snapshot that is being written.
#[derive(Debug)]
struct Next<'p> {
    engine: &'p Arc<Engine>,
    folder: &'p MetadataFolder,
    files: &'p CommitFiles<'p>,
    schema: Schema,
    map_types: bool,
    orders: Vec<SortOrder>,
    order_id: i32,
    sequence: i64,
    snapshot_id: i64,
    next_row_id: i64,
    uuid: String,
}

impl<'p> Next<'p> {
    fn new(
        engine: &'p Arc<Engine>,
        folder: &'p MetadataFolder,
        files: &'p CommitFiles<'p>,
        current: Option<&CurrentMetadata>,
        schema: Schema,
        map_types: bool,
    ) -> Self {
        let metadata = current.map(|current| &current.metadata);
        let mut orders = metadata.map_or_else(|| vec![SortOrder::unsorted()], |metadata| metadata.sort_orders.clone());
        let columns = order_columns(files.cluster(), files.schema());
        let mut order = SortOrder::ascending(0, columns.iter().map(|id| id.cast_signed()));
        let known = orders.iter().find(|known| known.order_id > 0 && known.fields == order.fields);
        let order_id = match known {
            Some(known) => known.order_id,
            None => {
                order.order_id = orders.iter().map(|order| order.order_id).max().unwrap_or(0) + 1;
                let order_id = order.order_id;
                orders.push(order);
                order_id
            }
        };
        let uuid = metadata.and_then(|metadata| metadata.table_uuid.clone()).unwrap_or_else(|| uuid_text(new_uuid()));
        Self {
            engine,
            folder,
            files,
            schema,
            map_types,
            orders,
            order_id,
            sequence: metadata.map_or(0, |metadata| metadata.last_sequence_number) + 1,
            snapshot_id: (random_number() >> 1).cast_signed() | 1,
            next_row_id: metadata.and_then(|metadata| metadata.next_row_id).unwrap_or(0),
            uuid,
        }
    }

    /// Writes the manifests and vectors; `None` if nothing has changed since the published snapshot.
    fn write(&self, published: &PublishedFiles) -> Result<Option<Parts>> {
        let newest = Commit::newest(self.engine)?;
        let mut data = Vec::new();
        let (mut added_files, mut added_rows, mut has_moved) = (0_usize, 0_u64, false);
        for entry in self.files.files() {
            let path = format!("{}/{}", self.folder.location(), entry.name);
            let order_id = self.file_order(entry);
            if let Some(known) = published.data.get(&path) {
                let mut known = with_status(known, EntryStatus::Existing);
                has_moved |= known.data_file.sort_order_id != order_id;
                known.data_file.sort_order_id = order_id;
                data.push(known);
                continue;
            }
            let mut file = data_file(self.engine, &newest, self.files.schema(), entry, path, self.map_types)?;
            file.sort_order_id = order_id;
            (added_files, added_rows) = (added_files + 1, added_rows + entry.rows);
            data.push(ManifestEntry::added(file));
        }
        let removed_files = published.data.len() - (data.len() - added_files);
        let has_data_changed = added_files > 0 || removed_files > 0 || has_moved;
        let vectors = self.vectors(published)?;
        let is_same = published.schema_id == Some(self.schema.schema_id) && published.order_id == Some(self.order_id);
        if is_same && !has_data_changed && vectors.is_none() {
            return Ok(None);
        }
        let mut parts = Parts { manifests: Vec::new(), names: BTreeSet::new(), summary: BTreeMap::new(), added_rows };
        let total_rows: u64 = data.iter().map(|entry| entry.data_file.record_count).sum();
        let total_files = data.len();
        match &published.data_manifest {
            Some(manifest) if !has_data_changed => parts.manifests.push(manifest.clone()),
            _ if data.is_empty() => {}
            _ => {
                let mut manifest = self.write_manifest(Part::Data, &data)?;
                manifest.first_row_id = Some(self.next_row_id);
                parts.manifests.push(manifest);
            }
        }
        let deletes = match (vectors, &published.deletes_manifest) {
            (Some(vectors), _) if !vectors.is_empty() => {
                parts.manifests.push(self.write_manifest(Part::Deletes, &vectors)?);
                vectors
            }
            (None, Some(manifest)) => {
                parts.manifests.push(manifest.clone());
                published.vectors.values().cloned().collect()
            }
            _ => Vec::new(),
        };
        parts.names.extend(deletes.iter().map(|entry| file_name(&entry.data_file.file_path).to_owned()));
        parts.names.extend(parts.manifests.iter().map(|manifest| file_name(&manifest.manifest_path).to_owned()));
        let deleted: u64 = deletes.iter().map(|entry| entry.data_file.record_count).sum();
        let mut put = |key: &str, value: String| parts.summary.insert(key.to_owned(), value);
        put("operation", if removed_files == 0 && deletes.is_empty() { "append" } else { "overwrite" }.to_owned());
        put("added-data-files", added_files.to_string());
        put("added-records", added_rows.to_string());
        put("deleted-data-files", removed_files.to_string());
        put("total-data-files", total_files.to_string());
        put("total-records", total_rows.to_string());
        put("total-delete-files", deletes.len().to_string());
        put("total-position-deletes", deleted.to_string());
        put("total-equality-deletes", "0".to_owned());
        put(COMMIT, self.files.commit().to_string());
        put(VERSION, self.files.version().to_string());
        let names: Vec<&str> = parts.names.iter().map(String::as_str).collect();
        let names = names.join(" ");
        parts.summary.insert(PARTS.to_owned(), names);
        Ok(Some(parts))
    }

    /// The deletion vectors of all files; `None` if they are those that are published.
    fn vectors(&self, published: &PublishedFiles) -> Result<Option<Vec<ManifestEntry>>> {
        let mut entries = Vec::new();
        let mut changed = Vec::new();
        for entry in self.files.files() {
            let deleted = self.files.deleted_count(entry);
            if deleted == 0 {
                continue;
            }
            let path = format!("{}/{}", self.folder.location(), entry.name);
            // Rows are only added to masks.
            match published.vectors.get(&path).filter(|known| known.data_file.record_count == deleted) {
                Some(known) => entries.push(with_status(known, EntryStatus::Existing)),
                None => changed.push((entry, path)),
            }
        }
        if changed.is_empty() && entries.len() == published.vectors.len() {
            return Ok(None);
        }
        let vector_files: BTreeSet<&str> = entries.iter().map(|entry| entry.data_file.file_path.as_str()).collect();
        if vector_files.len() >= MAX_VECTOR_FILES {
            entries.clear();
            changed = self
                .files
                .files()
                .iter()
                .filter(|entry| self.files.deleted_count(entry) > 0)
                .map(|entry| (entry, format!("{}/{}", self.folder.location(), entry.name)))
                .collect();
        }
        if !changed.is_empty() {
            entries.extend(self.write_vectors(&changed)?.into_iter().map(ManifestEntry::added));
        }
        Ok(Some(entries))
    }

    /// Writes the deletion vectors of these files into one Puffin file.
    fn write_vectors(&self, files: &[(&Arc<FileEntry>, String)]) -> Result<Vec<DataFile>> {
        let mut vectors = Vec::new();
        for (entry, path) in files {
            let rows = self.files.deleted(entry)?;
            if rows.len() != self.files.deleted_count(entry) {
                return Err(Error::corrupt(format!(
                    "the mask of {} has another number of rows than its entry says",
                    entry.name
                )));
            }
            vectors.push((write_deletion_vector(&rows.to_bytes())?, path, rows.len()));
        }
        vectors.sort_by_key(|(vector, ..)| vector.len());
        let mut puffin = PuffinWriter::new();
        let mut places = Vec::new();
        for (vector, path, rows) in vectors {
            let offset = puffin.add_deletion_vector(&vector, path, rows);
            places.push((path, rows, offset, vector.len() as u64));
        }
        let bytes = puffin.finish()?;
        let name = Part::Vectors.file_name(self.sequence);
        self.folder.write(&name, &bytes)?;
        let location = self.folder.location_of_file(&name);
        let file = |(path, rows, offset, length): (&String, u64, u64, u64)| {
            DataFile::deletion_vector(location.as_str(), bytes.len() as u64, path.as_str(), rows, offset, length)
        };
        Ok(places.into_iter().map(file).collect())
    }

    fn write_manifest(&self, part: Part, entries: &[ManifestEntry]) -> Result<ManifestFile> {
        let name = part.file_name(self.sequence);
        let settings = ManifestSettings {
            content: if part == Part::Data { ManifestContent::Data } else { ManifestContent::Deletes },
            schema: &self.schema,
            partition_spec: &PartitionSpec::unpartitioned(),
            snapshot_id: self.snapshot_id,
            sequence_number: self.sequence,
        };
        let (bytes, manifest) = write_manifest(self.folder.location_of_file(&name), settings, entries)?;
        self.folder.write(&name, &bytes)?;
        Ok(manifest)
    }

    /// The metadata with the snapshot, whose manifest list is written.
    fn metadata(&self, previous: Option<&CurrentMetadata>, parts: Parts, setting: Publishing) -> Result<TableMetadata> {
        let parent = previous.map(|previous| previous.snapshot.snapshot_id);
        let (bytes, _) =
            write_manifest_list(self.snapshot_id, parent, self.sequence, self.next_row_id, &parts.manifests)?;
        let name = Part::List.file_name(self.sequence);
        self.folder.write(&name, &bytes)?;
        let list = self.folder.location_of_file(&name);
        let last_ms = previous.map_or(0, |previous| previous.metadata.last_updated_ms);
        let now_ms = now_ms().max(last_ms + 1);
        let mut snapshot = Snapshot::new(self.snapshot_id, self.sequence, now_ms, list);
        snapshot.parent_snapshot_id = parent;
        snapshot.summary = parts.summary;
        snapshot.schema_id = Some(self.schema.schema_id);
        snapshot.first_row_id = Some(self.next_row_id);
        snapshot.added_rows = Some(parts.added_rows.cast_signed());

        let mut metadata = TableMetadata::new(self.uuid.as_str(), self.folder.location(), self.schema.clone(), now_ms);
        metadata.schemas = self.schemas(previous);
        let highest = metadata.schemas.iter().map(Schema::highest_field_id).max().unwrap_or(0);
        metadata.last_column_id = highest.max(previous.map_or(0, |previous| previous.metadata.last_column_id));
        metadata.last_sequence_number = self.sequence;
        metadata.sort_orders = self.orders.clone();
        metadata.default_sort_order_id = self.order_id;
        metadata.current_snapshot_id = Some(self.snapshot_id);
        metadata.next_row_id = Some(self.next_row_id + parts.added_rows.cast_signed());
        metadata.refs.insert(MAIN.to_owned(), SnapshotReference::branch(self.snapshot_id));
        if let Some(previous) = previous {
            let keep_ms = i64::try_from(setting.keep.as_millis()).unwrap_or(i64::MAX);
            let oldest_ms = now_ms.saturating_sub(keep_ms);
            let old = &previous.metadata;
            // The one before always: a reader may be about to open its metadata file.
            let is_kept =
                |kept: &&Snapshot| kept.timestamp_ms >= oldest_ms || kept.snapshot_id == previous.snapshot.snapshot_id;
            metadata.snapshots = old.snapshots.iter().filter(is_kept).cloned().collect();
            let kept: BTreeSet<i64> = metadata.snapshots.iter().map(|kept| kept.snapshot_id).collect();
            metadata.snapshot_log = old.snapshot_log.iter().filter(|(_, id)| kept.contains(id)).copied().collect();
            metadata.metadata_log = old.metadata_log.iter().filter(|(time, _)| *time >= oldest_ms).cloned().collect();
            let file = self.folder.location_of_file(&format!("v{}.metadata.json", previous.number));
            metadata.metadata_log.push((old.last_updated_ms, file));
        }
        metadata.snapshot_log.push((now_ms, self.snapshot_id));
        metadata.snapshots.push(snapshot);
        Ok(metadata)
    }

    /// The schema, those that snapshots before had, and older versions that Iceberg has types for.
    fn schemas(&self, previous: Option<&CurrentMetadata>) -> Vec<Schema> {
        let newest = self.files.schema();
        let older = (1..newest.version()).filter_map(|version| {
            let schema = newest.with_version(version).ok()?;
            iceberg_schema(&schema, self.map_types).ok()
        });
        let mut schemas: Vec<Schema> = older.chain([self.schema.clone()]).collect();
        for schema in previous.iter().flat_map(|previous| &previous.metadata.schemas) {
            if schemas.iter().all(|own| own.schema_id != schema.schema_id) {
                schemas.push(schema.clone());
            }
        }
        schemas
    }

    /// The number of the order of a file's rows, if it is the order of new files.
    fn file_order(&self, entry: &FileEntry) -> Option<i32> {
        let own = order_columns(&entry.order, self.files.schema());
        let newest = order_columns(self.files.cluster(), self.files.schema());
        (own == newest).then_some(self.order_id)
    }
}

fn with_status(entry: &ManifestEntry, status: EntryStatus) -> ManifestEntry {
    let mut entry = entry.clone();
    entry.status = status;
    entry
}

/// The numbers of the columns by which rows are sorted: first these, then the key columns.
fn order_columns(cluster: &[u32], schema: &TableSchema) -> Vec<u32> {
    let key = schema.key().columns().iter().map(|&column| schema.id(column));
    let mut columns = cluster.to_vec();
    columns.extend(key.filter(|id| !cluster.contains(id)));
    columns
}
