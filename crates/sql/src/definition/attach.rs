//! `ATTACH` and `DETACH`.

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::Ident;

use super::Definitions;
use crate::dialect::normal;
use crate::files::AttachedCatalog;

impl Definitions<'_> {
    /// Attaches the catalog at a location under a name, until it is detached or the session ends.
    pub(super) async fn attach(&self, location: &Ident, name: &Ident, if_not_exists: bool) -> Result<()> {
        let name = normal(name);
        if if_not_exists && self.catalogs.attached(&name).is_some() {
            return Ok(());
        }
        let catalog = AttachedCatalog::open(&name, &location.value, self.runtime).await?;
        self.catalogs.attach(name, catalog)
    }

    pub(super) fn detach(&self, name: &Ident, if_exists: bool) -> Result<()> {
        let name = normal(name);
        if !self.catalogs.detach(&name) && !if_exists {
            return plan_err!("there is no attached catalog {name:?}");
        }
        Ok(())
    }
}
