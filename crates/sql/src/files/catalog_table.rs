use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lath_catalog::{Catalog, InFolder, Selection};
use lath_lake::LakeOptions;
use lath_parquet::{Dataset, DatasetOptions, FolderFormat, Predicate, Runtime};
use lath_table::{Snapshot, Table};

use super::lake_table::LakeTable;
use super::table::{FileColumns, LathTable, with_distinct_names};
use crate::error::{blocking, catalog_error, external, table_error};
use crate::keyed::KeyedTable;
use crate::local_path::local_path;
use crate::scan::{Pushdown, scan_by, support};
use crate::table_opening::TableOpening;

/// The files of a [`Catalog`] as a DataFusion table. A query opens only the files that the catalog does not rule out by the query's
/// conditions.
///
/// The catalog is open only while a query is planned and runs, so that other processes can update it between queries. Files that have
/// changed since the last refresh are read in their present state, unless the catalog rules them out by their previous contents: see
/// [`Catalog::select`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use lath_parquet::{DatasetOptions, Runtime};
/// use lath_sql::CatalogTable;
///
/// let trips = CatalogTable::open("trips.catalog", DatasetOptions::new(), &Runtime::global())?;
/// let context = SessionContext::new();
/// context.register_table("trips", Arc::new(trips))?;
/// context.sql("SELECT * FROM trips WHERE id = 4711").await?.show().await?;
/// # Ok(())
/// # }
/// ```
pub struct CatalogTable {
    path: PathBuf,
    options: DatasetOptions,
    runtime: Runtime,
    /// The columns of the files.
    file_schema: SchemaRef,
    /// The files' columns, then `file_columns`.
    schema: SchemaRef,
    file_columns: FileColumns,
}

impl CatalogTable {
    /// Opens the catalog at `path` as a table. Its files are opened with `options`, and its scans share `runtime`. Blocks on I/O.
    ///
    /// # Errors
    /// If there is no catalog, or it cannot be read; if `options` ask for a union of the files' schemas and they cannot be united.
    pub fn open(path: impl AsRef<Path>, options: DatasetOptions, runtime: &Runtime) -> Result<Self> {
        let path = path.as_ref();
        Self::of(&Catalog::open_read_only(path).map_err(catalog_error)?, options, runtime)
    }

    fn of(catalog: &Catalog, options: DatasetOptions, runtime: &Runtime) -> Result<Self> {
        let options = options.runtime(runtime);
        let schema = catalog.schema(&options).map_err(catalog_error)?;
        if !Arc::ptr_eq(&with_distinct_names(&schema), &schema) {
            return plan_err!(
                "files of {} have several columns of one name, which catalogs do not support; query the files without the catalog",
                catalog.path().display()
            );
        }
        Ok(Self {
            path: catalog.path().to_owned(),
            options,
            runtime: runtime.clone(),
            file_schema: Arc::clone(&schema),
            schema,
            file_columns: FileColumns::default(),
        })
    }

    /// Adds columns with the file of each row and the row's number in that file, from 0.
    ///
    /// # Errors
    /// If a column has one of these names.
    pub fn with_file_columns(mut self, file_name: Option<String>, row_number: Option<String>) -> Result<Self> {
        self.file_columns = FileColumns { file_name, row_number };
        self.schema = self.file_columns.add_to(&self.file_schema)?;
        Ok(self)
    }
}

