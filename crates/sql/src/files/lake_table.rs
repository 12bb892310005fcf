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

use super::table::{LathTable, only_read};
use crate::error::{blocking, external};
use crate::scan::{changes_refused_by, create_by, insert_by, scan_by, support};

/// Creates external tables of one format.
#[derive(Debug)]
pub(crate) struct LakeTables {
    pub(crate) format: FolderFormat,
    pub(crate) runtime: Runtime,
}

/// The location of a table, and the version that is read.
#[derive(Debug, Clone)]
struct LakeVersion {
    location: String,
    format: FolderFormat,
    at: Option<At>,
    runtime: Runtime,
}

#[derive(Debug)]
struct LakeTable {
    version: LakeVersion,
    schema: SchemaRef,
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
        let version = LakeVersion { location: location.clone(), format, at, runtime: self.runtime.clone() };
        let schema = version.open().await?.schema();
        Ok(Arc::new(LakeTable { version, schema }))
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

impl LakeVersion {
    async fn open(&self) -> Result<LathTable> {
        let version = self.clone();
        blocking(move || {
            let options = LakeOptions::new().dataset(DatasetOptions::new().runtime(&version.runtime));
            let options = version.at.into_iter().fold(options, LakeOptions::at);
            let lake = lath_lake::open(&version.location, &options).map_err(external)?;
            if lake.format() != version.format {
                return plan_err!("{} is {}, not {}", version.location, lake.format(), version.format);
            }
            Ok(LathTable::from_lake(lake, &version.location, &version.runtime))
        })
        .await
    }
}

impl LakeTable {
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = self.version.open().await?;
        if table.schema() != self.schema {
            return plan_err!("the columns of {} have changed; create the table again", self.version.location);
        }
        table.scan(state, projection, filters, limit).await
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
        only_read(&format!("{} is {}", self.version.location, self.version.format))
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
        Ok(filters.iter().map(|filter| support(filter, &self.schema)).collect())
    }

    scan_by!(LakeTable, plan_scan);

    insert_by!(LakeTable, refuse_insert);

    changes_refused_by!(|table| table.no_change());
}
