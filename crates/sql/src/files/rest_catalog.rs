//! `ATTACH 'rest://localhost:8181' AS lake`: the tables of a REST catalog of Iceberg by their names, as `lake.namespace.table`.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::TableType;
use lath_lake::{LakeOptions, RestCatalog};
use lath_parquet::{DatasetOptions, Error, Runtime};

use super::lake_table::LakeTable;
use super::table::FileColumns;
use crate::error::{blocking, external};

/// A catalog. Each query asks for the tables that it names, and so reads them as they are then.
#[derive(Debug, Clone)]
pub(crate) struct AttachedCatalog {
    name: String,
    location: String,
    runtime: Runtime,
    connected: Arc<Mutex<Option<RestCatalog>>>,
}

/// A namespace.
#[derive(Debug)]
struct Namespace {
    catalog: AttachedCatalog,
    /// With dots between its levels.
    name: String,
}

/// A namespace or table that stands for a list that could not be had. Asking for its tables or type is the error.
const UNLISTED: &str = "the catalog cannot be listed: ";

impl AttachedCatalog {
    /// Connects to the catalog at a location, which statements call `name`.
    pub(crate) async fn open(name: &str, location: &str, runtime: &Runtime) -> Result<Self> {
        let scheme = location.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), Some("rest" | "http" | "https")) {
            return plan_err!(
                "ATTACH takes the address of a REST catalog of Iceberg, as in ATTACH 'rest://localhost:8181' AS {name}; lath sql --database FOLDER opens a database of Lath, and FROM 'FOLDER' reads a table"
            );
        }
        let (name, location, runtime) = (name.to_owned(), location.to_owned(), runtime.clone());
        let catalog = Self { name, location, runtime, connected: Arc::default() };
        blocking(move || catalog.connect().map(|_| catalog)).await
    }

    fn options(&self) -> LakeOptions {
        LakeOptions::new().dataset(DatasetOptions::new().runtime(&self.runtime))
    }

    fn connect(&self) -> Result<RestCatalog> {
        let connected = RestCatalog::connect(&self.location, &self.options()).map_err(external)?;
        *self.connected.lock().unwrap_or_else(PoisonError::into_inner) = Some(connected.clone());
        Ok(connected)
    }

    /// Asks the catalog. If it denies access, its configuration and a token in the environment may have changed, so it is connected again.
    fn ask<T>(&self, question: impl Fn(&RestCatalog) -> lath_parquet::Result<T>) -> Result<T> {
        let connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(connected) = connected {
            match question(&connected) {
                Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::PermissionDenied => {}
                answered => return answered.map_err(external),
            }
        }
        question(&self.connect()?).map_err(external)
    }

    /// The namespaces, with dots between levels.
    pub(crate) fn namespaces(&self) -> Result<Vec<String>> {
        self.ask(RestCatalog::namespaces)
    }

    /// The tables of a namespace.
    ///
    /// # Errors
    /// If there is no such namespace, or the catalog does not answer.
    pub(crate) fn tables(&self, namespace: &str) -> Result<Vec<String>> {
        self.ask(|catalog| catalog.tables(namespace))
    }

    /// The tables of a namespace; none if it was removed since it was listed.
    pub(crate) fn tables_if_present(&self, namespace: &str) -> Result<Vec<String>> {
        self.ask(|catalog| match catalog.tables(namespace) {
            Err(Error::Invalid { .. }) => Ok(Vec::new()),
            tables => tables,
        })
    }

    fn table(&self, namespace: &str, name: &str) -> Result<LakeTable> {
        let options = self.options();
        let opened = self.ask(|catalog| match catalog.version(namespace, name, &options) {
            Err(Error::Invalid { what }) => {
                Err(Error::Invalid { what: format!("{what}{}", advice(catalog, namespace, name)) })
            }
            opened => opened,
        });
        let what = format!("{}.{namespace}.{name}", self.name);
        LakeTable::new(opened?, &what, &self.runtime, FileColumns::default())
    }

    /// The error of statements that would change the catalog.
    pub(super) fn refuse<T>(&self) -> Result<T> {
        plan_err!("the catalog {} is attached, and its tables are only read", self.name)
    }
}

/// A hint if a name differs from an existing one by case alone: names without quotes become lower case.
fn advice(catalog: &RestCatalog, namespace: &str, table: &str) -> String {
    let same = |names: lath_parquet::Result<Vec<String>>, wanted: &str| {
        names.ok()?.into_iter().find(|name| name != wanted && name.eq_ignore_ascii_case(wanted))
    };
    let found = match catalog.tables(namespace) {
        Err(_) => same(catalog.namespaces(), namespace),
        tables => same(tables, table),
    };
    found.map_or_else(String::new, |name| format!("; there is \"{name}\", whose name needs double quotes"))
}

impl CatalogProvider for AttachedCatalog {
    fn schema_names(&self) -> Vec<String> {
        self.namespaces().unwrap_or_else(|error| vec![format!("{UNLISTED}{error}")])
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        // Whether there is one is known when a table of it is asked for.
        Some(Arc::new(Namespace { catalog: self.clone(), name: name.to_owned() }))
    }
}

impl Namespace {
    fn tables(&self) -> Result<Vec<String>> {
        if self.name.starts_with(UNLISTED) {
            // Namespaces are listed only if some of them are to be shown.
            return self.catalog.namespaces().map(|_| Vec::new());
        }
        self.catalog.tables_if_present(&self.name)
    }

    /// The error for a list that could not be had.
    async fn check_listed(&self) -> Result<()> {
        let namespace = Self { catalog: self.catalog.clone(), name: self.name.clone() };
        blocking(move || namespace.tables().map(drop)).await
    }
}

#[async_trait]
impl SchemaProvider for Namespace {
    fn table_names(&self) -> Vec<String> {
        self.tables().unwrap_or_else(|_| vec![UNLISTED.to_owned()])
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if name == UNLISTED {
            return self.check_listed().await.map(|()| None);
        }
        let (catalog, namespace, name) = (self.catalog.clone(), self.name.clone(), name.to_owned());
        Ok(Some(Arc::new(blocking(move || catalog.table(&namespace, &name)).await?)))
    }

    /// Lists of tables name their types, for which no table has to be loaded.
    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        if name == UNLISTED {
            self.check_listed().await?;
        }
        Ok(Some(TableType::Base))
    }

    fn register_table(&self, _: String, _: Arc<dyn TableProvider>) -> Result<Option<Arc<dyn TableProvider>>> {
        self.catalog.refuse()
    }

    fn deregister_table(&self, _: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        self.catalog.refuse()
    }

    fn table_exist(&self, name: &str) -> bool {
        self.tables().is_ok_and(|tables| tables.iter().any(|table| table == name))
    }
}
