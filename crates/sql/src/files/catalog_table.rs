use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use lath_catalog::{Catalog, InFolder};
use lath_parquet::{Dataset, DatasetOptions, FolderFormat, Predicate, Runtime};
use lath_table::{Table, TableOptions};

use super::table::{FileColumns, LathTable, with_distinct_names};
use crate::error::{blocking, external, of_catalog, of_table};
use crate::keyed::KeyedTable;
use crate::local_path::local_path;
use crate::scan::{Pushed, scan_by, support};

/// The files of a [`Catalog`] as a table of DataFusion. A query opens those files alone that the catalog does not rule out by the query's
/// conditions.
///
/// The catalog is open while a query is planned and runs, so that others can bring it up to date between queries. Files that have changed
/// since the catalog read them are read as they are, if they are not ruled out by what they had before: see [`Catalog::select`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use lath_parquet::{DatasetOptions, Runtime};
/// use lath_sql::CatalogTable;
///
/// let trips = CatalogTable::open("trips.catalog", DatasetOptions::new(), &Runtime::of_process())?;
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
    of_files: SchemaRef,
    /// These, then those of `file_columns`.
    schema: SchemaRef,
    file_columns: FileColumns,
}

impl CatalogTable {
    /// The table of the catalog at `path`, whose files are opened with `options` and by scans that share `runtime`. Blocks on I/O.
    ///
    /// # Errors
    /// If there is no catalog, or it cannot be read; if the schemas of its files cannot be united and are to be.
    pub fn open(path: impl AsRef<Path>, options: DatasetOptions, runtime: &Runtime) -> Result<Self> {
        let path = path.as_ref();
        Self::of(&Catalog::open_read_only(path).map_err(of_catalog)?, options, runtime)
    }

    fn of(catalog: &Catalog, options: DatasetOptions, runtime: &Runtime) -> Result<Self> {
        let options = options.runtime(runtime);
        let schema = catalog.schema(&options).map_err(of_catalog)?;
        if !Arc::ptr_eq(&with_distinct_names(&schema), &schema) {
            return plan_err!(
                "files of {} have columns of equal names, which catalogs do not tell apart; read the files",
                catalog.path().display()
            );
        }
        Ok(Self {
            path: catalog.path().to_owned(),
            options,
            runtime: runtime.clone(),
            of_files: Arc::clone(&schema),
            schema,
            file_columns: FileColumns::default(),
        })
    }

    /// The same, with columns that say which file each row is in, and the number that it has there, from 0.
    ///
    /// # Errors
    /// If there is a column of such a name.
    pub fn with_file_columns(mut self, file_name: Option<String>, row_number: Option<String>) -> Result<Self> {
        self.file_columns = FileColumns { file_name, row_number };
        self.schema = self.file_columns.add_to(&self.of_files)?;
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
        let predicate = Pushed::new(filters, &self.of_files).predicate;
        let (path, options) = (self.path.clone(), self.options.clone());
        let all = self.of_files.fields();
        let names = |projection: &Vec<usize>| -> Vec<String> {
            projection.iter().filter_map(|&at| all.get(at)).map(|field| field.name().clone()).collect()
        };
        let columns = projection.map(names);
        let select = move || {
            let catalog = Catalog::open_read_only(&path)?;
            catalog.check_columns(columns.as_deref(), &options)?;
            match &predicate {
                Some(predicate) => catalog.select(predicate, &options),
                None => catalog.dataset(&options),
            }
        };
        let selected = blocking(move || select().map_err(of_catalog)).await?;
        if selected.schema().fields() != self.of_files.fields() {
            return plan_err!(
                "the files of {} have other columns since the table was opened; open it again",
                self.path.display()
            );
        }
        let table = LathTable::new(selected, &self.runtime).add_file_columns(self.file_columns.clone())?;
        table.scan(state, projection, filters, limit).await
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
        Ok(filters.iter().map(|filter| support(filter, &self.of_files)).collect())
    }

    scan_by!(CatalogTable, plan_scan);
}

impl fmt::Debug for CatalogTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogTable").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Opens the table that some locations stand for: the one with a primary key whose folder is the only location, or the files, by the catalog
/// that lies in the only folder if it is up to date. Blocks on I/O.
pub(crate) fn open_locations<L: AsRef<str>>(
    locations: &[L],
    options: DatasetOptions,
    runtime: &Runtime,
    file_columns: FileColumns,
) -> Result<Arc<dyn TableProvider>> {
    if let [location] = locations
        && !options.reads_plain_files()
        && let Some(folder) = keyed_folder(location.as_ref())
    {
        if file_columns != FileColumns::default() {
            return plan_err!(
                "{}: rows of a table with a primary key have neither file_name nor row_number",
                folder.display()
            );
        }
        let opened = Table::open_read_only(&folder, TableOptions::new().runtime(runtime)).map_err(of_table)?;
        return Ok(Arc::new(KeyedTable::attached(&folder.display().to_string(), opened)?));
    }
    if let [location] = locations
        && !options.reads_plain_files()
        && let InFolder::Current(catalog) = Catalog::in_folder(Path::new(location.as_ref()))
    {
        let table = CatalogTable::of(&catalog, options, runtime)?;
        return Ok(Arc::new(table.with_file_columns(file_columns.file_name, file_columns.row_number)?));
    }
    let locations = locations.iter().map(AsRef::as_ref);
    let dataset = Dataset::open(locations, options.runtime(runtime)).map_err(external)?;
    Ok(Arc::new(LathTable::new(dataset, runtime).add_file_columns(file_columns)?))
}

/// The folder of a table with a primary key that a location names, in the form by which commits are told apart.
pub(crate) fn keyed_folder(location: &str) -> Option<PathBuf> {
    let path = local_path(location)?;
    let is_keyed = FolderFormat::at(path) == Some(FolderFormat::KeyedTable);
    is_keyed.then(|| path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// The rows of a commit of a table with a primary key, or those of them for which `condition` is true, as a table of DataFusion.
///
/// # Errors
/// If the table cannot be read.
pub fn keyed_table(name: &str, table: Table, condition: Option<Predicate>) -> Result<Arc<dyn TableProvider>> {
    Ok(Arc::new(KeyedTable::attached(name, table)?.with_condition(condition)))
}
