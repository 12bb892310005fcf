use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lath_lake::LakeVersion;
use lath_parquet::{Predicate, Runtime};
use tokio::sync::OnceCell;

use super::table::{FileColumns, LathTable, only_read};
use crate::error::file_work;
use crate::scan::{Pushdown, changes_refused_by, insert_by, scan_by, support};

/// A version of a table of Delta Lake or Iceberg. A scan with conditions lists only the files that may have rows for which they are true;
/// the list of all files is shared by the scans without conditions.
pub(crate) struct LakeTable {
    version: LakeVersion,
    /// The name of the table in statements, and its format.
    what: Arc<str>,
    runtime: Runtime,
    /// The table's columns, then `file_columns`.
    schema: SchemaRef,
    file_columns: FileColumns,
    whole: OnceCell<Arc<LathTable>>,
    /// Whether it is for many queries, so that a second search should not read the metadata again.
    is_kept: bool,
    was_searched: AtomicBool,
}

/// A version of a table of Delta Lake or Iceberg as a DataFusion table for many queries. The first scan with conditions lists the files that may
/// have rows for which they are true, and the second one lists all files and keeps the list.
pub fn lake_table(name: &str, version: LakeVersion, runtime: &Runtime) -> Arc<dyn TableProvider> {
    let table = LakeTable::without_file_columns(version, name, runtime);
    Arc::new(LakeTable { is_kept: true, ..table })
}

impl LakeTable {
    /// Creates the table, which statements call `name`.
    ///
    /// # Errors
    /// If a column has the name of a file column.
    pub(crate) fn new(version: LakeVersion, name: &str, runtime: &Runtime, file_columns: FileColumns) -> Result<Self> {
        let table = Self::without_file_columns(version, name, runtime);
        Ok(Self { schema: file_columns.add_to(table.version.schema())?, file_columns, ..table })
    }

    fn without_file_columns(version: LakeVersion, name: &str, runtime: &Runtime) -> Self {
        Self {
            what: format!("{name} is {}", version.format()).into(),
            runtime: runtime.clone(),
            schema: Arc::clone(version.schema()),
            file_columns: FileColumns::default(),
            version,
            whole: OnceCell::new(),
            is_kept: false,
            was_searched: AtomicBool::new(false),
        }
    }

    /// The files, except the ones that cannot have a row for which `filter` is true.
    async fn list(&self, filter: Option<Predicate>) -> Result<Arc<LathTable>> {
        let version = self.version.clone();
        let lake = file_work(move || version.open(filter.as_ref())).await?;
        let table = LathTable::new(lake.into_dataset(), &self.runtime);
        Ok(Arc::new(table.add_file_columns(self.file_columns.clone())?))
    }

    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let pushed = Pushdown::new(filters, self.version.schema());
        let lists_few =
            pushed.predicate != Predicate::TRUE && !(self.is_kept && self.was_searched.swap(true, Ordering::Relaxed));
        let table = match self.whole.get() {
            Some(whole) => Arc::clone(whole),
            None if lists_few => self.list(Some(pushed.predicate.clone())).await?,
            None => Arc::clone(self.whole.get_or_try_init(|| self.list(None)).await?),
        };
        table.plan_pushed(state, projection, pushed, limit).await
    }

    async fn refuse_insert(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.no_change())
    }

    fn no_change(&self) -> DataFusionError {
        only_read(&self.what)
    }
}

impl TableProvider for LakeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| support(filter, self.version.schema())).collect())
    }

    scan_by!(LakeTable, plan_scan);

    insert_by!(LakeTable, refuse_insert);

    changes_refused_by!(|table| table.no_change());
}

impl fmt::Debug for LakeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LakeTable").field("what", &self.what).finish_non_exhaustive()
    }
}
