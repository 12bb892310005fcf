//! Options of statements that write.

use std::path::{Path, PathBuf};

use arrow_schema::Schema;
use datafusion::common::{Result, plan_datafusion_err, plan_err};
use datafusion::sql::sqlparser::ast::Value;
use lath_parquet::{FolderFormat, Runtime};
use lath_table::EncryptionKey;
use lath_text::TextFormat;
use lath_writer::{SortOptions, UncommittedFiles, WriteOptions};

use crate::error::external;
use crate::local_path::local_path;
use crate::table_opening::TableOpening;

/// Settings of all statements of a session that write.
#[derive(Debug, Clone)]
pub(crate) struct WriteSettings {
    pub(crate) runtime: Runtime,
    pub(crate) memory_budget_bytes: Option<usize>,
    /// The list of files that are being written.
    pub(crate) uncommitted: UncommittedFiles,
    /// The key of encrypted tables.
    pub(crate) key: Option<EncryptionKey>,
}

impl WriteSettings {
    pub(crate) fn table_opening(&self) -> TableOpening {
        TableOpening { runtime: self.runtime.clone(), key: self.key.clone() }
    }

    /// The options of a file with `schema`. Options in `named` override the others.
    pub(crate) fn options(
        &self,
        base: WriteOptions,
        schema: &Schema,
        named: &[(String, String)],
    ) -> Result<WriteOptions> {
        let threads = self.runtime.threads();
        let base = match self.memory_budget_bytes {
            Some(bytes) => base.memory_budget_bytes((bytes / 4).max(1)),
            None => base,
        };
        named.iter().try_fold(base.threads(threads), |options, (name, value)| {
            options.set(schema, name, value).map_err(|error| plan_datafusion_err!("option {name}: {error}"))
        })
    }

    pub(crate) fn sort_options(&self) -> SortOptions {
        match self.memory_budget_bytes {
            Some(bytes) => SortOptions::new().memory_budget_bytes((bytes / 4).max(1)),
            None => SortOptions::new(),
        }
    }
}

/// The value of a boolean option.
pub(crate) fn is_true(name: &str, value: &str) -> Result<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => plan_err!("option {name}: {value} is neither true nor false"),
    }
}

/// The path of the file `location`, which a statement writes; a URL of an object store is a path, too.
///
/// # Errors
/// If it would be a file in a folder of another format.
pub(crate) fn written_path(location: &str) -> Result<PathBuf> {
    let Some(path) = local_path(location) else { return Ok(location.into()) };
    FolderFormat::check_written(path).map_err(external)?;
    Ok(path.to_owned())
}

/// The folder at `location`, to which INSERT adds files. It may be in an object store.
///
/// # Errors
/// If the location is no folder.
pub(crate) fn written_folder(location: &str) -> Result<PathBuf> {
    let path = written_path(location)?;
    if local_path(location).is_none() && has_extension(&path, "parquet") {
        return plan_err!("{location} is an object; INSERT adds new objects to a folder");
    }
    if path.is_file() || location.contains(['*', '?', '[']) || TextFormat::from_name(&path).is_some() && !path.is_dir()
    {
        return plan_err!("{location} is not a folder; INSERT adds new files to a folder");
    }
    Ok(path)
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

/// The text of an option's value.
pub(crate) fn option_text(name: &str, value: &Value) -> Result<String> {
    match value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) | Value::EscapedStringLiteral(text) => {
            Ok(text.clone())
        }
        Value::Number(text, _) => Ok(text.clone()),
        other => plan_err!("option {name} is {other}; write text or a number"),
    }
}