impl CatalogTable {
    async fn plan_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut pushed = Pushdown::new(filters, &self.file_schema);
        let predicate = std::mem::replace(&mut pushed.predicate, Predicate::TRUE);
        let (path, options) = (self.path.clone(), self.options.clone());
        let all = self.file_schema.fields();
        let names = |projection: &Vec<usize>| -> Vec<String> {
            projection.iter().filter_map(|&at| all.get(at)).map(|field| field.name().clone()).collect()
        };
        let columns = projection.map(names);
        let select = move || {
            let catalog = Catalog::open_read_only(&path)?;
            catalog.check_columns(columns.as_deref(), &options)?;
            catalog.select(&predicate, &options).map(Selection::into_parts)
        };
        let (files, predicate) = blocking(move || select().map_err(catalog_error)).await?;
        if files.schema().fields() != self.file_schema.fields() {
            return plan_err!(
                "the columns of the files of {} have changed since the table was opened; open it again",
                self.path.display()
            );
        }
        let table = LathTable::new(files, &self.runtime).add_file_columns(self.file_columns.clone())?;
        table.with_condition(predicate).plan_pushed(state, projection, pushed, limit).await
    }
}

impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| support(filter, &self.file_schema)).collect())
    }

    scan_by!(CatalogTable, plan_scan);
}

impl fmt::Debug for CatalogTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogTable").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Opens locations as a table. A single folder of a table with a primary key, of Delta Lake or Iceberg is that table; a single folder with
/// an up-to-date catalog is read by the catalog; other locations are files. Blocks on I/O.
pub(crate) fn open_locations<L: AsRef<str>>(
    locations: &[L],
    options: DatasetOptions,
    opening: &TableOpening,
    file_columns: FileColumns,
) -> Result<Arc<dyn TableProvider>> {
    let runtime = &opening.runtime;
    if let [location] = locations
        && !options.reads_plain_files()
        && let Some(folder) = keyed_folder(location.as_ref())
    {
        if file_columns != FileColumns::default() {
            return plan_err!(
                "{}: file_name and row_number are not supported for tables with a primary key",
                folder.display()
            );
        }
        let opened = Table::open_read_only(&folder, opening.options()).map_err(table_error)?;
        return Ok(Arc::new(KeyedTable::attached(&folder.display().to_string(), opened)?));
    }
    if let [location] = locations
        && !options.reads_plain_files()
        && let InFolder::Current(catalog) = Catalog::in_folder(Path::new(location.as_ref()))
    {
        let table = CatalogTable::of(&catalog, options, runtime)?;
        return Ok(Arc::new(table.with_file_columns(file_columns.file_name, file_columns.row_number)?));
    }
    if let [location] = locations
        && !options.reads_plain_files()
    {
        let lake = LakeOptions::new().dataset(options.clone().runtime(runtime));
        if let Some(version) = lath_lake::find_version(location.as_ref(), &lake).map_err(external)? {
            return Ok(Arc::new(LakeTable::new(version, location.as_ref(), runtime, file_columns)?));
        }
    }
    let locations = locations.iter().map(AsRef::as_ref);
    let dataset = Dataset::open(locations, options.runtime(runtime)).map_err(external)?;
    Ok(Arc::new(LathTable::new(dataset, runtime).add_file_columns(file_columns)?))
}

/// The canonical folder of the table with a primary key that a location names.
pub(crate) fn keyed_folder(location: &str) -> Option<PathBuf> {
    let path = local_path(location)?;
    let is_keyed = FolderFormat::at(path) == Some(FolderFormat::KeyedTable);
    is_keyed.then(|| path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// A table with a primary key as a DataFusion table, with the rows of one commit for which `condition`, if any, is true.
///
/// # Errors
/// If the table cannot be read.
pub fn keyed_table(name: &str, table: Table, condition: Option<Predicate>) -> Result<Arc<dyn TableProvider>> {
    Ok(Arc::new(KeyedTable::attached(name, table)?.with_condition(condition)))
}

/// As [`keyed_table`], with the rows of a snapshot of the table.
///
/// # Errors
/// If the table cannot be read.
pub fn keyed_snapshot(
    name: &str,
    table: Table,
    snapshot: Snapshot,
    condition: Option<Predicate>,
) -> Result<Arc<dyn TableProvider>> {
    Ok(Arc::new(KeyedTable::attached_at(name, table, snapshot)?.with_condition(condition)))
}
