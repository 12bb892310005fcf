//! Plans for files of one schema, and pruned partitions.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use lath_format::schema::SchemaDescPtr;

use super::super::dynamic::Narrowing;
use crate::file::ParquetFile;
use crate::prune::TablePredicate;
use crate::scan::columns::FilePlan;
use crate::schema::ColumnMapping;

/// The plans so far, and which partitions the predicate rules out.
#[derive(Debug, Default)]
pub(in crate::scan) struct Plans {
    /// Set once a shared probe of several files has ruled out none: from then on each file is planned alone.
    pub(super) plans_singly: AtomicBool,
    pub(super) of_schemas: Mutex<Vec<PlannedSchema>>,
    /// The predicate, bound to the columns of the table.
    pub(super) of_table: OnceLock<TablePredicate>,
    pub(super) partitions: Mutex<HashMap<Box<[u32]>, bool>>,
}

/// The plan for files of one schema and partition.
#[derive(Debug)]
pub(super) struct PlannedSchema {
    pub(super) schema: arrow_schema::SchemaRef,
    pub(super) columns: SchemaDescPtr,
    pub(super) mapping: Option<Arc<ColumnMapping>>,
    pub(super) partition: Box<[u32]>,
    /// The dynamic filter that was added to the predicate.
    pub(super) narrowing: Option<Arc<Narrowing>>,
    pub(super) plan: Arc<FilePlan>,
}

impl PlannedSchema {
    pub(super) fn matches(&self, file: &ParquetFile, partition: &[u32], narrowing: Option<&Arc<Narrowing>>) -> bool {
        let is_same_schema = Arc::ptr_eq(&self.schema, file.schema()) || self.schema == *file.schema();
        is_same_schema
            && *self.partition == *partition
            && ColumnMapping::is_same(self.mapping.as_ref(), file.column_mapping())
            && self.narrowing.as_ref().map(Arc::as_ptr) == narrowing.map(Arc::as_ptr)
            && {
                let columns = file.metadata().schema_descr();
                Arc::ptr_eq(&self.columns, columns) || self.columns.root_schema() == columns.root_schema()
            }
    }
}

impl Plans {
    /// The newest plan, and the partition of its files.
    pub(super) fn last(&self) -> Option<(Arc<FilePlan>, Box<[u32]>)> {
        let plans = self.of_schemas.lock().unwrap_or_else(PoisonError::into_inner);
        plans
            .iter()
            .rev()
            .find(|planned| planned.narrowing.is_none())
            .map(|last| (Arc::clone(&last.plan), last.partition.clone()))
    }
}
