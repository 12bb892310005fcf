//! Arguments of commands that read several files as one table.

use clap::{Args, ValueEnum};

/// Options for reading several files as one table.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TableArgs {
    /// How the columns of several files are combined
    #[arg(long, value_name = "CHOICE", help_heading = "Table", default_value = "first")]
    pub(crate) schema: SchemaChoice,
    /// Do not turn directories named key=value into columns
    #[arg(long, help_heading = "Table")]
    pub(crate) no_partitions: bool,
}

impl TableArgs {
    /// Whether to take the columns of all files.
    pub(crate) fn unites_schemas(&self) -> bool {
        self.schema == SchemaChoice::Union
    }
}

/// The combination of several files' columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaChoice {
    /// The columns of the first file, which all others must have
    First,
    /// The columns of all files, by name; types are widened without loss, missing columns are null
    Union,
}
