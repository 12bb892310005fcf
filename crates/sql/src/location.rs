//! Files as tables by their names: `FROM 'trips/*.parquet'`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use lath_parquet::{Dataset, DatasetOptions, Runtime};

use crate::table::{LathTable, external};

/// Opens what the name of a table stands for: a file, a folder, a glob or a URL.
#[derive(Debug)]
pub(crate) struct Locations {
    pub(crate) runtime: Runtime,
}

/// Whether a name is that of files rather than of a table.
fn is_location(name: &str) -> bool {
    name.contains("://") || name.contains(['/', '*', '?']) || name.ends_with(".parquet") || Path::new(name).exists()
}

#[async_trait]
impl UrlTableFactory for Locations {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !is_location(url) {
            return Ok(None);
        }
        let (location, runtime) = (url.to_owned(), self.runtime.clone());
        let open = move || Dataset::open([location], DatasetOptions::new().runtime(&runtime));
        let dataset = tokio::task::spawn_blocking(open).await;
        let dataset = dataset.map_err(|error| DataFusionError::External(Box::new(error)))?.map_err(external)?;
        Ok(Some(Arc::new(LathTable::new(dataset, &self.runtime))))
    }
}
