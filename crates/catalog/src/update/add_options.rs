//! Options for adding files.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::file::ContentOptions;
use crate::slots::MAX_KEY_COLUMNS;

/// Options for adding files to a catalog: keys, and the size of filters.
#[derive(Debug, Clone)]
pub struct AddOptions {
    keys: Vec<Vec<String>>,
    filter_budget_bytes: Option<usize>,
}

impl AddOptions {
    /// No keys; at most 1 MiB of filters for each file and column.
    pub fn new() -> Self {
        Self { keys: Vec::new(), filter_budget_bytes: None }
    }

    /// Makes Bloom filters of a key: one column, or up to four columns that are looked up together. A filter of one column is made for files
    /// without a filter of the column, or with one of more than 0.1 % false positives. Making a filter reads the columns of the key. A key
    /// holds for all files of the catalog, so a new key reads all of them again.
    #[must_use]
    pub fn key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.keys.push(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the maximum bytes of the filters of a column for one file. A file's own filters are not kept if they have more; made filters are
    /// smaller, or are not made. This holds for all files that are read from then on.
    #[must_use]
    pub fn filter_budget_bytes(mut self, bytes: usize) -> Self {
        self.filter_budget_bytes = Some(bytes);
        self
    }

    pub(crate) fn content(&self, before: &ContentOptions) -> Result<ContentOptions> {
        let mut content = before.clone();
        for key in &self.keys {
            let distinct: HashSet<&String> = key.iter().collect();
            if key.is_empty() || key.len() > MAX_KEY_COLUMNS || distinct.len() != key.len() {
                return Err(Error::invalid(format!(
                    "the key {key:?}: expected one to {MAX_KEY_COLUMNS} different columns"
                )));
            }
            if !content.keys.contains(key) {
                content.keys.push(key.clone());
            }
        }
        content.filter_budget_bytes = self.filter_budget_bytes.unwrap_or(before.filter_budget_bytes);
        Ok(content)
    }
}

impl Default for AddOptions {
    fn default() -> Self {
        Self::new()
    }
}
