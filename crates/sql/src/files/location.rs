//! Files as tables by their names: `FROM 'trips/*.parquet'`.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::Result;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::session_state::SessionStateBuilder;
use lath_parquet::DatasetOptions;
use lath_text::TextFormat;

use super::catalog_table::open_locations;
use super::table::FileColumns;
use super::text::{TextTable, only_parquet};
use crate::error::blocking;
use crate::local_path::local_path;
use crate::scan::TableFuture;
use crate::table_opening::TableOpening;

/// Opens table names that are a file, a folder, a glob or a URL.
#[derive(Debug)]
pub(crate) struct Locations {
    pub(crate) opening: TableOpening,
}

/// Whether a name stands for files rather than a table.
pub(crate) fn is_location(name: &str) -> bool {
    name.contains("://")
        || name.contains(['/', '*', '?'])
        || TextFormat::from_name(Path::new(name)).is_some()
        || arrow_extension(name).is_some()
        || Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"))
        || Path::new(name).exists()
}

/// The extension of a file of Arrow IPC.
fn arrow_extension(name: &str) -> Option<&str> {
    let extension = Path::new(name).extension()?.to_str()?;
    ["arrow", "arrows", "feather", "ipc"].iter().any(|known| extension.eq_ignore_ascii_case(known)).then_some(extension)
}

#[async_trait]
impl UrlTableFactory for Locations {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !is_location(name) {
            return Ok(None);
        }
        if let Some(format) = TextFormat::from_name(Path::new(name)) {
            return TextTable::from_name(name, format).await.map(Some);
        }
        if let Some(extension) = arrow_extension(name) {
            return self.arrow(name, extension).await.map(Some);
        }
        let (location, opening) = (name.to_owned(), self.opening.clone());
        let open = move || open_locations(&[location], DatasetOptions::new(), &opening, FileColumns::default());
        Ok(Some(blocking(open).await?))
    }
}

impl Locations {
    /// Files of Arrow IPC, which DataFusion reads.
    fn arrow<'a>(&'a self, name: &'a str, extension: &'a str) -> TableFuture<'a> {
        Box::pin(make_arrow(name, extension))
    }
}

async fn make_arrow(name: &str, extension: &str) -> Result<Arc<dyn TableProvider>> {
    if local_path(name).is_none() {
        return only_parquet(name);
    }
    // TableFuture only here, because few sessions read files of other formats.
    let state = SessionStateBuilder::new().with_default_features().build();
    let options = ListingOptions::new(Arc::new(ArrowFormat)).with_file_extension(format!(".{extension}"));
    let url = ListingTableUrl::parse(name)?;
    let schema = options.infer_schema(&state, &url).await?;
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    Ok(Arc::new(ListingTable::try_new(config)?))
}
