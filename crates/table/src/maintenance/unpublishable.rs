//! Writes files again that cannot be published as they are.

use std::sync::Arc;

use lath_store::Durability;

use super::compact::rewrite_files;
use crate::error::Result;
use crate::publish::unpublishable;
use crate::records::Publishing;
use crate::row::{SchemaParts, nested_ids, new_nested_ids};
use crate::view::{Commit, Engine};
use crate::write::OpenWrite;

/// Numbers the fields within columns that have none, and writes files again that readers of the formats would not read as they are. Returns the
/// number of these files.
pub(crate) fn make_publishable(engine: &Arc<Engine>, setting: Publishing) -> Result<usize> {
    let _one_at_a_time = engine.lock_maintenance();
    number_fields(engine)?;
    let files = unpublishable(engine, &Commit::newest(engine)?, setting)?;
    rewrite_files(engine, &files)?;
    Ok(files.len())
}

/// A version of the schema in which all fields have numbers; tables of format 5 and before have none for fields within columns.
fn number_fields(engine: &Arc<Engine>) -> Result<()> {
    let mut changing = OpenWrite::begin(engine)?;
    let SchemaParts { nested_ids: mut numbers, mut next_id, .. } = changing.schema().parts();
    let mut has_new = false;
    for (field, ids) in changing.schema().arrow().fields().iter().zip(&mut numbers) {
        if ids.is_empty() && !nested_ids(field).is_empty() {
            *ids = new_nested_ids(field, &mut next_id);
            has_new = true;
        }
    }
    if !has_new {
        return Ok(());
    }
    let parts = SchemaParts { nested_ids: numbers, next_id, ..changing.schema().parts() };
    let schema = changing.schema().next(parts)?;
    changing.set_schema(schema)?;
    changing.commit(Durability::Sync)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::path::Path;
    use std::time::Duration;

    use arrow_array::RecordBatch;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::{PublishOptions, Table, TableOptions};

    /// A table with a column of structs whose fields have no numbers, as format 5 had it.
    fn old_table(folder: &Path) -> Table {
        let point = DataType::Struct(vec![Field::new("x", DataType::Int64, true)].into());
        let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("point", point, true)]);
        let options = TableOptions::new().background(false);
        let table = Table::create(folder, &schema, &["id"], options).unwrap();
        let mut changing = OpenWrite::begin(table.engine()).unwrap();
        let parts = SchemaParts { nested_ids: vec![Vec::new(); 2], ..changing.schema().parts() };
        let old = changing.schema().next(parts).unwrap();
        changing.set_schema(old).unwrap();
        changing.commit(Durability::Sync).unwrap();
        table
    }

    fn put(table: &Table, ids: std::ops::Range<i64>) {
        let schema = table.schema().unwrap();
        let count = ids.clone().count();
        let ids = Arc::new(arrow_array::Int64Array::from_iter_values(ids));
        let points = arrow_array::new_null_array(schema.field(1).data_type(), count);
        table.upsert(&RecordBatch::try_new(schema, vec![ids, points]).unwrap()).unwrap();
    }

    #[test]
    fn a_table_without_numbers_for_fields_within_columns_is_published_once_its_files_are_written_again() {
        let home = tempfile::tempdir().unwrap();
        let table = old_table(&home.path().join("table"));
        put(&table, 0..50);
        table.flush().unwrap();
        put(&table, 50..60);
        let published = table.publish(PublishOptions::new()).unwrap();
        assert_eq!((published.rows, published.rewritten), (60, 1));
        assert_eq!(table.publish(PublishOptions::new()).unwrap().rewritten, 0);
        assert_eq!(table.count().unwrap(), 60);
        assert!(table.check().unwrap().is_intact());
    }

    #[test]
    fn all_files_are_written_again_in_one_commit() {
        let home = tempfile::tempdir().unwrap();
        let table = old_table(&home.path().join("table"));
        for first in [0, 50, 100] {
            put(&table, first..first + 50);
            table.flush().unwrap();
        }
        table.delete([7, 60, 61]).unwrap();
        table.flush().unwrap();
        let engine = table.engine();
        number_fields(engine).unwrap();
        let version = || table.snapshot().unwrap().version();
        let before = version();
        let setting = Publishing { iceberg: true, delta: true, keep: Duration::ZERO, max_age: None, map_types: false };
        assert_eq!(make_publishable(engine, setting).unwrap(), 3);
        assert_eq!(version(), before + 1);
        assert_eq!(make_publishable(engine, setting).unwrap(), 0);
        assert_eq!(version(), before + 1);
        let batches = table.scan().unwrap().build().unwrap();
        let mut ids: Vec<i64> =
            batches.flat_map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        ids.sort_unstable();
        assert_eq!(ids, (0..150).filter(|id| ![7, 60, 61].contains(id)).collect::<Vec<_>>());
        assert!(table.check().unwrap().is_intact());
    }
}
