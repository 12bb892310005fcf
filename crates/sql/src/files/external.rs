//! `CREATE EXTERNAL TABLE … STORED AS PARQUET LOCATION …`: files that each query lists again, and that INSERT adds to.

use std::sync::Arc;
use std::{fmt, fs, io};

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{CreateExternalTable, Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use lath_parquet::{Dataset, DatasetOptions};
use lath_writer::WriteOptions;

use super::catalog_table::keyed_folder;
use super::table::{LathTable, no_change};
use crate::error::file_work;
use crate::local_path::{has_objects, local_path};
use crate::scan::{changes_refused_by, create_by, insert_by, scan_by, support};
use crate::write::{Destination, FileFormat, WriteSettings, file_schema, file_sink, is_true, written_folder};

/// Creates external tables of Parquet files.
#[derive(Debug)]
pub(crate) struct ExternalTables {
    pub(crate) settings: WriteSettings,
}

/// A table whose files are listed by each query.
struct ExternalTable {
    files: Files,
    schema: SchemaRef,
    partition_by: Vec<String>,
    /// Options of files that INSERT writes.
    options: Vec<(String, String)>,
    settings: WriteSettings,
}

/// The locations of a table's files.
#[derive(Debug, Clone)]
struct Files {
    locations: Vec<String>,
    options: DatasetOptions,
    /// Whether there may be no files: the columns are declared.
    may_be_none: bool,
}

impl ExternalTables {
    async fn make(&self, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let mut dataset_options = DatasetOptions::new().runtime(&self.settings.runtime).revalidate(true);
        let mut options = Vec::new();
        if let Some(folder) = command.locations.iter().find_map(|location| keyed_folder(location)) {
            return plan_err!(
                "{} is a table with a primary key; write STORED AS LATH instead of PARQUET",
                folder.display()
            );
        }
        for (name, value) in &command.options {
            let name = name.strip_prefix("format.").unwrap_or(name);
            match name {
                "plain_files" => dataset_options = dataset_options.plain_files(is_true(name, value)?),
                "union" | "union_by_name" => dataset_options = dataset_options.union_schemas(is_true(name, value)?),
                _ => options.push((name.to_owned(), value.clone())),
            }
        }
        options.sort_unstable();
        if let Some(order) = sort_text(&command.order_exprs)? {
            if options.iter().any(|(name, _)| name == "sort") {
                return plan_err!("WITH ORDER and the option sort are the same; give one of them");
            }
            options.push(("sort".to_owned(), order));
        }
        let partition_by: Vec<String> = command.table_partition_cols.iter().map(|text| column_name(text)).collect();
        let declared = (!command.schema.fields().is_empty()).then(|| Arc::clone(command.schema.inner()));
        if let Some(schema) = &declared {
            for column in &partition_by {
                let field = schema.field_with_name(column)?;
                dataset_options = dataset_options.partition_type(column, field.data_type().clone());
            }
        }
        let files =
            Files { locations: command.locations.clone(), options: dataset_options, may_be_none: declared.is_some() };
        let found = files.clone().open().await?;
        let schema = match (&declared, &found) {
            (None, Some(dataset)) => Arc::clone(dataset.schema()),
            (Some(declared), None) => {
                check_partitions_last(declared, &partition_by)?;
                Arc::clone(declared)
            }
            (Some(declared), Some(dataset)) => {
                check_declared(declared, dataset.schema())?;
                Arc::clone(dataset.schema())
            }
            (None, None) => {
                return plan_err!(
                    "{}: no files found; to create the table without files, declare its columns",
                    command.locations.join(", ")
                );
            }
        };
        let mut partition_by = partition_by;
        if let Some(dataset) = &found {
            let file_partitions: Vec<String> =
                dataset.partitions().iter().map(|column| column.field().name().clone()).collect();
            if partition_by.is_empty() {
                partition_by = file_partitions;
            } else if partition_by != file_partitions {
                return plan_err!(
                    "PARTITIONED BY does not match the files: they are partitioned by ({}), not by ({})",
                    file_partitions.join(", "),
                    partition_by.join(", ")
                );
            }
        }
        // Wrong options are an error here rather than at the first INSERT.
        let written_schema = file_schema(&schema, &partition_by)?;
        self.settings.options(WriteOptions::default(), &written_schema, &options)?;
        Ok(Arc::new(ExternalTable { files, schema, partition_by, options, settings: self.settings.clone() }))
    }
}

impl TableProviderFactory for ExternalTables {
    create_by!(ExternalTables, make);
}

/// Parses a column name, which DataFusion (55) leaves as it is written, with quotes.
pub(super) fn column_name(text: &str) -> String {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => text.to_lowercase(),
    }
}

