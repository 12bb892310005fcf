//! The catalogs of a session: its own, in which names can be locations of files, and attached ones.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::slice;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use datafusion::catalog::{CatalogProvider, CatalogProviderList, DynamicFileCatalog, UrlTableFactory};
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::{CopyToSource, CopyToStatement, Statement};
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Statement as SqlStatement, VisitMut, VisitorMut,
};

use super::rest_catalog::AttachedCatalog;
use crate::dialect::normal;
use crate::statement::explained;

/// The catalogs of a session.
///
/// Only names in the session's own catalogs can be locations of files: DataFusion asks for every table of a catalog in which they can, to
/// list the names.
#[derive(Debug)]
pub(crate) struct Catalogs {
    own: DynamicFileCatalog,
    attached: RwLock<BTreeMap<String, AttachedCatalog>>,
}

impl Catalogs {
    pub(crate) fn new(own: Arc<dyn CatalogProviderList>, locations: Arc<dyn UrlTableFactory>) -> Self {
        Self { own: DynamicFileCatalog::new(own, locations), attached: RwLock::default() }
    }

    /// Adds an attached catalog.
    ///
    /// # Errors
    /// If the name is taken.
    pub(crate) fn attach(&self, name: String, catalog: AttachedCatalog) -> Result<()> {
        let mut attached = self.write();
        if attached.contains_key(&name) || self.own.catalog(&name).is_some() {
            return plan_err!("there is a catalog {name:?} already; DETACH {name}, or choose another name");
        }
        attached.insert(name, catalog);
        Ok(())
    }

    /// Removes an attached catalog; returns whether there was one.
    pub(crate) fn detach(&self, name: &str) -> bool {
        self.write().remove(name).is_some()
    }

    /// The attached catalog with a name.
    pub(crate) fn attached(&self, name: &str) -> Option<AttachedCatalog> {
        self.read().get(name).cloned()
    }

    /// Makes one name of the levels of a namespace, so that `lake.top.inner.t` is `lake."top.inner".t`.
    ///
    /// # Errors
    /// If a catalog is not attached, or the name of a table in an attached one has no namespace.
    pub(crate) fn join_levels(&self, statement: &mut Statement) -> Result<()> {
        let mut levels = Levels { catalogs: self };
        let flow = match explained(statement) {
            // Its name is a namespace.
            Statement::Statement(statement) if matches!(statement.as_ref(), SqlStatement::ShowTables { .. }) => {
                return Ok(());
            }
            Statement::Statement(statement) => {
                self.check_defined(statement)?;
                statement.visit(&mut levels)
            }
            Statement::CopyTo(CopyToStatement { source: CopyToSource::Query(query), .. }) => query.visit(&mut levels),
            Statement::CopyTo(CopyToStatement { source: CopyToSource::Relation(name), .. }) => levels.join(name),
            _ => return Ok(()),
        };
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    /// Refuses to create and drop tables and views in attached catalogs, before they are looked for there.
    fn check_defined(&self, statement: &SqlStatement) -> Result<()> {
        let names = match statement {
            SqlStatement::CreateTable(create) => slice::from_ref(&create.name),
            SqlStatement::CreateView(create) => slice::from_ref(&create.name),
            SqlStatement::Drop { names, .. } => names.as_slice(),
            _ => return Ok(()),
        };
        for name in names.iter().filter(|name| name.0.len() > 2) {
            let first = name.0.first().and_then(ObjectNamePart::as_ident).map(normal);
            if let Some(catalog) = first.and_then(|first| self.attached(&first)) {
                return catalog.refuse();
            }
        }
        Ok(())
    }

    /// Whether the session has a schema of its own with this name.
    fn has_own_schema(&self, name: &str) -> bool {
        let own = self.own.catalog_names();
        own.iter().filter_map(|catalog| self.own.catalog(catalog)).any(|catalog| catalog.schema(name).is_some())
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, AttachedCatalog>> {
        self.attached.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, AttachedCatalog>> {
        self.attached.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CatalogProviderList for Catalogs {
    fn register_catalog(&self, name: String, catalog: Arc<dyn CatalogProvider>) -> Option<Arc<dyn CatalogProvider>> {
        self.own.register_catalog(name, catalog)
    }

    fn catalog_names(&self) -> Vec<String> {
        self.own.catalog_names().into_iter().chain(self.read().keys().cloned()).collect()
    }

    fn catalog(&self, name: &str) -> Option<Arc<dyn CatalogProvider>> {
        match self.attached(name) {
            Some(attached) => Some(Arc::new(attached)),
            None => self.own.catalog(name),
        }
    }
}

/// Visits the names of tables in a statement.
struct Levels<'c> {
    catalogs: &'c Catalogs,
}

impl Levels<'_> {
    fn join(&self, name: &mut ObjectName) -> ControlFlow<DataFusionError> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(ObjectNamePart::as_ident).collect();
        let Some([first, levels @ .., table]) = parts.as_deref() else { return ControlFlow::Continue(()) };
        let catalog = normal(first);
        if self.catalogs.attached(&catalog).is_none() {
            if levels.is_empty() || self.catalogs.own.catalog(&catalog).is_some() {
                return ControlFlow::Continue(());
            }
            return ControlFlow::Break(plan_datafusion_err!(
                "there is no catalog {catalog}; ATTACH 'rest://HOST' AS {catalog} adds the tables of a REST catalog of Iceberg"
            ));
        }
        match levels {
            [] if self.catalogs.has_own_schema(&catalog) => {}
            [] => {
                let table = normal(table);
                return ControlFlow::Break(plan_datafusion_err!(
                    "{catalog} is a catalog, and {table} needs a namespace: write {catalog}.NAMESPACE.{table}; SHOW TABLES FROM {catalog} lists the names"
                ));
            }
            [_] => {}
            [first_level, ..] => {
                let joined = levels.iter().map(|level| normal(level)).collect::<Vec<_>>().join(".");
                let joined = Ident { value: joined, quote_style: Some('"'), span: first_level.span };
                let parts = [(*first).clone(), joined, (*table).clone()];
                *name = ObjectName(parts.into_iter().map(ObjectNamePart::Identifier).collect());
            }
        }
        ControlFlow::Continue(())
    }
}

impl VisitorMut for Levels<'_> {
    type Break = DataFusionError;

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<DataFusionError> {
        self.join(name)
    }
}
