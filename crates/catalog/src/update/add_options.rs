//! What a catalog keeps of files.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::file::ContentOptions;
use crate::slots::MAX_KEY_COLUMNS;

/// What a catalog keeps of files that are added.
#[derive(Debug, Clone)]
pub struct AddOptions {
    keys: Vec<Vec<String>>,
    filter_budget_bytes: Option<usize>,
}

impl AddOptions {
    /// Without keys; at most 1 MiB of filters for each file and column.
    pub fn new() -> Self {
        Self { keys: Vec::new(), filter_budget_bytes: None }
    }

    /// Makes Bloom filters of a column of those files that have none of their own, or such as let more than one of 1,000 other keys pass, or
    /// of up to four columns that are looked up together. For that the column of each file is read. It holds for all files of the catalog,
    /// which are read anew where the key is new.
    #[must_use]
    pub fn key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.keys.push(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the maximum bytes of the filters of a column that are kept for a file: a file's own are not kept, and made ones are
    /// made smaller or not at all. It holds for all files that are read from then on.
    #[must_use]
    pub fn filter_budget_bytes(mut self, bytes: usize) -> Self {
        self.filter_budget_bytes = Some(bytes);
        self
    }

    pub(crate) fn wanted(&self, before: &ContentOptions) -> Result<ContentOptions> {
        let mut wanted = before.clone();
        for key in &self.keys {
            let distinct: HashSet<&String> = key.iter().collect();
            if key.is_empty() || key.len() > MAX_KEY_COLUMNS || distinct.len() != key.len() {
                return Err(Error::invalid(format!(
                    "the key {key:?}: name one to {MAX_KEY_COLUMNS} different columns"
                )));
            }
            if !wanted.keys.contains(key) {
                wanted.keys.push(key.clone());
            }
        }
        wanted.filter_budget_bytes = self.filter_budget_bytes.unwrap_or(before.filter_budget_bytes);
        Ok(wanted)
    }
}

impl Default for AddOptions {
    fn default() -> Self {
        Self::new()
    }
}
