//! Checks that all files have the columns of a scan with the same types, even files that the scan does not open.

use std::sync::Arc;

use arrow_schema::{FieldRef, Schema};
use lath_parquet::{Alignment, DatasetOptions};
use lath_store::Snapshot;

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::file::Entry;
use crate::records::{FILES, META, NAMES, SCHEMAS, StoredSchema, TableRecord, number_in, number_key};

impl Catalog {
    /// Refuses files that have these columns with other types than the first file, as a scan of all files does if schemas are not united. A
    /// search by a catalog opens few files, so without this check its result would depend on which. `columns` are paths; `None` means all columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the first such file and the difference.
    pub fn check_columns(&self, columns: Option<&[String]>, options: &DatasetOptions) -> Result<()> {
        let snapshot = self.store.snapshot()?;
        // The columns of a table are in its log.
        if TableRecord::read(snapshot.tree(META)?)?.is_some() {
            return Ok(());
        }
        let schemas = snapshot.tree(SCHEMAS)?.map(StoredSchema::read_all).transpose()?.unwrap_or_default();
        let mut schemas: Vec<StoredSchema> = schemas.into_iter().filter(|stored| stored.files > 0).collect();
        if options.unites_schemas() || schemas.len() < 2 {
            return Ok(());
        }
        let Some((first, first_location)) = self.first_schema(&snapshot)? else { return Ok(()) };
        let Some(at) = schemas.iter().position(|stored| stored.id == first) else { return Ok(()) };
        let own = schemas.swap_remove(at).schema;
        let partitions = self.schema(options)?;
        let is_read = |field: &&FieldRef| {
            let is_column =
                partitions.field_with_name(field.name()).is_ok_and(|known| known.data_type() == field.data_type());
            let has_name = |path: &String| path == field.name() || path.split('.').next() == Some(field.name());
            is_column && columns.is_none_or(|columns| columns.iter().any(has_name))
        };
        let target = Arc::new(Schema::new(own.fields().iter().filter(is_read).cloned().collect::<Vec<_>>()));
        for stored in &schemas {
            let is_target = |field: &&FieldRef| target.field_with_name(field.name()).is_ok();
            let fields: Vec<FieldRef> = stored.schema.fields().iter().filter(is_target).cloned().collect();
            if let Err(difference) = Alignment::from_source(&target, &Schema::new(fields), &[]) {
                let location = self.location_with(&snapshot, stored.id)?;
                return Err(Error::invalid(format!(
                    "{location}: {difference}, unlike in {first_location}; choose columns that they share, or unite the schemas"
                )));
            }
        }
        Ok(())
    }

    /// The number of the first file's schema, and the location of the file.
    fn first_schema(&self, snapshot: &Snapshot) -> Result<Option<(u32, String)>> {
        let (Some(names), Some(files)) = (snapshot.tree(NAMES)?, snapshot.tree(FILES)?) else { return Ok(None) };
        let Some(slot) = names.first()?.and_then(|(_, slot)| number_in(slot)) else { return Ok(None) };
        let record = files.get(&number_key(slot))?.ok_or_else(|| Error::corrupt("a name without a file"))?;
        let entry = Entry::from_record(record)?;
        let location = self.folder.location(&entry.name)?;
        Ok(entry.read.map(|read| (read.schema, location)))
    }

    /// The location of the first file with a schema.
    fn location_with(&self, snapshot: &Snapshot, schema: u32) -> Result<String> {
        let mut found = String::new();
        self.each_entry(snapshot, |_, entry| {
            if found.is_empty() && entry.read.as_ref().is_some_and(|read| read.schema == schema) {
                found = self.folder.location(&entry.name)?;
            }
            Ok(())
        })?;
        Ok(found)
    }
}
