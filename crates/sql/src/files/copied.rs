//! The files of `COPY t FROM`.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::{TableProvider, UrlTableFactory};
use datafusion::common::{Result, plan_err};
use lath_parquet::DatasetOptions;
use lath_text::TextFormat;

use super::catalog_table::open_locations;
use super::location::Locations;
use super::table::FileColumns;
use super::text::{CopiedColumns, TextTable};
use crate::error::blocking;
use crate::grammar::CopyFrom;
use crate::table_opening::TableOpening;
use crate::write::is_true;

/// Files as a table.
#[derive(Debug)]
pub(crate) struct CopiedFiles {
    pub(crate) table: Arc<dyn TableProvider>,
    /// Whether the files have names of their columns.
    pub(crate) has_names: bool,
}

/// Opens the files of a statement.
pub(crate) async fn open_copied(
    copy: &CopyFrom<'_>,
    columns: &CopiedColumns,
    opening: &TableOpening,
) -> Result<CopiedFiles> {
    let format = match copy.format.as_deref() {
        None => TextFormat::from_name(Path::new(copy.location)),
        Some("csv") => Some(TextFormat::Csv),
        Some("json" | "jsonl" | "ndjson") => Some(TextFormat::JsonLines),
        Some("parquet") => None,
        Some(other) => return plan_err!("FORMAT {other} is not read; the formats are parquet, csv and json"),
    };
    let (location, options, columns) = (copy.location.to_owned(), copy.options.clone(), columns.clone());
    if let Some(format) = format {
        let (table, has_names) = blocking(move || TextTable::copied(location, format, &options, &columns)).await?;
        return Ok(CopiedFiles { table: Arc::new(table), has_names });
    }
    if copy.format.is_none() && options.is_empty() {
        let locations = Locations { opening: opening.clone() };
        return match locations.try_new(copy.location).await? {
            Some(table) => Ok(CopiedFiles { table, has_names: true }),
            None => plan_err!(
                "{} does not exist, or is in a format that its name does not say: write (FORMAT parquet), csv or json",
                copy.location
            ),
        };
    }
    let (dataset, opening) = (dataset_options(&options)?, opening.clone());
    let open = move || open_locations(&[location], dataset, &opening, FileColumns::default());
    Ok(CopiedFiles { table: blocking(open).await?, has_names: true })
}

fn dataset_options(options: &HashMap<String, String>) -> Result<DatasetOptions> {
    let mut dataset = DatasetOptions::new();
    for (name, value) in options {
        dataset = match name.as_str() {
            "union" | "union_by_name" => dataset.union_schemas(is_true(name, value)?),
            "partitions" | "hive_partitioning" => dataset.partitions(is_true(name, value)?),
            "plain_files" => dataset.plain_files(is_true(name, value)?),
            _ => {
                return plan_err!(
                    "option {name} is not known; the options for Parquet are union, partitions and plain_files, and the format of other files is given by FORMAT"
                );
            }
        };
    }
    Ok(dataset)
}
