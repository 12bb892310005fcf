/// The files that a change of a catalog added, updated and removed.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Files that are new.
    pub added: u64,
    /// Files that were read again.
    pub updated: u64,
    /// Files that were removed.
    pub removed: u64,
    /// Files that have not changed.
    pub unchanged: u64,
    /// The errors of files that could not be read. The catalog has these files, and every search opens them.
    pub unreadable: Vec<String>,
}

impl Changes {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.updated == 0 && self.removed == 0
    }
}
