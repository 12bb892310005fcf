//! The origins of the types of columns.

/// The number of rows from which types are inferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InferRows {
    /// All rows of a file.
    All,
    /// The first rows of a file.
    First(usize),
}

impl InferRows {
    pub(crate) fn max_rows(self) -> usize {
        match self {
            Self::All => usize::MAX,
            Self::First(rows) => rows,
        }
    }
}

/// Why a column has its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// It was inferred from these rows.
    Inferred(InferRows),
    /// [`types`](crate::TextOptions::types) or [`columns`](crate::TextOptions::columns) of the options have it.
    Given,
    /// The schema of this name has it: [`types_of`](crate::TextOptions::types_of).
    SchemaOf(String),
    /// The first of several files has it.
    FirstFile,
}
