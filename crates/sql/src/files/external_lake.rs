//! `CREATE EXTERNAL TABLE … STORED AS DELTA LOCATION …`, or `ICEBERG`: a table of Delta Lake or Iceberg, which each query reads as it is then, or
//! at one version.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lath_lake::{At, LakeOptions};
use lath_parquet::{DatasetOptions, FolderFormat, Runtime};

use super::lake_table::LakeTable;
use super::table::{FileColumns, only_read};
use crate::error::{blocking, external};
use crate::scan::{changes_refused_by, create_by, insert_by, scan_by, support};

/// Creates external tables of one format.
#[derive(Debug)]
pub(crate) struct LakeTables {
    pub(crate) format: FolderFormat,
    pub(crate) runtime: Runtime,
}

/// A table whose version is found by each query.
#[derive(Debug, Clone)]
pub(crate) struct ExternalLake {
    place: LakePlace,
    schema: SchemaRef,
    runtime: Runtime,
}

/// The location of a table, and the version that is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LakePlace {
    location: String,
    format: FolderFormat,
    at: Option<At>,
}

impl LakeTables {
    async fn make(&self, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let format = self.format;
        let [location] = command.locations.as_slice() else {
            return plan_err!("{format} has one folder; give one LOCATION");
        };
        if !command.schema.fields().is_empty() {
            return plan_err!("{location}: the columns are the table's; leave out the declared ones");
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("{location}: PARTITIONED BY and WITH ORDER are not supported for {format}");
        }
        let mut at = None;
        for (name, value) in &command.options {
            let name = name.strip_prefix("format.").unwrap_or(name);
            if at.replace(version(format, name, value)?).is_some() {
                return plan_err!("{location}: the version of the table is given twice");
            }
        }
        let (place, runtime) = (LakePlace { location: location.clone(), format, at }, self.runtime.clone());
        let table = move || {
            let schema = place.open(&runtime)?.schema();
            Ok(ExternalLake { place, schema, runtime })
        };
        Ok(Arc::new(blocking(table).await?))
    }
}

impl TableProviderFactory for LakeTables {
    create_by!(LakeTables, make);
}

/// The version that an option chooses.
fn version(format: FolderFormat, name: &str, value: &str) -> Result<At> {
    let wrong = || plan_datafusion_err!("{value:?} is not a {name}");
    let number = || value.parse().map(At::Version).map_err(|_| wrong());
    match (name, format) {
        ("version", FolderFormat::DeltaLake) | ("snapshot", FolderFormat::Iceberg) => number(),
        ("timestamp", _) => value.parse().ok().filter(|at| matches!(at, At::Time(_))).ok_or_else(wrong),
        ("branch" | "tag", FolderFormat::Iceberg) => Ok(At::Name(value.to_owned())),
        (other, FolderFormat::Iceberg) => {
            plan_err!("unknown option {other}; the options are snapshot, timestamp, branch and tag")
        }
        (other, _) => plan_err!("unknown option {other}; the options are version and timestamp"),
    }
}

impl LakePlace {
    /// The version that is the latest now, or the chosen one. Blocks on I/O.
    fn open(&self, runtime: &Runtime) -> Result<LakeTable> {
        let options = LakeOptions::new().dataset(DatasetOptions::new().runtime(runtime));
        let options = self.at.iter().cloned().fold(options, LakeOptions::at);
        let version = lath_lake::open_version(&self.location, &options).map_err(external)?;
        if version.format() != self.format {
            return plan_err!("{} is {}, not {}", self.location, version.format(), self.format);
        }
        LakeTable::new(version, &self.location, runtime, FileColumns::default())
    }
}

impl ExternalLake {
    /// The table and version that it is.
    pub(crate) fn place(&self) -> &LakePlace {
        &self.place
    }

    /// The version that is the latest now, or the chosen one. Blocks on I/O.
    pub(crate) fn version(&self) -> Result<LakeTable> {
        let table = self.place.open(&self.runtime)?;
        if table.schema() != self.schema {
            return plan_err!("the columns of {} have changed; create the table again", self.place.location);
        }
        Ok(table)
    }

    /// Scans the table in a plan that was not bound to a version.
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = self.clone();
        let version = blocking(move || table.version()).await?;
        version.scan(state, projection, filters, limit).await
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
        only_read(&format!("{} is {}", self.place.location, self.place.format))
    }
}

impl TableProvider for ExternalLake {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| support(filter, &self.schema)).collect())
    }

    scan_by!(ExternalLake, plan_scan);

    insert_by!(ExternalLake, refuse_insert);

    changes_refused_by!(|table| table.no_change());
}
