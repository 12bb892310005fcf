//! What has changed.

/// What has changed in a catalog.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are new.
    pub added: u64,
    /// Files that were read anew.
    pub updated: u64,
    /// Files that are gone.
    pub removed: u64,
    /// Files that are as they were.
    pub unchanged: u64,
    /// Why files could not be read, which the catalog has nevertheless: every search looks into them.
    pub unreadable: Vec<String>,
}

impl Changes {
    /// Whether anything is different.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.updated == 0 && self.removed == 0
    }
}
