use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::file::FileFormat;
use super::options::{WriteSettings, written_path};
use super::sink::{Destination, file_sink};
use crate::scan::{insert_by, scan_by};
use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

/// The target of `COPY … TO`, as a table that rows are inserted into.
pub(crate) struct CopyTarget {
    path: PathBuf,
    schema: SchemaRef,
    partition_by: Vec<String>,
    format: FileFormat,
    may_replace: bool,
    settings: WriteSettings,
}

impl CopyTarget {
    /// Creates the target: a file, which replaces another only if `may_replace`, or a folder if there are partition columns.
    ///
    /// # Errors
    /// If the target is in a folder of another format.
    pub(crate) fn new(
        target: &str,
        schema: SchemaRef,
        partition_by: Vec<String>,
        format: FileFormat,
        may_replace: bool,
        settings: WriteSettings,
    ) -> Result<Self> {
        let path = written_path(target)?;
        Ok(Self { path, schema, partition_by, format, may_replace, settings })
    }
}

/// The columns of files: all without the partition columns.
pub(crate) fn file_schema(schema: &SchemaRef, partition_by: &[String]) -> Result<SchemaRef> {
    if partition_by.is_empty() {
        return Ok(Arc::clone(schema));
    }
    if let Some(unknown) = partition_by.iter().find(|name| schema.index_of(name).is_err()) {
        return plan_err!("there is no column {unknown} to partition by");
    }
    let of_file: Vec<usize> =
        (0..schema.fields().len()).filter(|&at| !partition_by.contains(schema.field(at).name())).collect();
    if of_file.is_empty() {
        return plan_err!("PARTITIONED BY names all columns; leave at least one for the files");
    }
    Ok(Arc::new(schema.project(&of_file)?))
}

impl CopyTarget {
    async fn plan_scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("{} is written by this statement, and cannot be read by it", self.path.display())
    }

    async fn plan_insert(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let destination = if self.partition_by.is_empty() {
            Destination::File { path: self.path.clone(), may_replace: self.may_replace }
        } else {
            Destination::NewFolder { path: self.path.clone() }
        };
        file_sink(input, &self.schema, destination, self.partition_by.clone(), self.format.clone(), &self.settings)
    }
}

impl TableProvider for CopyTarget {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    scan_by!(CopyTarget, plan_scan);

    insert_by!(CopyTarget, plan_insert);
}

impl fmt::Debug for CopyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyTarget").field("path", &self.path).finish_non_exhaustive()
    }
}
