//! Arguments of commands that read several files as one table.

use clap::{Args, ValueEnum};

/// How several files become one table.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TableArgs {
    /// Columns of several files
    #[arg(long, value_name = "CHOICE", help_heading = "Table", default_value = "first")]
    pub(crate) schema: SchemaChoice,
    /// Do not make columns of directories called key=value
    #[arg(long, help_heading = "Table")]
    pub(crate) no_partitions: bool,
}

/// The columns of several files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaChoice {
    /// Those of the first file, which the others have as well
    First,
    /// Those of all files, by name; types are widened where no value changes, missing columns are null
    Union,
}