/// Converts `WITH ORDER` to the option `sort`.
fn sort_text(orders: &[Vec<datafusion::logical_expr::SortExpr>]) -> Result<Option<String>> {
    let [order] = orders else {
        return if orders.is_empty() {
            Ok(None)
        } else {
            plan_err!("WITH ORDER is given more than once; rows have one order")
        };
    };
    let keys = order.iter().map(|key| {
        let Expr::Column(column) = &key.expr else {
            return plan_err!("WITH ORDER takes columns, not {}", key.expr);
        };
        let direction = if key.asc { "" } else { ":desc" };
        let nulls = if key.nulls_first { ":nulls-first" } else { "" };
        Ok(format!("{}{direction}{nulls}", column.name))
    });
    Ok(Some(keys.collect::<Result<Vec<_>>>()?.join(",")))
}

/// Checks that the declared columns end with the partition columns, as the table will have them when it is read.
fn check_partitions_last(declared: &SchemaRef, partition_by: &[String]) -> Result<()> {
    let names = declared.fields().iter().map(|field| field.name());
    let in_files = names.clone().filter(|name| !partition_by.contains(name));
    let expected: Vec<&String> = in_files.chain(partition_by).collect();
    if names.eq(expected.iter().copied()) {
        return Ok(());
    }
    plan_err!(
        "declare the columns of PARTITIONED BY last, in this order: {}",
        expected.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
    )
}

/// Checks that declared columns have the names and order of the files' columns. Their types are the files'.
fn check_declared(declared: &SchemaRef, found: &SchemaRef) -> Result<()> {
    let names = |schema: &SchemaRef| schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    if names(declared) != names(found) {
        return plan_err!(
            "the declared columns do not match the files: the files have {}, and {} are declared",
            names(found).join(", "),
            names(declared).join(", ")
        );
    }
    Ok(())
}

impl Files {
    /// Lists the files.
    async fn open(self) -> Result<Option<Dataset>> {
        let open = move || match Dataset::open(&self.locations, self.options) {
            Err(_) if self.may_be_none && has_no_files(&self.locations) => Ok(None),
            opened => opened.map(Some),
        };
        file_work(open).await
    }
}

/// Whether all locations are empty folders or do not exist.
pub(super) fn has_no_files(locations: &[String]) -> bool {
    locations.iter().all(|location| match local_path(location) {
        Some(path) => match fs::read_dir(path) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        },
        None => !location.contains(['*', '?', '[']) && has_objects(location).is_ok_and(|has_objects| !has_objects),
    })
}

impl ExternalTable {
    /// The files as they are now.
    async fn table(&self) -> Result<Option<LathTable>> {
        let Some(dataset) = self.files.clone().open().await? else { return Ok(None) };
        if dataset.schema() != &self.schema {
            check_declared(&self.schema, dataset.schema())?;
            let types = self.schema.fields().iter().zip(dataset.schema().fields());
            let mut changed = types.filter(|(before, now)| before.data_type() != now.data_type());
            if let Some((before, now)) = changed.next() {
                return plan_err!(
                    "the type of column {} has changed in the files: expected {}, found {}; create the table again",
                    before.name(),
                    before.data_type(),
                    now.data_type()
                );
            }
        }
        Ok(Some(LathTable::new(dataset, &self.settings.runtime)))
    }
}

impl ExternalTable {
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match self.table().await? {
            Some(table) => table.scan(state, projection, filters, limit).await,
            None => {
                let schema = datafusion::common::project_schema(&self.schema, projection)?;
                Ok(Arc::new(EmptyExec::new(schema)))
            }
        }
    }

    async fn plan_insert(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if op != InsertOp::Append {
            return plan_err!("rows of Parquet files cannot be replaced; use INSERT INTO to add rows");
        }
        let [location] = self.files.locations.as_slice() else {
            return plan_err!("the table has several locations; INSERT needs a table with one folder");
        };
        let path = written_folder(location)?;
        let schema = file_schema(&self.schema, &self.partition_by)?;
        // Existing files supply the options that the statement does not set.
        let like = self.files.clone().open().await?;
        let like = like.and_then(|dataset| dataset.files().first().cloned());
        let base = file_work(move || match like {
            Some(file) => WriteOptions::default().inherit(&file.open()?),
            None => Ok(WriteOptions::default()),
        });
        let base = base.await?;
        let options = self.settings.options(base, &schema, &self.options)?;
        let (folder, format) = (Destination::Folder { path }, FileFormat::Parquet(Box::new(options)));
        file_sink(input, &self.schema, folder, self.partition_by.clone(), format, &self.settings)
            .map_err(|error| plan_datafusion_err!("{location}: {error}"))
    }
}

impl TableProvider for ExternalTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| support(filter, &self.schema)).collect())
    }

    scan_by!(ExternalTable, plan_scan);

    insert_by!(ExternalTable, plan_insert);

    changes_refused_by!(|_| no_change());
}

impl fmt::Debug for ExternalTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalTable").field("locations", &self.files.locations).finish_non_exhaustive()
    }
}
