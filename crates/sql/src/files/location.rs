//! Files as tables by their names: `FROM 'trips/*.parquet'`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::session_state::SessionStateBuilder;
use futures_util::TryStreamExt;
use lath_parquet::{DatasetOptions, Runtime};

use super::catalog_table::open_locations;
use super::json_table::json_table;
use super::row_files::{RowReader, row_table};
use super::table::FileColumns;
use crate::error::blocking;
use crate::local_path::local_path;
use crate::scan::TableFuture;

const JSON_EXTENSIONS: [&str; 3] = ["json", "jsonl", "ndjson"];

/// Opens table names that are a file, a folder, a glob or a URL.
#[derive(Debug)]
pub(crate) struct Locations {
    pub(crate) runtime: Runtime,
    pub(crate) row_reader: Option<Arc<dyn RowReader>>,
}

/// Whether a name stands for files rather than a table.
pub(crate) fn is_location(name: &str) -> bool {
    let is_compressed = || {
        let stem = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending));
        stem.is_some_and(|stem| extension(stem).is_some())
    };
    name.contains("://")
        || name.contains(['/', '*', '?'])
        || extension(name).is_some()
        || is_compressed()
        || Path::new(name).exists()
}

/// The extension of a name, if its format is supported.
fn extension(name: &str) -> Option<String> {
    let extension = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    (extension == "parquet" || other_format(&extension).is_some()).then_some(extension)
}

/// The format of files other than Parquet, by their extension.
fn other_format(extension: &str) -> Option<Arc<dyn FileFormat>> {
    Some(match extension {
        "csv" => Arc::new(CsvFormat::default().with_has_header(true)),
        "tsv" => Arc::new(CsvFormat::default().with_has_header(true).with_delimiter(b'\t')),
        json if JSON_EXTENSIONS.contains(&json) => Arc::new(JsonFormat::default()),
        "arrow" | "arrows" | "feather" | "ipc" => Arc::new(ArrowFormat),
        _ => return None,
    })
}

#[async_trait]
impl UrlTableFactory for Locations {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !is_location(name) {
            return Ok(None);
        }
        if let Some(reader) = self.row_reader.as_ref().filter(|reader| reader.reads(Path::new(name)))
            && local_path(name).is_some()
        {
            return self.rows(name, reader).await.map(Some);
        }
        if let Some(extension) = extension(name)
            && let Some(format) = other_format(&extension)
        {
            return self.other(name, &extension, format).await.map(Some);
        }
        let (location, runtime) = (name.to_owned(), self.runtime.clone());
        let open = move || open_locations(&[location], DatasetOptions::new(), &runtime, FileColumns::default());
        Ok(Some(blocking(open).await?))
    }
}

impl Locations {
    /// Opens files with the program's reader.
    fn rows<'a>(&'a self, name: &'a str, reader: &'a Arc<dyn RowReader>) -> TableFuture<'a> {
        Box::pin(self.make_rows(name, reader))
    }

    async fn make_rows(&self, name: &str, reader: &Arc<dyn RowReader>) -> Result<Arc<dyn TableProvider>> {
        let state = SessionStateBuilder::new().with_default_features().build();
        let url = ListingTableUrl::parse(name)?;
        let store = state.runtime_env().object_store(&url)?;
        let found = url.list_all_files(&state, &store, "").await?;
        let found: Vec<_> = found.map_ok(|file| file_path(file.location.as_ref())).try_collect().await?;
        let reader = Arc::clone(reader);
        let files: Vec<PathBuf> = found.into_iter().filter(|path| reader.reads(path)).collect();
        if files.is_empty() {
            return plan_err!("{name}: there is no such file");
        }
        blocking(move || row_table(&reader, files)).await
    }

    /// Opens files of another format with DataFusion.
    fn other<'a>(&'a self, name: &'a str, extension: &'a str, format: Arc<dyn FileFormat>) -> TableFuture<'a> {
        Box::pin(self.make_other(name, extension, format))
    }

    async fn make_other(
        &self,
        name: &str,
        extension: &str,
        format: Arc<dyn FileFormat>,
    ) -> Result<Arc<dyn TableProvider>> {
        if local_path(name).is_none() {
            return plan_err!("{name}: only Parquet is read from stores and servers; download the file");
        }
        // Built only when needed: few sessions read files of other formats.
        let state = SessionStateBuilder::new().with_default_features().build();
        let options = ListingOptions::new(format).with_file_extension(format!(".{extension}"));
        let url = ListingTableUrl::parse(name)?;
        if JSON_EXTENSIONS.contains(&extension) {
            let store = state.runtime_env().object_store(&url)?;
            let ending = format!(".{extension}");
            let found = url.list_all_files(&state, &store, &ending).await?;
            let found: Vec<_> = found.map_ok(|file| file_path(file.location.as_ref())).try_collect().await?;
            return blocking(move || json_table(found)).await;
        }
        let schema = options.infer_schema(&state, &url).await?;
        let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
        Ok(Arc::new(ListingTable::try_new(config)?))
    }
}

/// Converts an object store's location to the path of a local file.
fn file_path(location: &str) -> PathBuf {
    let digits = |at: usize| u8::from_str_radix(location.get(at + 1..at + 3)?, 16).ok();
    let mut path = vec![b'/'];
    let mut at = 0;
    while let Some(&byte) = location.as_bytes().get(at) {
        let encoded = if byte == b'%' { digits(at) } else { None };
        path.push(encoded.unwrap_or(byte));
        at += if encoded.is_some() { 3 } else { 1 };
    }
    PathBuf::from(String::from_utf8_lossy(&path).into_owned())
}
